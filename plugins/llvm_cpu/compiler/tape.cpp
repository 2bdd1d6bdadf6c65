// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see tape.hpp.
#include "plugins/llvm_cpu/compiler/tape.hpp"

namespace optima::llvm_cpu {

void complete(Op& op, std::span<const NodeView> nodes) {
  if (op.node_ids.empty())
    for (const NodeView& n : nodes) op.node_ids.push_back(n.id());
  if (op.label.empty() && !nodes.empty()) op.label = std::string(nodes[0].op());
}

Tape::Call& Recorder::note(Tape::Kind kind, uint32_t value, Layout layout) const {
  Tape::Call& call = tape_.calls.emplace_back(Tape::Call{.kind = kind});
  call.value = value, call.layout = layout;
  return call;
}

Layout Recorder::layout(uint32_t value) const { return note(Tape::Kind::Layout, value).layout = to_.layout(value); }

int64_t Recorder::pixel(uint32_t value) const {
  tape_.is_whole = false;
  return to_.pixel(value);
}

bool Recorder::rounded_by_readers(uint32_t value) const { return note(Tape::Kind::Rounded, value).is_rounded = to_.rounded_by_readers(value); }

Operand Recorder::read(uint32_t value, Layout layout) {
  const Operand at = to_.read(value, layout);
  return note(Tape::Kind::Read, value, layout).operand = at;
}

Operand Recorder::write(uint32_t value, Layout layout) { return note(Tape::Kind::Write, value, layout).operand = to_.write(value, layout); }

void Recorder::alias(uint32_t out, uint32_t in) {
  to_.alias(out, in);
  note(Tape::Kind::Alias, out).other = in;
}

void Recorder::rename(uint32_t out, uint32_t in) {
  to_.rename(out, in);
  note(Tape::Kind::Rename, out).other = in;
}

Operand Recorder::packed(uint32_t constant, const Pack& pack, const Operand* scale) {
  Tape::Call& call = note(Tape::Kind::Packed, constant);
  call.pack = pack;
  if (scale) call.scale = scale->index;
  return call.operand = to_.packed(constant, pack, scale);
}

Operand Recorder::bytes(std::string contents, const Pack& pack) {
  Tape::Call& call = note(Tape::Kind::Bytes);
  call.contents = std::move(contents), call.pack = pack;
  return call.operand = to_.bytes(call.contents, pack);
}

Operand Recorder::temporary(uint64_t bytes) { return note(Tape::Kind::Temporary).operand = to_.temporary(bytes); }

void Recorder::emit(Op op) {
  const size_t before = steps_();
  to_.emit(std::move(op));
  Tape::Call& call = note(Tape::Kind::Emit);
  if (steps_() != before) call.step = static_cast<uint32_t>(before);
}

}  // namespace optima::llvm_cpu
