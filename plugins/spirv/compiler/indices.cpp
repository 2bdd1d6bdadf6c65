// SPDX-License-Identifier: Apache-2.0
#include "indices.hpp"

#include <algorithm>
#include <array>

namespace spirv_plugin {
namespace {

/// Passes all of its first input's numbers on.
bool passes(const sdk::Node& node) {
  constexpr std::array<std::string_view, 8> kSame{"Reshape", "Unsqueeze", "Squeeze", "Flatten", "Identity", "Transpose", "Expand", "Cast"};
  return std::find(kSame.begin(), kSame.end(), node.op()) != kSame.end() && node.input_count() > 0 && element_of(node.input(0).dtype()) == Element::I32;
}

Range within(int64_t size) { return {-size, size - 1}; }

}  // namespace

std::optional<Indices> indices_of(const sdk::Node& node) {
  if (!node.domain().empty() || node.input_count() < 2) return std::nullopt;
  const sdk::Value data = node.input(0), index = node.input(1);
  if (!data || !index || index.elements() == 0 || data.elements() == 0) return std::nullopt;
  const std::string_view op = node.op();
  if (op == "Gather" || op == "GatherElements" || op == "ScatterElements" || op == "Scatter") {
    const int64_t axis = node.integer("axis", 0);
    return Indices{1, within(data.dim(static_cast<uint32_t>(axis < 0 ? axis + data.rank() : axis)))};
  }
  if (op != "GatherND" && op != "ScatterND") return std::nullopt;
  const int64_t first = op == "GatherND" ? node.integer("batch_dims", 0) : 0, depth = index.dim(static_cast<uint32_t>(index.rank() - 1));
  int64_t most = 0;  // columns are of different axes
  for (int64_t d = 0; d < depth; ++d) most = std::max(most, data.dim(static_cast<uint32_t>(first + d)));
  return Indices{1, within(most)};
}

std::string outside(const sdk::Node& node) {
  const std::optional<Indices> of = indices_of(node);
  if (!of || !node.input(of->input).is_constant()) return "";
  for (const int64_t n : integers_of(node.input(of->input).constant()))
    if (n < of->range.low || n > of->range.high) return "input " + text(of->input) + " has index " + text(n) + ", wanted " + text(of->range.low) + " to " + text(of->range.high);
  return "";
}

std::map<uint32_t, Range> index_ranges(const sdk::Graph& graph) {
  std::map<uint32_t, sdk::Node> makers;
  for (uint32_t k = 0; k < graph.size(); ++k)
    for (uint32_t i = 0; i < graph[k].output_count(); ++i)
      if (graph[k].output(i)) makers.emplace(graph[k].output(i).index(), graph[k]);
  std::map<uint32_t, Range> out;
  for (uint32_t k = 0; k < graph.size(); ++k) {
    const std::optional<Indices> of = indices_of(graph[k]);
    if (!of) continue;
    sdk::Value v = graph[k].input(of->input);
    for (auto at = makers.find(v.index()); at != makers.end() && passes(at->second); at = makers.find(v.index())) v = at->second.input(0);
    const auto [known, is_new] = out.emplace(v.index(), of->range);
    if (!is_new) known->second = {std::max(known->second.low, of->range.low), std::min(known->second.high, of->range.high)};
  }
  return out;
}

}  // namespace spirv_plugin
