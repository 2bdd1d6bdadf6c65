// SPDX-License-Identifier: Apache-2.0
#include "core/session/tapped_graph.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/compile/own_operators.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

std::unordered_map<std::string, uint32_t> values_by_name(const image::Graph& graph) {
  std::unordered_map<std::string, uint32_t> out;
  for (uint32_t v = 0; v < graph.values.size(); ++v) out.emplace(graph.values[v].name, v);
  return out;
}

std::vector<std::string> names_of(const image::Graph& graph) {
  std::vector<std::string> out;
  for (const image::Value& value : graph.values) out.push_back(value.name);
  return out;
}

bool is_open(const image::Value& value) {
  return !value.dims || std::any_of(value.dims->begin(), value.dims->end(), [](const image::Dim& d) { return d.value < 0; });
}

}  // namespace

Result<TapPlaces> place_taps(const Graph& graph, const std::vector<Tap>& taps) {
  const image::Graph& main = graph.main();
  const auto by_name = values_by_name(main);
  const Uses uses = uses_of(graph);
  TapPlaces out;
  std::set<uint32_t> watched;
  std::vector<std::pair<uint32_t, TapIndex>> order;
  for (TapIndex t = 0; t < taps.size(); ++t) {
    const auto at = by_name.find(taps[t].value);
    if (at == by_name.end()) return invalid_input(cat("the graph has no value ", quote(taps[t].value), nearest_hint(taps[t].value, names_of(main))));
    if (!watched.insert(at->second).second) return invalid_input(cat("value ", quote(taps[t].value), " is to be watched twice"));
    if (std::find(main.inputs.begin(), main.inputs.end(), at->second) != main.inputs.end()) out.of_inputs.push_back(t);
    else order.emplace_back(uses.producer[at->second], t);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [node, tap] : order) out.computed.push_back(tap);
  return out;
}

std::vector<std::vector<TapIndex>> groups_of(const Graph& graph, const std::vector<Tap>& taps, const std::vector<TapIndex>& computed,
                                             uint64_t most_bytes) {
  const auto by_name = values_by_name(graph.main());
  std::vector<std::vector<TapIndex>> out;
  uint64_t held = 0;
  for (const TapIndex t : computed) {
    const auto at = by_name.find(taps[t].value);
    const uint64_t bytes = at == by_name.end() ? 0 : static_bytes(graph.main().values[at->second]);
    if (out.empty() || held + bytes > most_bytes) {
      out.emplace_back();
      held = 0;
    }
    out.back().push_back(t);
    held += bytes;
  }
  return out;
}

Graph with_outputs(const Graph& graph, const std::vector<Tap>& taps, const std::vector<TapIndex>& group) {
  Graph out = graph;
  const auto by_name = values_by_name(out.main());
  out.main().outputs.clear();
  for (const TapIndex t : group)
    if (const auto at = by_name.find(taps[t].value); at != by_name.end()) out.main().outputs.push_back(at->second);
  return out;
}

bool SizedGraphs::any_open() const {
  const image::Graph& main = graph_.main();
  return std::any_of(main.inputs.begin(), main.inputs.end(), [&](uint32_t v) { return is_open(main.values[v]); });
}

Result<Graph> SizedGraphs::with_shapes(const std::vector<std::vector<int64_t>>& shapes) {
  if (!any_open()) return graph_;
  if (!folder_) {
    OPTIMA_ASSIGN(folder_, ScratchFolder::make("observe"));
    OPTIMA_RETURN_IF_ERROR(onnx_io::write_onnx(graph_, folder_->path() + "/model"));
  }
  onnx_io::ImportOptions import;
  import.hash = false;
  import.infer_foreign = infer_by_plugins(registry_);
  for (size_t i = 0; i < shapes.size(); ++i) import.shapes[graph_.main().values[graph_.main().inputs[i]].name] = shapes[i];
  OPTIMA_ASSIGN(Graph out, onnx_io::load_model(folder_->path() + "/model/model.onnx", import));
  out.model_name = graph_.model_name;
  out.model_hash = graph_.model_hash;
  return out;
}

}  // namespace optima
