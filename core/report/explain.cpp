// SPDX-License-Identifier: Apache-2.0
#include "core/report/report.hpp"
#include "core/report/table.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::clean;
using detail::count_of;

constexpr size_t kMostTensors = 6;  // of one line

std::string subgraph_line(const Plan& plan, size_t index) {
  const Subgraph& subgraph = plan.subgraphs[index];
  return cat("subgraph ", index, " on ", clean(plan.devices[subgraph.device].name), ": ", count_of(subgraph.nodes.size(), "node"), "; reads ",
             detail::shortened(subgraph.input_names, kMostTensors), "; writes ", detail::shortened(subgraph.output_names, kMostTensors), "\n");
}

std::string answers(const Plan& plan, const PlacedNode& node) {
  std::vector<std::vector<std::string>> rows;
  for (size_t d = 0; d < node.answers.size(); ++d) {
    const DeviceAnswer& answer = node.answers[d];
    const std::string_view verdict = d == node.device ? "here" : answer.yes ? "yes" : "no";
    const std::string text = answer.text.empty() ? "" : answer.reason.empty() ? clean(answer.text) : cat(clean(answer.reason), ": ", clean(answer.text));
    rows.push_back({clean(plan.devices[d].name), clean(plan.devices[d].plugin), std::string(verdict), text});
  }
  return detail::table(rows);
}

std::string cuts_of(const Plan& plan, uint32_t subgraph) {
  std::string out;
  size_t left_out = 0, shown = 0;
  for (const CutTensor& cut : plan.cuts) {
    bool reads = false;
    for (uint32_t to : cut.to) reads |= to == subgraph;
    if (cut.from != subgraph && !reads) continue;
    if (++shown > 2 * kMostTensors) {
      ++left_out;
      continue;
    }
    const std::string size = cut.bytes ? human_bytes(cut.bytes) : "unknown size";
    out += cat("  ", quote(cut.name), ", ", size, reads ? ", from subgraph " : ", to subgraph ");
    if (reads) out += cat(cut.from);
    for (size_t i = 0; !reads && i < cut.to.size(); ++i) out += cat(i ? ", " : "", cut.to[i]);
    out += "\n";
  }
  if (left_out) out += cat("  ... and ", left_out, " more\n");
  return out.empty() ? out : "tensors that cross:\n" + out;
}

}  // namespace

std::string explain_plan(const Plan& plan) {
  std::string out = placement_summary(plan);
  for (size_t s = 0; s < plan.subgraphs.size(); ++s) {
    out += subgraph_line(plan, s);
    std::vector<std::vector<std::string>> rows;
    for (uint32_t n : plan.subgraphs[s].nodes) rows.push_back({quote(plan.nodes[n].name), clean(plan.nodes[n].op_type), clean(plan.nodes[n].sentence)});
    out += detail::table(rows);
  }
  return out;
}

Result<std::string> explain_node(const Plan& plan, std::string_view name) {
  for (const PlacedNode& node : plan.nodes) {
    if (node.name != name) continue;
    std::string out = cat("node ", quote(node.name), " (", clean(node.op_type), ") runs on ", clean(plan.devices[node.device].name), ", subgraph ",
                          node.subgraph, " of ", plan.subgraphs.size(), "\n");
    out += cat("why: ", clean(node.sentence), " (", name_of(node.why), ")\n");
    if (!node.asked.empty()) out += cat("asked for: ", clean(node.asked), "\n");
    out += cat("plugin: ", clean(plan.devices[node.device].plugin), ", ", clean(plan.devices[node.device].rule), "\n");
    out += "devices:\n" + answers(plan, node);
    return out + subgraph_line(plan, node.subgraph) + cuts_of(plan, node.subgraph);
  }
  std::vector<std::string> names;
  for (const PlacedNode& node : plan.nodes) names.push_back(node.name);
  return invalid_input(cat("no node ", quote(name), " in the plan of ", quote(plan.model_name), nearest_hint(name, names)));
}

}  // namespace optima
