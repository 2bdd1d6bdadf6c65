// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/shape_judge.hpp"

#include "reference/call.hpp"

namespace optima::test {

using reference::Inference;
using reference::Tensor;

namespace {

/// Runs the nodes of one graph and of the branches that its Ifs take.
void run_nodes(const optima_graph& graph, uint32_t index, std::vector<Tensor>& values) {
  const optima_image* image = graph.image;
  const optima_image_graph& g = *optima_get_graph(image, index);
  for (uint32_t n = 0; n < g.nodes.count; ++n) {
    const optima_node& node = *optima_get_node(image, g.nodes.first + n);
    std::vector<Tensor> inputs;
    for (uint32_t k = 0; k < node.inputs.count; ++k) {
      const uint32_t v = optima_input(image, &node, k);
      inputs.push_back(v == OPTIMA_NONE ? Tensor() : values[v]);
    }
    const std::vector<Tensor> made = reference::evaluate(graph, node, inputs, [&](uint32_t v) { return values[v]; });
    for (uint32_t k = 0; k < node.outputs.count; ++k)
      if (const uint32_t v = optima_output(image, &node, k); v != OPTIMA_NONE) values[v] = made[k];
    if (sdk::view(optima_string(image, &node.op_type)) != "If") continue;
    const bool yes = reference::scalar_int(inputs[0], "cond") != 0;
    const uint32_t body = optima_find_attr(image, &node, yes ? "then_branch" : "else_branch")->ref;
    const optima_image_graph& b = *optima_get_graph(image, body);
    for (uint32_t k = 0; k < b.captures.count; ++k) {
      const optima_capture* c = optima_get_capture(image, b.captures.first + k);
      values[c->inner] = values[c->outer];
    }
    run_nodes(graph, body, values);
  }
}

}  // namespace

std::vector<Tensor> all_values(const optima_graph& graph, const std::vector<Tensor>& inputs) {
  const optima_image* image = graph.image;
  std::vector<Tensor> values(image->values.count);
  const optima_image_graph& g = *optima_get_graph(image, 0);
  for (uint32_t v = 0; v < image->values.count; ++v)
    if (const uint32_t c = optima_get_value(image, v)->constant; c != OPTIMA_NONE) values[v] = reference::constant(graph, c);
  for (uint32_t k = 0; k < g.inputs.count; ++k) values[*optima_get_index(image, g.inputs.first + k)] = inputs[k];
  run_nodes(graph, 0, values);
  return values;
}

Tensor without_elements(const Tensor& t) {
  Tensor bare;
  bare.dtype = t.dtype;
  bare.dims = t.dims;
  return bare;
}

namespace {

std::string text(int32_t dtype, const std::vector<int64_t>& dims) { return reference::dtype_name(dtype) + reference::show(dims); }

/// What is wrong with one answer; empty when nothing is.
std::string lie(const optima_graph& graph, const optima_node& node, const Inference& said, const std::vector<Tensor>& values, const std::vector<Tensor>& inputs) {
  if (said.data_decides) return said.outputs.empty() && said.wants == OPTIMA_NONE ? "" : "data decides, and yet there is an answer";
  if (said.wants != OPTIMA_NONE) {
    const bool kept = said.wants < inputs.size() && inputs[said.wants].dtype != OPTIMA_UNDEFINED && !inputs[said.wants].data;
    return kept && said.outputs.empty() ? "" : "wants input " + std::to_string(said.wants);
  }
  for (uint32_t k = 0; k < node.outputs.count; ++k) {
    const uint32_t v = optima_output(graph.image, &node, k);
    if (v == OPTIMA_NONE) continue;
    const reference::Type& t = said.outputs.at(k);
    if (t.dtype != values[v].dtype || t.dims != values[v].dims)
      return "output " + std::to_string(k) + " is " + text(values[v].dtype, values[v].dims) + ", inferred " + text(t.dtype, t.dims);
  }
  return {};
}

/// Not in a branch that was not taken, nor in a loop.
bool ran(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& values) {
  for (uint32_t k = 0; k < node.outputs.count; ++k)
    if (const uint32_t v = optima_output(graph.image, &node, k); v != OPTIMA_NONE) return values[v].dtype != OPTIMA_UNDEFINED;
  return false;
}

std::string judge_node(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& values, ShapeCount& count) {
  std::vector<Tensor> inputs;
  for (uint32_t k = 0; k < node.inputs.count; ++k) {
    const uint32_t v = optima_input(graph.image, &node, k);
    inputs.push_back(v == OPTIMA_NONE ? Tensor() : values[v]);
  }
  const reference::Rule* rule = reference::rule_of(graph, node);
  const auto n = static_cast<uint32_t>(inputs.size());
  for (uint32_t hidden = 0; hidden <= n + 1; ++hidden) {  // input `hidden`; n: none; n + 1: all
    std::vector<Tensor> seen = inputs;
    for (uint32_t k = 0; k < n; ++k)
      if (hidden == k || hidden == n + 1) seen[k] = without_elements(seen[k]);
    const Inference said = reference::infer_shapes(graph, node, seen, rule);
    ++(said.data_decides ? count.data_decides : said.wants != OPTIMA_NONE ? count.wanted : count.inferred);
    const std::string why = lie(graph, node, said, values, seen);
    if (!why.empty()) return why + (hidden == n ? ", all known" : hidden > n ? ", none known" : ", input " + std::to_string(hidden) + " hidden");
  }
  return {};
}

}  // namespace

std::string judge_shapes(const optima_graph& graph, const std::vector<Tensor>& values, std::map<std::string, ShapeCount>& counts) {
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n) {
    const optima_node& node = *optima_get_node(graph.image, n);
    if (!ran(graph, node, values)) continue;
    const std::string op(sdk::view(optima_string(graph.image, &node.op_type)));
    try {
      const std::string why = judge_node(graph, node, values, counts[op]);
      if (!why.empty()) return op + " node '" + std::string(sdk::view(optima_string(graph.image, &node.name))) + "': " + why;
    } catch (const Error& e) {
      return op + ": " + e.text;
    }
  }
  return {};
}

}  // namespace optima::test
