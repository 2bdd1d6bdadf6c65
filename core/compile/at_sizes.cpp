// SPDX-License-Identifier: Apache-2.0
#include "core/compile/at_sizes.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "core/support/text.hpp"
#include "reference/shapes.hpp"

namespace optima::detail {
namespace {

constexpr std::array<int64_t, 7> kTried = {48, 64, 128, 224, 320, 512, 576};

using Sizes = std::map<std::string, int64_t>;

// Symbols of open dims of inputs, and whether they are of a first dim of several.
std::map<std::string, bool> open_symbols(const image::Graph& graph) {
  std::map<std::string, bool> out;
  for (const uint32_t v : graph.inputs)
    for (size_t d = 0; graph.values[v].dims && d < graph.values[v].dims->size(); ++d) {
      const image::Dim& dim = (*graph.values[v].dims)[d];
      if (dim.value < 0 && !dim.symbol.empty()) out[dim.symbol] |= d == 0 && graph.values[v].dims->size() > 1;
    }
  return out;
}

bool said(const Graph& graph, const std::string& symbol) {
  const auto at = graph.sizes.find(symbol);
  return at != graph.sizes.end() && at->second.opt != SizeRange::kNotSaid;
}

Sizes sizes_at(const Graph& graph, const std::map<std::string, bool>& symbols, int64_t tried) {
  Sizes out;
  for (const auto& [symbol, first] : symbols) {
    const auto range = graph.sizes.find(symbol);
    const int64_t size = first ? 1 : tried;
    out[symbol] = said(graph, symbol) ? range->second.opt : range != graph.sizes.end() ? range->second.nearest_to(size) : size;
  }
  return out;
}

/// A walk that has begun: inputs have the sizes that they have in the graph, else those of their symbols.
reference::ShapeWalk walk_at(const Graph& graph, const PackedGraph& packed, const Sizes& sizes) {
  reference::ShapeWalk walk(packed.raw);
  walk.restart();
  for (const uint32_t v : graph.main().inputs) {
    const image::Value& value = graph.main().values[v];
    const auto named = [&](const image::Dim& d) { return d.value >= 0 || sizes.count(d.symbol) != 0; };
    if (!value.dims || !std::all_of(value.dims->begin(), value.dims->end(), named)) continue;
    reference::Tensor given;
    given.dtype = value.dtype;
    for (const image::Dim& d : *value.dims) given.dims.push_back(d.value >= 0 ? d.value : sizes.at(d.symbol));
    walk.give(v, std::move(given));
  }
  return walk;
}

// Null where the model does not take these sizes.
std::shared_ptr<const Graph> graph_at(const Graph& graph, const PackedGraph& packed, const Sizes& sizes) {
  reference::ShapeWalk walk = walk_at(graph, packed, sizes);
  try {
    walk.advance();
  } catch (const Error&) {
    return nullptr;
  }
  auto out = std::make_shared<Graph>(graph);
  for (uint32_t v = 0; v < out->main().values.size(); ++v) {
    if (!walk.has_shape(v) || graph.main().values[v].constant != OPTIMA_NONE) continue;
    std::vector<image::Dim>& dims = out->main().values[v].dims.emplace();
    for (const int64_t size : walk.at(v).dims) dims.push_back({size, {}});
  }
  return out;
}

std::string limits_note_of(const Sizes& sizes) {
  std::vector<std::string> out;
  for (const auto& [symbol, size] : sizes) out.push_back(cat(symbol, " = ", size));
  return cat("limits of memory do not count tensors of open sizes: the model's shapes do not follow at ", join(out));
}

std::string note_of(const Graph& graph, const Sizes& sizes) {
  std::vector<std::string> out;
  for (const auto& [symbol, size] : sizes) out.push_back(cat(symbol, " = ", size, said(graph, symbol) ? "" : " (assumed)"));
  return cat("costs and crossing bytes are estimated at ", join(out));
}

}  // namespace

Status check_sizes(const Graph& graph) {
  const PackedGraph packed = pack(graph);
  reference::ShapeWalk walk = walk_at(graph, packed, {});
  try {
    walk.advance();
  } catch (const Error& e) {
    if (e.code == OPTIMA_INVALID_GRAPH) return invalid_input(cat("sizes of --shape do not fit the model: ", e.text));
  }
  return {};
}

AtSizes at_sizes(const Graph& graph) {
  AtSizes out;
  const std::map<std::string, bool> symbols = open_symbols(graph.main());
  if (symbols.empty()) return out;
  const PackedGraph packed = pack(graph);
  Sizes sizes, before;
  for (size_t i = 0; i < kTried.size() && !out.opt; ++i, before = sizes) {
    sizes = sizes_at(graph, symbols, kTried[i]);
    if (sizes != before) out.opt = graph_at(graph, packed, sizes);
  }
  if (out.opt) out.note = note_of(graph, sizes);
  if (graph.sizes.empty()) return out;
  for (auto& [symbol, size] : sizes)
    if (const auto range = graph.sizes.find(symbol); range != graph.sizes.end()) size = range->second.max;
  out.most = graph_at(graph, packed, sizes);
  if (!out.most) out.limits_note = limits_note_of(sizes);
  return out;
}

}  // namespace optima::detail
