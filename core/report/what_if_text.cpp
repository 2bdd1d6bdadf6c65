// SPDX-License-Identifier: Apache-2.0
#include "core/support/json_value.hpp"

#include "core/report/table.hpp"
#include "core/report/what_if.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::clean;
using detail::count_of;

std::string change(uint64_t before, uint64_t after) { return cat(before, " -> ", after); }

// "3.2 ms -> 1.1 ms", what that saves, and where the device's times for the nodes are from.
std::vector<std::string> times(const WhatIfReport& report, const WhatIf& c) {
  if (!c.microseconds) return {"not known", "", ""};
  const double now = *report.microseconds, then = *c.microseconds;
  return {cat(human_time(now), " -> ", human_time(then)), then > now ? cat("-", human_time(then - now)) : human_time(now - then), c.cost_source};
}

std::string head(const Plan& plan, const WhatIfReport& report) {
  std::string out = cat("what if: ", quote(plan.model_name), " is ", count_of(report.subgraphs, "subgraph"), " and ", human_bytes(report.bytes),
                        " crossing");
  if (report.microseconds) out += cat(", estimated ", human_time(*report.microseconds), " a run");
  if (const size_t own = count_subgraphs(plan); report.subgraphs != own)
    out += cat(report.by_time ? " when made again" : " when split for the fewest subgraphs", " (the plan itself has ", own, ")");
  return out;
}

}  // namespace

std::string what_if_text(const Plan& plan, const WhatIfReport& report) {
  if (report.cases.empty()) return head(plan, report) + "; no candidate device refuses a node\n";
  std::vector<std::vector<std::string>> rows = {{"if", "took", "because of", "nodes", "subgraphs", "crossing"}};
  if (report.microseconds) rows[0].insert(rows[0].end(), {"time", "saves", "by costs"});
  rows[0].push_back("first of them");
  for (const WhatIf& c : report.cases) {
    const bool all = c.op.empty();
    rows.push_back({clean(c.device), all ? "all it refuses" : clean(c.op), all ? "" : clean(c.reason), cat(c.nodes),
                    change(report.subgraphs, c.subgraphs), cat(human_bytes(report.bytes), " -> ", human_bytes(c.bytes))});
    if (report.microseconds)
      for (std::string& cell : times(report, c)) rows.back().push_back(std::move(cell));
    rows.back().push_back(all ? "" : cat(quote(clean(c.example)), c.text.empty() ? "" : ": ", clean(c.text)));
  }
  return cat(head(plan, report), "\n", detail::table(rows, {3}));
}

Json what_if_json(const Plan& plan, const WhatIfReport& report) {
  Json cases = Json::array();
  for (const WhatIf& c : report.cases) {
    Json one = {{"device", c.device}, {"nodes", c.nodes}, {"subgraphs", c.subgraphs}, {"bytes", c.bytes}};
    if (!c.op.empty()) one.update({{"op", c.op}, {"reason", c.reason}, {"example", c.example}, {"text", c.text}});
    if (c.microseconds)
      one.update({{"microseconds", *c.microseconds}, {"saved_microseconds", *report.microseconds - *c.microseconds}, {"cost_source", c.cost_source}});
    cases.push_back(std::move(one));
  }
  Json out = {{"model", plan.model_name}, {"subgraphs", report.subgraphs}, {"bytes", report.bytes}, {"cases", std::move(cases)}};
  if (report.microseconds) out["microseconds"] = *report.microseconds;
  return out;
}

}  // namespace optima
