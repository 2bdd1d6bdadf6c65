// SPDX-License-Identifier: Apache-2.0
#include "core/placement/node_costs.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/placement/assemble.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr double kLongestTime = 1e15;  // microseconds, 30 years: sums of such stay numbers

std::vector<std::string_view> names_of(const image::Graph& graph) {
  std::vector<std::string_view> out;
  for (const image::Node& node : graph.nodes) out.push_back(node.name);
  return out;
}

class Finder {
 public:
  Finder(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const Choices& choices, const std::vector<BodyPlan>& bodies,
         const PlacementRequest& request)
      : main_(graph.main()), packed_(packed), candidates_(candidates), choices_(choices), bodies_(bodies), request_(request),
        devices_(candidates.devices.size()), work_(works_at(graph, request)),
        given_(candidates.devices, names_of(main_), work_, request.costs, request.settings, request.links) {
    out_.entries.resize(main_.nodes.size() * devices_);
    out_.between = given_.between();
    for (const MeasuredCosts& costs : request.costs)
      if (!costs.model_hash.empty() && costs.model_hash != graph.model_hash)
        out_.notes.push_back(cat("costs of ", quote(costs.model_name), " are of another model file; they count for the nodes of the same name"));
  }

  Result<NodeCosts> run() {
    for (uint32_t d = 0; d < devices_; ++d) {
      if (is_host(device(d))) {
        drive(d);
        continue;
      }
      take_measured(d);
      OPTIMA_RETURN_IF_ERROR(ask_plugin(d));
      OPTIMA_RETURN_IF_ERROR(model_rest(d));
    }
    note_missing_links();
    return std::move(out_);
  }

 private:
  const PlanDevice& device(uint32_t d) const { return candidates_.devices[d]; }
  NodeTime& entry(size_t n, uint32_t d) { return out_.entries[n * devices_ + d]; }
  bool may_run(size_t n, uint32_t d) const { return choices_.allow[n] >> d & 1; }

  void take_measured(uint32_t d) {
    const DeviceCosts& costs = given_.measured(d);
    for (size_t n = 0; n < costs.nodes.size(); ++n) entry(n, d) = {costs.nodes[n].microseconds, costs.nodes[n].source};
    if (!costs.fit.empty()) out_.notes.push_back(cat(device(d).name, ": ", costs.fit));
  }

  void drive(uint32_t d) {
    std::vector<std::string> unknown;
    for (size_t n = 0; n < main_.nodes.size(); ++n)
      if (may_run(n, d)) entry(n, d) = {0, "bodies"};
    for (const BodyPlan& body : bodies_) {
      const double once = body.plan.estimate ? body.plan.estimate->total() : 0;
      NodeTime& node = entry(body.node, d);
      node.microseconds = std::max(node.microseconds, once * static_cast<double>(body.trips));
      if (!body.trips_known && main_.nodes[body.node].op_type != "If") unknown.push_back(quote(main_.nodes[body.node].name));
    }
    if (!unknown.empty())
      out_.notes.push_back(cat("how often the bodies of ", join(unknown), " run is not known before running: each counts once in the estimate"));
  }

  Status ask_plugin(uint32_t d) {
    std::vector<uint32_t> ids;
    std::unordered_map<uint32_t, size_t> node_of;  // looked up only
    for (size_t n = 0; n < main_.nodes.size(); ++n)
      if (may_run(n, d) && entry(n, d).microseconds < 0) {
        ids.push_back(main_.nodes[n].id);
        node_of.emplace(main_.nodes[n].id, n);
      }
    if (ids.empty()) return {};
    Result<std::vector<NodeCost>> costs =
        request_.answers->estimate(*candidates_.plugins[d], device(d).full_name, device(d).target, packed_.raw, ids);
    if (!costs.ok()) {
      if (costs.status().kind() == StatusKind::Cancelled) return costs.status();
      out_.notes.push_back(cat("plugin ", quote(device(d).plugin), " could not estimate costs: ", costs.status().message()));
      return {};
    }
    size_t nonsense = 0;
    for (const NodeCost& cost : *costs) {
      const auto at = node_of.find(cost.node);
      if (at == node_of.end() || cost.microseconds < 0) continue;
      if (!(cost.microseconds <= kLongestTime)) ++nonsense;
      else entry(at->second, d) = {cost.microseconds, "plugin"};
    }
    if (nonsense)
      out_.notes.push_back(cat("plugin ", quote(device(d).plugin), " estimates ", nonsense, " costs that are no times; they do not count"));
    return {};
  }

  Status model_rest(uint32_t d) {
    size_t unknown = 0, first = 0;
    for (size_t n = main_.nodes.size(); n-- > 0;)
      if (entry(n, d).microseconds < 0 && may_run(n, d)) ++unknown, first = n;
    if (unknown == 0 || given_.model_rest(d, [&](size_t n) { return may_run(n, d); }, out_.entries)) return {};
    return can_go(d) ? leave_out(d) : no_cost(d, unknown, first);
  }

  // Whether nobody named the device and every unit has another.
  bool can_go(uint32_t d) const {
    if (!(candidates_.found >> d & 1)) return false;
    const uint64_t others = ~(out_.unknown | uint64_t{1} << d);
    return std::all_of(choices_.units.begin(), choices_.units.end(), [&](const std::vector<uint32_t>& unit) {
      uint64_t allow = others;
      for (uint32_t n : unit) allow &= choices_.allow[n];
      return allow != 0;
    });
  }
  Status leave_out(uint32_t d) {
    out_.unknown |= uint64_t{1} << d;
    out_.notes.push_back(cat(device(d).name, " is here too but left out, as no cost is known of it: measure with 'optima-host calibrate-costs MODEL "
                             "-o FILE' and give --costs FILE"));
    return {};
  }

  Status no_cost(uint32_t d, size_t unknown, size_t first) const {
    return invalid_input(cat("objective latency: no cost is known of ", device(d).name, " (plugin ", quote(device(d).plugin), ") for ", unknown,
                             unknown == 1 ? " node" : " nodes", " that it takes, the first is ", quote(main_.nodes[first].name), " (",
                             main_.nodes[first].op_type, "): measure with 'optima-host bench PACKAGE --write-costs FILE' and give --costs FILE, ",
                             "or give it gflops and gbytes_per_s under devices: in the config"));
  }

  void note_missing_links() {
    std::vector<std::string> missing;
    for (uint32_t from = 0; from < devices_; ++from)
      for (uint32_t to = 0; to < devices_; ++to) {
        const bool handed_over = from == to || is_host(device(from)) || is_host(device(to));  // the host only hands over
        if (!handed_over && !given_.linked(from, to)) missing.push_back(cat(device(from).name, " to ", device(to).name));
      }
    if (missing.empty()) return;
    out_.notes.push_back(
        cat("no link is known from ", join(missing), ": moving tensors there counts as free; 'optima-host calibrate-links' measures it"));
  }

  const image::Graph& main_;
  const PackedGraph& packed_;
  const Candidates& candidates_;
  const Choices& choices_;
  const std::vector<BodyPlan>& bodies_;
  const PlacementRequest& request_;
  const size_t devices_;
  const std::vector<Work> work_;  // by node
  const GivenCosts given_;
  NodeCosts out_;
};

}  // namespace

Result<NodeCosts> find_costs(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const Choices& choices,
                             const std::vector<BodyPlan>& bodies, const PlacementRequest& request) {
  return Finder(graph, packed, candidates, choices, bodies, request).run();
}

}  // namespace optima::detail
