// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: writes the text of an element-wise kernel (codegen/expression.hpp) and the step that runs it.
#pragma once

#include <string>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/compiler/operation.hpp"

namespace optima::llvm_cpu {

/// Element-wise computation over one index space. Steps of operands count elements, one per dim of the space.
class Program {
 public:
  using Id = uint32_t;

  explicit Program(Dims dims) : dims_(std::move(dims)) {}
  const Dims& dims() const { return dims_; }

  /// The element of an operand; the same one twice is one load.
  Id load(const Operand& from, int32_t dtype, const Dims& steps);
  Id constant(int32_t dtype, double value);
  /// The result has the type of the first operand (where:
  /// of the second), or BOOL for comparisons.
  Id apply(Operation operation, std::vector<Id> operands);
  Id cast(int32_t dtype, Id from);
  void store(const Operand& to, Id from, const Dims& steps);
  int32_t dtype(Id id) const { return types_[id]; }

  /// The step: dims merged where all operands allow it, cut into units of some thousand elements.
  Op finish(const Target& target);

 private:
  struct Access {
    bool is_store;
    size_t arg;
    int32_t dtype;
    Id value;
    Dims steps;
  };
  struct Line {
    std::string text;  ///< complete, or empty when `access` says it
    size_t access = 0;
  };
  size_t argument(const Operand& operand);
  void merge_dims();
  Id made(int32_t dtype);

  Dims dims_;
  std::vector<Operand> args_;
  std::vector<Access> accesses_;
  std::vector<Line> lines_;
  std::vector<int32_t> types_;
};

/// Steps of a row-major tensor of `dims` under an index space that it broadcasts to: 0 where it is repeated.
Dims broadcast_steps(const Dims& dims, const Dims& space);
/// Row-major steps.
Dims row_major(const Dims& dims);

}  // namespace optima::llvm_cpu
