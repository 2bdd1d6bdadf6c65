// SPDX-License-Identifier: Apache-2.0
#include "core/view/flat.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/support/text.hpp"

namespace optima::view {
namespace {

class Flattener {
 public:
  Flat run(const Plan& plan) {
    Plan& head = out_.plan;
    head.model_name = plan.model_name, head.model_hash = plan.model_hash;
    head.lower_bound = plan.lower_bound, head.exact = plan.exact;
    for_each_plan(plan, [&](const Plan& one, const std::string&) {
      for (const PlanDevice& device : one.devices) device_number(device);
    });
    add(plan, {});
    return std::move(out_);
  }

 private:
  uint32_t device_number(const PlanDevice& device) {
    const auto [at, fresh] = devices_.emplace(device.full_name, static_cast<uint32_t>(out_.plan.devices.size()));
    if (fresh) out_.plan.devices.push_back(device);
    return at->second;
  }

  void add(const Plan& plan, Part part) {
    part.first_node = static_cast<uint32_t>(out_.plan.nodes.size());
    part.first_subgraph = static_cast<uint32_t>(out_.plan.subgraphs.size());
    part.first_tensor = static_cast<uint32_t>(out_.plan.tensors.size());
    std::vector<uint32_t> devices;
    for (const PlanDevice& device : plan.devices) devices.push_back(device_number(device));
    for (const Subgraph& subgraph : plan.subgraphs) add_subgraph(subgraph, part, devices);
    for (const PlacedNode& node : plan.nodes) add_node(node, part, devices);
    add_tensors(plan, part);
    out_.plan.bytes += plan.bytes;
    part.end_node = static_cast<uint32_t>(out_.plan.nodes.size());
    part.end_subgraph = static_cast<uint32_t>(out_.plan.subgraphs.size());
    part.end_tensor = static_cast<uint32_t>(out_.plan.tensors.size());
    out_.parts.push_back(part);
    for (const std::string& note : plan.notes)
      if (said_.insert(note).second) out_.plan.notes.push_back(part.path.empty() ? note : cat("in ", part.path, ": ", note));
    for (const BodyPlan& body : plan.bodies) {
      const PlacedNode& holder = plan.nodes[body.node];
      const std::string trips = holder.op_type == "If" ? ""
                                : body.trips_known     ? cat(body.trips, body.trips == 1 ? " trip" : " trips")
                                                       : "trips not known before running";
      Part inside;
      inside.path = cat(holder.name, "/", body.name), inside.holder = part.first_node + body.node, inside.trips = trips;
      add(body.plan, std::move(inside));
    }
  }

  void add_subgraph(const Subgraph& subgraph, const Part& part, const std::vector<uint32_t>& devices) {
    Subgraph& made = out_.plan.subgraphs.emplace_back(subgraph);
    made.device = devices[subgraph.device];
    for (uint32_t& n : made.nodes) n += part.first_node;
    for (Clone& clone : made.clones) clone.node += part.first_node;
  }

  void add_node(const PlacedNode& node, const Part& part, const std::vector<uint32_t>& devices) {
    PlacedNode& made = out_.plan.nodes.emplace_back(node);
    made.device = devices[node.device];
    made.subgraph += part.first_subgraph;
    made.unit += part.first_node;
    made.answers.assign(out_.plan.devices.size(), {false, "", "no candidate here", -1, ""});
    for (size_t d = 0; d < node.answers.size(); ++d) made.answers[devices[d]] = node.answers[d];
  }

  void add_tensors(const Plan& plan, const Part& part) {
    std::map<uint32_t, uint32_t> number;  // by value
    for (const PlanTensor& tensor : plan.tensors) {
      const auto at = static_cast<uint32_t>(out_.plan.tensors.size());
      number.emplace(tensor.value, at);
      PlanTensor& made = out_.plan.tensors.emplace_back(tensor);
      made.value = at;
      if (made.from) *made.from += part.first_node;
      for (uint32_t& n : made.to) n += part.first_node;
    }
    for (const CutTensor& cut : plan.cuts) {
      const auto at = number.find(cut.value);
      if (at == number.end()) continue;  // written before tensors were kept
      CutTensor& made = out_.plan.cuts.emplace_back(cut);
      made.value = at->second;
      made.from += part.first_subgraph;
      for (uint32_t& to : made.to) to += part.first_subgraph;
    }
  }

  Flat out_;
  std::map<std::string, uint32_t> devices_;  // by full name
  std::set<std::string> said_;               // notes, each once
};

}  // namespace

Flat flatten(const Plan& plan) { return Flattener().run(plan); }

uint32_t Flat::part_of_subgraph(uint32_t subgraph) const {
  uint32_t p = 0;
  while (subgraph >= parts[p].end_subgraph) ++p;
  return p;
}

Wiring::Wiring(const Plan& flat) : flat_(flat), places_(flat.nodes.size()), crosses_(flat.tensors.size(), 0) {
  for (size_t n = 0; n < flat.nodes.size(); ++n) places_[n].push_back(flat.nodes[n].subgraph);
  for (uint32_t s = 0; s < flat.subgraphs.size(); ++s)
    for (const Clone& clone : flat.subgraphs[s].clones) places_[clone.node].push_back(s);
  for (const CutTensor& cut : flat.cuts) crosses_[cut.value] = 1;
}

bool Wiring::runs_in(uint32_t node, uint32_t subgraph) const {
  const std::vector<uint32_t>& places = places_[node];
  return std::find(places.begin(), places.end(), subgraph) != places.end();
}

}  // namespace optima::view
