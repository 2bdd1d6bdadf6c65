// SPDX-License-Identifier: Apache-2.0
#include "core/placement/host_driven.hpp"

#include <bit>

#include "core/flow/node.hpp"
#include "core/split/split.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

// What the wishes for a node and for all nodes of its bodies come to.
struct Wishes {
  uint64_t limit = ~uint64_t{0};
  const Wish* wish = nullptr;             // the node's own, else the first inside
  const image::Node* decided = nullptr;   // the last that narrowed the limit
  std::string apart;                      // who asks for what, when nothing is left
  bool covers = true;                     // every node inside is asked for what the node itself is
};

class Decider {
 public:
  Decider(const Graph& graph, const PlacementRequest& request, Candidates& candidates, Capability& capability)
      : graph_(graph), request_(request), candidates_(candidates), capability_(capability) {}

  Status run() {
    for (uint32_t n = 0; n < graph_.main().nodes.size(); ++n) {
      const image::Node& node = graph_.main().nodes[n];
      const Wish* wish = any_wish(node);
      if (wish && wish->host && !flow_op(node))
        return invalid_input(cat("node ", quote(node.name), " (", node.op_type, ") is given to the host by ", wish->source,
                                 ", wanted an If, a Loop or a Scan"));
      bool bodies = false;
      for_each_body(node, [&](uint32_t) { bodies = true; });
      if (bodies) OPTIMA_RETURN_IF_ERROR(decide(n, node));
    }
    if (!capability_.host.why.empty()) add_host();
    return {};
  }

 private:
  const Wish* any_wish(const image::Node& node) const { return node.id < request_.wishes.size() ? &request_.wishes[node.id] : nullptr; }
  const Wish* wish_of(const image::Node& node) const {
    const Wish* wish = any_wish(node);
    return wish && !wish->devices.empty() ? wish : nullptr;
  }
  uint64_t mask_of(const Wish& wish) const {
    uint64_t mask = 0;
    for (const DeviceName& name : wish.devices) mask |= bit(candidates_.index_of(name));
    return mask;
  }

  Status decide(uint32_t n, const image::Node& node) {
    const Wish* own = wish_of(node);
    Wishes w;
    if (own) w = {mask_of(*own), own, &node, "", true};
    std::string asked = any_wish(node) && any_wish(node)->host ? cat("it is given to the host by ", any_wish(node)->source) : "";
    join_bodies(node, own, w, asked);
    if (!w.decided) w.limit = candidates_.free;
    if (candidates_.required) w.limit &= mask_of(*candidates_.required);
    capability_.host.whole[n] = {asked.empty() ? w.limit : 0, w.wish ? w.wish : candidates_.required ? &*candidates_.required : nullptr};
    if (asked.empty() && (w.limit & capability_.yes[n])) return {};
    const std::string why = !asked.empty() ? asked : !w.apart.empty() ? w.apart : nobody(n);
    const std::string why_not = forbidden(node, own, w, !asked.empty());
    if (!why_not.empty() && (!asked.empty() || !w.apart.empty()))
      return placement_error(cat("node ", quote(node.name), " (", node.op_type, ") cannot run: ", why, ", but ", why_not));
    (why_not.empty() ? capability_.host.why : capability_.host.why_not)[n] = why_not.empty() ? why : why_not;
    return {};
  }

  // `given`: the wish of a node around, which nodes without one of their own share.
  void join_bodies(const image::Node& holder, const Wish* given, Wishes& w, std::string& asked) {
    for_each_body(holder, [&](uint32_t body) {
      for (const image::Node& inner : graph_.contents.graphs[body].nodes) {
        const Wish* own = wish_of(inner);
        if (asked.empty() && any_wish(inner) && any_wish(inner)->host)
          asked = cat(quote(inner.name), " inside is given to the host by ", any_wish(inner)->source);
        if (own) join(inner, own->text(), mask_of(*own), w);
        else if (!given) join(inner, "", candidates_.free, w);
        if (own && !w.wish) w.wish = own;
        w.covers &= own && w.wish && own->same_as(*w.wish);
        join_bodies(inner, own ? own : given, w, asked);
      }
    });
  }

  void join(const image::Node& inner, const std::string& wanted, uint64_t mask, Wishes& w) {
    const uint64_t joined = w.limit & mask;
    if (joined == 0 && w.apart.empty() && w.decided) {
      const auto text = [&](const image::Node& node, const std::string& asked) {
        return asked.empty() ? cat(quote(node.name), " is free") : cat(quote(node.name), " is asked to run on ", asked);
      };
      w.apart = cat("its nodes are told apart: ", text(*w.decided, wish_of(*w.decided) ? wish_of(*w.decided)->text() : ""), ", ",
                    text(inner, wanted));
    }
    if (joined != w.limit || !w.decided) w.decided = &inner;
    w.limit = joined;
  }

  std::string nobody(uint32_t n) const {
    std::vector<std::string> said;
    for (uint32_t d = 0; d < candidates_.devices.size(); ++d) {
      const DeviceAnswer& answer = capability_.answers[n][d];
      if (!answer.yes && (capability_.host.whole.at(n).limit & bit(d))) said.push_back(cat(candidates_.devices[d].name, ": ", answer.text));
    }
    return said.empty() ? "no candidate takes it whole" : cat("nobody takes it whole; ", optima::join(said, "; "));
  }

  // What keeps the host from driving a node that goes nowhere whole.
  std::string forbidden(const image::Node& node, const Wish* own, const Wishes& w, bool asked) const {
    if (candidates_.required) return "the host may not drive it: --require-device wants it whole";
    if (!asked && own && w.apart.empty() && !w.covers)
      return cat("to have the host drive it and place its bodies, allocate ", quote(node.name), " to \"host\"");
    if (candidates_.devices.size() >= kMostDevices) return cat("the host cannot drive it: ", kMostDevices, " devices leave no place for the host");
    const std::string why_not = why_not_driven(graph_, node);
    return why_not.empty() ? "" : cat("the host cannot drive it: ", why_not);
  }

  void add_host() {
    capability_.host.device = static_cast<uint32_t>(candidates_.devices.size());
    PlanDevice host;
    host.name = host.full_name = kHostDevice;
    host.rule = "runs If, Loop and Scan over the plans of their bodies";
    host.only_named = true;
    candidates_.devices.push_back(std::move(host));
    candidates_.plugins.push_back(nullptr);
    for (uint32_t n = 0; n < graph_.main().nodes.size(); ++n) {
      const auto why = capability_.host.why.find(n);
      const bool drives = why != capability_.host.why.end();
      if (drives) capability_.yes[n] |= bit(capability_.host.device);
      capability_.answers[n].push_back({drives, drives ? "" : "POLICY", drives ? why->second : refusal(n)});
    }
  }
  std::string refusal(uint32_t n) const {
    if (!flow_op(graph_.main().nodes[n])) return "runs nothing but If, Loop and Scan";
    const auto why_not = capability_.host.why_not.find(n);
    return why_not == capability_.host.why_not.end() ? "a device takes it whole" : why_not->second;
  }

  const Graph& graph_;
  const PlacementRequest& request_;
  Candidates& candidates_;
  Capability& capability_;
};

}  // namespace

Status find_host_driven(const Graph& graph, const PlacementRequest& request, Candidates& candidates, Capability& capability) {
  return Decider(graph, request, candidates, capability).run();
}

}  // namespace optima::detail
