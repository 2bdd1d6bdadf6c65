// SPDX-License-Identifier: Apache-2.0
#include "core/plan/validate_limits.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/support/text.hpp"

namespace optima {
namespace {

const Limits* limits_of(const PlanDevice& device, const PlanTerms& terms) {
  for (const Backend* plugin : terms.plugins)
    if (plugin->manifest().id == device.plugin) return &plugin->manifest().limits;
  return nullptr;
}

bool contains(const std::vector<std::string>& ops, const std::string& op) { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

class LimitChecker {
 public:
  LimitChecker(const Plan& plan, const Graph& graph, const PlanTerms& terms)
      : plan_(plan), graph_(graph), main_(graph.contents.graphs[0]), terms_(terms) {}

  Status run() const {
    std::map<std::string, uint64_t> per_plugin;
    for (size_t s = 0; s < plan_.subgraphs.size(); ++s) {
      const PlanDevice& device = plan_.devices[plan_.subgraphs[s].device];
      if (device.plugin.empty()) continue;  // the host limits nothing
      const Limits* limits = limits_of(device, terms_);
      if (!limits) return internal_error(cat("plan is not valid: plugin ", quote(device.plugin), " of subgraph ", s, " was not asked"));
      if (const uint64_t count = ++per_plugin[device.plugin]; limits->max_subgraphs && count > limits->max_subgraphs)
        return over(s, "subgraphs of its plugin", count, limits->max_subgraphs);
      OPTIMA_RETURN_IF_ERROR(sizes(s, *limits, device.target.memory_limit));
      OPTIMA_RETURN_IF_ERROR(ends(s, *limits));
    }
    if (terms_.max_subgraphs && plan_.subgraphs.size() > terms_.max_subgraphs)
      return internal_error(cat("plan is not valid: it has ", plan_.subgraphs.size(), " subgraphs, wanted at most ", terms_.max_subgraphs));
    return {};
  }

 private:
  static Status over(size_t s, std::string_view what, uint64_t found, uint64_t most) {
    return internal_error(cat("plan is not valid: subgraph ", s, " has ", found, " ", what, ", wanted at most ", most));
  }

  Status sizes(size_t s, const Limits& limits, uint64_t memory) const {
    const Subgraph& subgraph = plan_.subgraphs[s];
    const size_t runs = subgraph.nodes.size() + subgraph.clones.size();
    if (limits.max_nodes && runs > limits.max_nodes) return over(s, "nodes", runs, limits.max_nodes);
    const uint64_t ends = subgraph.inputs.size() + subgraph.outputs.size();
    if (limits.max_io && ends > limits.max_io) return over(s, "inputs and outputs", ends, limits.max_io);
    for (const uint64_t most : {limits.memory, memory}) {
      if (most == 0) continue;
      std::set<uint32_t> constants;
      const uint64_t found = bytes(0, subgraph.run_nodes(), constants);
      if (found > most) return over(s, "bytes", found, most);
    }
    if (limits.connected_only && !connected(subgraph.nodes)) return internal_error(cat("plan is not valid: subgraph ", s, " is not connected"));
    return {};
  }

  // Distinct constants and what the nodes make.
  uint64_t bytes(uint32_t in_graph, const std::vector<uint32_t>& nodes, std::set<uint32_t>& constants) const {
    const image::Graph& graph = graph_.contents.graphs[in_graph];
    uint64_t sum = 0;
    for (uint32_t n : nodes) {
      for (uint32_t v : graph.nodes[n].inputs)
        if (v != OPTIMA_NONE && graph.values[v].constant != OPTIMA_NONE && constants.insert(graph.values[v].constant).second)
          sum += graph_.blobs[graph_.contents.constants[graph.values[v].constant].blob].size;
      for (uint32_t v : graph.nodes[n].outputs)
        if (v != OPTIMA_NONE) sum += static_bytes(in_graph == 0 && terms_.at_most ? terms_.at_most->main().values[v] : graph.values[v]);
      for (const image::Attr& attr : graph.nodes[n].attrs)
        if (attr.type == OPTIMA_ATTR_GRAPH || attr.type == OPTIMA_ATTR_GRAPHS)
          for (uint32_t body : attr.refs) {
            std::vector<uint32_t> all(graph_.contents.graphs[body].nodes.size());
            for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
            sum += bytes(body, all, constants);
          }
    }
    return sum;
  }

  template <class F>
  void each_read(uint32_t n, F&& f) const {
    for (uint32_t v : main_.nodes[n].inputs)
      if (v != OPTIMA_NONE) f(v);
    for (const image::Attr& attr : main_.nodes[n].attrs)
      if (attr.type == OPTIMA_ATTR_GRAPH || attr.type == OPTIMA_ATTR_GRAPHS)
        for (uint32_t body : attr.refs)
          for (const image::Capture& capture : graph_.contents.graphs[body].captures) f(capture.outer);
  }

  // Along values made inside; nodes that move as one count as one.
  bool connected(const std::vector<uint32_t>& nodes) const {
    std::map<uint32_t, std::set<uint32_t>> touching;  // by value made inside: nodes
    for (uint32_t n : nodes)
      for (uint32_t v : main_.nodes[n].outputs)
        if (v != OPTIMA_NONE) touching[v].insert(n);
    std::map<uint32_t, std::vector<uint32_t>> next;
    std::map<uint32_t, uint32_t> first_of_unit;
    for (uint32_t n : nodes)
      if (const uint32_t m = first_of_unit.emplace(plan_.nodes[n].unit, n).first->second; m != n) next[n].push_back(m), next[m].push_back(n);
    for (uint32_t n : nodes)
      each_read(n, [&](uint32_t v) {
        const auto made = touching.find(v);
        if (made == touching.end()) return;
        for (uint32_t m : made->second) next[n].push_back(m), next[m].push_back(n);
      });
    std::set<uint32_t> reached = {nodes[0]};
    for (std::vector<uint32_t> todo = {nodes[0]}; !todo.empty();) {
      const uint32_t n = todo.back();
      todo.pop_back();
      for (uint32_t m : next[n])
        if (reached.insert(m).second) todo.push_back(m);
    }
    return reached.size() == nodes.size();
  }

  Status ends(size_t s, const Limits& limits) const {
    if (limits.not_first.empty() && limits.not_last.empty()) return {};
    const std::set<uint32_t> inputs(plan_.subgraphs[s].inputs.begin(), plan_.subgraphs[s].inputs.end());
    const std::set<uint32_t> outputs(plan_.subgraphs[s].outputs.begin(), plan_.subgraphs[s].outputs.end());
    for (uint32_t n : plan_.subgraphs[s].nodes) {
      bool first = false, last = false;
      each_read(n, [&](uint32_t v) { first |= inputs.count(v) != 0; });
      for (uint32_t v : main_.nodes[n].outputs) last |= outputs.count(v) != 0;
      const std::string& op = main_.nodes[n].op_type;
      if ((first && contains(limits.not_first, op)) || (last && contains(limits.not_last, op)))
        return internal_error(
            cat("plan is not valid: subgraph ", s, first ? " begins" : " ends", " with ", quote(main_.nodes[n].name), ", which is ", op));
    }
    return {};
  }

  const Plan& plan_;
  const Graph& graph_;
  const image::Graph& main_;
  const PlanTerms& terms_;
};

}  // namespace

Status validate_limits(const Plan& plan, const Graph& graph, const PlanTerms& terms) { return LimitChecker(plan, graph, terms).run(); }

Status validate_totals(const Plan& plan, const PlanTerms& terms) {
  size_t all = 0;
  std::map<std::string, uint64_t> per_plugin;
  for_each_plan(plan, [&](const Plan& part, const std::string&) {
    all += part.subgraphs.size();
    for (const Subgraph& subgraph : part.subgraphs) ++per_plugin[part.devices[subgraph.device].plugin];
  });
  if (terms.max_subgraphs && all > terms.max_subgraphs)
    return internal_error(cat("plan is not valid: it has ", all, " subgraphs with those of its bodies, wanted at most ", terms.max_subgraphs));
  for (const Backend* plugin : terms.plugins)
    if (const uint64_t most = plugin->manifest().limits.max_subgraphs; most && per_plugin[plugin->manifest().id] > most)
      return internal_error(cat("plan is not valid: it has ", per_plugin[plugin->manifest().id], " subgraphs of plugin ",
                                quote(plugin->manifest().id), " with those of its bodies, wanted at most ", most));
  return {};
}

bool closes_subgraphs(const PlanDevice& device, const PlanTerms& terms) {
  const Limits* limits = limits_of(device, terms);
  return limits && (limits->max_nodes || limits->max_io || limits->memory || limits->connected_only || device.target.memory_limit);
}

}  // namespace optima
