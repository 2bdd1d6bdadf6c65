// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: moving elements of 1, 2, 4 or 8 bytes: strided copies (Transpose, Slice, Concat, Split, Expand, Tile,
// DepthToSpace...), fill, Trilu, OneHot, Range. Types do not matter here, only sizes.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct Move {
  static constexpr char entry[] = "k_move";
  static constexpr void sizes(auto& l, auto mark) { mark(l.split, l.d, l.s, l.t); }
  int64_t bytes, split;
  List<8> d, s, t;  ///< sizes, steps of source and target in elements
};
struct Fill {
  static constexpr char entry[] = "k_fill";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count, l.chunk); }
  int64_t bytes, count, chunk;
};
struct Trilu {
  static constexpr char entry[] = "k_trilu";
  static constexpr void sizes(auto& l, auto mark) { mark(l.diagonal, l.rows, l.columns); }
  int64_t bytes, upper, diagonal, rows, columns;
};
struct OneHot {
  static constexpr char entry[] = "k_one_hot";
  static constexpr void sizes(auto& l, auto mark) { mark(l.depth, l.inner); }
  int64_t bytes, index_bytes, depth, inner;
};
struct Range {
  static constexpr char entry[] = "k_range";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count); }
  int64_t dtype, count;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/copy_row.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::move {

template <class T>
INL void row(idx n, idx s, idx t, const T* from, T* to) {
  if (s == 1 && t == 1) copy_row(to, from, n);
  else if (s == 0) for (idx i = 0; i < n; i++) to[i * t] = *from;
  else ROLL for (idx i = 0; i < n; i++) to[i * t] = from[i * s];
}
// How many of n elements, at least VL, go in blocks of VL: all, where more than a few are left, and the last block goes over what the one before did.
INL idx in_blocks(idx n) { return n % VL > VL / 4 ? n : n / VL * VL; }
// d[6] runs along the source, d[7] along the target: square blocks through registers.
INL void turn(const Move& x, const uint32_t* from, uint32_t* to) {
  const idx a = in_blocks(x.d[6]), b = in_blocks(x.d[7]);
  ROLL for (idx i0 = 0; i0 < a; i0 += VL) ROLL for (idx j0 = 0; j0 < b; j0 += VL) {
    const idx i = imin(i0, x.d[6] - VL), j = imin(j0, x.d[7] - VL);
    vec r[VL];
    UNROLL for (idx l = 0; l < VL; l++) r[l] = ld((const float*)from + (j + l) * x.s[7] + i);
    transpose(r);
    UNROLL for (idx l = 0; l < VL; l++) st((float*)to + (i + l) * x.t[6] + j, r[l]);
  }
  ROLL for (idx i = 0; i < x.d[6]; i++) ROLL for (idx j = i < a ? b : 0; j < x.d[7]; j++) to[i * x.t[6] + j] = from[j * x.s[7] + i];
}
#if VW >= 8
constexpr idx kFewColumns = 4;  ///< colours, corners of boxes
/// Rows of pixels, `step` elements from one to the next, become pixels of C elements. pixels >= VL; the last vectors go over what those before did.
template <idx C>
INL void to_pixels(const float* from, idx step, float* to, idx pixels) {
  ROLL for (idx at = 0; at < pixels; at += VL) {
    const idx p = imin(at, pixels - VL);
    vec r[C], out[C] = {};
    UNROLL for (idx c = 0; c < C; c++) r[c] = ld(from + c * step + p);
    UNROLL for (idx c = 0; c < C; c++) UNROLL for (idx v = 0; v < C; v++) {
      ivec place, row;
      UNROLL for (idx l = 0; l < VL; l++) place[l] = (int32_t)((v * VL + l) / C), row[l] = (int32_t)((v * VL + l) % C);
      out[v] = row == (int32_t)c ? picked(r[c], place) : out[v];
    }
    UNROLL for (idx v = 0; v < C; v++) st(to + p * C + v * VL, out[v]);
  }
}
/// The way back.
template <idx C>
INL void to_rows(const float* from, float* to, idx step, idx pixels) {
  ROLL for (idx at = 0; at < pixels; at += VL) {
    const idx p = imin(at, pixels - VL);
    vec r[C], out[C] = {};
    UNROLL for (idx v = 0; v < C; v++) r[v] = ld(from + p * C + v * VL);
    UNROLL for (idx c = 0; c < C; c++) UNROLL for (idx v = 0; v < C; v++) {
      ivec lane, vector;
      UNROLL for (idx l = 0; l < VL; l++) lane[l] = (int32_t)((l * C + c) % VL), vector[l] = (int32_t)((l * C + c) / VL);
      out[c] = vector == (int32_t)v ? picked(r[v], lane) : out[c];
    }
    UNROLL for (idx c = 0; c < C; c++) st(to + c * step + p, out[c]);
  }
}
/// turn() where one side has few elements, which lie one behind the other. False: it is none.
template <idx C = 2>
INL bool turn_few(const Move& x, const float* from, float* to) {
  if (x.d[7] == C && x.t[6] == C && x.d[6] >= VL) return to_pixels<C>(from, x.s[7], to, x.d[6]), true;
  if (x.d[6] == C && x.s[7] == C && x.d[7] >= VL) return to_rows<C>(from, to, x.t[6], x.d[7]), true;
  if constexpr (C < kFewColumns) return turn_few<C + 1>(x, from, to);
  return false;
}
#else
INL bool turn_few(const Move&, const float*, float*) { return false; }
#endif
template <class T>
INL void plane(const Move& x, const T* from, T* to) {
  if (sizeof(T) == 4 && x.s[6] == 1 && x.t[7] == 1 && x.s[7] != 1) {
    if (x.d[6] >= VL && x.d[7] >= VL) return turn(x, (const uint32_t*)from, (uint32_t*)to);
    if (turn_few(x, (const float*)from, (float*)to)) return;
  }
  ROLL for (idx i = 0; i < x.d[6]; i++) row(x.d[7], x.s[7], x.t[7], from + i * x.s[6], to + i * x.t[6]);
}
template <int I, class T>
INL void walk(const Move& x, const T* from, T* to) {
  if constexpr (I == 6) plane(x, from, to);
  else if (GENERAL) ROLL for (idx i = 0; i < (I < x.split ? 1 : x.d[I]); i++) walk<I + 1>(x, from + i * x.s[I], to + i * x.t[I]);
  else if (I < x.split) walk<I + 1>(x, from, to);
  else ROLL for (idx i = 0; i < x.d[I]; i++) walk<I + 1>(x, from + i * x.s[I], to + i * x.t[I]);
}

}  // namespace k::move

