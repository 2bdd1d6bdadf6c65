// SPDX-License-Identifier: Apache-2.0
#include "core/placement/refusal.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/placement/advice.hpp"
#include "core/placement/other_servers.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

class Refuser {
 public:
  Refuser(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Capability& capability, const Choices& choices)
      : graph_(graph), candidates_(candidates), request_(request), capability_(capability), choices_(choices) {}

  Status pin(uint32_t n, size_t others) const {
    const Wish& wish = *choices_.wish[n];
    const uint32_t device = candidates_.index_of(wish.devices[0]);
    return placement_error(cat("node ", shown(n), " is pinned to ", name(device), " by ", wish.source, ", but plugin ",
                               quote(candidates_.devices[device].plugin), " refuses it: ", answer(n, device), "; ", takers(n), whole_note(n),
                               more(others)));
  }

  Status list(uint32_t n, size_t others) const {
    const Wish& wish = *choices_.wish[n];
    std::vector<std::string> why;
    for (const DeviceName& asked : wish.devices) why.push_back(said(n, candidates_.index_of(asked)));
    return placement_error(cat("none of the devices that ", wish.source, " lists takes node ", shown(n), ": ", join(why, "; "), "; ", takers(n),
                               whole_note(n), more(others)));
  }

  Status nobody(const std::vector<uint32_t>& refused) const {
    const uint32_t n = refused[0];
    std::vector<std::string> why;
    bool sizes = false;
    for (uint32_t d = 0; d < candidates_.devices.size() && d != capability_.host.device; ++d) {
      why.push_back((capability_.yes[n] >> d & 1) ? cat(name(d), ": takes only nodes that name it") : said(n, d));
      sizes |= capability_.answers[n][d].reason == reason_name(OPTIMA_REASON_DYNAMIC_SHAPE);
    }
    return placement_error(cat("no candidate device takes node ", shown(n), ": ", join(why, "; "), whole_note(n), more(refused.size() - 1),
                               advice().device_for(refused), sizes ? sizes_wanted(graph_, request_) : ""));
  }

  // Nodes of one reason are told of together, their operator with them where it is one.
  Status required(const std::vector<uint32_t>& refused) const {
    constexpr size_t kMostReasons = 3;
    const uint32_t device = candidates_.index_of(candidates_.required->devices[0]);
    struct Reason {
      std::string text;
      std::vector<std::string> nodes;
      std::set<std::string> operators;
    };
    std::vector<Reason> reasons;
    for (uint32_t n : refused) {
      const Wish& wish = *choices_.wish[n];
      const bool elsewhere = &wish != &*candidates_.required && (capability_.yes[n] >> device & 1);
      const std::string text = elsewhere ? cat("asked to run on ", wish.text(), " by ", wish.source) : answer(n, device);
      const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& r) { return r.text == text; });
      Reason& reason = same == reasons.end() ? reasons.emplace_back(Reason{text, {}, {}}) : *same;
      reason.nodes.push_back(quote(node(n).name));
      reason.operators.insert(node(n).op_type);
    }
    std::vector<std::string> why;
    size_t left = refused.size();
    for (const Reason& reason : reasons) {
      if (why.size() == kMostReasons) break;
      why.push_back(cat(join_few(reason.nodes), reason.operators.size() == 1 ? cat(" (", *reason.operators.begin(), ")") : "", ": ", reason.text));
      left -= reason.nodes.size();
    }
    return placement_error(cat("--require-device ", name(device), ": ", refused.size(), " of ", choices_.allow.size(), " nodes cannot run there: ",
                               join(why, "; "), left ? cat("; and ", left, " more for other reasons") : "",
                               other_servers_hint(request_.plugins, candidates_.devices[device].plugin, *request_.require_device)));
  }

 private:
  const image::Node& node(uint32_t n) const { return graph_.main().nodes[n]; }
  std::string shown(uint32_t n) const { return node_text(graph_, node(n)); }
  const std::string& name(uint32_t device) const { return candidates_.devices[device].name; }
  std::string answer(uint32_t n, uint32_t device) const {
    const DeviceAnswer& a = capability_.answers[n][device];
    return a.reason.empty() ? a.text : cat(a.text, " (", a.reason, ")");
  }
  std::string said(uint32_t n, uint32_t device) const { return cat(name(device), " (", candidates_.devices[device].plugin, "): ", answer(n, device)); }

  std::string takers(uint32_t n) const {
    std::vector<std::string> names;
    for (uint32_t d = 0; d < candidates_.devices.size(); ++d)
      if (capability_.yes[n] >> d & 1) names.push_back(name(d));
    if (names.empty()) names = advice().takers(n);
    return names.empty() ? "no other device asked would take it" : cat("it would run on ", join(names));
  }

  std::string whole_note(uint32_t n) const {
    const auto why_not = capability_.host.why_not.find(n);
    return why_not == capability_.host.why_not.end() ? "" : cat("; ", why_not->second);
  }

  static std::string more(size_t others) { return others == 0 ? "" : cat("; so with ", others, others == 1 ? " other node" : " other nodes"); }

  const Advice& advice() const {
    if (!advice_) advice_.emplace(graph_, candidates_, capability_, request_);
    return *advice_;
  }

  const Graph& graph_;
  const Candidates& candidates_;
  const PlacementRequest& request_;
  const Capability& capability_;
  const Choices& choices_;
  mutable std::optional<Advice> advice_;  // asked for when wanted
};

}  // namespace

Status refusal_of(const Graph& graph, const Candidates& candidates, const PlacementRequest& request, const Capability& capability,
                  const Choices& choices) {
  std::vector<uint32_t> refused;
  for (uint32_t n = 0; n < choices.allow.size(); ++n)
    if (choices.allow[n] == 0) refused.push_back(n);
  if (refused.empty()) return {};
  const Refuser refuser(graph, candidates, request, capability, choices);
  if (candidates.required) return refuser.required(refused);
  const Wish* wish = choices.wish[refused[0]];
  if (!wish) return refuser.nobody(refused);
  return wish->hard ? refuser.pin(refused[0], refused.size() - 1) : refuser.list(refused[0], refused.size() - 1);
}

}  // namespace optima::detail
