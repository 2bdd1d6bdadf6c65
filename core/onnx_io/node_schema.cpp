// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: schema versions of single nodes.
#include "core/onnx_io/node_schema.hpp"

#include <algorithm>
#include <set>

#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/support/text.hpp"
#include "onnx/defs/data_type_utils.h"

namespace optima::onnx_io {
namespace {

using onnx::NodeProto;
using onnx::OpSchema;

bool has_default(const OpSchema::Attribute& a) { return a.default_value.has_type() || !a.default_value.name().empty(); }

bool sets(const NodeProto& node, const std::string& attribute) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [&](const auto& a) { return a.name() == attribute; });
}

// Every default of the older schema that the node leaves to the schema means the same in the newer one. What only the newer
// one has was added with the old behaviour as its default.
bool defaults_agree(const NodeProto& node, const OpSchema& older, const OpSchema& newer) {
  return std::all_of(older.attributes().begin(), older.attributes().end(), [&](const auto& entry) {
    const auto& [name, attribute] = entry;
    if (sets(node, name)) return true;
    const auto other = newer.attributes().find(name);
    if (other == newer.attributes().end()) return !has_default(attribute);
    return other->second.default_value.SerializeAsString() == attribute.default_value.SerializeAsString();
  });
}

// Whether the k-th operand's type is one its formal parameter takes; the last formal may stand for many.
bool type_allowed(const std::vector<OpSchema::FormalParameter>& formal, int k, const image::Value* value) {
  if (formal.empty() || !value || value->kind != OPTIMA_KIND_TENSOR || value->dtype == OPTIMA_UNDEFINED) return true;
  const auto& types = formal[std::min(static_cast<size_t>(k), formal.size() - 1)].GetTypes();
  const std::string wanted = cat("tensor(", onnx::Utils::DataTypeUtils::ToDataTypeString(value->dtype), ")");
  return std::any_of(types.begin(), types.end(), [&](const std::string* t) { return *t == wanted; });
}

bool types_allowed(const NodeProto& node, const OpSchema& schema, const Operands& operands) {
  for (int k = 0; k < node.input_size(); ++k)
    if (!type_allowed(schema.inputs(), k, operands.input(k))) return false;
  for (int k = 0; k < node.output_size(); ++k)
    if (!type_allowed(schema.outputs(), k, operands.output(k))) return false;
  return true;
}

// Since opset 22 pooling with ceil_mode has no window that starts in the padding behind the image; before, it had.
bool means_another_shape(const NodeProto& node) {
  if (node.op_type().find("Pool") == std::string::npos) return false;
  return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& a) { return a.name() == "ceil_mode" && a.i() != 0; });
}

bool verifies(const NodeProto& node, const OpSchema& schema) {
  try {
    schema.Verify(node);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

const OpSchema* schema_of(const NodeProto& node, int64_t opset, const Operands& operands) {
  const OpSchema* now = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), node.domain());
  if (!now || !node.domain().empty() || opset <= kCanonicalOpset) return now;
  const OpSchema* canonical = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(kCanonicalOpset), "");
  if (!canonical || canonical->Deprecated()) return now;
  if (canonical->SinceVersion() == now->SinceVersion()) return canonical;
  const bool fits = verifies(node, *canonical) && types_allowed(node, *canonical, operands) &&
                    defaults_agree(node, *canonical, *now) && !means_another_shape(node);
  return fits ? canonical : now;
}

bool means_the_same(const NodeProto& node, int64_t from, int64_t to) {
  const auto at = [&](int64_t opset) { return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), ""); };
  const OpSchema *before = at(from), *after = at(to);
  if (!before || !after || after->Deprecated()) return false;
  if (before->SinceVersion() == after->SinceVersion()) return true;
  // Up to the canonical opset operators changed in ways that no schema tells of, and the library's converter has what they are.
  if (std::min(from, to) < kCanonicalOpset) return false;
  return verifies(node, *after) && defaults_agree(node, from < to ? *before : *after, from < to ? *after : *before) && !means_another_shape(node);
}

std::vector<const onnx::AttributeProto*> missing_defaults(const OpSchema& schema, const NodeProto& node) {
  std::vector<const onnx::AttributeProto*> out;
  for (const auto& [name, attribute] : schema.attributes())
    if (has_default(attribute) && !sets(node, name)) out.push_back(&attribute.default_value);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->name() < b->name(); });
  return out;
}

std::vector<std::string> operator_names() {
  std::set<std::string> names;
  for (const OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) names.insert(schema.Name());
  return {names.begin(), names.end()};
}

}  // namespace optima::onnx_io
