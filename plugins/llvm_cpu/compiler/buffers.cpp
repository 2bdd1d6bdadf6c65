// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see buffers.hpp.
#include "plugins/llvm_cpu/compiler/buffers.hpp"

#include "plugins/llvm_cpu/plan/plan.hpp"

namespace optima::llvm_cpu {

std::vector<Lifetime> lives_of(const std::vector<Buffer>& buffers, const std::vector<Step>& steps, std::vector<uint32_t>& owners) {
  std::vector<Lifetime> lives(buffers.size()), out;
  std::vector<bool> used(buffers.size());
  for (size_t s = 0; s < steps.size(); ++s)
    for (const Operand& a : steps[s]->args) {
      if (a.kind != Operand::Buffer) continue;
      Lifetime& l = lives[a.index];
      if (!used[a.index]) l.first = s;
      l.last = s;
      used[a.index] = true;
    }
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    if (!used[i] || buffers[i].where != Buffer::Arena) continue;
    out.push_back(lives[i]);
    owners.push_back(i);
  }
  return out;
}

Places place(const std::vector<Buffer>& buffers, std::vector<Lifetime>& lives, const std::vector<uint32_t>& owners) {
  for (size_t i = 0; i < lives.size(); ++i) lives[i].bytes = buffers[owners[i]].bytes + kSlack;
  Places out;
  out.arena_bytes = place(lives);
  out.offsets.assign(buffers.size(), 0);
  for (size_t i = 0; i < lives.size(); ++i) out.offsets[owners[i]] = lives[i].offset;
  return out;
}

bool may_lie(const GraphView& g, uint32_t v, Layout layout) {
  if (layout == Layout::Plain) return true;
  if (layout == Layout::Narrow) return is_half(g.stored_dtype(v));
  const uint32_t bits = optima_dtype_bits(g.dtype(v));
  const int32_t rank = g.value(v).rank;
  return rank >= 3 && rank <= 5 && (layout == Layout::Blocked ? g.dtype(v) == OPTIMA_F32 : bits == 8 || bits == 16 || bits == 32);
}

uint64_t bytes_of(const GraphView& g, uint32_t v, Layout layout, const Target& t) {
  const int32_t dtype = layout == Layout::Narrow ? g.stored_dtype(v) : g.dtype(v);
  return (static_cast<uint64_t>(elements(g.dims(v), layout, t)) * optima_dtype_bits(dtype) + 7) / 8;
}

}  // namespace optima::llvm_cpu
