// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "core/placement/assemble.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

class Reasoner {
 public:
  Reasoner(Plan& plan, const Graph& graph, const Candidates& candidates, const PlacementRequest& request, Capability& capability, const Choices& choices)
      : plan_(plan), graph_(graph), candidates_(candidates), request_(request), capability_(capability), choices_(choices),
        passed_over_(plan.devices.size(), 0) {}

  void run() {
    plan_.notes.insert(plan_.notes.end(), capability_.notes.begin(), capability_.notes.end());
    note_compile_refusals();
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) {
      PlacedNode& node = plan_.nodes[n];
      node.answers = std::move(capability_.answers[n]);
      explain(n, node);
      mark_excluded(n, node);
    }
    note_passed_over();
  }

 private:
  const std::string& name(uint32_t device) const { return plan_.devices[device].name; }

  void explain(uint32_t n, PlacedNode& node) {
    const Wish* wish = choices_.wish[n];
    if (wish) {
      node.asked = wish->text();
      node.wanted = order_of(*wish);
      node.as_asked = node.wanted[0] == node.device;
      if (wish->hard) return set(node, Why::Pinned, cat("pinned to ", name(node.device), " by ", wish->source));
      return set(node, Why::Preferred,
                 cat(name(node.device), " is the first that can of those that ", wish->source, " lists", first_no(node, order_of(*wish))));
    }
    if (choices_.units[choices_.unit_of[n]].size() > 1) return set(node, Why::FollowsGroup, cat("moves as one with ", companions(n)));
    explain_free(n, node);
  }

  void explain_free(uint32_t n, PlacedNode& node) {
    const uint64_t gladly = choices_.allow[n] & ~capability_.avoid[n];
    const uint64_t others = choices_.allow[n] & ~bit(node.device);
    const auto first = static_cast<uint32_t>(std::countr_zero(gladly ? gladly : choices_.allow[n]));
    for (uint32_t d : free_devices())
      if (d < node.device && node.answers[d].reason == "COMPILE")
        return set(node, Why::CompileRefused, cat(name(d), " could not compile it: ", node.answers[d].text));
    if (std::has_single_bit(candidates_.free)) return set(node, Why::OnlyDevice, cat(name(node.device), " is the only candidate"));
    if (!others) return set(node, Why::OnlyDevice, cat("only ", name(node.device), " takes it", first_no(node, free_devices())));
    if (first == node.device) return set(node, Why::FirstInOrder, cat(name(node.device), " is the first that takes it", first_no(node, free_devices())));
    ++passed_over_[first];
    set(node, Why::FewerParts, cat(name(first), " takes it too, but on ", name(node.device), " it makes fewer subgraphs"));
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
  std::string first_no(const PlacedNode& node, const std::vector<uint32_t>& order) const {
    for (uint32_t d : order) {
      if (d == node.device) return "";
      const DeviceAnswer& answer = node.answers[d];
      if (!answer.yes) return cat("; ", name(d), ": ", answer.text);
      if (!answer.reason.empty()) return cat("; ", name(d), " would rather not: ", answer.text);
    }
    return "";
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
      if (!answer.yes || d == node.device || (choices_.allow[n] & bit(d)) || !answer.text.empty()) continue;
      const Wish* wish = choices_.wish[n];
      answer.text = wish ? cat("excluded by ", wish->source) : (candidates_.free & bit(d)) ? "excluded by its group" : "takes only nodes that name it";
    }
  }

  void note_compile_refusals() {
    for (const auto& [key, sentence] : request_.compile_refusals)
      for (const image::Node& node : graph_.main().nodes)
        if (node.id == key.first)
          plan_.notes.push_back(cat("plugin ", quote(key.second), " could not compile node ", quote(node.name), ": ", sentence, "; placed again"));
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
  std::vector<uint32_t> passed_over_;  // by device: nodes that would have gone there first
};

}  // namespace

void add_reasons(Plan& plan, const Graph& graph, const Candidates& candidates, const PlacementRequest& request, Capability&& capability,
                 const Choices& choices) {
  Reasoner(plan, graph, candidates, request, capability, choices).run();
}

}  // namespace optima::detail
