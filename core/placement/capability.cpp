// SPDX-License-Identifier: Apache-2.0
#include "core/placement/capability.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/backend/tier_one.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

class Asker {
 public:
  Asker(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const PlacementRequest& request)
      : graph_(graph), packed_(packed), candidates_(candidates), request_(request) {
    const size_t nodes = graph.main().nodes.size();
    out_.answers.assign(nodes, std::vector<DeviceAnswer>(candidates.devices.size()));
    out_.yes.assign(nodes, 0);
    out_.avoid.assign(nodes, 0);
    for (uint32_t n = 0; n < nodes; ++n) index_of_id_.emplace(graph.main().nodes[n].id, n);
    out_.notes = candidates.notes;
  }

  Result<Capability> run() {
    for (uint32_t d = 0; d < candidates_.devices.size(); ++d) OPTIMA_RETURN_IF_ERROR(ask(d));
    return std::move(out_);
  }

 private:
  Status ask(uint32_t device) {
    asked_.assign(out_.yes.size(), 0);
    const std::vector<uint32_t> ids = ask_note(device);
    if (ids.empty()) return {};
    const PlanDevice& on = candidates_.devices[device];
    const Result<Answers> said = request_.answers->ask(*candidates_.plugins[device], on.full_name, on.target, packed_.raw, ids);
    if (said.status().kind() == StatusKind::Cancelled || said.status().kind() == StatusKind::Usage) return said.status();
    if (said.ok()) take(device, *said);
    else take_failure(device, ids, said.status().message());
    take_back(device);
    return {};
  }

  // Tier 1; returns the ids of the nodes that are worth asking about. Until check() answers, they count as unanswered.
  std::vector<uint32_t> ask_note(uint32_t device) {
    const Manifest& manifest = candidates_.plugins[device]->manifest();
    std::vector<uint32_t> ids;
    for (uint32_t n = 0; n < graph_.main().nodes.size(); ++n) {  // the image lists the main graph's nodes first
      const uint32_t id = graph_.main().nodes[n].id;
      if (const std::string why = outside_opsets(manifest, graph_.main().nodes[n].domain); !why.empty()) {
        out_.refuse(n, device, reason_name(OPTIMA_REASON_OPSET), why);
        continue;
      }
      const Verdict verdict = judge_by_note(manifest, candidates_.devices[device].target.kind, packed_.raw, *optima_get_node(packed_.raw.image, n));
      if (verdict.verdict != OPTIMA_VERDICT_SUPPORTED) {
        out_.refuse(n, device, reason_name(verdict.reason), verdict.text);
        continue;
      }
      out_.refuse(n, device, "OTHER", cat("plugin ", quote(manifest.id), " gave no verdict for this node"));
      asked_[n] = 1;
      ids.push_back(id);
    }
    return ids;
  }

  // The host converts no model for a plugin, so a range it does not want to see is a no.
  std::string outside_opsets(const Manifest& manifest, const std::string& domain) const {
    for (const OpsetRange& range : manifest.opsets)
      for (const auto& [name, version] : graph_.contents.opsets)
        if (range.domain == domain && name == domain && (version < range.min || version > range.max))
          return cat("the model is of opset ", version, domain.empty() ? "" : cat(" of ", domain), ", must be ", range.min, "..", range.max);
    return "";
  }

  void take(uint32_t device, const Answers& verdicts) {
    std::map<uint32_t, std::vector<uint32_t>> groups;  // by the plugin's number
    for (const Verdict& verdict : verdicts) {
      const auto at = index_of_id_.find(verdict.node);
      if (at == index_of_id_.end() || !asked_[at->second]) continue;
      asked_[at->second] = 0;
      take_one(device, at->second, verdict);
      if (verdict.verdict == OPTIMA_VERDICT_ONLY_IN_GROUP) groups[verdict.group].push_back(at->second);
    }
    std::vector<Group> found;
    for (auto& [number, nodes] : groups) {
      std::sort(nodes.begin(), nodes.end());
      found.push_back({device, std::move(nodes)});
    }
    std::sort(found.begin(), found.end(), [](const Group& a, const Group& b) { return a.nodes[0] < b.nodes[0]; });
    out_.groups.insert(out_.groups.end(), found.begin(), found.end());
  }

