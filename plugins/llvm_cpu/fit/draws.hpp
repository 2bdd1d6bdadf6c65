// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: at which sizes a graph is planned to see which kernels it will want. Compiler half only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "plugins/llvm_cpu/fit/mentioned.hpp"
#include "plugins/llvm_cpu/fit/open_dims.hpp"

namespace optima::llvm_cpu {

using Sizes = std::vector<int64_t>;  ///< of the open dims, one each

/// How far the rules let these sizes come: nodes that they allow before the first that they do not; kAllowed where they allow all.
using Reach = std::function<size_t(const Sizes&)>;
constexpr size_t kAllowed = SIZE_MAX;

/// Sizes that reach everywhere: batches of one and all other dims alike, if that can be had, then with batches; then other dims apart, then sizes that the graph mentions,
/// each dim by itself as far as it comes, and neighbours together where none by itself comes farther; then every size of an image, and those of signals in steps. `also`: what else there must be (the first two tries only).
std::optional<Sizes> find_first(const OpenDims& dims, const Mentions& mentioned, const Reach& reach, const std::function<bool(const Sizes&)>& also);

/// Of sizes that reach everywhere: first dims that cannot be 1 are no batches, and dims that move neither alone nor with one or two others are pinned. Gives the smallest
/// sizes of those that move in no usual way. Looks at `most` sizes for these at most.
std::vector<Sizes> settle(OpenDims& dims, const Sizes& first, const Reach& reach, int64_t most);

/// Where a dim moves in steps or not at all: sizes with another one moved, of which it has any size; what held it was an accident then, as where a Reshape takes any length
/// of which the other dims happen to make whole rows. Looks at `most` sizes at most.
std::optional<Sizes> freer(const OpenDims& dims, const Sizes& first, const Reach& reach, int64_t most);

/// The first sizes, likely ones all alike, the ends of what the user said, small ones all alike (a single one that is small may be as a long row), batches
/// of small and large ones, then those that differ from the first in one dim, then in all that are no batch. Each moved to what is allowed.
std::vector<Sizes> around(const OpenDims& dims, const Sizes& first);

/// Random sizes of all kinds, the same at every compilation: batches to a hundred and more, dims alike and apart, small, odd and large ones, those that the graph mentions, in steps
/// in which sizes were allowed before.
class Draws {
 public:
  /// `allowed`: sizes that reached everywhere. The rest outlives it.
  Draws(const OpenDims& dims, const std::vector<int64_t>& mentioned, const Reach& reach, const std::vector<Sizes>& allowed);
  /// Some that reach everywhere; nothing where none were found.
  std::optional<Sizes> next();
  /// The first sizes, and others far beyond what is drawn, as hours of a signal, books, photos and tables have: of all dims that are no batch, and of each. There a plan wants kernels
  /// for elements that it knows itself while they are few, and cuts rows that are longer than caches. Those that reach everywhere.
  std::vector<Sizes> far() const;

 private:
  /// What a dim is of two others where sizes hang together, as a whole length is of a past and a new one.
  struct Relation {
    size_t of, a, b;
    int form;
  };
  struct Step {
    int64_t first = 0, step = 1;
  };
  int64_t size(size_t dim);
  int64_t batch();
  Sizes draw();
  void apply(const Relation& relation, Sizes& sizes) const;
  int64_t stepped(size_t dim, int64_t size) const;
  bool comes(Sizes& sizes) const;
  void find_relations();
  bool repair(Sizes& sizes);

  const OpenDims& dims_;
  const std::vector<int64_t>& mentioned_;
  const Reach& reach_;
  const Sizes first_;
  std::vector<Step> steps_;
  std::vector<Relation> relations_;
  std::mt19937 random_{1};
  size_t repairs_ = 0;
};

}  // namespace optima::llvm_cpu
