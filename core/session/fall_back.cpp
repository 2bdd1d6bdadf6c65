// SPDX-License-Identifier: Apache-2.0
#include "core/session/fall_back.hpp"

#include <algorithm>
#include <vector>

#include "core/flow/node.hpp"
#include "core/session/qdq.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

/// The node, the DequantizeLinears it reads and the QuantizeLinears behind it: indices.
std::vector<uint32_t> unit_of(const Graph& graph, const Uses& uses, uint32_t n) {
  const std::vector<image::Node>& nodes = graph.main().nodes;
  std::vector<uint32_t> out = {n};
  for (const uint32_t v : nodes[n].inputs)
    if (v != OPTIMA_NONE && uses.producer[v] != Uses::kNone && is_dequantize(nodes[uses.producer[v]])) out.push_back(uses.producer[v]);
  for (const uint32_t v : nodes[n].outputs)
    if (v != OPTIMA_NONE)
      for (const uint32_t reader : uses.consumers[v])
        if (is_quantize(nodes[reader])) out.push_back(reader);
  return out;
}

uint32_t device_called(const AskedDevices& asked, const std::string& full_name) {
  for (uint32_t d = 0; d < asked.devices.size(); ++d)
    if (asked.devices[d].full_name == full_name) return d;
  return OPTIMA_NONE;
}

/// Nodes that share a value with node n: indices.
std::vector<uint32_t> beside(const Graph& graph, const Uses& uses, uint32_t n) {
  std::vector<uint32_t> out;
  for (const uint32_t v : graph.main().nodes[n].inputs)
    if (v != OPTIMA_NONE && uses.producer[v] != Uses::kNone) out.push_back(uses.producer[v]);
  for (const uint32_t v : graph.main().nodes[n].outputs)
    if (v != OPTIMA_NONE) out.insert(out.end(), uses.consumers[v].begin(), uses.consumers[v].end());
  return out;
}

bool nobody_takes(const AskedDevices& asked, const Graph& graph, uint32_t n) {
  const std::vector<DeviceAnswer>& answers = asked.answers[n];
  return !answers.empty() && !flow_op(graph.main().nodes[n]) && std::none_of(answers.begin(), answers.end(), [](const DeviceAnswer& a) { return a.yes; });
}

/// The first nodes that compute on every way from node n: indices.
std::set<uint32_t> computing_around(const Graph& graph, const Uses& uses, uint32_t n) {
  std::set<uint32_t> seen = {n}, out;
  for (std::vector<uint32_t> open = {n}; !open.empty();) {
    const uint32_t from = open.back();
    open.pop_back();
    for (const uint32_t next : beside(graph, uses, from)) {
      if (!seen.insert(next).second) continue;
      const image::Node& node = graph.main().nodes[next];
      if (is_quantize(node) || is_dequantize(node)) open.push_back(next);
      else out.insert(next);
    }
  }
  return out;
}

}  // namespace

std::map<uint32_t, std::string> refused_units(const Plan& in_float, const AskedDevices& quantized, const Graph& graph, const std::set<uint32_t>& nodes) {
  const Uses uses = uses_of(graph);
  std::map<uint32_t, std::string> home;
  for (const PlacedNode& node : in_float.nodes) home[node.node_id] = in_float.devices[node.device].full_name;
  std::map<uint32_t, std::string> out;
  for (uint32_t n = 0; n < quantized.answers.size(); ++n) {
    const uint32_t id = graph.main().nodes[n].id;
    const auto at = home.find(id);
    const uint32_t device = nodes.count(id) && at != home.end() ? device_called(quantized, at->second) : OPTIMA_NONE;
    if (device == OPTIMA_NONE) continue;
    const std::vector<uint32_t> unit = unit_of(graph, uses, n);
    if (unit.size() == 1) continue;  // it stays float anyway
    for (const uint32_t member : unit)
      if (const DeviceAnswer& answer = quantized.answers[member][device]; !answer.yes && !out.count(id))
        out[id] = cat(quantized.devices[device].name, " refuses ", quote(graph.main().nodes[member].name), " of its quantized unit: ", answer.text);
  }
  return out;
}

std::map<uint32_t, std::string> stranded_units(const AskedDevices& quantized, const Graph& graph, const std::set<uint32_t>& nodes) {
  const Uses uses = uses_of(graph);
  std::map<uint32_t, std::string> out;
  for (uint32_t n = 0; n < quantized.answers.size(); ++n) {
    if (!nobody_takes(quantized, graph, n)) continue;
    const std::string why = cat(quantized.devices[0].name, " refuses ", quote(graph.main().nodes[n].name), " beside it: ", quantized.answers[n][0].text);
    for (const uint32_t other : computing_around(graph, uses, n))
      if (const uint32_t id = graph.main().nodes[other].id; nodes.count(id)) out.emplace(id, why);
  }
  return out;
}

}  // namespace optima::detail
