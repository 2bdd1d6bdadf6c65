// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see walk.hpp.
#include "plugins/llvm_cpu/fit/walk.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/fit/stretch.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

/// Tensors of more elements are not computed while planning.
constexpr int64_t kMostElements = 1024;

bool is_small(const reference::Tensor& t) { return t.elements() <= kMostElements; }

/// Operators whose results are not a function of their inputs.
bool is_random(std::string_view op) { return op.substr(0, 6) == "Random" || op == "Bernoulli" || op == "Multinomial"; }

}  // namespace

WalkRules::WalkRules(const optima_graph& graph) : graph_(graph), entry_(*optima_get_graph(graph.image, 0)) {
  for (uint32_t n = 0; n < entry_.nodes.count; ++n) rules_.push_back(reference::rule_of(graph, node(n)));
}

reference::Tensor WalkRules::constant(uint32_t v) const {
  const optima_constant& c = *optima_get_constant(graph_.image, optima_get_value(graph_.image, first_value() + v)->constant);
  const optima_blob& blob = *optima_get_blob(&graph_, c.blob);
  reference::Tensor t;
  t.dtype = c.dtype;
  for (uint32_t d = 0; d < c.dims.count; ++d) t.dims.push_back(*optima_get_int(graph_.image, c.dims.first + d));
  if (blob.data) t.data = blob.data, t.size = blob.size;
  return t;
}

Walk::Walk(const WalkRules& rules) : rules_(&rules), known_(rules.value_count()), done_(rules.node_count(), false) {
  for (uint32_t v = 0; v < rules.value_count(); ++v) {
    if (optima_get_value(rules.graph().image, rules.first_value() + v)->constant != OPTIMA_NONE) known_[v] = rules.constant(v);
  }
}

void Walk::give(uint32_t value, reference::Tensor t) { known_[value] = std::move(t); }

void Walk::go() {
  stops_.clear();
  for (uint32_t n = 0; n < rules_->node_count(); ++n)
    if (!done_[n]) done_[n] = step(n);
}

bool Walk::step(uint32_t n) {
  const optima_image* image = rules_->graph().image;
  const optima_node& node = rules_->node(n);
  const uint32_t base = rules_->first_value();
  std::vector<reference::Tensor> inputs;
  bool all_outputs = true;
  for (uint32_t k = 0; k < node.outputs.count; ++k) {
    const uint32_t v = optima_output(image, &node, k);
    all_outputs = all_outputs && (v == OPTIMA_NONE || known_[v - base].dtype != OPTIMA_UNDEFINED);
  }
  if (all_outputs) return true;  // given from outside
  for (uint32_t k = 0; k < node.inputs.count; ++k) {
    const uint32_t v = optima_input(image, &node, k);
    inputs.push_back(v == OPTIMA_NONE ? reference::Tensor() : known_[v - base]);
    if (v != OPTIMA_NONE && inputs.back().dtype == OPTIMA_UNDEFINED) return false;
  }
  if (!rules_->rule(n)) return stops_.push_back({n, OPTIMA_NONE}), false;
  const reference::Inference told = reference::infer_shapes(rules_->graph(), node, inputs, rules_->rule(n));
  if (told.data_decides) return stops_.push_back({n, OPTIMA_NONE}), false;
  if (told.wants != OPTIMA_NONE) return stops_.push_back({n, optima_input(image, &node, told.wants) - base}), false;
  for (uint32_t k = 0; k < node.outputs.count && k < told.outputs.size(); ++k) {
    const uint32_t v = optima_output(image, &node, k);
    if (v == OPTIMA_NONE) continue;
    reference::Tensor t;
    t.dtype = told.outputs[k].dtype, t.dims = told.outputs[k].dims;
    known_[v - base] = std::move(t);
  }
  fold(n, inputs);
  return true;
}

void Walk::fold(uint32_t n, const std::vector<reference::Tensor>& inputs) {
  const optima_image* image = rules_->graph().image;
  const optima_node& node = rules_->node(n);
  const optima_str op = optima_string(image, &node.op_type);
  const bool is_shape = optima_str_is(op, "Shape") || optima_str_is(op, "Size");
  const auto elements_known = [](const reference::Tensor& t) { return t.dtype == OPTIMA_UNDEFINED || (has_elements(t) && is_small(t)); };
  if (!is_shape && !std::all_of(inputs.begin(), inputs.end(), elements_known)) return;
  if (is_random({op.data, op.size})) return;
  for (uint32_t k = 0; k < node.outputs.count; ++k) {
    const uint32_t v = optima_output(image, &node, k);
    if (v != OPTIMA_NONE && !is_small(known_[v - rules_->first_value()])) return;
  }
  std::vector<reference::Tensor> given = inputs;
  if (is_shape && !given[0].data) {  // its elements are not looked at
    given[0].size = reference::bytes_of(given[0].dtype, given[0].elements());
    static const char anything[64] = {};
    given[0].data = anything;
  }
  const std::vector<reference::Tensor> made = reference::evaluate(rules_->graph(), node, given);
  for (uint32_t k = 0; k < node.outputs.count && k < made.size(); ++k)
    if (const uint32_t v = optima_output(image, &node, k); v != OPTIMA_NONE) known_[v - rules_->first_value()] = made[k];
}

}  // namespace optima::llvm_cpu
