// SPDX-License-Identifier: Apache-2.0
// core/split: the least crossing bytes where every unit has one choice, by a minimum cut. Private to the splitter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/split/reads.hpp"
#include "core/split/split.hpp"

namespace optima::detail {

/// A unit that may lie in part `low` or in part `high`, low < high; it lies in one of them now.
struct PartChoice {
  uint32_t unit, low, high;
};

/// Callers leave sets of more choices than this alone: larger cuts take more time than in proportion.
constexpr size_t kMostChoices = 20'000;

/// Chooses for some units between two parts each, all at once, so that the fewest bytes cross; every other unit stays. What
/// makes this a minimum cut: a part is the low choice or the high choice of the units, never both, and the device of a part is
/// given. Then no term of the price asks that one unit be low while another one, that it is not forced below, be high:
/// submodular, so exact (Kolmogorov and Zabih 2004). A tensor with several readers has a helper node for each part that they may
/// lie in, so that it is paid once per part.
class BytesCut {
 public:
  /// `part` is read and changed; all three stay the caller's and outlive this.
  BytesCut(const SplitProblem& problem, const Reads& reads, std::vector<uint32_t>& part);

  /// Moves units if that makes strictly fewer bytes cross; true = it did. `choices`: ascending by unit; those that other units rule
  /// out are left alone. `budget` falls by the work done, in visits of readers and arcs; a cut that costs more than is left is
  /// not tried.
  bool improve(const std::vector<PartChoice>& choices, uint64_t& budget);
  /// The units that the last improve() moved, if it was true.
  const std::vector<uint32_t>& moved() const { return moved_; }

 private:
  class Network;
  uint64_t narrow(const std::vector<PartChoice>& choices);
  void touch();
  uint64_t work_of_cut() const;
  bool cut();
  void swap_moved();
  uint64_t touched_bytes();

  const SplitProblem& p_;
  const Reads& reads_;
  std::vector<uint32_t>& part_;
  std::vector<uint32_t> low_, high_;       // by unit, of open choices
  std::vector<uint32_t> node_;             // by unit: in the network
  std::vector<uint8_t> seen_;              // by tensor
  std::vector<uint32_t> open_, tensors_;   // units that have a choice; tensors that they make or read
  std::vector<uint32_t> moved_;
  std::vector<uint32_t> seen_parts_;       // scratch
};

}  // namespace optima::detail
