// SPDX-License-Identifier: Apache-2.0
// core/package: nodes that the host drives, from model.meta. What the run loop relies on is checked here.
#include "core/support/json_value.hpp"

#include "core/package/meta_parts.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima::detail {
namespace {

Result<FlowInput> read_input(const Json& json, const std::string& place, const Package& package) {
  FlowInput in;
  if (json.is_null()) return in;
  if (json.is_string()) {
    in.tensor = json.get<std::string>();
    if (in.tensor.empty()) return invalid_input(cat(place, ": is an empty name, wanted null for nothing"));
    return in;
  }
  const JsonReader r(json, place);
  OPTIMA_ASSIGN(in.weight, read_sha(r, "weight"));
  OPTIMA_ASSIGN(in.dtype, read_dtype(r));
  OPTIMA_ASSIGN(in.shape, r.integers("shape"));
  const auto weight = package.weights.find(in.weight);
  if (weight == package.weights.end()) return invalid_input(cat(place, ": weight ", in.weight, " is not among the package's weights"));
  if (byte_size(in.dtype, in.shape) != weight->second)
    return invalid_input(cat(place, ": weight ", in.weight, " has ", weight->second, " bytes, wanted what its type and shape say"));
  return in;
}

Result<std::vector<FlowScan>> read_scans(const JsonReader& r, std::string_view key) {
  std::vector<FlowScan> out;
  OPTIMA_ASSIGN(const std::vector<JsonReader> items, r.array(key));
  for (const JsonReader& item : items) {
    FlowScan scan;
    OPTIMA_ASSIGN(scan.axis, item.integer("axis"));
    OPTIMA_ASSIGN(scan.backward, item.boolean("backward"));
    out.push_back(scan);
  }
  return out;
}

Result<FlowBody> read_body(const JsonReader& r, const Package& package) {
  FlowBody body;
  OPTIMA_ASSIGN(body.name, r.string("name"));
  OPTIMA_ASSIGN(body.inputs, r.strings("inputs"));
  OPTIMA_ASSIGN(body.captures, r.strings("captures"));
  OPTIMA_ASSIGN(body.outputs, r.strings("outputs"));
  OPTIMA_ASSIGN(body.tensors, read_tensors(r));
  OPTIMA_ASSIGN(const int64_t first, r.integer("first"));
  OPTIMA_ASSIGN(const int64_t count, r.integer("count"));
  if (first < 0 || first > UINT32_MAX || count < 0 || count > UINT32_MAX)
    return invalid_input(cat(r.place(), ": found ", count, " subgraphs from ", first, ", wanted numbers from 0"));
  body.first = static_cast<uint32_t>(first), body.count = static_cast<uint32_t>(count);
  OPTIMA_ASSIGN(body.pass_through, read_pass_through(r, package));
  return body;
}

Status check_inputs(const FlowNode& node, const FlowSignature& signature, const std::string& place) {
  if (!signature.fits())
    return invalid_input(cat(place, ": ", node.inputs.size(), " inputs, ", node.scan_inputs.size(), " of them scanned, and ", node.outputs.size(),
                             " outputs fit no ", node.op));
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (!signature.may_lack(i) && node.inputs[i].tensor.empty() && node.inputs[i].weight.empty())
      return invalid_input(cat(place, ".inputs[", i, "]: is null, wanted a tensor"));
  return {};
}

Status check_node(const FlowNode& node, const std::string& place) {
  const std::optional<FlowSignature> s = signature_of(node);
  if (!s) return invalid_input(cat(place, ".op: found ", quote(node.op), ", wanted If, Loop or Scan"));
  OPTIMA_RETURN_IF_ERROR(check_inputs(node, *s, place));
  const std::vector<std::string> names = body_names(s->op);
  if (node.bodies.size() != names.size() || node.scan_inputs.size() != s->scan_inputs || node.scan_outputs.size() != s->scan_outputs)
    return invalid_input(cat(place, ": found ", node.bodies.size(), " bodies, ", node.scan_inputs.size(), " scanned inputs and ",
                             node.scan_outputs.size(), " scanned outputs, wanted ", names.size(), ", ", s->scan_inputs, " and ", s->scan_outputs));
  for (size_t b = 0; b < names.size(); ++b)  // the run loop takes them by their place
    if (node.bodies[b].name != names[b])
      return invalid_input(cat(place, ".bodies[", b, "].name: found ", quote(node.bodies[b].name), ", wanted ", quote(names[b])));
  for (const FlowBody& body : node.bodies)
    if (body.inputs.size() != s->body_inputs() + body.captures.size() || body.outputs.size() != s->body_outputs())
      return invalid_input(cat(place, ": body ", quote(body.name), " has ", body.inputs.size(), " inputs and ", body.outputs.size(),
                               " outputs, wanted ", s->body_inputs() + body.captures.size(), " and ", s->body_outputs()));
  return {};
}

Result<FlowNode> read_node(const JsonReader& r, const Package& package) {
  FlowNode node;
  OPTIMA_ASSIGN(node.name, r.string("name"));
  OPTIMA_ASSIGN(node.op, r.string("op"));
  for (const std::string key : {"inputs", "outputs"})
    if (!r.has(key) || !r.json()[key].is_array()) return invalid_input(cat(r.place(), ".", key, ": wanted an array"));
  for (const Json& in : r.json()["inputs"]) {
    OPTIMA_ASSIGN(FlowInput input, read_input(in, cat(r.place(), ".inputs[", node.inputs.size(), "]"), package));
    node.inputs.push_back(std::move(input));
  }
  for (const Json& out : r.json()["outputs"]) {
    if (!out.is_null() && !out.is_string()) return invalid_input(cat(r.place(), ".outputs: found ", out.type_name(), ", wanted a name or null"));
    node.outputs.push_back(out.is_null() ? std::string() : out.get<std::string>());
  }
  OPTIMA_ASSIGN(node.scan_inputs, read_scans(r, "scan_inputs"));
  OPTIMA_ASSIGN(node.scan_outputs, read_scans(r, "scan_outputs"));
  OPTIMA_ASSIGN(const std::vector<JsonReader> bodies, r.array("bodies"));
  for (const JsonReader& b : bodies) {
    OPTIMA_ASSIGN(FlowBody body, read_body(b, package));
    node.bodies.push_back(std::move(body));
  }
  OPTIMA_RETURN_IF_ERROR(check_node(node, r.place()));
  return node;
}

}  // namespace

Result<std::vector<FlowNode>> read_flow(const JsonReader& r, const Package& package) {
  std::vector<FlowNode> out;
  OPTIMA_ASSIGN(const std::vector<JsonReader> nodes, r.array("flow"));
  if (nodes.empty()) return invalid_input(cat(r.place(), ".flow: is empty, wanted at least one node"));
  for (const JsonReader& n : nodes) {
    OPTIMA_ASSIGN(FlowNode node, read_node(n, package));
    out.push_back(std::move(node));
  }
  return out;
}

}  // namespace optima::detail

namespace optima {

std::optional<FlowSignature> signature_of(const FlowNode& node) {
  const std::optional<FlowOp> op = flow_op("", node.op);
  if (!op) return std::nullopt;
  return FlowSignature::of(*op, node.inputs.size(), node.outputs.size(), node.scan_inputs.size());
}

}  // namespace optima
