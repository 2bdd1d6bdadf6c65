// SPDX-License-Identifier: Apache-2.0
#include "core/placement/measured.hpp"

#include <algorithm>

#include "core/cost/work.hpp"

namespace optima {
namespace {

double share_of(const PlacedNode& node) { return roofline_us(node.work, kTypicalRates); }

// By the plugin's profile; returns what starting the subgraph took.
double add_told(const Plan& plan, const Subgraph& subgraph, const SubgraphTime& time, MeasuredDevice& out) {
  double left = time.whole;
  for (uint32_t n : subgraph.nodes) {
    const auto told = time.nodes.find(plan.nodes[n].node_id);
    const double us = told == time.nodes.end() ? 0 : told->second;
    out.nodes[plan.nodes[n].name] = {us, CostMethod::Profile};
    left -= us;
  }
  return std::max(time.outside >= 0 ? time.outside : left, 0.0);
}

void share_out(const Plan& plan, const Subgraph& subgraph, double whole, MeasuredDevice& out) {
  double shares = 0;
  for (uint32_t n : subgraph.nodes) shares += share_of(plan.nodes[n]);
  for (uint32_t n : subgraph.nodes) {
    const double part = shares > 0 ? share_of(plan.nodes[n]) / shares : 1.0 / static_cast<double>(subgraph.nodes.size());
    out.nodes[plan.nodes[n].name] = {whole * part, CostMethod::Share};
  }
}

MeasuredRun run_of(const Plan& plan, size_t subgraph, double microseconds) {
  MeasuredRun out{microseconds, 0, 0, {}};
  for (uint32_t n : plan.subgraphs[subgraph].nodes) out.nodes.push_back(plan.nodes[n].name);
  for (const CutTensor& cut : plan.cuts) {
    if (cut.from == subgraph) out.bytes_out += cut.bytes;
    if (std::find(cut.to.begin(), cut.to.end(), subgraph) != cut.to.end()) out.bytes_in += cut.bytes;
  }
  return out;
}

// `runs`: how often the plan runs in one run of the model.
MeasuredDevice measured_device(const Plan& plan, uint32_t device, const std::vector<SubgraphTime>& times, double loop_us, double runs) {
  const PlanDevice& of = plan.devices[device];
  MeasuredDevice out{{of.plugin, of.target.kind, of.target.slot}, loop_us, {}};
  double starting = 0, profiled = 0;
  for (size_t s = 0; s < plan.subgraphs.size(); ++s) {
    SubgraphTime time = times[plan.first + s];
    if (plan.subgraphs[s].device != device || time.whole <= 0) continue;  // 0: the branch of an If that was not taken
    time.whole /= runs, time.outside /= runs;
    for (auto& [node, us] : time.nodes) us /= runs;
    out.runs.push_back(run_of(plan, s, time.whole + std::max(loop_us, 0.0)));
    if (time.nodes.empty()) share_out(plan, plan.subgraphs[s], time.whole, out);
    else starting += add_told(plan, plan.subgraphs[s], time, out), ++profiled;
  }
  if (profiled > 0) out.launch_us = std::max(loop_us, 0.0) + starting / profiled;
  return out;
}

void add_plan(const Plan& plan, const std::vector<SubgraphTime>& times, double loop_us, double runs, MeasuredCosts& out) {
  MeasuredCosts own;
  for (uint32_t d = 0; d < plan.devices.size(); ++d) {
    if (is_host(plan.devices[d])) continue;
    if (MeasuredDevice device = measured_device(plan, d, times, loop_us, runs); !device.nodes.empty()) own.devices.push_back(std::move(device));
  }
  add_measured(out, own);
  for (const BodyPlan& body : plan.bodies)
    if (body.trips > 0) add_plan(body.plan, times, loop_us, runs * static_cast<double>(body.trips), out);
}

}  // namespace

MeasuredCosts measured_costs(const Plan& plan, const std::vector<SubgraphTime>& times, double loop_us) {
  MeasuredCosts out{plan.model_name, plan.model_hash, {}};
  add_plan(plan, times, loop_us, 1, out);
  return out;
}

}  // namespace optima
