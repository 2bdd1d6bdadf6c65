// SPDX-License-Identifier: Apache-2.0
// core/package: does the data of a package flow from its inputs to its outputs.
#include <algorithm>
#include <set>

#include "core/package/meta_parts.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr int kDeepest = 64;  // bodies inside bodies

// The tables of one graph: the main graph's or a body's.
struct ScopeView {
  const std::vector<std::string>& inputs;
  const std::vector<std::string>& outputs;
  const std::vector<PackageTensor>& tensors;
  const std::vector<PassThrough>& pass_through;
  std::string place, whose;
};

// Every tensor is declared, written once, and written before it is read; every output is there in the end. So for bodies.
class FlowCheck {
 public:
  FlowCheck(const PackageVariant& variant, size_t first_index, const std::string& place)
      : variant_(variant), first_(first_index), place_(place), next_(variant.main) {}

  Status run(const Package& package) {
    const ScopeView main{package.inputs, package.outputs, package.tensors, variant_.pass_through, place_, "the model"};
    OPTIMA_RETURN_IF_ERROR(scope(main, 0, variant_.main, 0));
    if (next_ == variant_.subgraphs.size()) return {};
    return invalid_input(cat(place_, ".subgraphs[", next_, "]: is of no body, wanted ", next_, " subgraphs"));
  }

 private:
  using Ready = std::set<std::string_view>;

  Status scope(const ScopeView& view, size_t first, size_t count, int depth) {
    Ready ready(view.inputs.begin(), view.inputs.end());
    for (size_t i = first; i < first + count; ++i) OPTIMA_RETURN_IF_ERROR(subgraph(view, variant_.subgraphs[i], ready));
    for (const PassThrough& p : view.pass_through) OPTIMA_RETURN_IF_ERROR(pass(view, p, ready));
    for (const std::string& name : view.outputs)
      if (!ready.count(name)) return invalid_input(cat(view.place, ": output ", quote(name), " of ", view.whose, " is never written"));
    // Bodies after their own graph: their subgraphs are numbered in that order.
    for (size_t i = first; i < first + count; ++i)
      for (const FlowNode& node : variant_.subgraphs[i].flow)
        for (const FlowBody& body : node.bodies) OPTIMA_RETURN_IF_ERROR(inside(view, node, body, depth));
    return {};
  }

  Status subgraph(const ScopeView& view, const PackageSubgraph& s, Ready& ready) const {
    const std::string place = cat(place_, ".subgraphs[", s.index, "]");
    for (const std::string& name : s.inputs)
      if (!ready.count(name)) return invalid_input(cat(place, ": input ", quote(name), " is not written before it is read"));
    for (const FlowNode& node : s.flow) OPTIMA_RETURN_IF_ERROR(driven(view, node, cat(place, " node ", quote(node.name)), ready));
    for (const std::string& name : s.outputs) OPTIMA_RETURN_IF_ERROR(s.flow.empty() ? write(view, name, place, ready) : written(name, place, ready));
    return {};
  }

  static Status driven(const ScopeView& view, const FlowNode& node, const std::string& place, Ready& ready) {
    const auto read = [&](const std::string& name) {
      return ready.count(name) ? Status() : invalid_input(cat(place, ": input ", quote(name), " is not written before it is read"));
    };
    for (const FlowInput& in : node.inputs)
      if (!in.tensor.empty()) OPTIMA_RETURN_IF_ERROR(read(in.tensor));
    for (const FlowBody& body : node.bodies)
      for (const std::string& name : body.captures) OPTIMA_RETURN_IF_ERROR(read(name));
    for (const std::string& name : node.outputs)
      if (!name.empty()) OPTIMA_RETURN_IF_ERROR(write(view, name, place, ready));
    return {};
  }

  static Status write(const ScopeView& view, const std::string& name, const std::string& place, Ready& ready) {
    const PackageTensor* tensor = find_tensor(view.tensors, name);
    if (!tensor) return invalid_input(cat(place, ": output ", quote(name), " is not among the tensors"));
    if (!ready.insert(tensor->name).second) return invalid_input(cat(place, ": tensor ", quote(name), " is written twice"));
    return {};
  }
  static Status written(const std::string& name, const std::string& place, const Ready& ready) {
    return ready.count(name) ? Status() : invalid_input(cat(place, ": output ", quote(name), " is written by none of its nodes"));
  }

  static Status pass(const ScopeView& view, const PassThrough& p, Ready& ready) {
    const auto is_one_of = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!is_one_of(view.outputs, p.output))
      return invalid_input(cat(view.place, ".pass_through: ", quote(p.output), " is not an output of ", view.whose));
    if (p.weight.empty() && !is_one_of(view.inputs, p.input))
      return invalid_input(cat(view.place, ".pass_through: ", quote(p.input), " is not an input of ", view.whose));
    if (!p.weight.empty() && !find_tensor(view.tensors, p.output))
      return invalid_input(cat(view.place, ".pass_through: ", quote(p.output), " is not among the tensors"));
    const PackageTensor *from = find_tensor(view.tensors, p.input), *to = find_tensor(view.tensors, p.output);
    if (p.weight.empty() && from && to && from->dtype != to->dtype)
      return invalid_input(cat(view.place, ".pass_through: ", quote(p.output), " is not of the type of ", quote(p.input)));
    if (ready.count(p.output) && p.output != p.input)
      return invalid_input(cat(view.place, ".pass_through: tensor ", quote(p.output), " is written twice"));
    ready.insert(p.output);
    return {};
  }

  Status inside(const ScopeView& around, const FlowNode& node, const FlowBody& body, int depth) {
    const std::string whose = cat("body ", quote(body.name), " of ", quote(node.name));
    if (depth == kDeepest) return invalid_input(cat(place_, ": ", whose, " is ", depth + 1, " bodies deep, wanted at most ", kDeepest));
    if (body.first != first_ + next_ || body.count > variant_.subgraphs.size() - next_)
      return invalid_input(cat(place_, ": ", whose, " has ", body.count, " subgraphs from ", body.first, ", wanted them from ", first_ + next_,
                               " to below ", first_ + variant_.subgraphs.size()));
    const size_t first = next_;
    next_ += body.count;
    for (const auto* names : {&body.inputs, &body.outputs})
      for (const std::string& name : *names)
        if (!find_tensor(body.tensors, name)) return invalid_input(cat(place_, ": ", whose, ": tensor ", quote(name), " is not among the tensors"));
    if (Status status = check_flow_types(around.tensors, node, body); !status.ok()) return status.within(cat(place_, ": ", whose));
    return scope({body.inputs, body.outputs, body.tensors, body.pass_through, cat(place_, ": ", whose), "it"}, first, body.count, depth + 1);
  }

  const PackageVariant& variant_;
  const size_t first_;
  const std::string& place_;
  size_t next_;  // the next body's first subgraph, by position
};

}  // namespace

Status check_flow(const PackageVariant& variant, size_t first_index, const Package& package, const std::string& place) {
  return FlowCheck(variant, first_index, place).run(package);
}

}  // namespace optima::detail
