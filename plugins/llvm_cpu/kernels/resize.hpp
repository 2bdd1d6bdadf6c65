// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: one axis of a Resize as weighted sums over a table. The lowering makes the tables, so every mode and
// coordinate rule of the operator is the same kernel; several axes are several passes.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct Resize {
  static constexpr char entry[] = "k_resize";
  static constexpr void sizes(auto& l, auto mark) { mark(l.size, l.length, l.inner); }
  int64_t taps, size, length, inner;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::resize {

// Few taps without a loop; shrinking with antialias has hundreds.
template <class F>
INL void each_tap(idx taps, F f) {
  if (taps <= 16) UNROLL for (idx t = 0; t < taps; t++) f(t);
  else ROLL for (idx t = 0; t < taps; t++) f(t);
}

}  // namespace k::resize

// out[o][i][j] = sum over t of weight[i][t] * in[o][index[i][t]][j] for in [outer][size][inner]. args: in, indices
// [length][taps] (int32, within [0, size)), weights [length][taps], out; units: outer * length when inner > 1, else outer.
TEMPLATE(k_resize, Resize, l) {
  using namespace k;
  const int32_t* index = (const int32_t*)args[1];
  const float* weight = (const float*)args[2];
  if (l.inner == 1) {
    ROLL for (idx u = u0; u < u1; u++) {
      const float* in = (const float*)args[0] + u * l.size;
      float* out = (float*)args[3] + u * l.length;
      ROLL for (idx i = 0; i < l.length; i++) {
        float v = 0;
        resize::each_tap(l.taps, [&](idx t) __attribute__((always_inline)) { v += weight[i * l.taps + t] * in[index[i * l.taps + t]]; });
        out[i] = v;
      }
    }
    return;
  }
  const idx full = l.inner / VL * VL;
  ROLL for (idx u = u0; u < u1; u++) {
    const float* in = (const float*)args[0] + u / l.length * l.size * l.inner;
    float* out = (float*)args[3] + u * l.inner;
    const idx i = u % l.length * l.taps;
    const auto part = [&](idx j, idx n) __attribute__((always_inline)) {
      vec v{};
      resize::each_tap(l.taps, [&](idx t) __attribute__((always_inline)) { v += ld_part(in + index[i + t] * l.inner + j, n, 0) * weight[i + t]; });
      st_part(out + j, v, n);
    };
    ROLL for (idx j = 0; j < full; j += VL) part(j, VL);
    if (l.inner > full) part(full, l.inner - full);
  }
}
#endif
