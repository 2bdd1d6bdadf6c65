// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: a loaded artifact whose sizes come with its inputs: the graph, kernels for many sizes, and the planner.
#pragma once

#include <memory>
#include <vector>

#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/runtime/constants.hpp"
#include "plugins/llvm_cpu/runtime/engine.hpp"
#include "reference/graph_file.hpp"

namespace optima::llvm_cpu {

/// Immutable after load(), but for its cache of constants, which guards itself; shared by contexts.
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
  const std::vector<std::vector<int64_t>>& first_shapes() const { return file_.first; }
  Constants& constants() const { return *constants_; }
  /// What computes a spec of the fitter's drafts, and its row of sizes. Not for steps of the reference.
  struct Code {
    KernelFunction kernel;
    std::vector<int64_t> row;
  };
  Code code(const KernelSpec& spec) const;

 private:
  void put(const sdk::BindingSink& add, uint32_t value, bool is_input) const;

  FitFile file_;
  sdk::Host host_;
  int threads_;
  std::unique_ptr<reference::GraphFile> loaded_;
  KernelTable table_;
  std::vector<KernelFunction> kernels_;
  std::unique_ptr<Fitter> fitter_;
  std::unique_ptr<Constants> constants_;
};

}  // namespace optima::llvm_cpu
