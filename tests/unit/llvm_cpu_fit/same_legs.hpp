// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: two legs of one graph, byte by byte.
#pragma once

#include <cstring>

#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

namespace llvm_cpu_test {

namespace cpu = optima::llvm_cpu;

inline cpu::Target target_of(int64_t vector_width) {
  cpu::Target t;
  t.triple = "x86_64-linux-gnu", t.vector_width = vector_width, t.registers = vector_width == 16 ? 32 : 16;
  return t;
}

inline std::string text_of(const cpu::KernelSpec& s) {
  std::string out = s.entry + '|' + s.expression;
  for (const int64_t n : s.literals) out += ' ' + std::to_string(n);
  return out;
}

inline bool same_bytes(const void* a, const void* b, uint64_t size) { return size == 0 || a == b || (a && b && std::memcmp(a, b, size) == 0); }

inline bool same_tensor(const optima::reference::Tensor& a, const optima::reference::Tensor& b) {
  return a.dtype == b.dtype && a.dims == b.dims && !a.data == !b.data && (!a.data || (a.size == b.size && same_bytes(a.data, b.data, a.size)));
}

inline bool same_image(const optima_graph& a, const optima_graph& b) {
  bool same = a.image->total_size == b.image->total_size && same_bytes(a.image, b.image, a.image->total_size) && a.blob_count == b.blob_count;
  for (uint32_t k = 0; same && k < a.blob_count; ++k) same = a.blobs[k].size == b.blobs[k].size && same_bytes(a.blobs[k].data, b.blobs[k].data, a.blobs[k].size);
  return same;
}

/// What is not the same in two legs; empty when all is.
inline std::string difference(const cpu::Fitter& fitter, const cpu::Leg& a, const cpu::Leg& b) {
  for (uint32_t v = 0; v < fitter.value_count(); ++v)
    if (!same_tensor(a.walk.at(v), b.walk.at(v))) return "value " + std::to_string(v);
  if (!a.stretch != !b.stretch || a.is_last != b.is_last || a.runs != b.runs || a.asks != b.asks) return "structure";
  if (!a.stretch) return {};
  if (!same_image(a.stretch->graph(), b.stretch->graph())) return "graph";
  if (a.stretch->takes() != b.stretch->takes() || a.stretch->gives() != b.stretch->gives()) return "ends";
  if (a.draft.specs.size() != b.draft.specs.size()) return "number of kernels";
  for (size_t k = 0; k < a.draft.specs.size(); ++k)
    if (text_of(a.draft.specs[k]) != text_of(b.draft.specs[k])) return "kernel " + text_of(a.draft.specs[k]) + ", wanted " + text_of(b.draft.specs[k]);
  if (a.draft.constants != b.draft.constants || a.draft.weights != b.draft.weights) return "constants";
  return cpu::to_bytes(a.draft.plan) == cpu::to_bytes(b.draft.plan) ? "" : "plan";
}

}  // namespace llvm_cpu_test
