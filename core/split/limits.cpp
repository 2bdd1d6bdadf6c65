// SPDX-License-Identifier: Apache-2.0
#include "core/split/limits.hpp"

#include <algorithm>
#include <bit>

#include "core/split/close_parts.hpp"
#include "core/split/conflict.hpp"

namespace optima {
namespace {

using detail::bad_ends;
using detail::close_parts;
using detail::fewest_on;

constexpr int kMostRounds = 200;  // each takes a device from some unit; without end only where neighbours chase each other

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

class Keeper {
 public:
  Keeper(const SplitProblem& problem, const SplitLimits& limits) : p_(problem), limits_(limits) {}

  LimitedSplit run() {
    take_too_big();
    for (int round = 0; !out_.conflict; ++round) {
      const Split plain = split(p_);
      out_.split = close_parts(p_, limits_, plain);
      if (round == 0) bound_ = plain.lower_bound;  // later ones hold only for what was taken away
      out_.split.lower_bound = bound_;
      const bool last_round = round >= kMostRounds;
      if (mend_ends(last_round) || out_.conflict) continue;
      if (mend_groups(last_round) || out_.conflict) continue;
      if (mend_total(last_round) || out_.conflict) continue;
      break;
    }
    return std::move(out_);
  }

 private:
  void lose(uint32_t unit, uint32_t device, LimitKind kind) {
    p_.allow[unit] &= ~bit(device);
    if (!p_.avoid.empty()) p_.avoid[unit] &= ~bit(device);
    out_.losses.push_back({unit, device, kind});
  }

  // ---- units that fit into no part

  LimitKind too_big(uint32_t u, const PartLimits& most, const std::vector<uint64_t>& tensors) const {
    if (most.nodes && limits_.unit_nodes[u] > most.nodes) return LimitKind::Nodes;
    if (most.bytes && limits_.unit_bytes[u] > most.bytes) return LimitKind::Bytes;
    if (most.tensors && tensors[u] > most.tensors) return LimitKind::Tensors;
    return LimitKind::None;
  }
  void take_too_big() {
    const std::vector<uint64_t> tensors = detail::tensors_alone(p_, limits_);
    for (uint32_t u = 0; u < p_.units(); ++u)
      for (uint64_t m = p_.allow[u]; m; m &= m - 1) {
        const auto d = static_cast<uint32_t>(std::countr_zero(m));
        const LimitKind kind = too_big(u, limits_.part[d], tensors);
        if (kind == LimitKind::None) continue;
        if (p_.allow[u] == bit(d)) return fail({LimitConflict::Kind::UnitTooBig, d, kind, {u}, 0, 0});
        lose(u, d, kind);
      }
  }

  // ---- what a part may not begin or end with

  bool mend_ends(bool last_round) {
    const std::vector<Loss> bad = bad_ends(p_, limits_, out_.split);
    bool any = false;
    for (const Loss& loss : bad) {
      if (p_.allow[loss.unit] != bit(loss.device)) {
        lose(loss.unit, loss.device, loss.kind);
        any = true;
      } else {
        any |= draw_neighbours(loss);
      }
    }
    if (!bad.empty() && (!any || last_round)) fail({LimitConflict::Kind::FirstOrLast, bad[0].device, bad[0].kind, {bad[0].unit}, 0, 0});
    return any;
  }

  // A unit that cannot leave: what it reads or what reads it stays with it where it can. True when that changed anything.
  bool draw_neighbours(const Loss& loss) {
    bool any = false;
    const auto draw = [&](uint32_t u) {
      if (!(p_.allow[u] & bit(loss.device)) || p_.allow[u] == bit(loss.device)) return;
      for (uint64_t m = p_.allow[u] & ~bit(loss.device); m; m &= m - 1) lose(u, static_cast<uint32_t>(std::countr_zero(m)), loss.kind);
      any = true;
    };
    if (neighbours_[0].empty()) list_neighbours();
    for (uint32_t u : neighbours_[loss.kind == LimitKind::Last][loss.unit]) draw(u);
    return any;
  }

  void list_neighbours() {
    for (auto& side : neighbours_) side.resize(p_.units());
    for (uint32_t u = 0; u < p_.units(); ++u)
      for (uint32_t r = p_.first_reader[p_.first_tensor[u]]; r < p_.first_reader[p_.first_tensor[u + 1]]; ++r) {
        neighbours_[1][u].push_back(p_.readers[r]);
        neighbours_[0][p_.readers[r]].push_back(u);
      }
  }

  // ---- too many parts

  uint64_t group_mask(uint32_t group) const {
    uint64_t mask = 0;
    for (uint32_t d = 0; d < p_.devices; ++d)
      if (limits_.group[d] == group) mask |= bit(d);
    return mask;
  }
  uint32_t parts_on(uint64_t mask) const {
    return static_cast<uint32_t>(std::count_if(out_.split.devices.begin(), out_.split.devices.end(), [&](uint32_t d) { return mask >> d & 1; }));
  }

  bool mend_groups(bool last_round) {
    for (uint32_t g = 0; g < limits_.group_parts.size(); ++g) {
      const uint32_t most = limits_.group_parts[g];
      const uint64_t mask = group_mask(g);
      const uint32_t found = parts_on(mask);
      if (most == 0 || found <= most) continue;
      if (!last_round && demote(mask, found - most)) return true;
      if (!last_round && take_sides(mask, most)) return true;
      return fail_group(mask, most, found), false;
    }
    return false;
  }

