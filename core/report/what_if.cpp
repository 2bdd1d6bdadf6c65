// SPDX-License-Identifier: Apache-2.0
#include "core/report/what_if.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/report/replay.hpp"
#include "core/report/table.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::clean;
using detail::count_of;

// device, operator, reason -> nodes. A device's whole list has empty operator and reason, so it stands first.
using Refused = std::map<std::tuple<uint32_t, std::string, std::string>, std::vector<uint32_t>>;

// Whether a yes of the device could matter to the node.
bool may_go(const Plan& plan, const PlacedNode& node, uint32_t device) {
  if (node.wanted.empty()) return !plan.devices[device].only_named;
  return std::find(node.wanted.begin(), node.wanted.end(), device) != node.wanted.end();
}

Refused refusals(const Plan& plan) {
  Refused out;
  for (uint32_t n = 0; n < plan.nodes.size(); ++n)
    for (uint32_t d = 0; d < plan.nodes[n].answers.size(); ++d) {
      const DeviceAnswer& answer = plan.nodes[n].answers[d];
      if (answer.yes || !may_go(plan, plan.nodes[n], d)) continue;
      out[{d, plan.nodes[n].op_type, answer.reason}].push_back(n);
      out[{d, "", ""}].push_back(n);
    }
  return out;
}

bool alone(const Refused& refused, uint32_t device) {
  const auto from = refused.lower_bound({device, "", ""}), to = refused.lower_bound({device + 1, "", ""});
  return std::distance(from, to) <= 2;  // the whole list says the same as its only entry
}

std::string change(uint64_t before, uint64_t after) { return cat(before, " -> ", after); }

}  // namespace

Result<WhatIfReport> what_if(const Plan& plan) {
  OPTIMA_ASSIGN(const detail::Replay replay, detail::Replay::of(plan));
  WhatIfReport out;
  const Split now = replay.as_is();
  out.subgraphs = static_cast<uint32_t>(now.devices.size());
  out.bytes = now.bytes;
  const Refused refused = refusals(plan);
  for (const auto& [key, nodes] : refused) {
    const auto& [device, op, reason] = key;
    if (op.empty() && reason.empty() && alone(refused, device)) continue;
    const Split then = replay.if_taken(nodes, device);
    const PlacedNode& first = plan.nodes[nodes[0]];
    out.cases.push_back({device, op, reason, static_cast<uint32_t>(nodes.size()), first.name, first.answers[device].text,
                         static_cast<uint32_t>(then.devices.size()), then.bytes});
  }
  std::stable_sort(out.cases.begin(), out.cases.end(),
                   [](const WhatIf& a, const WhatIf& b) { return std::tie(a.subgraphs, a.bytes) < std::tie(b.subgraphs, b.bytes); });
  return out;
}

std::string what_if_text(const Plan& plan, const WhatIfReport& report) {
  std::string out = cat("what if: ", quote(plan.model_name), " is ", count_of(report.subgraphs, "subgraph"), " and ", human_bytes(report.bytes), " crossing");
  if (report.subgraphs != plan.subgraphs.size()) out += cat(" when split for the fewest subgraphs (the plan itself has ", plan.subgraphs.size(), ")");
  if (report.cases.empty()) return out + "; no candidate device refuses a node\n";
  std::vector<std::vector<std::string>> rows = {{"if", "took", "because of", "nodes", "subgraphs", "crossing", "first of them"}};
  for (const WhatIf& c : report.cases)
    rows.push_back({clean(plan.devices[c.device].name), c.op.empty() ? "all it refuses" : clean(c.op), c.op.empty() ? "" : clean(c.reason), cat(c.nodes),
                    change(report.subgraphs, c.subgraphs), cat(human_bytes(report.bytes), " -> ", human_bytes(c.bytes)),
                    c.op.empty() ? "" : cat(quote(c.example), c.text.empty() ? "" : ": ", clean(c.text))});
  return out + "\n" + detail::table(rows, {3});
}

Json what_if_json(const Plan& plan, const WhatIfReport& report) {
  Json cases = Json::array();
  for (const WhatIf& c : report.cases) {
    Json one = {{"device", plan.devices[c.device].name}, {"nodes", c.nodes}, {"subgraphs", c.subgraphs}, {"bytes", c.bytes}};
    if (!c.op.empty()) one.update({{"op", c.op}, {"reason", c.reason}, {"example", c.example}, {"text", c.text}});
    cases.push_back(std::move(one));
  }
  return {{"model", plan.model_name}, {"subgraphs", report.subgraphs}, {"bytes", report.bytes}, {"cases", std::move(cases)}};
}

}  // namespace optima
