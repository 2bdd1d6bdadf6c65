// SPDX-License-Identifier: Apache-2.0
#include "core/placement/budget.hpp"

#include <algorithm>

#include "core/placement/limits_of.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr size_t kMostShown = 8;  // graphs of an error

template <class F>
void each_graph(const Plan& plan, F&& f) {
  size_t number = 0;
  for_each_plan(plan, [&](const Plan& one, const std::string& path) { f(number++, one, path); });
}

}  // namespace

Budget::Budget(const PlacementRequest& request) {
  if (request.max_subgraphs) most_[""] = request.max_subgraphs;
  for (const Backend* plugin : request.plugins)
    if (const uint64_t most = plugin->manifest().limits.max_subgraphs)
      most_[plugin->manifest().id] = static_cast<uint32_t>(std::min<uint64_t>(most, UINT32_MAX));
}

uint32_t Budget::share(const Share& which) const {
  const auto at = lowered_.find(which);
  return at == lowered_.end() ? most_.at(which.of) : at->second;
}

void Budget::limit(size_t graph, const Candidates& candidates, SplitLimits& limits) const {
  for (const auto& [of, most] : most_) {
    if (of.empty()) limits.parts = share({graph, of});
    for (size_t d = 0; d < candidates.devices.size(); ++d)
      if (!of.empty() && candidates.devices[d].plugin == of) limits.group_parts[limits.group[d]] = share({graph, of});
  }
}

void Budget::refuse(size_t graph, const Candidates& candidates, Capability& capability) const {
  for (uint32_t d = 0; d < candidates.devices.size(); ++d) {
    const auto most = most_.find(candidates.devices[d].plugin);
    if (is_host(candidates.devices[d]) || most == most_.end() || share({graph, most->first}) > 0) continue;
    for (uint32_t n = 0; n < capability.yes.size(); ++n)
      if (capability.yes[n] >> d & 1)
        capability.refuse(n, d, "POLICY",
                          cat("plugin ", quote(most->first), " takes at most ", number_of(most->second, "subgraph"),
                              " of a model, which other graphs of it have"));
  }
}

uint32_t Budget::count(const Plan& plan, const std::string& of) {
  const auto counts = [&](const Subgraph& s) { return of.empty() || plan.devices[s.device].plugin == of; };
  return static_cast<uint32_t>(std::count_if(plan.subgraphs.begin(), plan.subgraphs.end(), counts));
}
uint32_t Budget::count_all(const Plan& plan, const std::string& of) {
  uint32_t sum = 0;
  each_graph(plan, [&](size_t, const Plan& one, const std::string&) { sum += count(one, of); });
  return sum;
}

bool Budget::kept(const Plan& plan) const {
  return std::all_of(most_.begin(), most_.end(), [&](const auto& limit) { return count_all(plan, limit.first) <= limit.second; });
}

bool Budget::lower(const Plan& plan) {
  size_t fewest = SIZE_MAX;
  uint32_t to = 0;
  for (const auto& [of, most] : most_) {
    if (count_all(plan, of) <= most) continue;
    each_graph(plan, [&](size_t graph, const Plan& one, const std::string&) {
      const uint32_t has = count(one, of);
      if (fixed_.count({graph, of}) || has == 0 || (of.empty() && has == 1)) return;
      for (const Subgraph& s : one.subgraphs)
        if ((of.empty() || one.devices[s.device].plugin == of) && s.nodes.size() < fewest)
          fewest = s.nodes.size(), last_ = {graph, of}, to = has - 1;
    });
  }
  if (fewest == SIZE_MAX) return false;
  lowered_[last_] = to;
  return true;
}

void Budget::take_back() {
  ++lowered_[last_];
  fixed_[last_] = true;
}

Status Budget::error(const Plan& plan) const {
  for (const auto& [of, most] : most_) {
    if (count_all(plan, of) <= most) continue;
    std::vector<std::string> uses;
    uint32_t least = 0;
    size_t graphs = 0;
    each_graph(plan, [&](size_t, const Plan& one, const std::string& path) {
      least += one.lower_bound;
      if (const uint32_t has = count(one, of); has && ++graphs <= kMostShown)
        uses.push_back(cat(path.empty() ? "the main graph" : "body " + quote(path), " ", has));
    });
    const std::string where = cat(join(uses), graphs > kMostShown ? ", ..." : "");
    if (of.empty() && least > most)
      return placement_error(cat("--max-subgraphs ", most, ", but the model with its bodies needs at least ", least, ": ", where));
    return placement_error(cat(of.empty() ? cat("--max-subgraphs ", most) : cat("plugin ", quote(of), " takes at most ", number_of(most, "subgraph")),
                               ", but the best plan found of the model with its bodies has ", count_all(plan, of),
                               of.empty() ? "" : " on its devices", ": ", where));
  }
  return {};
}

void Budget::share_out(Plan& plan) const {
  std::map<std::string, uint32_t> left;
  for (const auto& [of, most] : most_) left[of] = most - count_all(plan, of);
  const auto write = [&](auto&& self, Plan& one, bool main) -> void {
    for (const auto& [of, spare] : left) {
      const uint32_t most = count(one, of) + (main ? spare : 0);
      SplitLimits& limits = one.question->limits;
      if (of.empty()) limits.parts = one.max_subgraphs = most;
      for (size_t d = 0; d < one.devices.size(); ++d)
        if (!of.empty() && one.devices[d].plugin == of)
          limits.group_parts[limits.group[d]] = static_cast<uint32_t>(one.devices[d].limits.max_subgraphs = std::max(most, 1u));
    }
    for (BodyPlan& body : one.bodies) self(self, body.plan, false);
  };
  write(write, plan, true);
}

}  // namespace optima::detail
