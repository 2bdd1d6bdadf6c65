// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <map>

#include "core/placement/assemble.hpp"
#include "core/placement/limits_of.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

class Reasoner {
 public:
  Reasoner(Plan& plan, const Graph& graph, const Candidates& candidates, const PlacementRequest& request, Capability& capability,
           const Choices& choices, const LimitedSplit& found)
      : plan_(plan), graph_(graph), candidates_(candidates), request_(request), capability_(capability), choices_(choices), found_(found),
        lost_(choices.units.size(), 0), passed_over_(plan.devices.size(), 0) {
    for (const Loss& loss : found.losses) {
      lost_[loss.unit] |= bit(loss.device);
      why_lost_.emplace(std::pair(loss.unit, loss.device), loss.kind);
    }
  }

  void run() {
    plan_.notes.insert(plan_.notes.end(), capability_.notes.begin(), capability_.notes.end());
    plan_.notes.insert(plan_.notes.end(), choices_.notes.begin(), choices_.notes.end());
    note_compile_refusals();
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) plan_.nodes[n].answers = std::move(capability_.answers[n]);
    find_speakers();
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) explain(n, plan_.nodes[n]);
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) mark_excluded(n, plan_.nodes[n]);
    note_passed_over();
    const std::vector<std::string> closed = closed_notes(candidates_, found_.split);
    plan_.notes.insert(plan_.notes.end(), closed.begin(), closed.end());
  }

 private:
  const std::string& name(uint32_t device) const { return plan_.devices[device].name; }

  void explain(uint32_t n, PlacedNode& node) {
    if (const KeptNode* kept = kept_of(n)) return keep(node, *kept);
    if (const auto why = capability_.host.why.find(n); why != capability_.host.why.end()) return explain_driven(node, why->second);
    const Wish* wish = choices_.wish[n];
    if (wish) {
      node.asked = wish->text();
      node.wanted = order_of(*wish);
      node.as_asked = node.wanted[0] == node.device;
    }
    if (!node.quantized_unit.empty() && !leads(n)) return explain_member(n, node);
    if (wish && wish->hard) return set(node, Why::Pinned, cat("pinned to ", name(node.device), " by ", wish->source));
    if (wish)
      return set(node, Why::Preferred,
                 cat(name(node.device), " is the first that can of those that ", wish->source, " lists", first_no(n, node, order_of(*wish))));
    if (const uint32_t device = lost_before(n, node.device); device != OPTIMA_NONE)
      return set(node, Why::Capacity, cat(name(device), " takes it too, but ", why_lost(n, device)));
    if (node.quantized_unit.empty() && choices_.units[choices_.unit_of[n]].size() > 1) return set(node, Why::FollowsGroup, cat("moves as one with ", companions(n)));
    explain_free(n, node);
  }

  // What a plan that is followed says, unless the node's device was edited.
  const KeptNode* kept_of(uint32_t n) const {
    const auto at = request_.kept.find(graph_.main().nodes[n].id);
    return at != request_.kept.end() && at->second.why ? &at->second : nullptr;
  }
  void keep(PlacedNode& node, const KeptNode& kept) const {
    node.asked = kept.asked;
    node.as_asked = kept.as_asked;
    for (const DeviceName& name : kept.wanted)
      if (const uint32_t device = candidates_.find(name); device != OPTIMA_NONE) node.wanted.push_back(device);
    set(node, *kept.why, kept.sentence);
  }

  // Whether a node of a quantized unit has a reason of its own: a wish that spoke for the unit, or no wish did and it is the
  // operator.
  bool leads(uint32_t n) const {
    const Wish* speaker = speaker_[choices_.quantized[n]];
    return speaker ? choices_.wish[n] && choices_.wish[n]->rank == speaker->rank : choices_.quantized[n] == n;
  }
  void find_speakers() {
    speaker_.assign(plan_.nodes.size(), nullptr);
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) {
      if (choices_.quantized[n] == OPTIMA_NONE || !choices_.wish[n]) continue;
      const Wish*& speaker = speaker_[choices_.quantized[n]];
      if (!speaker || choices_.wish[n]->rank > speaker->rank) speaker = choices_.wish[n];
    }
  }
  void explain_member(uint32_t n, PlacedNode& node) const {
    const Wish* speaker = speaker_[choices_.quantized[n]];
    const std::string wanted = speaker ? cat(", which ", speaker->source, " wants on ", speaker->text()) : "";
    set(node, Why::FollowsUnit, cat("in the quantized unit of ", quote(node.quantized_unit), wanted));
  }

  // What was asked of the node as a whole binds its bodies; the node itself is then not where it was asked to be.
  void explain_driven(PlacedNode& node, const std::string& why) {
    if (node.node_id < request_.wishes.size()) {
      const Wish& wish = request_.wishes[node.node_id];
      if (wish.host || !wish.devices.empty()) node.asked = wish.text();
      node.as_asked = wish.devices.empty();
    }
    set(node, Why::HostDriven, cat("the host drives it: ", why));
  }

  void explain_free(uint32_t n, PlacedNode& node) {
    const uint64_t gladly = choices_.allow[n] & ~capability_.avoid[n];
    const uint64_t others = choices_.allow[n] & ~bit(node.device);
    const auto first = static_cast<uint32_t>(std::countr_zero(gladly ? gladly : choices_.allow[n]));
    for (uint32_t d : free_devices())
      if (d < node.device && node.answers[d].reason == "COMPILE")
        return set(node, Why::CompileRefused, cat(name(d), " could not compile it: ", node.answers[d].text));
    if (std::has_single_bit(candidates_.free)) return set(node, Why::OnlyDevice, cat(name(node.device), " is the only candidate"));
    const std::string it = node.quantized_unit.empty() ? "it" : "its quantized unit";
    if (!others)
      return set(node, Why::OnlyDevice,
                 cat("only ", name(node.device), " of the candidates takes ", it, first_no(n, node, free_devices()), no_candidate(n)));
    if (plan_.estimate) return set(node, Why::Cost, cat("the fastest plan found has it on ", name(node.device), others_by_time(n, node)));
    if (first == node.device) return set(node, Why::FirstInOrder, cat(name(node.device), " is the first that takes ", it, first_no(n, node, free_devices())));
    ++passed_over_[first];
    set(node, Why::FewerParts, cat(name(first), " takes ", it, " too, but on ", name(node.device), " it makes fewer subgraphs"));
  }

  // The first device that the node would rather have than its own and lost to a limit.
  uint32_t lost_before(uint32_t n, uint32_t device) const {
    const uint64_t lost = lost_[choices_.unit_of[n]] & choices_.allow[n] & ~capability_.avoid[n];
    const uint64_t before = lost & (bit(device) - 1);
    return before ? static_cast<uint32_t>(std::countr_zero(before)) : OPTIMA_NONE;
  }
  std::string why_lost(uint32_t n, uint32_t device) const {
    return limit_text(candidates_, request_, device, why_lost_.at({choices_.unit_of[n], device}), graph_.main().nodes[n].op_type);
  }

  static void set(PlacedNode& node, Why why, std::string sentence) {
    node.why = why;
    node.sentence = std::move(sentence);
  }

  std::vector<uint32_t> order_of(const Wish& wish) const {
    std::vector<uint32_t> out;
    for (const DeviceName& device : wish.devices) out.push_back(candidates_.index_of(device));
    return out;
  }
  std::vector<uint32_t> free_devices() const {
    std::vector<uint32_t> out;
    for (uint64_t m = candidates_.free; m; m &= m - 1) out.push_back(static_cast<uint32_t>(std::countr_zero(m)));
    return out;
  }

  // "; X refused: ...": the first device in the order that would have come before the node's own, or any when it stands alone.
  std::string first_no(uint32_t n, const PlacedNode& node, const std::vector<uint32_t>& order) const {
    for (uint32_t d : order) {
      if (d == node.device) return "";
      const DeviceAnswer& answer = node.answers[d];
      if (answer.yes && !node.quantized_unit.empty())
        for (uint32_t m : choices_.units[choices_.unit_of[n]])
          if (const PlacedNode& other = plan_.nodes[m]; !other.answers[d].yes)
            return cat("; ", name(d), " refuses ", quote(other.name), " of it: ", other.answers[d].text);
      if (!answer.yes) return cat("; ", name(d), ": ", answer.text);
      if (!answer.reason.empty()) return cat("; ", name(d), " would rather not: ", answer.text);
    }
    return "";
  }

  // "; X would, but is no candidate": a device that only other nodes name.
  std::string no_candidate(uint32_t n) const {
    for (uint32_t d = 0; d < plan_.devices.size(); ++d)
      if ((capability_.yes[n] & ~candidates_.free & bit(d)) && !is_host(plan_.devices[d])) return cat("; ", name(d), " would, but is no candidate");
    return "";
  }

  // "; on X: slower by 3 us": for each other device it might be on.
  std::string others_by_time(uint32_t n, const PlacedNode& node) const {
    std::string out;
    for (uint32_t d = 0; d < node.answers.size(); ++d)
      if (d != node.device && (choices_.allow[n] & bit(d))) out += cat("; on ", name(d), ": ", node.answers[d].text);
    return out;
  }

  std::string companions(uint32_t n) const {
    constexpr size_t kMostShown = 3;
    std::vector<std::string> shown;
    size_t others = 0;
    for (uint32_t m : choices_.units[choices_.unit_of[n]])
      if (m != n && ++others <= kMostShown) shown.push_back(quote(graph_.main().nodes[m].name));
    return cat(join(shown), others > kMostShown ? ", ..." : "");
  }

  // Plugins that said yes but were not free to get the node.
  void mark_excluded(uint32_t n, PlacedNode& node) const {
    for (uint32_t d = 0; d < node.answers.size(); ++d) {
      DeviceAnswer& answer = node.answers[d];
      if (answer.yes && d != node.device && (choices_.allow[n] & lost_[choices_.unit_of[n]] & bit(d))) answer.text = why_lost(n, d);
      if (!answer.yes || d == node.device || (choices_.allow[n] & bit(d)) || !answer.text.empty()) continue;
      answer.text = exclusion(n, node, d);
    }
  }
  std::string exclusion(uint32_t n, const PlacedNode& node, uint32_t device) const {
    if (capability_.host.drives(n)) return "excluded, the host drives it";
    if (!node.quantized_unit.empty() && !leads(n)) return "excluded by its quantized unit";
    if (const KeptNode* kept = kept_of(n)) return kept->asked.empty() ? "" : "excluded by what was asked for";
    if (choices_.wish[n]) return cat("excluded by ", choices_.wish[n]->source);
    if (!(candidates_.free & bit(device))) return "takes only nodes that name it";
    return node.quantized_unit.empty() ? "excluded by its group" : "excluded by its quantized unit";
  }

  // Of one plugin and one sentence together.
  void note_compile_refusals() {
    std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string>> nodes;
    for (const auto& [key, sentence] : request_.compile_refusals)
      for (const image::Node& node : graph_.main().nodes)
        if (node.id == key.first) nodes[{key.second, sentence}].push_back(quote(node.name));
    for (const auto& [said, names] : nodes)
      plan_.notes.push_back(cat("plugin ", quote(said.first), " could not compile ", names.size() == 1 ? "node " : cat(names.size(), " nodes: "),
                                join_few(names), ": ", said.second, "; placed again"));
  }

  void note_passed_over() {
    for (uint32_t d = 0; d < passed_over_.size(); ++d) {
      if (passed_over_[d] == 0) continue;
      std::vector<std::string> order;
      for (uint32_t f : free_devices()) order.push_back(cat("\"", name(f), "\""));
      plan_.notes.push_back(cat(name(d), " takes ", passed_over_[d], passed_over_[d] == 1 ? " node that runs" : " nodes that run",
                                " elsewhere because that makes fewer subgraphs; to put every node on the first device that can, allocate \"*\": [",
                                join(order), "]"));
    }
  }

  Plan& plan_;
  const Graph& graph_;
  const Candidates& candidates_;
  const PlacementRequest& request_;
  Capability& capability_;
  const Choices& choices_;
  std::vector<const Wish*> speaker_;   // by operator: the wish that spoke for its quantized unit, or null
  const LimitedSplit& found_;
  std::vector<uint64_t> lost_;         // by unit: devices taken away by a limit
  std::map<std::pair<uint32_t, uint32_t>, LimitKind> why_lost_;  // by unit and device
  std::vector<uint32_t> passed_over_;  // by device: nodes that would have gone there first
};

}  // namespace

void add_reasons(Plan& plan, const Graph& graph, const Candidates& candidates, const PlacementRequest& request, Capability&& capability,
                 const Choices& choices, const LimitedSplit& found) {
  Reasoner(plan, graph, candidates, request, capability, choices, found).run();
}

}  // namespace optima::detail
