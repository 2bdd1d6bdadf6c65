// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: a graph whose sizes come at run time, planned for those that have come. Both halves of the plugin use it: the compiler at sample
// sizes, to see which kernels will be wanted, the runtime at every new size.
//
// A run goes leg by leg: a stretch of planned steps, then nodes that are given to the reference since only running them tells their sizes,
// then, when these sizes (or elements on which sizes depend) are seen, the next leg.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "plugins/llvm_cpu/compiler/planner.hpp"
#include "plugins/llvm_cpu/fit/stretch.hpp"
#include "plugins/llvm_cpu/fit/walk.hpp"

namespace optima::llvm_cpu {

/// Values and nodes by number in graph 0.
struct Leg {
  Walk walk;                            ///< what was known when it was planned
  std::vector<bool> at_hand;            ///< values that are in memory before it
  std::unique_ptr<Stretch> stretch;     ///< null: there is nothing to compute
  Draft draft;                          ///< of the stretch
  std::vector<uint32_t> runs;           ///< nodes for the reference, after the stretch
  std::vector<uint32_t> asks;           ///< values whose elements decide what comes next
  bool is_last = false;
};

class Fitter {
 public:
  /// A kernel that there is; null = all are.
  using HasKernel = std::function<bool(const KernelSpec&)>;

  /// The graph and the target outlive it.
  Fitter(const optima_graph& graph, const Target& target, bool winograd, HasKernel has_kernel = {});

  const WalkRules& rules() const { return rules_; }
  /// The number of input or output k of the graph.
  uint32_t input(uint32_t k) const { return inputs_[k]; }
  uint32_t output(uint32_t k) const { return outputs_[k]; }
  uint32_t input_count() const { return static_cast<uint32_t>(inputs_.size()); }
  uint32_t output_count() const { return static_cast<uint32_t>(outputs_.size()); }

  /// The first leg for inputs of these shapes. Throws Error INVALID_ARGUMENT or what infer_shapes throws.
  std::unique_ptr<Leg> first(const std::vector<std::vector<int64_t>>& shapes) const;
  /// What a leg leaves: the outputs of its runs (dims), and what it asks for (elements).
  struct Found {
    uint32_t value;
    reference::Tensor tensor;
  };
  std::unique_ptr<Leg> next(const Leg& leg, const std::vector<Found>& found) const;

 private:
  std::unique_ptr<Leg> leg(Walk walk, std::vector<bool> at_hand) const;
  std::vector<uint32_t> gives(const Leg& leg) const;
  std::vector<uint32_t> nodes(const Leg& leg, const std::vector<uint32_t>& gives) const;
  void plan(Leg& leg) const;
  template <class F>
  void each_input(uint32_t node, F&& f) const;
  template <class F>
  void each_output(uint32_t node, F&& f) const;

  const optima_graph& graph_;
  const Target& target_;
  bool winograd_;
  HasKernel has_kernel_;
  WalkRules rules_;
  std::vector<uint32_t> inputs_, outputs_;
  std::vector<uint32_t> makers_;  // per value: the node that makes it, or none
};

}  // namespace optima::llvm_cpu
