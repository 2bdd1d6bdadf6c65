// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: all kernels of a plan at once: in parallel, each distinct one once, kept on disk between compilations.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/codegen/link.hpp"
#include "plugins/llvm_cpu/codegen/spill_guard.hpp"
#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

struct Kernel {
  std::string name;  ///< "conv_8c1f0a92d3b45e67.so": by content
  std::string bytes;
  LoopReport loops;
};

/// Makes kernels and remembers them. One object per compilation; one call at a time.
class KernelBuilder {
 public:
  /// cache_dir may be empty: nothing is kept then. stop is asked between kernels (throw to leave).
  KernelBuilder(Target target, Linker linker, std::string temp_dir, std::string cache_dir, unsigned threads,
                std::function<void(double)> progress);

  /// Makes those that are not made yet. Throws what the first failing kernel threw.
  void build(const std::vector<KernelSpec>& specs);
  /// Requires that build() had this spec.
  const Kernel& kernel(const KernelSpec& spec) const;

 private:
  Kernel make(const KernelSpec& spec, const std::string& key) const;
  std::string key_of(const KernelSpec& spec) const;

  Target target_;
  Linker linker_;
  std::string temp_dir_, cache_dir_;
  int threads_;
  std::function<void(double)> progress_;
  std::map<std::string, Kernel> kernels_;  // by to_text(spec)
};

}  // namespace optima::llvm_cpu
