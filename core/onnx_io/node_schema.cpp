// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: schema versions of single nodes.
#include "core/onnx_io/node_schema.hpp"

#include <algorithm>

#include "core/onnx_io/convert.hpp"
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

// Every default of `from` that the node leaves to the schema means the same in `to`.
bool defaults_agree(const NodeProto& node, const OpSchema& from, const OpSchema& to) {
  return std::all_of(from.attributes().begin(), from.attributes().end(), [&](const auto& entry) {
    const auto& [name, attribute] = entry;
    if (!has_default(attribute) || sets(node, name)) return true;
    const auto other = to.attributes().find(name);
    return other != to.attributes().end() && other->second.default_value.SerializeAsString() == attribute.default_value.SerializeAsString();
  });
}

bool types_allowed(const NodeProto& node, const OpSchema& schema, const std::function<const image::Value*(int)>& input_type) {
  const auto& formal = schema.inputs();
  for (int k = 0; k < node.input_size() && !formal.empty(); ++k) {
    const image::Value* value = input_type(k);
    if (!value || value->kind != OPTIMA_KIND_TENSOR || value->dtype == OPTIMA_UNDEFINED) continue;
    const auto& types = formal[std::min(static_cast<size_t>(k), formal.size() - 1)].GetTypes();
    const std::string wanted = cat("tensor(", onnx::Utils::DataTypeUtils::ToDataTypeString(value->dtype), ")");
    if (std::none_of(types.begin(), types.end(), [&](const std::string* t) { return *t == wanted; })) return false;
  }
  return true;
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

const OpSchema* schema_of(const NodeProto& node, int64_t opset, const std::function<const image::Value*(int)>& input_type) {
  const OpSchema* now = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), node.domain());
  if (!now || !node.domain().empty() || opset <= kCanonicalOpset) return now;
  const OpSchema* canonical = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(kCanonicalOpset), "");
  if (!canonical || canonical->Deprecated()) return now;
  if (canonical->SinceVersion() == now->SinceVersion()) return canonical;
  const bool fits = verifies(node, *canonical) && types_allowed(node, *canonical, input_type) &&
                    defaults_agree(node, *now, *canonical) && defaults_agree(node, *canonical, *now);
  return fits ? canonical : now;
}

std::vector<const onnx::AttributeProto*> missing_defaults(const OpSchema& schema, const NodeProto& node) {
  std::vector<const onnx::AttributeProto*> out;
  for (const auto& [name, attribute] : schema.attributes())
    if (has_default(attribute) && !sets(node, name)) out.push_back(&attribute.default_value);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->name() < b->name(); });
  return out;
}

}  // namespace optima::onnx_io
