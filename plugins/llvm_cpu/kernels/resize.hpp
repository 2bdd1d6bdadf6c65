// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: Resize as weighted sums over tables, one axis at a time, or the last two of an image at once. The lowering makes the tables, so
// every mode and coordinate rule of the operator is the same kernel.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct Resize {
  static constexpr char entry[] = "k_resize";
  static constexpr void sizes(auto& l, auto mark) { mark(l.size, l.length, l.inner); }
  int64_t taps, size, length, inner;
};
/// [planes][height][width][inner] -> [planes][out_height][out_width][inner]; inner: 1, or VL for blocked images.
struct ResizePlane {
  static constexpr char entry[] = "k_resize_plane";
  static constexpr void sizes(auto& l, auto mark) { mark(l.height, l.width, l.out_height, l.out_width); }
  int64_t taps_y, taps_x, height, width, out_height, out_width, inner;
};
constexpr int64_t kResizedRows = 8;  ///< of a unit: they stay in the first-level cache between the two axes

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

/// An axis of single elements; its tables are [taps][length], the indices followed by [taps][ceil(length / VL)]: the first of the VL neighbours that
/// hold what a vector of results (the last one ends with the row) takes by this tap, negative where there are none such.
struct Axis {
  idx taps, size, length;
  const int32_t* index;
  const float* weight;
};

/// Results [i, end) of a row.
INL void one_by_one(const Axis& a, const float* in, float* out, idx i, idx end) {
  ROLL for (idx j = i; j < end; j++) {
    float v = 0;
    each_tap(a.taps, [&](idx t) __attribute__((always_inline)) { v += a.weight[t * a.length + j] * in[a.index[t * a.length + j]]; });
    out[j] = v;
  }
}

/// n rows of single elements, wherever they lie; a.length from one result to the next.
INL void rows(const Axis& a, const float* const* in, float* out, idx n) {
#if VW >= 8
  constexpr idx kMostPicked = 4;  // taps
  const idx vectors = cdiv(a.length, VL), lanes = imin(VL, a.size);
  const int32_t* first = a.index + a.taps * a.length;
  if (a.length >= VL && a.taps <= kMostPicked) {
    ROLL for (idx k = 0; k < vectors; k++) {
      const idx i = imin(k * VL, a.length - VL);
      if (first[k] < 0) {
        ROLL for (idx r = 0; r < n; r++) one_by_one(a, in[r], out + r * a.length, k * VL, imin(a.length, (k + 1) * VL));
        continue;
      }
      ivec at[kMostPicked];
      vec weight[kMostPicked];
      UNROLL for (idx t = 0; t < a.taps; t++)
        at[t] = *(const ivecu*)(a.index + t * a.length + i) - first[t * vectors + k], weight[t] = ld(a.weight + t * a.length + i);
      ROLL for (idx r = 0; r < n; r++) {
        vec v{};
        UNROLL for (idx t = 0; t < a.taps; t++) v += picked(ld_part(in[r] + first[t * vectors + k], lanes, 0), at[t]) * weight[t];
        st(out + r * a.length + i, v);
      }
    }
    return;
  }
#endif
  ROLL for (idx r = 0; r < n; r++) one_by_one(a, in[r], out + r * a.length, 0, a.length);
}

/// `count` floats: sum over t of weight[t] * in[index[t] * step].
INL void blend(idx taps, const int32_t* index, const float* weight, const float* in, idx step, float* out, idx count) {
  const auto part = [&](idx j, idx n) __attribute__((always_inline)) {
    vec v{};
    each_tap(taps, [&](idx t) __attribute__((always_inline)) { v += ld_part(in + index[t] * step + j, n, 0) * weight[t]; });
    st_part(out + j, v, n);
  };
  const idx full = count / VL * VL;
  ROLL for (idx j = 0; j < full; j += VL) part(j, VL);
  if (count > full) part(full, count - full);
}

}  // namespace k::resize

// out[o][i][j] = sum over t of weight[i][t] * in[o][index[i][t]][j] for in [outer][size][inner]. args: in, indices
// [length][taps] (int32, within [0, size)), weights [length][taps], both as an Axis has them when inner == 1, out; units: outer * length when inner > 1, else outer.
TEMPLATE(k_resize, Resize, l) {
  using namespace k;
  const int32_t* index = (const int32_t*)args[1];
  const float *in = (const float*)args[0], *weight = (const float*)args[2];
  float* out = (float*)args[3];
  if (l.inner == 1) {
    const resize::Axis axis = {l.taps, l.size, l.length, index, weight};
    ROLL for (idx u = u0; u < u1; u += kResizedRows) {
      const float* from[kResizedRows];
      const idx n = imin(kResizedRows, u1 - u);
      ROLL for (idx r = 0; r < n; r++) from[r] = in + (u + r) * l.size;
      resize::rows(axis, from, out + u * l.length, n);
    }
    return;
  }
  ROLL for (idx u = u0; u < u1; u++) {
    const idx i = u % l.length * l.taps;
    resize::blend(l.taps, index + i, weight + i, in + u / l.length * l.size * l.inner, l.inner, out + u * l.inner, l.inner);
  }
}

// args: in, indices and weights along the height [out_height][taps_y], those along the width ([out_width][taps_x], or as an Axis has them when inner == 1), out; units:
// planes * ceil(out_height / kResizedRows). scratch: kResizedRows * width * inner floats.
TEMPLATE(k_resize_plane, ResizePlane, l) {
  using namespace k;
  const int32_t *index_y = (const int32_t*)args[1], *index_x = (const int32_t*)args[3];
  const float *weight_y = (const float*)args[2], *weight_x = (const float*)args[4];
  const idx blocks = cdiv(l.out_height, kResizedRows), row = l.width * l.inner;
  float* between = (float*)scratch;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx plane = u / blocks, y = u % blocks * kResizedRows, n = imin(kResizedRows, l.out_height - y);
    const float* from[kResizedRows];
    ROLL for (idx r = 0; r < n; r++) {
      const int32_t* index = index_y + (y + r) * l.taps_y;
      const float *weight = weight_y + (y + r) * l.taps_y, *in = (const float*)args[0] + plane * l.height * row;
      if (l.taps_y == 1 && *weight == 1.f) from[r] = in + *index * row;
      else resize::blend(l.taps_y, index, weight, in, row, between + r * row, row), from[r] = between + r * row;
    }
    float* out = (float*)args[5] + (plane * l.out_height + y) * l.out_width * l.inner;
    if (l.inner == 1) {
      resize::rows({l.taps_x, l.width, l.out_width, index_x, weight_x}, from, out, n);
      continue;
    }
    ROLL for (idx r = 0; r < n; r++) ROLL for (idx x = 0; x < l.out_width; x++)
      resize::blend(l.taps_x, index_x + x * l.taps_x, weight_x + x * l.taps_x, from[r], VL, out + (r * l.out_width + x) * VL, VL);
  }
}
#endif
