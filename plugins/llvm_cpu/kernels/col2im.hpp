// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: Col2Im of pictures: what each tap of a window took is added where it took it from.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct Col2Im {
  static constexpr char entry[] = "k_col2im";
  static constexpr void sizes(auto& l, auto mark) { mark(l.height, l.width, l.rows, l.columns); }
  int64_t height, width, rows, columns;  ///< of the picture; of the places of the window
  Three kernel, stride, dilation, begin;  ///< the first number is of no use
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::col2im {

/// Places of a tap along one axis: those of [first, end) are on the picture, place i at element `from` + i * stride.
struct Along {
  idx from, first, end;
  METHOD Along(idx tap, idx stride, idx size, idx places) : from(tap), first(tap >= 0 ? 0 : imin(cdiv(-tap, stride), places)), end(tap >= size ? 0 : imin(cdiv(size - tap, stride), places)) {}
};

/// The last elements of a row, where they are N or more of them.
template <int N>
INL void add_some(float* to, const float* from, idx n) {
  typedef float some __attribute__((vector_size(N * 4), aligned(4), may_alias));
  if constexpr (N > 1) {
    if (n & N) *(some*)to += *(const some*)from;
    add_some<N / 2>(to + (n & N), from + (n & N), n);
  } else if (n & 1) {
    *to += *from;
  }
}

INL void add_row(float* to, const float* from, idx n, idx stride) {
  idx i = 0;
  if (stride == 1) {
    ROLL for (; i + VL <= n; i += VL) st(to + i, ld(to + i) + ld(from + i));
    add_some<VL / 2>(to + i, from + i, n - i);
  } else {
    ROLL for (; i < n; i++) to[i * stride] += from[i];
  }
}

}  // namespace k::col2im

// out[p][height][width] = the sum over taps of in [p][tap][rows][columns], taps in their order. args: in, out; units: pictures p.
TEMPLATE(k_col2im, Col2Im, l) {
  using namespace k;
  const idx plane = l.height * l.width, places = l.rows * l.columns;
  ROLL for (idx u = u0; u < u1; u++) {
    const float* from = (const float*)args[0] + u * l.kernel.h * l.kernel.w * places;
    float* out = (float*)args[1] + u * plane;
    __builtin_memset(out, 0, (size_t)plane * sizeof(float));
    ROLL for (idx y = 0; y < l.kernel.h; y++) ROLL for (idx x = 0; x < l.kernel.w; x++, from += places) {
      const col2im::Along down(y * l.dilation.h - l.begin.h, l.stride.h, l.height, l.rows), right(x * l.dilation.w - l.begin.w, l.stride.w, l.width, l.columns);
      if (right.first >= right.end) continue;
      ROLL for (idx r = down.first; r < down.end; r++)
        col2im::add_row(out + (down.from + r * l.stride.h) * l.width + right.from + right.first * l.stride.w, from + r * l.columns + right.first, right.end - right.first, l.stride.w);
    }
  }
}
#endif
