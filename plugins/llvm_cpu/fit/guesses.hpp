// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: what stands for sizes and numbers that only data tells, while a graph is planned at sample sizes. Compiler half only.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/fit/fitter.hpp"

namespace optima::llvm_cpu {

/// One way to guess. What is unknown is all alike, as where one mask picks all, or each apart.
struct Guess {
  int64_t alike = 20;  ///< every size and whole number; -1: each its own
  uint32_t seed = 1;   ///< of those that are each their own
  bool truth = true;   ///< of conditions, where all is alike, whatever numbers they are computed from
  bool operator==(const Guess&) const = default;
};

/// Guess k of a series for these sizes of the open dims: likely sizes first, then none, one, odd and large ones, such as are each their own, and such as an open dim is, as the
/// rows of a Scan are; conditions both ways.
Guess guess(size_t k, const std::vector<int64_t>& sizes);

/// The guesses of one sample, leg by leg. What nodes with the same inputs make is the same, and a number that is computed from whole numbers is what these give.
class Guesses {
 public:
  /// The graph outlives it.
  Guesses(const optima_graph& graph, const Guess& how) : graph_(graph), how_(how), random_(how.seed) {}
  /// For the stops of the walk, in the order of Fitter::next(). Throws sdk::Error(OPTIMA_UNSUPPORTED) where a rank is open.
  std::vector<Fitter::Found> of(const reference::ShapeWalk& walk);

 private:
  const reference::Tensor& elements(const reference::ShapeWalk& walk, uint32_t value);
  bool compute(const reference::ShapeWalk& walk, uint32_t value);
  reference::Tensor drawn(int32_t dtype, const std::vector<int64_t>& dims);
  reference::Tensor shape(const optima_node& node, uint32_t output);
  int64_t number();

  const optima_graph& graph_;
  Guess how_;
  std::mt19937 random_;
  std::map<uint32_t, reference::Tensor> elements_;  // by value
  std::map<std::string, int64_t> sizes_;            // by what makes them
};

}  // namespace optima::llvm_cpu
