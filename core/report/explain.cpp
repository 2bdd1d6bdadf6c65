// SPDX-License-Identifier: Apache-2.0
#include "core/report/report.hpp"

#include <algorithm>

#include "core/report/replay.hpp"
#include "core/report/table.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::clean;
using detail::count_of;

constexpr size_t kMostTensors = 6;  // of one line

std::string subgraph_line(const Plan& plan, size_t index) {
  const Subgraph& subgraph = plan.subgraphs[index];
  const std::string clones = subgraph.clones.empty() ? "" : cat(" and ", count_of(subgraph.clones.size(), "clone"));
  return cat("subgraph ", plan.first + index, " on ", clean(plan.devices[subgraph.device].name), ": ",
             count_of(subgraph.nodes.size(), "node"), clones, "; reads ",
             detail::shortened(subgraph.input_names, kMostTensors), "; writes ", detail::shortened(subgraph.output_names, kMostTensors), "\n");
}

// What moving the node to a device that would take it does to the number of subgraphs.
std::string price(const Plan& plan, const Result<detail::Replay>& replay, uint32_t node, uint32_t device) {
  if (!replay.ok() || !plan.nodes[node].answers[device].yes || device == plan.nodes[node].device) return "";
  const std::optional<uint32_t> now = replay->subgraphs(), then = replay->subgraphs_if_pinned(node, device);
  if (!now) return "";
  if (!then) return "no plan within the limits was found with it there";
  if (*then == *now) return "as many subgraphs there";
  return *then > *now ? cat(count_of(*then - *now, "subgraph"), " more there") : cat(count_of(*now - *then, "subgraph"), " fewer there");
}

std::string answers(const Plan& plan, uint32_t n) {
  const PlacedNode& node = plan.nodes[n];
  const Result<detail::Replay> replay = detail::Replay::of(plan);
  std::vector<std::vector<std::string>> rows;
  for (size_t d = 0; d < node.answers.size(); ++d) {
    const DeviceAnswer& answer = node.answers[d];
    const std::string_view verdict = d == node.device ? "here" : answer.yes ? "yes" : "no";
    const std::string text = answer.text.empty() || answer.reason.empty() ? clean(answer.text) : cat(clean(answer.reason), ": ", clean(answer.text));
    const std::string moved = plan.estimate ? "" : price(plan, replay, n, static_cast<uint32_t>(d));  // a plan by time has it in the text
    rows.push_back({clean(plan.devices[d].name), is_host(plan.devices[d]) ? "-" : clean(plan.devices[d].plugin), std::string(verdict)});
    if (plan.estimate)
      rows.back().push_back(answer.microseconds < 0 ? "" : cat(human_time(answer.microseconds), " (", clean(answer.cost_source), ")"));
    rows.back().push_back(cat(text, text.empty() || moved.empty() ? "" : "; ", moved));
  }
  return detail::table(rows);
}

std::string place(const Plan& plan, uint32_t node, uint32_t seen_from) {
  const PlacedNode& at = plan.nodes[node];
  const bool apart = at.subgraph != plan.nodes[seen_from].subgraph;
  const std::string where = apart ? cat(", subgraph ", plan.first + at.subgraph, " on ", clean(plan.devices[at.device].name)) : "";
  return cat(quote(at.name), " (", clean(at.op_type), where, ")");
}

bool crosses(const Plan& plan, const PlanTensor& tensor, uint32_t reader) {
  for (const CutTensor& cut : plan.cuts)
    if (cut.value == tensor.value) return std::binary_search(cut.to.begin(), cut.to.end(), plan.nodes[reader].subgraph);
  return false;
}

// What the node reads and writes, from and to whom; a tensor that crosses says so.
std::string neighbours(const Plan& plan, uint32_t n) {
  const std::string whose = plan.first == 0 ? "the model" : "the body";
  std::vector<std::vector<std::string>> reads, writes;
  for (const PlanTensor& t : plan.tensors) {
    const std::vector<std::string> head = {quote(t.name), clean(t.type), t.bytes ? human_bytes(t.bytes) : "unknown size"};
    if (t.from == n) {
      std::vector<std::string> readers;
      bool over = false;
      for (uint32_t to : t.to) readers.push_back(place(plan, to, n)), over |= crosses(plan, t, to);
      if (t.output) readers.push_back("an output of " + whose);
      writes.push_back({head[0], head[1], head[2], cat(over ? "crosses to " : "to ", detail::shortened(readers, kMostTensors))});
    } else if (std::binary_search(t.to.begin(), t.to.end(), n)) {
      const std::string from = t.from ? place(plan, *t.from, n) : "an input of " + whose;
      reads.push_back({head[0], head[1], head[2], cat(crosses(plan, t, n) ? "crosses from " : "from ", from)});
    }
  }
  return cat(reads.empty() ? "" : "reads:\n", detail::table(reads), writes.empty() ? "" : "writes:\n", detail::table(writes));
}

