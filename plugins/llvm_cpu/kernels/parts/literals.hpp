// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what literals of kernel templates are made of. Plain C++: lowerings fill literals, templates read them.
//
// The literals of template `k_family` are a struct whose static `entry` is that name. Every field is an int64_t, an enum over it,
// a double, or a struct of these, so that nothing is padding and equal literals are equal bytes; a struct with padding does not
// compile (KernelSpec in compiler/op.hpp). No field has a default: one that a lowering forgets is an error there.
#pragma once
#include <stdint.h>

namespace k {

/// Depth, height, width.
struct Three {
  int64_t d, h, w;
};

/// N numbers, outermost first.
template <int N>
struct List {
  int64_t at[N];
  constexpr int64_t operator[](int64_t i) const { return at[i]; }
};

}  // namespace k
