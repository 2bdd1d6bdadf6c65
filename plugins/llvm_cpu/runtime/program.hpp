// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: a loaded artifact and its contexts. Knows the plan, dlopen and the team; no LLVM.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optima/plugin/plugin.hpp"
#include "plugins/llvm_cpu/runtime/engine.hpp"

namespace optima::llvm_cpu {

/// Code that stays open for good. Throws sdk::Error(OPTIMA_CORRUPT) when the file is missing or no kernel.
KernelFunction open_kernel(const sdk::Artifact& artifact, const std::string& name, const sdk::Host& host);

/// Immutable after load(); shared by contexts.
class LoadedProgram : public sdk::Program {
 public:
  /// Packs the constants on `threads` threads. Throws sdk::Error(OPTIMA_CORRUPT) when files are missing or too short.
  LoadedProgram(Plan plan, const sdk::Artifact& artifact, sdk::Host host, int threads);

  void bindings(const sdk::BindingSink& add) const override;
  std::unique_ptr<sdk::Context> context() override;
  /// Honours optima.cores: helper threads stay on them, and the team is no larger than their number. Throws INVALID_ARGUMENT when none of
  /// them may be used.
  std::unique_ptr<sdk::Context> context_with(const sdk::Options& options) override;

  const Plan& plan() const { return plan_; }
  KernelFunction kernel(uint32_t k) const { return kernels_[k]; }
  char* constant(uint32_t k) const { return constants_.data() + offsets_[k]; }
  int threads() const { return threads_; }
  const sdk::Host& host() const { return host_; }

 private:
  void open_kernels(const sdk::Artifact& artifact);
  void pack_constants(const sdk::Artifact& artifact);

  Plan plan_;
  sdk::Host host_;
  int threads_;
  std::vector<KernelFunction> kernels_;
  Memory constants_;
  std::vector<uint64_t> offsets_;
};

}  // namespace optima::llvm_cpu
