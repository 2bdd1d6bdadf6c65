// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see in_place.hpp.
#include "plugins/llvm_cpu/runtime/in_place.hpp"

#include <algorithm>
#include <string_view>

#include "optima/plugin/graph.hpp"
#include "optima/plugin/reads.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"

namespace optima::llvm_cpu {
namespace {

using Arg = Plan::Arg;

bool is_whole(const Arg& a, Arg::Kind kind) { return a.kind == kind && a.offset == 0; }

/// Kernel files are named by their template, without the "k_" of its entry.
bool copies_bytes(const Plan& plan, const Plan::Step& step) {
  return plan.kernels[step.kernel].starts_with(std::string_view(k::CopyBytes::entry).substr(2)) && step.args.size() == 2;
}

size_t uses(const Plan& plan, Arg::Kind kind, uint32_t index) {
  size_t out = 0;
  for (const Plan::Step& s : plan.steps)
    out += static_cast<size_t>(std::count_if(s.args.begin(), s.args.end(), [&](const Arg& a) { return a.kind == kind && a.index == index; }));
  return out;
}

bool are_alike(const Plan::Tensor& a, const Plan::Tensor& b) { return a.dtype == b.dtype && a.dims == b.dims && a.bytes == b.bytes; }

/// The input that the first step which touches the output copies there.
uint32_t copied_to(const Plan& plan, uint32_t output) {
  const auto touches = [&](const Plan::Step& s) { return std::any_of(s.args.begin(), s.args.end(), [&](const Arg& a) { return a.kind == Arg::Output && a.index == output; }); };
  const auto first = std::find_if(plan.steps.begin(), plan.steps.end(), touches);
  if (first == plan.steps.end() || !copies_bytes(plan, *first) || !is_whole(first->args[0], Arg::Input) || !is_whole(first->args[1], Arg::Output)) return OPTIMA_NONE;
  const uint32_t input = first->args[0].index;
  const Plan::Tensor &from = plan.inputs[input], &to = plan.outputs[output];
  const bool is_all = first->units == static_cast<int64_t>((to.bytes + k::kCopyPiece - 1) / k::kCopyPiece);
  return is_all && are_alike(from, to) && uses(plan, Arg::Input, input) == 1 ? input : OPTIMA_NONE;
}

bool is_scatter(std::string_view op) { return op == "ScatterElements" || op == "ScatterND" || op == "TensorScatter"; }

/// How many times its elements are read, in bodies too.
size_t reads_of(const optima_graph& graph, uint32_t value) {
  size_t out = 0;
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n) {
    const optima_node& node = *optima_get_node(graph.image, n);
    const std::string_view op = sdk::Node(&graph, &node).op();
    if (op != "Shape" && op != "Size") sdk::each_read(graph, node, [&](uint32_t v) { out += v == value; });
  }
  return out;
}

}  // namespace

std::vector<uint32_t> in_place(const Plan& plan) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < plan.outputs.size(); ++k) out.push_back(copied_to(plan, k));
  return out;
}

std::vector<uint32_t> in_place(const optima_graph& graph) {
  const sdk::Graph g(&graph);
  const auto ends_as = [&](uint32_t value) {
    size_t out = 0;
    for (uint32_t k = 0; k < g.output_count(); ++k) out += g.output(k).index() == value;
    return out;
  };
  std::vector<uint32_t> out(g.output_count(), OPTIMA_NONE);
  for (uint32_t k = 0; k < g.output_count(); ++k) {
    const sdk::Value v = g.output(k);
    const uint32_t maker = optima_get_value(graph.image, v.index())->producer;
    if (maker == OPTIMA_NONE || ends_as(v.index()) != 1) continue;
    const sdk::Node node(&graph, optima_get_node(graph.image, maker));
    if (!is_scatter(node.op()) || !node.domain().empty()) continue;
    for (uint32_t i = 0; i < g.input_count(); ++i)
      if (const uint32_t from = g.input(i).index(); node.input(0).index() == from && reads_of(graph, from) == 1 && ends_as(from) == 0) out[k] = i;
  }
  return out;
}

}  // namespace optima::llvm_cpu