// target[sum of i*t] = source[sum of i*s] over dims d. args: source, target; units: the product of the first `split`
// dims (split <= 6). Steps may be 0 or negative.
TEMPLATE(k_move, Move, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    idx at[6], rest = u0, from = 0, to = 0;
    UNROLL for (int i = 5; i >= 0; i--) if (i < l.split) {
      at[i] = rest % l.d[i], rest /= l.d[i];
      from += at[i] * l.s[i], to += at[i] * l.t[i];
    }
    ROLL for (idx u = u0; u < u1; u++) {
      move::walk<0>(l, (const T*)args[0] + from, (T*)args[1] + to);
      bool next = true;  // of dim i: it was the last index of all behind
      UNROLL for (int i = 5; i >= 0; i--) if (next && i < l.split) {
        from += l.s[i], to += l.t[i];
        next = ++at[i] == l.d[i];
        if (next) from -= l.d[i] * l.s[i], to -= l.d[i] * l.t[i], at[i] = 0;
      }
    }
  });
}

// args: one element, target; units: ceil(count / chunk).
TEMPLATE(k_fill, Fill, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    const T v = *(const T*)args[0];
    T* to = (T*)args[1];
    for (idx i = u0 * l.chunk; i < imin(l.count, u1 * l.chunk); i++) to[i] = v;
  });
}

// Keeps the elements of matrices on or above (upper) or on or below diagonal `diagonal`; zero elsewhere. args: in, out;
// units: matrices * rows.
TEMPLATE(k_trilu, Trilu, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* from = (const T*)args[0] + u * l.columns;
      T* to = (T*)args[1] + u * l.columns;
      const idx edge = imax(0, imin(l.columns, u % l.rows + l.diagonal + (l.upper ? 0 : 1)));
      for (idx j = 0; j < l.columns; j++) to[j] = (l.upper ? j >= edge : j < edge) ? from[j] : T{};
    }
  });
}

// [outer] indices -> [outer][depth][inner] of off or on. args: indices [outer][inner] (index_bytes 4 or 8), {off, on},
// out; units: outer. An index outside [-depth, depth) gives no on value.
TEMPLATE(k_one_hot, OneHot, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    const T off = ((const T*)args[1])[0], on = ((const T*)args[1])[1];
    ROLL for (idx u = u0; u < u1; u++) ROLL for (idx d = 0; d < l.depth; d++) ROLL for (idx j = 0; j < l.inner; j++) {
      const idx i = index_at(args[0], l.index_bytes, u * l.inner + j);
      ((T*)args[2])[(u * l.depth + d) * l.inner + j] = (i < 0 ? i + l.depth : i) == d ? on : off;
    }
  });
}

// start + i * delta. args: start, delta, out; units: 1.
TEMPLATE(k_range, Range, l) {
  using namespace k;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    const T start = *(const T*)args[0], delta = *(const T*)args[1];
    if (u0 == 0 && u1 > 0) ROLL for (idx i = 0; i < l.count; i++) ((T*)args[2])[i] = (T)(start + (T)i * delta);
  });
}
#endif
