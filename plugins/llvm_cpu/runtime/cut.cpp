// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see cut.hpp.
#include "plugins/llvm_cpu/runtime/cut.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/runtime/team.hpp"

namespace optima::llvm_cpu {
namespace {

/// Work of a part that repays handing it to another thread, in multiply-adds: half a microsecond.
constexpr int64_t kLeastWork = 50000;

/// That of a part of one turn. Here threads do meet after every turn, but no kernel is called anew: its weights are in this core's cache.
constexpr int64_t kLeastWorkOfTurn = 12000;
constexpr int64_t kMostTurns = 1 << 20;

int parts_of(const Cutting& s, int threads) {
  if (threads == 1) return 1;
  const int64_t by_work = std::max<int64_t>(1, s.work / kLeastWork), by_grain = std::max<int64_t>(1, s.units / s.grain);
  return static_cast<int>(std::min({s.units, by_work, by_grain, int64_t{threads} * 2, int64_t{Team::kMostParts}}));
}

}  // namespace

Cut cut_of(const Cutting& s, int threads) {
  const Cut whole{1, parts_of(s, threads), s.units, s.turns * s.slices};
  const int64_t turns = s.units * s.turns;
  if (s.turns == 1 || s.units >= threads || turns > kMostTurns) return whole;
  const auto parts = static_cast<int>(std::min({s.slices, s.work / turns / kLeastWorkOfTurn, int64_t{threads}, int64_t{Team::kMostParts}}));
  return parts > whole.parts ? Cut{static_cast<int>(turns), parts, s.slices, 1} : whole;
}

}  // namespace optima::llvm_cpu
