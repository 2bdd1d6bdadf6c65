// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: moving elements of 1, 2, 4 or 8 bytes: strided copies (Transpose, Slice, Concat, Split, Expand, Tile,
// DepthToSpace...), fill, Trilu, OneHot, Range. Types do not matter here, only sizes.
#include "plugins/llvm_cpu/kernels/lanes.hpp"

namespace k::move {

struct Dims {
  idx d[8], s[8], t[8];  // sizes, source steps, target steps, in elements
};
template <class T>
INL void row(idx n, idx s, idx t, const T* from, T* to) {
  if (s == 1 && t == 1) __builtin_memcpy(to, from, n * sizeof(T));
  else if (s == 0) for (idx i = 0; i < n; i++) to[i * t] = *from;
  else ROLL for (idx i = 0; i < n; i++) to[i * t] = from[i * s];
}
// d[6] runs along the source, d[7] along the target: square blocks through registers.
INL void turn(const Dims& x, const uint32_t* from, uint32_t* to) {
  const idx a = x.d[6] / VL * VL, b = x.d[7] / VL * VL;
  ROLL for (idx i = 0; i < a; i += VL) ROLL for (idx j = 0; j < b; j += VL) {
    vec r[VL];
    UNROLL for (idx l = 0; l < VL; l++) r[l] = ld((const float*)from + (j + l) * x.s[7] + i);
    transpose(r);
    UNROLL for (idx l = 0; l < VL; l++) st((float*)to + (i + l) * x.t[6] + j, r[l]);
  }
  ROLL for (idx i = 0; i < x.d[6]; i++) ROLL for (idx j = i < a ? b : 0; j < x.d[7]; j++) to[i * x.t[6] + j] = from[j * x.s[7] + i];
}
template <class T>
INL void plane(const Dims& x, const T* from, T* to) {
  if (sizeof(T) == 4 && x.s[6] == 1 && x.t[7] == 1 && x.s[7] != 1 && x.d[6] >= VL && x.d[7] >= VL) {
    turn(x, (const uint32_t*)from, (uint32_t*)to);
    return;
  }
  ROLL for (idx i = 0; i < x.d[6]; i++) row(x.d[7], x.s[7], x.t[7], from + i * x.s[6], to + i * x.t[6]);
}
template <int I, class T>
INL void walk(const Dims& x, idx split, const T* from, T* to) {
  if constexpr (I == 6) plane(x, from, to);
  else if (I < split) walk<I + 1>(x, split, from, to);
  else ROLL for (idx i = 0; i < x.d[I]; i++) walk<I + 1>(x, split, from + i * x.s[I], to + i * x.t[I]);
}

}  // namespace k::move

// target[sum of i*t] = source[sum of i*s] over d0 x ... x d7. args: source, target; units: the product of the first `split`
// dims (split <= 6). Steps may be 0 or negative.
TEMPLATE(k_move, int64_t bytes, int64_t split, int64_t d0, int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5,
         int64_t d6, int64_t d7, int64_t s0, int64_t s1, int64_t s2, int64_t s3, int64_t s4, int64_t s5, int64_t s6,
         int64_t s7, int64_t t0, int64_t t1, int64_t t2, int64_t t3, int64_t t4, int64_t t5, int64_t t6, int64_t t7) {
  using namespace k;
  const move::Dims x{{d0, d1, d2, d3, d4, d5, d6, d7}, {s0, s1, s2, s3, s4, s5, s6, s7}, {t0, t1, t2, t3, t4, t5, t6, t7}};
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      idx rest = u, from = 0, to = 0;
      UNROLL for (int i = 5; i >= 0; i--) if (i < split) {
        from += rest % x.d[i] * x.s[i];
        to += rest % x.d[i] * x.t[i];
        rest /= x.d[i];
      }
      move::walk<0>(x, split, (const T*)args[0] + from, (T*)args[1] + to);
    }
  });
}

// args: one element, target; units: ceil(count / chunk).
TEMPLATE(k_fill, int64_t bytes, int64_t count, int64_t chunk) {
  using namespace k;
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    const T v = *(const T*)args[0];
    T* to = (T*)args[1];
    for (idx i = u0 * chunk; i < imin(count, u1 * chunk); i++) to[i] = v;
  });
}

// Keeps the elements of matrices on or above (upper) or on or below diagonal `diagonal`; zero elsewhere. args: in, out;
// units: matrices * rows.
TEMPLATE(k_trilu, int64_t bytes, int64_t upper, int64_t diagonal, int64_t rows, int64_t columns) {
  using namespace k;
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* from = (const T*)args[0] + u * columns;
      T* to = (T*)args[1] + u * columns;
      const idx edge = imax(0, imin(columns, u % rows + diagonal + (upper ? 0 : 1)));
      for (idx j = 0; j < columns; j++) to[j] = (upper ? j >= edge : j < edge) ? from[j] : T{};
    }
  });
}

// [outer] indices -> [outer][depth][inner] of off or on. args: indices [outer][inner] (index_bytes 4 or 8), {off, on},
// out; units: outer. An index outside [-depth, depth) gives no on value.
TEMPLATE(k_one_hot, int64_t bytes, int64_t index_bytes, int64_t depth, int64_t inner) {
  using namespace k;
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    const T off = ((const T*)args[1])[0], on = ((const T*)args[1])[1];
    ROLL for (idx u = u0; u < u1; u++) ROLL for (idx d = 0; d < depth; d++) ROLL for (idx j = 0; j < inner; j++) {
      const idx i = index_at(args[0], index_bytes, u * inner + j);
      ((T*)args[2])[(u * depth + d) * inner + j] = (i < 0 ? i + depth : i) == d ? on : off;
    }
  });
}

// start + i * delta. args: start, delta, out; units: 1.
TEMPLATE(k_range, int64_t dtype, int64_t count) {
  using namespace k;
  with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    const T start = *(const T*)args[0], delta = *(const T*)args[1];
    if (u0 == 0 && u1 > 0) ROLL for (idx i = 0; i < count; i++) ((T*)args[2])[i] = (T)(start + (T)i * delta);
  });
}