  void take_one(uint32_t device, uint32_t node, const Verdict& verdict) {
    DeviceAnswer& answer = out_.answers[node][device];
    const bool avoid = verdict.verdict == OPTIMA_VERDICT_PREFER_ELSEWHERE;
    const bool yes = avoid || verdict.verdict == OPTIMA_VERDICT_SUPPORTED || (verdict.verdict == OPTIMA_VERDICT_ONLY_IN_GROUP && verdict.group != OPTIMA_NONE);
    const uint64_t bit = uint64_t{1} << device;
    if (yes) out_.yes[node] |= bit;
    if (avoid) out_.avoid[node] |= bit;
    answer.yes = yes;
    answer.reason = yes && !avoid ? "" : std::string(reason_name(verdict.reason));
    answer.text = verdict.text;
    if (!yes && answer.text.empty()) answer.text = cat("plugin ", quote(candidates_.plugins[device]->manifest().id), " refused without a reason");
  }

  // What the plugin refused while compiling, although it says yes: its answers stay those of the first time it was asked.
  void take_back(uint32_t device) {
    const std::string& plugin = candidates_.plugins[device]->manifest().id;
    std::set<uint32_t> refused;
    for (const auto& [key, sentence] : request_.compile_refusals) {
      const auto at = index_of_id_.find(key.first);
      if (key.second != plugin || at == index_of_id_.end() || !(out_.yes[at->second] >> device & 1)) continue;
      out_.refuse(at->second, device, "COMPILE", sentence);
      refused.insert(at->second);
    }
    std::erase_if(out_.groups, [&](const Group& group) { return group.device == device && loses(group, refused); });
  }

  // A group that lost a node is none: the others do not go without it.
  bool loses(const Group& group, const std::set<uint32_t>& refused) {
    const auto lost = std::find_if(group.nodes.begin(), group.nodes.end(), [&](uint32_t n) { return refused.count(n) != 0; });
    if (lost == group.nodes.end()) return false;
    const std::string why = cat("taken only together with ", quote(graph_.main().nodes[*lost].name), ", which it could not compile");
    for (const uint32_t n : group.nodes)
      if (!refused.count(n)) out_.refuse(n, group.device, "OTHER", why);
    return true;
  }

  void take_failure(uint32_t device, const std::vector<uint32_t>& ids, const std::string& message) {
    const std::string& plugin = candidates_.plugins[device]->manifest().id;
    for (uint32_t id : ids) {
      const uint32_t node = index_of_id_.at(id);
      if (request_.plan_only) {
        out_.yes[node] |= uint64_t{1} << device;
        out_.answers[node][device] = {true, "", "by its note alone"};
      } else {
        out_.refuse(node, device, "DEPENDENCY", cat("plugin ", quote(plugin), " could not be asked: ", message));
      }
    }
    out_.notes.push_back(cat("plugin ", quote(plugin), " could not be asked about ", candidates_.devices[device].name,
                             request_.plan_only ? ", its note alone decided: " : ", so it takes nothing: ", message));
  }

  const Graph& graph_;
  const PackedGraph& packed_;
  const Candidates& candidates_;
  const PlacementRequest& request_;
  std::unordered_map<uint32_t, uint32_t> index_of_id_;  // looked up only
  std::vector<uint8_t> asked_;                          // by node: asked of the present device and not answered yet
  Capability out_;
};

}  // namespace

void Capability::refuse(uint32_t node, uint32_t device, std::string_view reason, std::string text) {
  yes[node] &= ~(uint64_t{1} << device);
  avoid[node] &= ~(uint64_t{1} << device);
  answers[node][device] = {false, std::string(reason), std::move(text)};
}

Result<Capability> ask_all(const Graph& graph, const PackedGraph& packed, const Candidates& candidates, const PlacementRequest& request) {
  return Asker(graph, packed, candidates, request).run();
}

}  // namespace optima::detail
