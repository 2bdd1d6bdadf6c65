// SPDX-License-Identifier: Apache-2.0
#include "core/report/what_if.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/report/replay.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::Replay;

// What is refused: device (a number of ours), operator, reason. A device's whole list has empty operator and reason, so it stands first.
using Key = std::tuple<size_t, std::string, std::string>;
// By graph: nodes.
using Nodes = std::map<size_t, std::vector<uint32_t>>;

// A graph of the plan, and the bodies of the nodes in it that the host drives.
struct Scope {
  const Plan* plan = nullptr;
  Replay replay;
  std::vector<size_t> bodies;  // scopes, in the order of plan->bodies
  std::optional<Replay::Found> now;
};

class Asker {
 public:
  explicit Asker(const CostSources& given) : given_(given) {}

  Result<WhatIfReport> run(const Plan& plan) {
    OPTIMA_RETURN_IF_ERROR(add(plan).status());
    const std::optional<Replay::Found> now = ask(0, nullptr, "");  // there is one: the plan
    out_.subgraphs = now->subgraphs;
    out_.bytes = now->bytes;
    out_.microseconds = now->microseconds;
    out_.by_time = plan.estimate.has_value() && now->microseconds;
    for (const Scope& scope : scopes_)
      for (const PlanDevice& device : scope.plan->devices) number_of(device.full_name);
    find_refusals();
    for (const auto& [key, nodes] : refused_) add_case(key, nodes, *now);
    std::stable_sort(out_.cases.begin(), out_.cases.end(), [this](const WhatIf& a, const WhatIf& b) { return rank(a) < rank(b); });
    return std::move(out_);
  }

 private:
  Result<size_t> add(const Plan& plan) {
    OPTIMA_ASSIGN(Replay replay, Replay::of(plan, given_));
    const size_t at = scopes_.size();
    scopes_.push_back({&plan, std::move(replay), {}, {}});
    for (const BodyPlan& body : plan.bodies) {
      OPTIMA_ASSIGN(const size_t inside, add(body.plan));
      scopes_[at].bodies.push_back(inside);
    }
    return at;
  }

  // The graph with its bodies, as if the device took the nodes; null = as it is. What was not better than now stays as it is now.
  std::optional<Replay::Found> ask(size_t at, const Nodes* lifted, const std::string& device) {
    if (scopes_[at].now && (!lifted || !touches(at, *lifted))) return scopes_[at].now;
    const Plan& plan = *scopes_[at].plan;
    std::vector<Replay::Found> inside;
    for (size_t body : scopes_[at].bodies) {
      std::optional<Replay::Found> found = ask(body, lifted, device);
      if (!found) return std::nullopt;
      inside.push_back(std::move(*found));
    }
    const std::vector<Replay::Driven> driven = driven_of(plan, inside);
    const auto own = lifted ? lifted->find(at) : Nodes::const_iterator();
    const bool changed = lifted && own != lifted->end();
    std::optional<Replay::Found> found =
        changed ? scopes_[at].replay.if_taken(own->second, index_of(plan, device), driven) : scopes_[at].replay.as_is(driven);
    if (!found && !changed) found = as_written(plan);
    if (!found) return found;
    for (size_t b = 0; b < inside.size(); ++b) {
      if (std::find(found->driven.begin(), found->driven.end(), plan.bodies[b].node) == found->driven.end()) continue;
      found->subgraphs += inside[b].subgraphs;
      found->bytes += inside[b].bytes;
    }
    if (!lifted) scopes_[at].now = found;
    return found;
  }

  // For a plan that the splitter does not find again within its limits.
  static Replay::Found as_written(const Plan& plan) {
    Replay::Found out{static_cast<uint32_t>(plan.subgraphs.size()), plan.bytes, {}, {}};
    if (plan.estimate) out.microseconds = plan.estimate->total();
    for (const BodyPlan& body : plan.bodies) out.driven.push_back(body.node);
    return out;
  }

  bool touches(size_t at, const Nodes& lifted) const {
    return lifted.count(at) || std::any_of(scopes_[at].bodies.begin(), scopes_[at].bodies.end(), [&](size_t body) { return touches(body, lifted); });
  }

