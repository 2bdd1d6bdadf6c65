// SPDX-License-Identifier: Apache-2.0
#include "core/placement/assemble.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/cost/work.hpp"
#include "core/placement/clones.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

class Assembler {
 public:
  Assembler(const Graph& graph, const Uses& uses, Plan& plan)
      : graph_(graph), main_(graph.main()), uses_(uses), plan_(plan), is_output_(main_.values.size(), 0) {
    for (uint32_t v : main_.outputs) is_output_[v] = 1;
  }

  void place(const std::vector<Work>& works, const Choices& choices, const Split& split) {
    for (uint32_t device : split.devices) plan_.subgraphs.push_back({device, {}, {}, {}, {}, {}});
    for (uint32_t n = 0; n < main_.nodes.size(); ++n) {
      const uint32_t part = split.part[choices.unit_of[n]];
      plan_.subgraphs[part].nodes.push_back(n);
      PlacedNode& placed = plan_.nodes.emplace_back();
      placed.node_id = main_.nodes[n].id;
      placed.name = main_.nodes[n].name;
      placed.op_type = main_.nodes[n].op_type;
      placed.device = split.devices[part];
      placed.subgraph = part;
      placed.work = works[n];
      placed.unit = choices.units[choices.unit_of[n]][0];
      if (choices.quantized[n] != OPTIMA_NONE) placed.quantized_unit = main_.nodes[choices.quantized[n]].name;
    }
    for (size_t i = 1; i < choices.stateful.size(); ++i) plan_.nodes[choices.stateful[i]].after = choices.stateful[i - 1];
    for (const auto& [n, units] : choices.copies) {
      for (uint32_t unit : units) plan_.nodes[n].copied.push_back(choices.units[unit][0]);
      std::sort(plan_.nodes[n].copied.begin(), plan_.nodes[n].copied.end());
    }
  }

  void add_clones(const std::vector<Extra>& extras) {
    for (const Extra& extra : extras) clones_[extra.node].push_back(extra.part);
    for (const Extra& extra : extras) {
      const std::string why = cat("runs here too, for ", quote(reader_in(extra.node, extra.part)), ": ", extra.why);
      plan_.subgraphs[extra.part].clones.push_back({extra.node, why});
    }
    for (Subgraph& subgraph : plan_.subgraphs)
      std::sort(subgraph.clones.begin(), subgraph.clones.end(), [](const Clone& a, const Clone& b) { return a.node < b.node; });
  }

  void connect() {
    std::vector<uint32_t> seen_by(main_.values.size(), OPTIMA_NONE);
    for (uint32_t s = 0; s < plan_.subgraphs.size(); ++s) {
      Subgraph& subgraph = plan_.subgraphs[s];
      for (uint32_t n : subgraph.run_nodes())
        each_read(main_.nodes[n], [&](uint32_t v) {
          if (seen_by[v] == s || main_.values[v].constant != OPTIMA_NONE) return;
          seen_by[v] = s;
          if (uses_.producer[v] == Uses::kNone || !runs_in(uses_.producer[v], s)) subgraph.inputs.push_back(v);
        });
      for (uint32_t n : subgraph.nodes)
        for (uint32_t v : main_.nodes[n].outputs)
          if (v != OPTIMA_NONE) add_output(s, v);
      for (uint32_t v : subgraph.inputs) subgraph.input_names.push_back(main_.values[v].name);
      for (uint32_t v : subgraph.outputs) subgraph.output_names.push_back(main_.values[v].name);
    }
    list_tensors();
    const auto earlier = [](const CutTensor& a, const CutTensor& b) { return std::pair(a.from, a.value) < std::pair(b.from, b.value); };
    std::sort(plan_.cuts.begin(), plan_.cuts.end(), earlier);
  }

 private:
  void list_tensors() {
    std::vector<uint8_t> is_input(main_.values.size(), 0);
    for (uint32_t v : main_.inputs) is_input[v] = 1;
    for (uint32_t v = 0; v < main_.values.size(); ++v) {
      const image::Value& value = main_.values[v];
      if (value.constant != OPTIMA_NONE || (uses_.producer[v] == Uses::kNone && !is_input[v])) continue;
      PlanTensor& tensor = plan_.tensors.emplace_back(PlanTensor{value.name, type_text(value), v, static_bytes(value), {}, uses_.consumers[v], is_output_[v] != 0});
      if (uses_.producer[v] != Uses::kNone) tensor.from = uses_.producer[v];
    }
  }

  bool runs_in(uint32_t n, uint32_t s) const {
    if (plan_.nodes[n].subgraph == s) return true;
    const auto at = clones_.find(n);
    return at != clones_.end() && std::find(at->second.begin(), at->second.end(), s) != at->second.end();
  }

  std::string reader_in(uint32_t n, uint32_t s) const {
    for (uint32_t v : main_.nodes[n].outputs)
      if (v != OPTIMA_NONE)
        for (uint32_t reader : uses_.consumers[v])
          if (runs_in(reader, s)) return main_.nodes[reader].name;
    return "";
  }

  template <class F>
  void each_read(const image::Node& node, F&& f) const {
    for (uint32_t v : node.inputs)
      if (v != OPTIMA_NONE) f(v);
    for_each_body(node, [&](uint32_t body) {
      for (const image::Capture& capture : graph_.contents.graphs[body].captures) f(capture.outer);
    });
  }

  void add_output(uint32_t s, uint32_t v) {
    CutTensor cut{main_.values[v].name, v, s, {}, static_bytes(main_.values[v])};
    const auto arrives = [&](uint32_t at) {
      if (!runs_in(uses_.producer[v], at)) cut.to.push_back(at);
    };
    for (uint32_t reader : uses_.consumers[v]) {
      arrives(plan_.nodes[reader].subgraph);
      if (const auto at = clones_.find(reader); at != clones_.end()) std::for_each(at->second.begin(), at->second.end(), arrives);
    }
    if (cut.to.empty() && !is_output_[v]) return;
    plan_.subgraphs[s].outputs.push_back(v);
    if (cut.to.empty()) return;
    std::sort(cut.to.begin(), cut.to.end());
    cut.to.erase(std::unique(cut.to.begin(), cut.to.end()), cut.to.end());
    plan_.bytes += cut.bytes * cut.to.size();
    plan_.cuts.push_back(std::move(cut));
  }

  const Graph& graph_;
  const image::Graph& main_;
  const Uses& uses_;
  Plan& plan_;
  std::vector<uint8_t> is_output_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> clones_;  // by node: other subgraphs that run it; looked up only
};

}  // namespace

std::vector<Work> works_at(const Graph& graph, const PlacementRequest& request) {
  std::vector<Work> out = works_of(graph);
  if (!request.at_opt) return out;
  std::vector<Work> sized = works_of(*request.at_opt);
  for (size_t n = 0; n < out.size(); ++n) sized[n].exact = out[n].exact;
  return sized;
}

Plan assemble(const Graph& graph, const std::vector<Work>& works, const Uses& uses, const Candidates& candidates, const Capability& capability,
              const Choices& choices, const Split& split, bool clone_cheap) {
  Plan plan;
  plan.model_name = graph.model_name;
  plan.model_hash = graph.model_hash;
  plan.devices = candidates.devices;
  plan.lower_bound = split.lower_bound;
  plan.exact = split.exact();
  Assembler assembler(graph, uses, plan);
  assembler.place(works, choices, split);
  assembler.add_clones(find_clones(graph, uses, capability, choices, split, clone_cheap));
  assembler.connect();
  return plan;
}

}  // namespace optima::detail
