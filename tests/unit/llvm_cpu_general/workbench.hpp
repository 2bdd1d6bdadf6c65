// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_general: a plan run step by step by kernels that the test chooses: literal ones, or general ones of the same steps.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/codegen/build_kernels.hpp"
#include "plugins/llvm_cpu/compiler/planner.hpp"
#include "tests/unit/llvm_cpu/session.hpp"

namespace llvm_cpu_test {

namespace cpu = optima::llvm_cpu;

using KernelFunction = void (*)(void* const*, int64_t, int64_t, char*);

/// Builds kernels for this machine, general ones included, and remembers them. Of matrix units it plans with that of codes, where there is one.
class Workbench {
 public:
  /// For this machine, or for what a CPU of this name can do with these features besides; many_sizes: of the target.
  explicit Workbench(const std::string& cpu = "", const std::string& features = "", bool many_sizes = false);
  cpu::Draft plan(const seam::Model& model, const std::function<bool(const cpu::KernelSpec&)>& is_bad = {}) const;
  void build(const std::vector<cpu::KernelSpec>& specs);
  KernelFunction function(const cpu::KernelSpec& spec);
  const cpu::Kernel& kernel(const cpu::KernelSpec& spec) const { return builder_.kernel(spec); }
  const cpu::Target& target() const { return target_; }

 private:
  cpu::Target target_;
  optima::test::TempFolder folder_;
  cpu::KernelBuilder builder_;
  std::map<std::string, KernelFunction> opened_;
};

/// Bytes on a cache line, NaN at first.
class Lines {
 public:
  explicit Lines(uint64_t bytes) : bytes_((bytes + 63) / 64 + 1, Line{}) { std::memset(data(), 0xFF, bytes_.size() * sizeof(Line)); }
  char* data() { return bytes_.data()->at; }
  std::string_view view(uint64_t bytes) const { return {bytes_.data()->at, bytes}; }

 private:
  struct alignas(64) Line {
    char at[64];
  };
  std::vector<Line> bytes_;
};

/// One run of a draft on memory of its own; what nothing wrote is NaN.
class Execution {
 public:
  Execution(const cpu::Draft& draft, const seam::Model& model, const Tensors& inputs);
  /// Step s by this kernel in `parts` parts; `row` is for kernels that read sizes in the run.
  void run(size_t s, KernelFunction kernel, std::vector<int64_t> row = {}, int parts = 1);
  /// The whole arena and all outputs, as far as callers see them.
  bool same_as(const Execution& other) const;
  std::string_view output(size_t i) const { return outputs_[i].view(draft_.plan.outputs[i].dense_bytes()); }

 private:
  const cpu::Draft& draft_;
  Lines arena_, scratch_;
  std::vector<Lines> inputs_, outputs_, constants_;
};

Tensors inputs_of(const seam::Model& model, int64_t nan_step);

/// The general kernels of one plan, and which of them serves a literal one.
class Table {
 public:
  explicit Table(const std::vector<cpu::KernelSpec>& specs);
  const cpu::KernelSpec* find(const cpu::KernelSpec& literal) const;
  const std::vector<cpu::KernelSpec>& kernels() const { return kernels_; }

 private:
  std::vector<cpu::KernelSpec> kernels_;
};

/// The program's bench for a CPU: it remembers kernels.
Workbench& workbench(const std::string& cpu = "", const std::string& features = "");
/// Plans the net with tiles that the table knows, runs it by the table's kernels and by literal ones: the same bytes wanted. Returns the steps
/// for which the table has no kernel (literal ones run them).
std::vector<std::string> run_by_table(Net& net, const Table& table, Workbench& bench = workbench());

}  // namespace llvm_cpu_test