  // Takes the parts with the fewest nodes off the devices of the mask, a quarter of those too many at a time: the next split
  // shows what that was worth. False when every part has a unit that can go nowhere else.
  bool demote(uint64_t mask, uint32_t too_many) {
    std::vector<uint64_t> nodes(out_.split.devices.size(), 0);
    std::vector<uint8_t> bound(out_.split.devices.size(), 0);
    for (uint32_t u = 0; u < p_.units(); ++u) {
      nodes[out_.split.part[u]] += limits_.unit_nodes[u];
      bound[out_.split.part[u]] |= !(p_.allow[u] & ~mask);
    }
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < nodes.size(); ++i)
      if ((mask >> out_.split.devices[i] & 1) && !bound[i]) order.push_back(i);
    if (order.empty()) return false;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return nodes[a] < nodes[b]; });
    order.resize(std::min<size_t>(order.size(), std::max(1u, too_many / 4)));
    std::vector<uint8_t> leaves(nodes.size(), 0);
    for (uint32_t i : order) leaves[i] = 1;
    for (uint32_t u = 0; u < p_.units(); ++u)
      if (leaves[out_.split.part[u]])
        for (uint64_t m = p_.allow[u] & mask; m; m &= m - 1) lose(u, static_cast<uint32_t>(std::countr_zero(m)), LimitKind::Parts);
    return true;
  }

  // Every unit on the side that a plan with the fewest parts on the group gives it; at most once for a group.
  bool take_sides(uint64_t mask, uint32_t most) {
    std::vector<uint64_t> side;
    if ((sided_ & mask) || fewest_on(p_, mask, &side) > most) return false;
    sided_ |= mask;
    p_.scarce |= mask;
    for (uint32_t u = 0; u < p_.units(); ++u)
      for (uint64_t m = p_.allow[u] & ~side[u]; m; m &= m - 1) lose(u, static_cast<uint32_t>(std::countr_zero(m)), LimitKind::Parts);
    return true;
  }

  void fail_group(uint64_t mask, uint32_t most, uint32_t found) {
    LimitConflict conflict{LimitConflict::Kind::GroupParts, static_cast<uint32_t>(std::countr_zero(mask)), LimitKind::Parts, {}, 0, found};
    SplitProblem asked = original();
    conflict.least = fewest_on(asked, mask, nullptr);
    if (conflict.least > most)
      conflict.units = detail::minimal_conflict(asked, [&](const SplitProblem& p) { return fewest_on(p, mask, nullptr) > most; });
    fail(std::move(conflict));
  }

  // Fewer parts of all: split() already looks for the fewest, so only parts that were closed can be saved.
  bool mend_total(bool last_round) {
    const auto found = static_cast<uint32_t>(out_.split.devices.size());
    if (limits_.parts == 0 || found <= limits_.parts) return false;
    uint64_t closed = 0;
    for (uint32_t i = 1; i < found; ++i)
      if (out_.split.devices[i] == out_.split.devices[i - 1]) closed |= bit(out_.split.devices[i]);
    if (!last_round && closed && demote(closed, found - limits_.parts)) return true;
    LimitConflict conflict{LimitConflict::Kind::Parts, 0, LimitKind::Parts, {}, 0, found};
    SplitProblem asked = original();
    conflict.least = lower_bound(asked);
    if (conflict.least > limits_.parts)
      conflict.units = detail::minimal_conflict(asked, [&](const SplitProblem& p) { return lower_bound(p) > limits_.parts; });
    fail(std::move(conflict));
    return false;
  }

  // As it was asked, before any limit took a device away.
  SplitProblem original() const {
    SplitProblem p = p_;
    for (const Loss& loss : out_.losses) p.allow[loss.unit] |= bit(loss.device);
    return p;
  }

  void fail(LimitConflict conflict) { out_.conflict = std::move(conflict); }

  SplitProblem p_;
  const SplitLimits& limits_;
  uint64_t sided_ = 0;
  uint32_t bound_ = 0;
  std::vector<std::vector<uint32_t>> neighbours_[2];  // by unit: producers, readers; made when first asked for
  LimitedSplit out_;
};

}  // namespace

bool SplitLimits::any() const {
  const auto parts_limited = [](uint32_t most) { return most != 0; };
  const auto marked = [](uint64_t mask) { return mask != 0; };
  return parts || std::any_of(part.begin(), part.end(), [](const PartLimits& l) { return l.any(); }) ||
         std::any_of(group_parts.begin(), group_parts.end(), parts_limited) || std::any_of(not_first.begin(), not_first.end(), marked) ||
         std::any_of(not_last.begin(), not_last.end(), marked);
}

bool SplitLimits::well_formed(const SplitProblem& p) const {
  const auto known = [&](uint32_t number) { return number < group_parts.size(); };
  const auto marks = [&](const std::vector<uint64_t>& by_unit) { return by_unit.empty() || by_unit.size() == p.units(); };
  return part.size() == p.devices && group.size() == p.devices && std::all_of(group.begin(), group.end(), known) &&
         unit_nodes.size() == p.units() && unit_bytes.size() == p.units() && marks(not_first) && marks(not_last) &&
         first_input.size() == size_t{p.units()} + 1 && first_input.front() == 0 && first_input.back() == inputs.size() &&
         std::is_sorted(first_input.begin(), first_input.end()) && is_output.size() == p.bytes.size() && lone_outputs.size() == p.units();
}

LimitedSplit split_within(const SplitProblem& problem, const SplitLimits& limits) { return Keeper(problem, limits).run(); }

}  // namespace optima
