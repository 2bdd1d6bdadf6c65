// SPDX-License-Identifier: Apache-2.0
#include "core/split/beam.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_set>

namespace optima::detail {
namespace {

// One random-looking word per unit; a set's hash is their sum, so that it does not depend on the order of execution.
uint64_t word_of(uint64_t u) {
  u = (u + 1) * 0x9e3779b97f4a7c15u;
  u = (u ^ u >> 30) * 0xbf58476d1ce4e5b9u;
  u = (u ^ u >> 27) * 0x94d049bb133111ebu;
  return u ^ u >> 31;
}

// A set of executed units that the device run last can add nothing to.
struct State {
  std::vector<uint64_t> done;   // bit per unit
  std::vector<uint32_t> ready;  // not done, all producers done
  uint64_t hash = 0;
  uint32_t step = 0;            // in Beam::steps_
};

struct Child {
  uint32_t parent = 0, device = 0;
  uint64_t hash = 0;
  uint32_t need = 0, left = 0, found = 0;
  std::vector<uint32_t> executed, ready;
  auto rank() const { return std::tuple(need, left, found); }
};

class Beam {
 public:
  Beam(const Order& order, const Need& need, size_t width, size_t most) : order_(order), need_(need), width_(width), most_(most) {}

  BeamResult run() {
    std::vector<State> level(1);
    level[0].done.assign((order_.units() + 63) / 64, 0);
    for (uint32_t u = 0; u < order_.units(); ++u)
      if (order_.producers(u).empty()) level[0].ready.push_back(u);
    left_ = {order_.units()};
    steps_.push_back({0, 0});
    for (uint32_t parts = 1; !level.empty() && parts < most_; ++parts) {
      std::vector<Child> children = expand(level, parts);
      for (const Child& child : children)
        if (child.left == 0) return {sequence_to(level[child.parent].step, child.device), std::max(bound_, complete_ ? parts : 0)};
      level = survivors(std::move(children), level);
    }
    return {{}, complete_ ? static_cast<uint32_t>(most_) : bound_};
  }

 private:
  struct Step {
    uint32_t before, device;
  };

  std::vector<Child> expand(std::vector<State>& level, uint32_t parts) {
    std::vector<Child> out;
    std::unordered_set<uint64_t> seen;
    auto least = static_cast<uint32_t>(most_);
    for (uint32_t s = 0; s < level.size(); ++s) {
      uint64_t startable = 0;
      for (uint32_t u : level[s].ready) startable |= order_.allow[u];
      for (; startable; startable &= startable - 1) {
        Child child = run_on(level[s], static_cast<uint32_t>(std::countr_zero(startable)));
        least = std::min(least, parts + child.need);
        if (parts + child.need >= most_ || !seen.insert(child.hash).second) continue;
        child.parent = s;
        child.left = left_[s] - static_cast<uint32_t>(child.executed.size());
        child.found = static_cast<uint32_t>(out.size());
        out.push_back(std::move(child));
      }
    }
    if (complete_) bound_ = std::max(bound_, least);
    return out;
  }

  // Leaves the state as it was.
  Child run_on(State& state, uint32_t device) {
    Child out;
    out.device = device;
    out.hash = state.hash;
    std::vector<uint32_t>& executed = out.executed;
    for (uint32_t u : state.ready) (order_.allow[u] >> device & 1 ? executed : out.ready).push_back(u);
    for (size_t i = 0; i < executed.size(); ++i) {
      const uint32_t u = executed[i];
      state.done[u / 64] |= uint64_t{1} << u % 64;
      out.hash += word_of(u);
      for (uint32_t w : order_.readers(u))
        if (all_done(state, w)) (order_.allow[w] >> device & 1 ? executed : out.ready).push_back(w);
    }
    for (uint32_t u : executed) state.done[u / 64] &= ~(uint64_t{1} << u % 64);
    for (uint32_t u : out.ready) out.need = std::max(out.need, need_.best[u]);
    return out;
  }

  bool all_done(const State& state, uint32_t w) const {
    for (uint32_t u : order_.producers(w))
      if (!(state.done[u / 64] >> u % 64 & 1)) return false;
    return true;
  }

  std::vector<State> survivors(std::vector<Child> children, const std::vector<State>& level) {
    const auto better = [](const Child& a, const Child& b) { return a.rank() < b.rank(); };
    if (children.size() > width_) {
      complete_ = false;
      std::nth_element(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(width_), children.end(), better);
      children.resize(width_);
    }
    std::sort(children.begin(), children.end(), better);
    std::vector<State> out;
    left_.clear();
    for (Child& child : children) {
      State& state = out.emplace_back(State{level[child.parent].done, std::move(child.ready), child.hash, static_cast<uint32_t>(steps_.size())});
      for (uint32_t u : child.executed) state.done[u / 64] |= uint64_t{1} << u % 64;
      steps_.push_back({level[child.parent].step, child.device});
      left_.push_back(child.left);
    }
    return out;
  }

  std::vector<uint32_t> sequence_to(uint32_t step, uint32_t last) const {
    std::vector<uint32_t> out = {last};
    for (; step != 0; step = steps_[step].before) out.push_back(steps_[step].device);
    std::reverse(out.begin(), out.end());
    return out;
  }

  const Order& order_;
  const Need& need_;
  const size_t width_, most_;
  bool complete_ = true;        // no set was ever dropped for lack of room
  uint32_t bound_ = 0;
  std::vector<uint32_t> left_;  // by state of the level: units not executed
  std::vector<Step> steps_;
};

}  // namespace

BeamResult beam(const Order& order, const Need& need, size_t width, size_t most) { return Beam(order, need, width, most).run(); }

}  // namespace optima::detail
