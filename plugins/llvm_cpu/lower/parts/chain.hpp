// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: one element-wise chain on its way to a kernel: where its operands lie and which values are made already.
#pragma once

#include <map>
#include <span>

#include "plugins/llvm_cpu/lower/parts/program.hpp"

namespace optima::llvm_cpu {

class Chain {
 public:
  using Id = Program::Id;

  /// Chooses the layout: channels last or blocked when an operand of full shape exists only so and all others can follow, else plain.
  Chain(std::span<const NodeView> nodes, LowerContext& context);

  /// The value in the kernel: made by an earlier node, a number, or loaded.
  Id value(uint32_t value);
  void make(uint32_t value, Id id) { made_[value] = id; }
  /// Numbers along one axis of the result.
  Id along(const std::vector<float>& numbers, size_t axis);
  /// The same; a single one is an operand, too, so that kernels do not differ by it.
  Id numbers(const std::vector<float>& numbers, size_t axis);
  /// A tensor of one dim that runs along one axis, or of one element.
  Id along(uint32_t value, size_t axis);

  Program& program() { return program_; }
  const Dims& dims() const { return dims_; }
  /// Stores the value that the last node made and emits the step.
  void finish(uint32_t value);

 private:
  bool produced(uint32_t value) const;
  bool can_block(uint32_t value) const;
  bool can_be_last(uint32_t value) const;
  bool runs_along_channels(uint32_t value) const;
  Layout choose() const;
  Dims space() const;
  Dims blocked_steps(const Dims& dims) const;
  Dims last_steps(const Dims& dims, int64_t pixel) const;
  Id blocked_value(uint32_t value);
  Id last_value(uint32_t value);
  Id flipped(Id id, int32_t dtype);
  Id channel_bytes(const std::string& bytes, int32_t dtype);

  std::span<const NodeView> nodes_;
  LowerContext& context_;
  GraphView graph_;
  Dims dims_;
  Layout layout_ = Layout::Plain;
  Program program_;
  std::map<uint32_t, Id> made_;
};

}  // namespace optima::llvm_cpu
