// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: what the lowering of a group asked of the planner, was answered and emitted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

struct Tape {
  enum class Kind : uint8_t { Layout, Read, Write, Alias, Rename, Rounded, Packed, Bytes, Temporary, Emit };
  /// Arguments of a call and its answer; what the kind does not use is empty.
  struct Call {
    Kind kind;
    uint32_t value = 0, other = 0;
    Layout layout = Layout::Plain;  ///< argument of Read and Write, answer of Layout
    bool is_rounded = false;        ///< answer of Rounded
    uint32_t step = OPTIMA_NONE;    ///< number of the step that Emit made; none when there was nothing to do
    Operand operand{};              ///< answer
    uint32_t scale = UINT32_MAX;    ///< argument of Packed: index of the scale
    Pack pack{};
    std::string contents{};         ///< argument of Bytes
  };
  std::vector<Call> calls;
  std::vector<uint32_t> reads;  ///< values whose dims or elements the lowering read, each once
  bool is_whole = true;         ///< no answer hangs on sizes: it asks for no pixel
};

/// Fills in what the lowering of these nodes left empty.
void complete(Op& op, std::span<const NodeView> nodes);

/// Passes calls on and writes them down.
class Recorder : public LowerContext {
 public:
  /// `steps()`: how many the planner has.
  Recorder(LowerContext& to, Tape& tape, const std::function<size_t()>& steps) : to_(to), tape_(tape), steps_(steps) {}
  const Target& target() const override { return to_.target(); }
  bool allows_winograd() const override { return to_.allows_winograd(); }
  bool is_bad(const KernelSpec& spec) const override { return to_.is_bad(spec); }
  Layout layout(uint32_t value) const override;
  int64_t pixel(uint32_t value) const override;
  Operand read(uint32_t value, Layout layout) override;
  Operand write(uint32_t value, Layout layout) override;
  void alias(uint32_t out, uint32_t in) override;
  bool rounded_by_readers(uint32_t value) const override;
  void rename(uint32_t out, uint32_t in) override;
  Operand packed(uint32_t constant, const Pack& pack, const Operand* scale) override;
  Operand bytes(std::string contents, const Pack& pack) override;
  Operand temporary(uint64_t bytes) override;
  void emit(Op op) override;

 private:
  Tape::Call& note(Tape::Kind kind, uint32_t value = 0, Layout layout = Layout::Plain) const;
  LowerContext& to_;
  Tape& tape_;
  const std::function<size_t()>& steps_;
};

}  // namespace optima::llvm_cpu
