// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: the sizes that inputs leave open. Compiler half only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "optima/plugin/graph.hpp"
#include "optima/plugin/sizes.hpp"

namespace optima::llvm_cpu {

using Shapes = std::vector<std::vector<int64_t>>;  ///< of the inputs, by position

using Ranks = std::vector<size_t>;                ///< of the inputs, by position; of use where the rank is open

/// The open dims of the inputs: one for each name, one for each dim without.
class OpenDims {
 public:
  /// Graph and `said` outlive it. `said`, by the symbols of dims: the sizes that there may be. `assumed`: the ranks that inputs without one have here; none: 0.
  OpenDims(const optima_graph& graph, const std::vector<sdk::SizeRange>& said, const Ranks& assumed = {});

  size_t count() const { return range_.size(); }
  /// Only ever the first of several dims of an input, or its one.
  bool is_batch(size_t dim) const { return is_first_[dim] && !is_other_[dim]; }
  /// A first dim that is a length, since it cannot be 1.
  void be_no_batch(size_t dim) { is_first_[dim] = false; }
  /// The one dim of an input that goes with batches of others.
  void be_batch(size_t dim) { is_first_[dim] = true; }
  /// The rest of the graph leaves the dim one size.
  void pin(size_t dim, int64_t size) { pinned_[dim] = size; }
  /// What the user said of it, or null.
  const sdk::SizeRange* said(size_t dim) const { return range_[dim]; }
  /// The size that the user said matters most; else `size`, or the next to it that is allowed.
  int64_t likely(size_t dim, int64_t size) const;
  int64_t allowed(size_t dim, int64_t size) const { return pinned_[dim] > 0 ? pinned_[dim] : said(dim) ? said(dim)->nearest_to(size) : size; }
  /// Two that are neighbours in an input, by their numbers.
  std::vector<std::pair<size_t, size_t>> neighbours() const;
  /// `sizes`: one for each.
  Shapes shapes(const std::vector<int64_t>& sizes) const;

 private:
  size_t add(const std::string& name, std::map<std::string, size_t>& named);

  sdk::Graph graph_;
  const std::vector<sdk::SizeRange>* said_;
  std::vector<std::vector<size_t>> of_;  // per input and dim: its number, or none
  std::vector<bool> is_first_, is_other_;  // of an input that has several dims
  std::vector<const sdk::SizeRange*> range_;
  std::vector<int64_t> pinned_;  // 0: not
};

}  // namespace optima::llvm_cpu
