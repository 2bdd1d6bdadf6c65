// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/view/view.hpp"

namespace optima::view {
namespace {

Result<TraceEvent> event_from(const JsonReader& at, const Plan& plan) {
  TraceEvent out;
  OPTIMA_ASSIGN(out.kind, at.string("cat"));
  OPTIMA_ASSIGN(out.name, at.string("name"));
  OPTIMA_ASSIGN(out.start_us, at.number("ts"));
  OPTIMA_ASSIGN(out.duration_us, at.number("dur"));
  OPTIMA_ASSIGN(const int64_t track, at.integer("tid"));
  OPTIMA_ASSIGN(const JsonReader args, at.object("args"));
  OPTIMA_ASSIGN(const int64_t index, args.integer("index"));
  const bool of_subgraph = out.kind.starts_with("Subgraph");
  if (index < 0 || (of_subgraph && static_cast<uint64_t>(index) >= count_subgraphs(plan)))
    return invalid_input(cat(at.place(), ": found subgraph ", index, ", the plan of ", quote(plan.model_name), " has ", count_subgraphs(plan)));
  out.index = static_cast<uint32_t>(index);
  out.track = static_cast<uint32_t>(track);
  return out;
}

}  // namespace

Result<std::vector<TraceEvent>> read_trace(const std::string& path, const Plan& plan) {
  OPTIMA_ASSIGN(const Json json, read_json(path));
  OPTIMA_ASSIGN(const auto events, JsonReader(json, path).array("traceEvents"));
  std::vector<TraceEvent> out;
  for (const JsonReader& at : events) {
    OPTIMA_ASSIGN(TraceEvent event, event_from(at, plan));
    out.push_back(std::move(event));
  }
  std::stable_sort(out.begin(), out.end(), [](const TraceEvent& a, const TraceEvent& b) { return a.start_us < b.start_us; });
  return out;
}

}  // namespace optima::view