std::string clones_of(const Plan& plan, const PlacedNode& node) {
  std::string out;
  for (size_t s = 0; s < plan.subgraphs.size(); ++s)
    for (const Clone& clone : plan.subgraphs[s].clones)
      if (&plan.nodes[clone.node] == &node)
        out += cat("also on ", clean(plan.devices[plan.subgraphs[s].device].name), ", subgraph ", plan.first + s, ": ", clean(clone.sentence), " (",
                   name_of(Why::Cloned), ")\n");
  return out;
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
    const std::string door = cut.door.is_usual() ? "" : cat(" (", detail::door_of(cut), ")");
    out += cat("  ", quote(cut.name), ", ", size, door, reads ? ", from subgraph " : ", to subgraph ");
    if (reads) out += cat(plan.first + cut.from);
    for (size_t i = 0; !reads && i < cut.to.size(); ++i) out += cat(i ? ", " : "", plan.first + cut.to[i]);
    out += "\n";
  }
  if (left_out) out += cat("  ... and ", left_out, " more\n");
  return out.empty() ? out : "tensors that cross:\n" + out;
}

std::string subgraphs_of(const Plan& plan) {
  std::string out;
  for (size_t s = 0; s < plan.subgraphs.size(); ++s) {
    out += subgraph_line(plan, s);
    std::vector<std::vector<std::string>> rows;
    const auto row = [&](uint32_t n, std::string why) { rows.push_back({quote(plan.nodes[n].name), clean(plan.nodes[n].op_type), std::move(why)}); };
    for (uint32_t n : plan.subgraphs[s].nodes) row(n, clean(plan.nodes[n].sentence));
    for (const Clone& clone : plan.subgraphs[s].clones) row(clone.node, cat(name_of(Why::Cloned), ": ", clean(clone.sentence)));
    out += detail::table(rows);
  }
  return out;
}

// The bodies of a node that the host drives.
std::string bodies_of(const Plan& plan, uint32_t n) {
  std::string out;
  for (const BodyPlan& body : plan.bodies) {
    if (body.node != n) continue;
    const std::string trips = body.trips_known ? count_of(static_cast<size_t>(body.trips), "trip") : "trips not known before running";
    const size_t subgraphs = body.plan.subgraphs.size();
    out += cat(clean(body.name), ": ", count_of(body.plan.nodes.size(), "node"), " in ", count_of(subgraphs, "subgraph"),
               subgraphs ? cat(" from number ", body.plan.first) : "", plan.nodes[n].op_type == "If" ? "" : cat("; ", trips), "\n");
  }
  return out;
}

std::string one_node(const Plan& plan, uint32_t n, const std::string& path, size_t subgraphs) {
  const PlacedNode& node = plan.nodes[n];
  const PlanDevice& device = plan.devices[node.device];
  std::string out = cat("node ", quote(node.name), " (", clean(node.op_type), ") runs on ", clean(device.name), ", subgraph ",
                        plan.first + node.subgraph, " of ", subgraphs, path.empty() ? "" : cat(", in body ", quote(path)), "\n");
  out += cat("why: ", clean(node.sentence), " (", name_of(node.why), ")\n");
  if (!node.quantized_unit.empty() && node.quantized_unit != node.name) out += cat("quantized unit: ", quote(node.quantized_unit), "\n");
  if (!node.precision.empty()) out += cat("precision: ", clean(node.precision), " (", clean(node.precision_why), ")\n");
  out += clones_of(plan, node);
  if (!node.asked.empty()) out += cat("asked for: ", clean(node.asked), "\n");
  if (!is_host(device)) out += cat("plugin: ", clean(device.plugin), ", ", clean(device.rule), "\n");
  out += bodies_of(plan, n);
  out += "devices:\n" + answers(plan, n);
  return out + neighbours(plan, n) + subgraph_line(plan, node.subgraph) + cuts_of(plan, node.subgraph);
}

}  // namespace

std::string explain_plan(const Plan& plan) {
  std::string out = placement_summary(plan);
  for_each_plan(plan, [&](const Plan& part, const std::string& path) {
    if (!path.empty()) out += cat("body ", quote(path), ":\n");
    out += subgraphs_of(part);
  });
  return out;
}

Result<std::string> explain_node(const Plan& plan, std::string_view name) {
  std::string out;
  std::vector<std::string> names;
  for_each_plan(plan, [&](const Plan& part, const std::string& path) {
    for (uint32_t n = 0; n < part.nodes.size(); ++n) {
      names.push_back(part.nodes[n].name);
      if (part.nodes[n].name == name) out = one_node(part, n, path, count_subgraphs(plan));
    }
  });
  if (!out.empty()) return out;
  return invalid_input(cat("no node ", quote(name), " in the plan of ", quote(plan.model_name), nearest_hint(name, names)));
}

}  // namespace optima
