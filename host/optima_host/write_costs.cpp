// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/write_costs.hpp"

#include "core/placement/measured.hpp"
#include "core/plan/plan_json.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"

namespace optima::host {
namespace {

Result<SubgraphTime> time_of(const JsonReader& at) {
  SubgraphTime out;
  OPTIMA_ASSIGN(const JsonReader ms, at.object("milliseconds"));
  OPTIMA_ASSIGN(out.whole, ms.number("p50"));
  out.whole *= 1e3;
  if (!at.has("nodes")) return out;
  if (at.has("outside_nodes")) {
    OPTIMA_ASSIGN(const double outside_ms, at.number("outside_nodes"));
    out.outside = outside_ms * 1e3;
  }
  OPTIMA_ASSIGN(const auto nodes, at.array("nodes"));
  for (const JsonReader& node : nodes) {
    OPTIMA_ASSIGN(const int64_t id, node.integer("id"));
    OPTIMA_ASSIGN(const double node_ms, node.number("milliseconds"));
    out.nodes[static_cast<uint32_t>(id)] = node_ms * 1e3;
  }
  return out;
}

}  // namespace

Result<PackageTimes> read_times(const Plan& plan, const Json& measured, const std::string& place) {
  const JsonReader root(measured, "bench");
  OPTIMA_ASSIGN(const auto subgraphs, root.array("subgraphs"));
  if (subgraphs.size() != count_subgraphs(plan))
    return invalid_input(cat(place, ": has ", count_subgraphs(plan), " subgraphs, wanted the package's ", subgraphs.size()));
  PackageTimes out;
  out.subgraphs.resize(subgraphs.size());
  for (const JsonReader& at : subgraphs) {
    OPTIMA_ASSIGN(const int64_t index, at.integer("index"));
    if (index < 0 || static_cast<size_t>(index) >= out.subgraphs.size()) return invalid_input(cat(place, ": has no subgraph ", index));
    OPTIMA_ASSIGN(out.subgraphs[static_cast<size_t>(index)], time_of(at));
  }
  OPTIMA_ASSIGN(const JsonReader ms, root.object("milliseconds"));
  OPTIMA_ASSIGN(const double whole_ms, ms.number("p50"));
  OPTIMA_ASSIGN(const JsonReader loop, root.object("run_loop"));
  OPTIMA_ASSIGN(const double loop_ms, loop.number("p50"));
  out.whole = whole_ms * 1e3;
  if (!out.subgraphs.empty()) out.loop = std::max(0.0, loop_ms * 1e3 / static_cast<double>(out.subgraphs.size()));
  return out;
}

Status write_costs(const std::string& package, const Json& measured, const std::string& file) {
  const std::string placement = package + "/placement.json";
  OPTIMA_ASSIGN(const Plan plan, read_plan(placement));
  OPTIMA_ASSIGN(const PackageTimes times, read_times(plan, measured, placement));
  return write_output(file, costs_text(measured_costs(plan, times.subgraphs, times.loop)));
}

}  // namespace optima::host
