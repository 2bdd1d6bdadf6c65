// SPDX-License-Identifier: Apache-2.0
#include "core/split/close_parts.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/split/bytes_sweep.hpp"

namespace optima::detail {
namespace {

using Units = std::vector<uint32_t>;

template <class F>
void each_tensor(const SplitProblem& p, uint32_t u, F&& f) {
  for (uint32_t t = p.first_tensor[u]; t < p.first_tensor[u + 1]; ++t)
    f(t, std::span(p.readers.data() + p.first_reader[t], p.readers.data() + p.first_reader[t + 1]));
}

// Those that move: an order of two units is none.
template <class F>
void each_moving(const SplitProblem& p, uint32_t u, F&& f) {
  each_tensor(p, u, [&](uint32_t t, std::span<const uint32_t> readers) {
    if (!p.only_order(t)) f(t, readers);
  });
}

// Counts the tensors at the border of a growing stretch of units.
class Border {
 public:
  Border(const SplitProblem& p, const SplitLimits& limits, const std::vector<uint32_t>& first_read, const std::vector<uint32_t>& read)
      : p_(p), limits_(limits), first_read_(first_read), read_(read) {}

  void add(uint32_t u) {
    for (uint32_t i = first_read_[u]; i < first_read_[u + 1]; ++i) {
      const uint32_t t = read_[i];
      if (p_.only_order(t)) continue;
      if (const auto mine = outside_.find(t); mine != outside_.end()) {
        if (--mine->second == 0 && !limits_.is_output[t]) --given_;  // its last reader outside came in
      } else if (entered_.insert(t).second) {
        ++taken_;
      }
    }
    for (uint32_t i = limits_.first_input[u]; i < limits_.first_input[u + 1]; ++i) taken_ += inputs_.insert(limits_.inputs[i]).second;
    each_moving(p_, u, [&](uint32_t t, std::span<const uint32_t> readers) {
      outside_[t] = static_cast<uint32_t>(readers.size());
      given_ += !readers.empty() || limits_.is_output[t];
    });
    given_ += limits_.lone_outputs[u];
  }
  uint64_t tensors() const { return taken_ + given_; }

 private:
  const SplitProblem& p_;
  const SplitLimits& limits_;
  const std::vector<uint32_t>&first_read_, &read_;
  std::unordered_map<uint32_t, uint32_t> outside_;      // tensors made inside: readers still outside
  std::unordered_set<uint32_t> entered_, inputs_;       // tensors and model inputs read from outside
  uint64_t taken_ = 0, given_ = 0;
};

class Closer {
 public:
  Closer(const SplitProblem& p, const SplitLimits& limits, const Split& split) : p_(p), limits_(limits), split_(split) { list_reads(); }

  Split run() {
    std::vector<Units> members(split_.devices.size());
    for (uint32_t u = 0; u < p_.units(); ++u) members[split_.part[u]].push_back(u);
    Split out = split_;
    out.devices.clear();
    for (uint32_t i = 0; i < members.size(); ++i)
      for (const Units& piece : pieces(std::move(members[i]), limits_.part[split_.devices[i]])) {
        for (uint32_t u : piece) out.part[u] = static_cast<uint32_t>(out.devices.size());
        out.devices.push_back(split_.devices[i]);
      }
    out.bytes = crossing_bytes(p_, out.part);
    return out;
  }

  std::vector<Units> pieces(Units units, const PartLimits& limits) {
    if (!limits.any()) return {std::move(units)};
    std::vector<Units> out;
    for (Units& connected : limits.connected ? components(units) : std::vector<Units>{std::move(units)})
      for (Units& stretch : stretches(connected, limits)) {
        if (!limits.connected) {
          out.push_back(std::move(stretch));
          continue;
        }
        for (Units& piece : components(stretch)) out.push_back(std::move(piece));
      }
    return out;
  }

 private:
  void list_reads() {
    first_read_.assign(p_.units() + 1, 0);
    for (uint32_t w : p_.readers) ++first_read_[w + 1];
    std::partial_sum(first_read_.begin(), first_read_.end(), first_read_.begin());
    std::vector<uint32_t> at(first_read_.begin(), first_read_.end() - 1);
    read_.resize(p_.readers.size());
    for (uint32_t u = 0; u < p_.units(); ++u)
      each_tensor(p_, u, [&](uint32_t t, std::span<const uint32_t> readers) {
        for (uint32_t w : readers) read_[at[w]++] = t;
      });
  }

