// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: a graph whose sizes come at run time, planned for those that have come. Both halves of the plugin use it: the compiler at sample
// sizes, to see which kernels will be wanted, the runtime at every new size.
//
// A run goes leg by leg: a stretch of planned steps, then nodes that are given to the reference since only running them tells their sizes,
// then, when these sizes (or elements on which sizes or branches depend) are seen, the next leg. An If whose condition is known is its branch.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/llvm_cpu/compiler/replan.hpp"
#include "plugins/llvm_cpu/fit/stretch.hpp"
#include "reference/shapes.hpp"

namespace optima::llvm_cpu {

/// Values and nodes by index in the image.
struct Leg {
  reference::ShapeWalk walk;                       ///< what was known when it was planned
  std::vector<bool> at_hand;                       ///< values that are in memory before it
  std::unordered_map<uint32_t, uint32_t> same;     ///< values that are others: outputs of an If those of its branch, captured values the captured
  std::unique_ptr<Stretch> stretch;                ///< null: there is nothing to compute
  Draft draft;                                     ///< of the stretch
  std::vector<uint32_t> runs;                      ///< nodes for the reference, after the stretch
  std::vector<uint32_t> asks;                      ///< values whose elements decide what comes next
  bool is_last = false;
  PlanMemo memo{};                                 ///< of the draft

  /// The value that is computed in this one's stead.
  uint32_t resolved(uint32_t value) const;
  /// Whether Fitter::move() may be asked.
  bool can_move() const { return !stretch || memo.is_whole; }
};

/// Ids of the nodes that steps of the reference compute.
std::set<uint32_t> nodes_by_reference(const Draft& draft);
/// "Einsum 'scores', RoiAlign 'crop'": the nodes of the graph, bodies included, that have these ids; more than a few are counted.
std::string names_of(const optima_graph& graph, const std::set<uint32_t>& ids);

class Fitter {
 public:
  /// A kernel that there is; null = all are.
  using HasKernel = std::function<bool(const KernelSpec&)>;

  /// The graph outlives it.
  Fitter(const optima_graph& graph, const Target& target, bool winograd, HasKernel has_kernel = {});

  const optima_graph& graph() const { return graph_; }
  /// The given one, for many sizes.
  const Target& target() const { return target_; }
  uint32_t value_count() const { return graph_.image->values.count; }
  /// Inputs and outputs of graph 0.
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  const std::vector<uint32_t>& outputs() const { return outputs_; }

  /// What follows from inputs of these shapes alone. Throws what ShapeWalk::advance() throws.
  reference::ShapeWalk walk(const std::vector<std::vector<int64_t>>& shapes) const;
  enum class Keep : uint8_t { Plan, HowItWasMade };
  /// The first leg; a leg that is to be moved has to keep how it was made.
  std::unique_ptr<Leg> first(const std::vector<std::vector<int64_t>>& shapes, Keep keep = Keep::Plan) const;
  /// What a leg leaves: the outputs of its runs (dims), and what it asks for (elements).
  using Found = reference::ShapeWalk::Given;
  std::unique_ptr<Leg> next(const Leg& leg, const std::vector<Found>& found, Keep keep = Keep::Plan) const;
  /// Inputs of these shapes, as a leg is given them.
  std::vector<Found> inputs_of(const std::vector<std::vector<int64_t>>& shapes) const;
  /// What the leg behind one is given, each value once: what that leg was given, and what was found there.
  static std::vector<Found> joined(std::vector<Found> given, const std::vector<Found>& found);
  /// Makes a leg one for other inputs and finds: the same as first() and next() do with them, in a fraction of the time, where its structure stays. `given`: all
  /// that led to it, from inputs_of() on, as joined() has it. False, or an exception: it cannot be had so, and the leg is of no use any more.
  bool move(Leg& leg, const std::vector<Found>& given, Moved& moved) const;

 private:
  reference::Tensor input(size_t k, const std::vector<int64_t>& dims) const;
  std::unique_ptr<Leg> leg(reference::ShapeWalk walk, std::vector<bool> at_hand, Keep keep) const;
  PlannerOptions options() const;
  void find_same(Leg& leg) const;
  std::vector<uint32_t> gives(const Leg& leg) const;
  std::vector<uint32_t> nodes(const Leg& leg, const std::vector<uint32_t>& gives) const;
  void plan(Leg& leg, Keep keep) const;

  const optima_graph& graph_;
  Target target_;
  bool winograd_;
  HasKernel has_kernel_;
  reference::ShapeWalk start_;
  std::vector<uint32_t> inputs_, outputs_;
  std::set<uint32_t> of_any_window_;  ///< ids of convolutions whose weights are of an open size: a kernel has one window
};

}  // namespace optima::llvm_cpu
