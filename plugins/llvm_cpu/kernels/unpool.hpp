// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: MaxUnpool: each element at its index in a tensor of zeros.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct MaxUnpool {
  static constexpr char entry[] = "k_max_unpool";
  static constexpr void sizes(auto& l, auto mark) { mark(l.elements, l.outputs); }
  int64_t elements, outputs;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

// Of elements with one index the last is there. args: in, indices (int64), out; units: one, for any two indices may be equal.
TEMPLATE(k_max_unpool, MaxUnpool, l) {
  using namespace k;
  if (u0 >= u1) return;
  const float* in = (const float*)args[0];
  const int64_t* indices = (const int64_t*)args[1];
  float* out = (float*)args[2];
  __builtin_memset(out, 0, (size_t)l.outputs * sizeof(float));
  ROLL for (idx i = 0; i < l.elements; i++) {
    const idx at = indices[i];
    if (__builtin_expect(at >= 0 && at < l.outputs, 1)) out[at] = in[i];
    else tell_outside(at, l.outputs, scratch);
  }
}
#endif