  // By first unit; no tensor runs between two of them.
  std::vector<Units> components(const Units& units) {
    std::unordered_map<uint32_t, uint32_t> place;
    for (uint32_t i = 0; i < units.size(); ++i) place.emplace(units[i], i);
    Units root(units.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](uint32_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (uint32_t i = 0; i < units.size(); ++i)
      each_tensor(p_, units[i], [&](uint32_t, std::span<const uint32_t> readers) {
        for (uint32_t w : readers)
          if (const auto at = place.find(w); at != place.end()) {
            const uint32_t a = find(i), b = find(at->second);
            root[std::max(a, b)] = std::min(a, b);
          }
      });
    std::vector<Units> out;
    std::vector<uint32_t> number(units.size(), UINT32_MAX);
    for (uint32_t i = 0; i < units.size(); ++i) {
      uint32_t& mine = number[find(i)];
      if (mine == UINT32_MAX) mine = static_cast<uint32_t>(out.size()), out.emplace_back();
      out[mine].push_back(units[i]);
    }
    return out;
  }

  std::vector<Units> stretches(const Units& units, const PartLimits& limits) {
    if (!limits.nodes && !limits.bytes && !limits.tensors) return {units};
    std::vector<Units> out;
    for (size_t at = 0; at < units.size();) {
      const size_t end = longest(units, at, limits);
      out.emplace_back(units.begin() + static_cast<std::ptrdiff_t>(at), units.begin() + static_cast<std::ptrdiff_t>(end));
      at = end;
    }
    return out;
  }

  // Nodes and bytes only grow; the border may shrink again when readers come in, so the longest stretch that fits counts.
  size_t longest(const Units& units, size_t at, const PartLimits& limits) {
    constexpr size_t kPatience = 4096;  // units looked at past the last stretch that fitted
    Border border(p_, limits_, first_read_, read_);
    uint64_t nodes = 0, bytes = 0;
    size_t best = at + 1;
    for (size_t end = at; end < units.size() && end < best + kPatience; ++end) {
      nodes += limits_.unit_nodes[units[end]];
      bytes += limits_.unit_bytes[units[end]];
      if (end > at && ((limits.nodes && nodes > limits.nodes) || (limits.bytes && bytes > limits.bytes))) break;
      if (limits.tensors) border.add(units[end]);
      if (!limits.tensors || border.tensors() <= limits.tensors) best = end + 1;
    }
    return best;
  }

  const SplitProblem& p_;
  const SplitLimits& limits_;
  const Split& split_;
  std::vector<uint32_t> first_read_, read_;  // by unit: tensors it reads
};

}  // namespace

Split close_parts(const SplitProblem& p, const SplitLimits& limits, const Split& split) { return Closer(p, limits, split).run(); }

std::vector<uint64_t> tensors_alone(const SplitProblem& p, const SplitLimits& limits) {
  std::vector<uint64_t> out(p.units());
  for (uint32_t u = 0; u < p.units(); ++u)
    out[u] = limits.lone_outputs[u] + limits.first_input[u + 1] - limits.first_input[u];
  for (uint32_t u = 0; u < p.units(); ++u)
    each_moving(p, u, [&](uint32_t t, std::span<const uint32_t> readers) {
      out[u] += !readers.empty() || limits.is_output[t];
      for (uint32_t w : readers) ++out[w];
    });
  return out;
}

std::vector<Loss> bad_ends(const SplitProblem& p, const SplitLimits& limits, const Split& split) {
  if (limits.not_first.empty() && limits.not_last.empty()) return {};
  std::vector<LimitKind> bad(p.units(), LimitKind::None);
  const auto forbidden = [&](const std::vector<uint64_t>& masks, uint32_t u) {
    return !masks.empty() && (masks[u] >> split.devices[split.part[u]] & 1);
  };
  for (uint32_t u = 0; u < p.units(); ++u) {
    if (limits.first_input[u] < limits.first_input[u + 1] && forbidden(limits.not_first, u)) bad[u] = LimitKind::First;
    const bool last = forbidden(limits.not_last, u);
    if (last && limits.lone_outputs[u]) bad[u] = LimitKind::Last;
    each_moving(p, u, [&](uint32_t t, std::span<const uint32_t> readers) {
      if (last && limits.is_output[t]) bad[u] = LimitKind::Last;
      for (uint32_t w : readers) {
        if (split.part[w] == split.part[u]) continue;
        if (last) bad[u] = LimitKind::Last;
        if (forbidden(limits.not_first, w)) bad[w] = LimitKind::First;
      }
    });
  }
  std::vector<Loss> out;
  for (uint32_t u = 0; u < p.units(); ++u)
    if (bad[u] != LimitKind::None) out.push_back({u, split.devices[split.part[u]], bad[u]});
  return out;
}

}  // namespace optima::detail
