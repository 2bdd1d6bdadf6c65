// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: a loaded artifact whose sizes come with its inputs: the graph, kernels for many sizes, and the planner.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/runtime/constants.hpp"
#include "plugins/llvm_cpu/runtime/engine.hpp"
#include "reference/graph_file.hpp"

namespace optima::llvm_cpu {

/// Immutable after load(), but for its cache of constants and what was told, which are guarded; shared by contexts.
class FittedProgram : public sdk::Program {
 public:
  /// Throws sdk::Error(OPTIMA_CORRUPT) when files are missing or damaged.
  FittedProgram(FitFile file, const sdk::Artifact& artifact, sdk::Host host, int threads);

  void bindings(const sdk::BindingSink& add) const override;
  std::unique_ptr<sdk::Context> context() override;
  std::unique_ptr<sdk::Context> context_with(const sdk::Options& options) override;

  const optima_graph& graph() const { return loaded_->graph; }
  const Fitter& fitter() const { return *fitter_; }
  const sdk::Host& host() const { return host_; }
  Constants& constants() const { return *constants_; }
  /// What computes a spec of the fitter's drafts, and its row of sizes. Not for steps of the reference.
  struct Code {
    KernelFunction kernel;
    std::vector<int64_t> row;
  };
  Code code(const KernelSpec& spec) const;
  /// Logs which nodes of a plan the reference computes, each once: some sizes want kernels that no sample wanted. Any thread.
  void tell_of(const Leg& leg) const;

 private:
  void plan_first();
  std::unique_ptr<Leg> plan_ahead(const std::vector<std::vector<int64_t>>& shapes) const;
  template <class F>
  void bind(uint32_t value, F f) const;

  FitFile file_;
  sdk::Host host_;
  int threads_;
  std::unique_ptr<reference::GraphFile> loaded_;
  KernelTable table_;
  std::vector<KernelFunction> kernels_;
  std::unique_ptr<Fitter> fitter_;
  std::unique_ptr<Constants> constants_;
  std::string stem_;
  mutable std::mutex telling_;
  mutable std::set<uint32_t> told_;  ///< ids of nodes
};

}  // namespace optima::llvm_cpu
