// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the opsets of local functions.
#include "core/onnx_io/function_opsets.hpp"

#include <algorithm>
#include <vector>

#include "core/onnx_io/convert.hpp"
#include "core/onnx_io/node_schema.hpp"
#include "core/onnx_io/structure.hpp"

namespace optima::onnx_io {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;

template <class Imports>
auto* plain_import(Imports& imports) {
  const auto found = std::find_if(imports.begin(), imports.end(), [](const auto& o) { return o.domain().empty(); });
  return found == imports.end() ? nullptr : &*found;
}

bool means_the_same_inside(NodeProto& node, int64_t from, int64_t to) {
  bool same = !node.domain().empty() || means_the_same(node, from, to);
  for_each_body(node, [&](GraphProto& body, const std::string&, int) {
    for (auto& inner : *body.mutable_node()) same = same && means_the_same_inside(inner, from, to);
  });
  return same;
}

// The types of initializers, and of all values of bodies that have one. The inliner looks for none of these by itself.
void write_types(GraphProto& g, bool is_body, std::vector<onnx::ValueInfoProto>& written) {
  for (const auto& t : g.initializer()) {
    auto& type = *written.emplace_back().mutable_type()->mutable_tensor_type();
    written.back().set_name(t.name());
    type.set_elem_type(t.data_type());
    type.mutable_shape();  // of a scalar, which has no dims
    for (int64_t d : t.dims()) type.mutable_shape()->add_dim()->set_dim_value(d);
  }
  for (const auto* values : {&g.input(), &g.output(), &g.value_info()})
    if (is_body) written.insert(written.end(), values->begin(), values->end());
  for (auto& node : *g.mutable_node())
    for_each_body(node, [&](GraphProto& body, const std::string&, int) { write_types(body, true, written); });
}

// The inliner leaves functions as they are whose imports differ from the model's. Versions of their own domains mean nothing, and the others' are as ONNX Runtime takes them: the model's.
void import_other_domains_alike(onnx::ModelProto& model) {
  for (auto& f : *model.mutable_functions())
    for (auto& o : *f.mutable_opset_import())
      if (const int64_t version = opset_of(model, o.domain()); !o.domain().empty() && version != 0) o.set_version(version);
}

}  // namespace

void settle_function_opsets(onnx::ModelProto& model) {
  import_other_domains_alike(model);
  const auto* of_model = plain_import(*model.mutable_opset_import());
  if (!of_model) return;
  bool all = true;
  for (auto& f : *model.mutable_functions()) {
    auto* of_function = plain_import(*f.mutable_opset_import());
    if (!of_function || of_function->version() == of_model->version()) continue;
    auto& nodes = *f.mutable_node();
    const bool same = std::all_of(nodes.begin(), nodes.end(), [&](NodeProto& n) { return means_the_same_inside(n, of_function->version(), of_model->version()); });
    if (same) of_function->set_version(of_model->version());
    all = all && same;
  }
  if (all) return;
  std::vector<onnx::ValueInfoProto> written;
  write_types(*model.mutable_graph(), false, written);
  model.mutable_graph()->mutable_value_info()->Add(written.begin(), written.end());
}

}  // namespace optima::onnx_io
