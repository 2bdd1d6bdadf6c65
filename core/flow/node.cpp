// SPDX-License-Identifier: Apache-2.0
#include "core/flow/node.hpp"

#include <algorithm>

namespace optima {
namespace {

const image::Attr* find(const image::Node& node, std::string_view name) {
  const auto found = std::find_if(node.attrs.begin(), node.attrs.end(), [&](const image::Attr& a) { return a.name == name; });
  return found == node.attrs.end() ? nullptr : &*found;
}

std::vector<FlowScan> scans(const image::Attr* axes, const image::Attr* directions, size_t count) {
  std::vector<FlowScan> out(count);
  for (size_t k = 0; k < count; ++k) {
    if (axes && k < axes->ints.size()) out[k].axis = axes->ints[k];
    if (directions && k < directions->ints.size()) out[k].backward = directions->ints[k] != 0;
  }
  return out;
}

}  // namespace

std::vector<const image::Attr*> bodies_in_order(const image::Node& node, FlowOp op) {
  std::vector<const image::Attr*> out;
  for (const std::string& name : body_names(op)) {
    const image::Attr* attr = find(node, name);
    out.push_back(attr && attr->type == OPTIMA_ATTR_GRAPH ? attr : nullptr);
  }
  return out;
}

int64_t scanned_inputs(const image::Node& node) {
  const image::Attr* attr = find(node, "num_scan_inputs");
  return attr ? attr->i : 0;
}

FlowSignature signature_of(const image::Node& node, FlowOp op) {
  const size_t inputs = op == FlowOp::Loop ? std::max(node.inputs.size(), kLoopInputsAhead) : node.inputs.size();
  return FlowSignature::of(op, inputs, node.outputs.size(), static_cast<size_t>(std::max<int64_t>(0, scanned_inputs(node))));
}

FlowScans scans_of(const image::Node& node, const FlowSignature& signature) {
  return {scans(find(node, "scan_input_axes"), find(node, "scan_input_directions"), signature.scan_inputs),
          scans(find(node, "scan_output_axes"), find(node, "scan_output_directions"), signature.scan_outputs)};
}

}  // namespace optima
