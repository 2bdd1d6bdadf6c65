// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see fitter.hpp.
#include "plugins/llvm_cpu/fit/fitter.hpp"

#include <algorithm>

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {
namespace {

/// Specs of a draft that no kernel computes, by number.
std::set<uint32_t> missing(const Draft& draft, const Fitter::HasKernel& has) {
  std::set<uint32_t> out;
  for (uint32_t k = 0; k < draft.specs.size(); ++k)
    if (draft.specs[k].entry != kReferenceEntry && !is_built_in(draft.specs[k]) && !has(draft.specs[k])) out.insert(k);
  return out;
}

}  // namespace

Fitter::Fitter(const optima_graph& graph, const Target& target, bool winograd, HasKernel has_kernel)
    : graph_(graph), target_(target), winograd_(winograd), has_kernel_(std::move(has_kernel)), rules_(graph), makers_(rules_.value_count(), OPTIMA_NONE) {
  const optima_image_graph& entry = *optima_get_graph(graph.image, 0);
  for (uint32_t k = 0; k < entry.inputs.count; ++k) inputs_.push_back(*optima_get_index(graph.image, entry.inputs.first + k) - rules_.first_value());
  for (uint32_t k = 0; k < entry.outputs.count; ++k) outputs_.push_back(*optima_get_index(graph.image, entry.outputs.first + k) - rules_.first_value());
  for (uint32_t n = 0; n < rules_.node_count(); ++n) each_output(n, [&](uint32_t v) { makers_[v] = n; });
}

template <class F>
void Fitter::each_input(uint32_t node, F&& f) const {
  const optima_node& n = rules_.node(node);
  for (uint32_t k = 0; k < n.inputs.count; ++k)
    if (const uint32_t v = optima_input(graph_.image, &n, k); v != OPTIMA_NONE) f(v - rules_.first_value());
}

template <class F>
void Fitter::each_output(uint32_t node, F&& f) const {
  const optima_node& n = rules_.node(node);
  for (uint32_t k = 0; k < n.outputs.count; ++k)
    if (const uint32_t v = optima_output(graph_.image, &n, k); v != OPTIMA_NONE) f(v - rules_.first_value());
}

std::unique_ptr<Leg> Fitter::first(const std::vector<std::vector<int64_t>>& shapes) const {
  Walk walk(rules_);
  std::vector<bool> at_hand(rules_.value_count(), false);
  for (uint32_t k = 0; k < inputs_.size(); ++k) {
    reference::Tensor t;
    t.dtype = optima_get_value(graph_.image, inputs_[k] + rules_.first_value())->dtype, t.dims = shapes[k];
    walk.give(inputs_[k], std::move(t));
    at_hand[inputs_[k]] = true;
  }
  return leg(std::move(walk), std::move(at_hand));
}

std::unique_ptr<Leg> Fitter::next(const Leg& before, const std::vector<Found>& found) const {
  Walk walk = before.walk;
  std::vector<bool> at_hand = before.at_hand;
  if (before.stretch)
    for (const uint32_t v : before.stretch->gives()) at_hand[v - rules_.first_value()] = true;
  for (const uint32_t n : before.runs) each_output(n, [&](uint32_t v) { at_hand[v] = true; });
  for (const Found& f : found) walk.give(f.value, f.tensor);
  return leg(std::move(walk), std::move(at_hand));
}

std::unique_ptr<Leg> Fitter::leg(Walk walk, std::vector<bool> at_hand) const {
  walk.go();
  auto out = std::make_unique<Leg>(Leg{std::move(walk), std::move(at_hand), nullptr, {}, {}, {}});
  for (const Walk::Stop& stop : out->walk.stops()) {
    if (stop.wants == OPTIMA_NONE) out->runs.push_back(stop.node);
    else if (std::find(out->asks.begin(), out->asks.end(), stop.wants) == out->asks.end()) out->asks.push_back(stop.wants);
  }
  out->is_last = out->walk.stops().empty();
  const std::vector<uint32_t> wanted = gives(*out), members = nodes(*out, wanted);
  if (wanted.empty()) return out;
  const auto in_image = [&](std::vector<uint32_t> all, uint32_t base) {
    for (uint32_t& v : all) v += base;
    return all;
  };
  const Walk& known = out->walk;
  out->stretch = std::make_unique<Stretch>(graph_, in_image(members, rules_.first_node()), in_image(wanted, rules_.first_value()),
                                           [&](uint32_t v) -> const reference::Tensor& { return known.known(v - rules_.first_value()); });
  plan(*out);
  return out;
}

/// What comes out of the leg's stretch: outputs of the graph, what nodes that are not done read, and what is asked for.
std::vector<uint32_t> Fitter::gives(const Leg& leg) const {
  std::set<uint32_t> out;
  const auto want = [&](uint32_t v) {
    if (leg.walk.known(v).dtype != OPTIMA_UNDEFINED && !leg.at_hand[v] && makers_[v] != OPTIMA_NONE) out.insert(v);
  };
  for (const uint32_t v : outputs_) want(v);
  for (uint32_t n = 0; n < rules_.node_count(); ++n)
    if (!leg.walk.is_done(n)) each_input(n, want);
  for (const uint32_t v : leg.asks) want(v);
  return {out.begin(), out.end()};
}

/// Those that make these values, of what is not at hand and not known to its elements.
std::vector<uint32_t> Fitter::nodes(const Leg& leg, const std::vector<uint32_t>& gives) const {
  std::set<uint32_t> out;
  std::vector<uint32_t> todo = gives;
  while (!todo.empty()) {
    const uint32_t v = todo.back();
    todo.pop_back();
    if (leg.at_hand[v] || makers_[v] == OPTIMA_NONE || has_elements(leg.walk.known(v)) || !out.insert(makers_[v]).second) continue;
    each_input(makers_[v], [&](uint32_t input) { todo.push_back(input); });
  }
  return {out.begin(), out.end()};
}

/// Nodes whose kernels there are not go to the reference, and it is planned again.
void Fitter::plan(Leg& leg) const {
  std::set<uint32_t> given_up;  // ids
  bool all = false;
  PlannerOptions options;
  options.winograd = winograd_;
  options.by_reference = [&](const NodeView& n) { return all || given_up.count(n.id()) != 0; };
  if (has_kernel_) options.is_bad = [&](const KernelSpec& spec) { return !has_kernel_(spec); };
  for (;;) {
    leg.draft = plan_graph({&leg.stretch->graph()}, target_, options);
    if (!has_kernel_) return;
    const std::set<uint32_t> none = missing(leg.draft, has_kernel_);
    if (none.empty()) return;
    if (all) throw sdk::Error(OPTIMA_INTERNAL, "the plan wants a kernel that even the reference does not replace");
    const size_t before = given_up.size();
    for (const Plan::Step& step : leg.draft.plan.steps)
      if (none.count(step.kernel)) given_up.insert(step.node_ids.begin(), step.node_ids.end());
    all = given_up.size() == before;
  }
}

}  // namespace optima::llvm_cpu
