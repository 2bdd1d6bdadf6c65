// SPDX-License-Identifier: Apache-2.0
#include "core/placement/node_costs.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/cost/device_costs.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr double kLongestTime = 1e15;  // microseconds, 30 years: sums of such stay numbers

bool fits(const DeviceName& name, const PlanDevice& device) { return name.fits({device.plugin, device.target.kind, device.target.slot}); }

class Finder {
 public:
  Finder(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const Choices& choices, const std::vector<BodyPlan>& bodies,
         const PlacementRequest& request)
      : main_(graph.main()), packed_(packed), candidates_(candidates), choices_(choices), bodies_(bodies), request_(request),
        devices_(candidates.devices.size()) {
    for (const image::Node& node : main_.nodes) work_.push_back(work_of(graph, node));
    out_.entries.resize(main_.nodes.size() * devices_);
    out_.between.launch.assign(devices_, 0);
    out_.between.latency.assign(devices_ * devices_, 0);
    out_.between.per_byte.assign(devices_ * devices_, 0);
    boundary_.resize(devices_);
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
    take_links();
    return std::move(out_);
  }

 private:
  using Entry = NodeCosts::Entry;
  const PlanDevice& device(uint32_t d) const { return candidates_.devices[d]; }
  Entry& entry(size_t n, uint32_t d) { return out_.entries[n * devices_ + d]; }
  bool may_run(size_t n, uint32_t d) const { return choices_.allow[n] >> d & 1; }

  void take_measured(uint32_t d) {
    std::vector<const MeasuredDevice*> measured;
    for (const MeasuredCosts& costs : request_.costs)
      for (const MeasuredDevice& one : costs.devices)
        if (fits(one.name, device(d))) measured.push_back(&one);
    if (measured.empty()) return;
    std::vector<std::string_view> names;
    for (const image::Node& node : main_.nodes) names.push_back(node.name);
    const DeviceCosts costs = device_costs(measured, names);
    for (size_t n = 0; n < names.size(); ++n) entry(n, d) = {costs.nodes[n].microseconds, costs.nodes[n].source};
    out_.between.launch[d] = std::max(costs.launch_us, 0.0);
    boundary_[d] = {costs.us_per_byte_in, costs.us_per_byte_out};
    if (!costs.fit.empty()) out_.notes.push_back(cat(device(d).name, ": ", costs.fit));
  }

  void drive(uint32_t d) {
    std::vector<std::string> unknown;
    for (size_t n = 0; n < main_.nodes.size(); ++n)
      if (may_run(n, d)) entry(n, d) = {0, "bodies"};
    for (const BodyPlan& body : bodies_) {
      const double once = body.plan.estimate ? body.plan.estimate->total() : 0;
      Entry& node = entry(body.node, d);
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

  // What the config says of its rates; what it says of the full name wins, else a later word.
  DeviceSettings settings(uint32_t d) const {
    DeviceSettings out;
    for (const bool full : {false, true})
      for (const DeviceSettings& s : request_.settings)
        for (double DeviceSettings::*rate : {&DeviceSettings::launch_us, &DeviceSettings::gflops, &DeviceSettings::gbytes_per_s})
          if (full == !s.name.plugin.empty() && s.*rate > 0 && fits(s.name, device(d))) out.*rate = s.*rate;
    return out;
  }

  // The config's rates, else those of a typical processor, scaled so that the nodes already known come out right together.
  Status model_rest(uint32_t d) {
    const DeviceSettings given = settings(d);
    if (given.launch_us > 0) out_.between.launch[d] = given.launch_us;
    const bool described = given.gflops > 0 || given.gbytes_per_s > 0;
    double known = 0, modelled = 0;
    size_t unknown = 0, first = 0;
    for (size_t n = main_.nodes.size(); n-- > 0;) {
      if (entry(n, d).microseconds >= 0) known += entry(n, d).microseconds, modelled += roofline_us(work_[n], kTypicalGflops, kTypicalGbytes);
      else if (may_run(n, d)) ++unknown, first = n;
    }
    if (unknown == 0) return {};
    if (!described && modelled == 0) return can_go(d) ? leave_out(d) : no_cost(d, unknown, first);
    for (size_t n = 0; n < main_.nodes.size(); ++n) {
      if (!may_run(n, d) || entry(n, d).microseconds >= 0) continue;
      if (described) entry(n, d) = {roofline_us(work_[n], given.gflops, given.gbytes_per_s), "roofline"};
      else entry(n, d) = {roofline_us(work_[n], kTypicalGflops, kTypicalGbytes) * known / modelled, "scaled"};
    }
    return {};
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

  void take_links() {
    std::vector<std::string> missing;
    for (uint32_t from = 0; from < devices_; ++from)
      for (uint32_t to = 0; to < devices_; ++to) {
        bool found = from == to || is_host(device(from)) || is_host(device(to));  // the host only hands over
        for (const LinkCost& link : request_.links) {
          if (from == to || !fits(link.from, device(from)) || !fits(link.to, device(to))) continue;
          out_.between.latency[from * devices_ + to] = link.latency_us;
          out_.between.per_byte[from * devices_ + to] = link.gbytes_per_s > 0 ? 1e-3 / link.gbytes_per_s : 0;
          found = true;
        }
        if (from != to) out_.between.per_byte[from * devices_ + to] += boundary_[from].out + boundary_[to].in;
        if (!found) missing.push_back(cat(device(from).name, " to ", device(to).name));
      }
    if (missing.empty()) return;
    out_.notes.push_back(
        cat("no link is known from ", join(missing), ": moving tensors there counts as free; 'optima-host calibrate-links' measures it"));
  }

  // What a byte that crosses costs on either side, besides the link: a change of layout, a fusion that the cut breaks.
  struct Boundary {
    double in = 0, out = 0;
  };

  const image::Graph& main_;
  const PackedGraph& packed_;
  const Candidates& candidates_;
  const Choices& choices_;
  const std::vector<BodyPlan>& bodies_;
  const PlacementRequest& request_;
  const size_t devices_;
  std::vector<Work> work_;  // by node
  std::vector<Boundary> boundary_;  // by device
  NodeCosts out_;
};

}  // namespace

Result<NodeCosts> find_costs(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const Choices& choices,
                             const std::vector<BodyPlan>& bodies, const PlacementRequest& request) {
  return Finder(graph, packed, candidates, choices, bodies, request).run();
}

}  // namespace optima::detail