  // A body takes its time in every trip; of the branches of an If the dearer counts.
  static std::vector<Replay::Driven> driven_of(const Plan& plan, const std::vector<Replay::Found>& inside) {
    std::vector<Replay::Driven> out;
    for (size_t b = 0; b < inside.size(); ++b) {
      const BodyPlan& body = plan.bodies[b];
      std::optional<double> time;
      if (inside[b].microseconds) time = *inside[b].microseconds * static_cast<double>(body.trips);
      if (out.empty() || out.back().node != body.node) out.push_back({body.node, time});
      else if (!out.back().microseconds || !time) out.back().microseconds.reset();
      else out.back().microseconds = std::max(*out.back().microseconds, *time);
    }
    return out;
  }

  static uint32_t index_of(const Plan& plan, const std::string& full_name) {
    const auto same = [&](const PlanDevice& d) { return d.full_name == full_name; };
    return static_cast<uint32_t>(std::find_if(plan.devices.begin(), plan.devices.end(), same) - plan.devices.begin());
  }

  void find_refusals() {
    for (size_t at = 0; at < scopes_.size(); ++at) {
      const Plan& plan = *scopes_[at].plan;
      for (uint32_t n = 0; n < plan.nodes.size(); ++n)
        for (uint32_t d = 0; d < plan.nodes[n].answers.size(); ++d) {
          const DeviceAnswer& answer = plan.nodes[n].answers[d];
          if (answer.yes || is_host(plan.devices[d]) || !scopes_[at].replay.question().may_have(n, d)) continue;
          const size_t device = number_of(plan.devices[d].full_name);
          refused_[{device, plan.nodes[n].op_type, answer.reason}][at].push_back(n);
          refused_[{device, "", ""}][at].push_back(n);
        }
    }
  }

  size_t number_of(const std::string& full_name) {
    const size_t at = static_cast<size_t>(std::find(devices_.begin(), devices_.end(), full_name) - devices_.begin());
    if (at == devices_.size()) devices_.push_back(full_name);
    return at;
  }

  // The whole list says the same as its only entry.
  bool alone(size_t device) const {
    size_t entries = 0;
    for (auto it = refused_.lower_bound({device, "", ""}); it != refused_.end() && std::get<0>(it->first) == device; ++it) ++entries;
    return entries <= 2;
  }

  void add_case(const Key& key, const Nodes& nodes, const Replay::Found& now) {
    const auto& [number, op, reason] = key;
    if (op.empty() && reason.empty() && alone(number)) return;
    const std::string& device = devices_[number];
    const std::optional<Replay::Found> found = ask(0, &nodes, device);
    // The plan of now stays possible, unless the device then must have nodes.
    const Replay::Found& then = found && (!worse(*found, now) || any_must(nodes)) ? *found : now;
    const Plan& plan = *scopes_[nodes.begin()->first].plan;
    const uint32_t d = index_of(plan, device);
    const PlacedNode& first = plan.nodes[nodes.begin()->second[0]];
    WhatIf one{plan.devices[d].name, op, reason, 0, first.name, first.answers[d].text, then.subgraphs, then.bytes, {}, {}};
    std::set<std::string> sources;
    bool known = true;
    for (const auto& [at, list] : nodes) {
      one.nodes += static_cast<uint32_t>(list.size());
      for (uint32_t n : list) {
        const auto& time = scopes_[at].replay.costs().of(n, index_of(*scopes_[at].plan, device));
        known &= time.microseconds >= 0;
        sources.emplace(time.source);
      }
    }
    if (known && out_.microseconds) one.microseconds = then.microseconds;
    if (one.microseconds) one.cost_source = join(std::vector<std::string>(sources.begin(), sources.end()));
    out_.cases.push_back(std::move(one));
  }

  bool any_must(const Nodes& nodes) const {
    for (const auto& [at, list] : nodes)
      for (uint32_t n : list)
        if (scopes_[at].replay.question().must_have(n)) return true;
    return false;
  }

  bool worse(const Replay::Found& a, const Replay::Found& b) const {
    if (out_.by_time && a.microseconds && b.microseconds) return *a.microseconds > *b.microseconds;
    return a.subgraphs > b.subgraphs;
  }

  std::tuple<double, uint32_t, double, uint64_t> rank(const WhatIf& c) const {
    const double time = c.microseconds ? *c.microseconds : out_.microseconds.value_or(0);  // nothing known to be saved
    return {out_.by_time ? time : 0, c.subgraphs, time, c.bytes};
  }

  const CostSources& given_;
  std::vector<Scope> scopes_;  // the main graph first
  std::vector<std::string> devices_;  // full names, in the order of the plans
  std::map<Key, Nodes> refused_;
  WhatIfReport out_;
};

}  // namespace

Result<WhatIfReport> what_if(const Plan& plan, const CostSources& given) { return Asker(given).run(plan); }

}  // namespace optima
