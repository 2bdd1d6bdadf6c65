// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: reading and writing by computed indices. Indices are int32 or int64 (index_bytes 4 or 8); negative ones
// count from the end, those out of range are moved to the nearest end: nothing outside the tensors is ever touched.
#include "plugins/llvm_cpu/kernels/lanes.hpp"

namespace k::gather {

struct Dims {
  idx d[8], s[8];
  METHOD idx offset(idx i) const {  // of the i-th element of [d0]...[d7] under steps s
    idx at = 0;
    UNROLL for (int q = 7; q >= 0; q--) {
      at += i % d[q] * s[q];
      i /= d[q];
    }
    return at;
  }
};
enum { Set, Add, Mul, Max, Min };
template <class T>
INL void put(int64_t op, T* to, T v) {
  if (op == Add) *to = (T)(*to + v);
  else if (op == Mul) *to = (T)(*to * v);
  else if (op == Max) *to = *to > v || *to != *to ? *to : v;  // NaN wins
  else if (op == Min) *to = *to < v || *to != *to ? *to : v;
  else *to = v;
}
// Offset that a tuple of indices names in dims g0..g3 with steps p0..p3.
INL idx tuple(const void* indices, int64_t index_bytes, idx first, idx n, const idx* g, const idx* p) {
  idx at = 0;
  UNROLL for (idx q = 0; q < 4; q++) if (q < n) at += wrapped(index_at(indices, index_bytes, first + q), g[q]) * p[q];
  return at;
}

}  // namespace k::gather

// out[o][i][j] = data[o][index[i]][j] for data [outer][size][inner], i < count. args: data, indices, out; units:
// ceil(outer * count / rows): a unit is `rows` pieces of `inner` elements.
TEMPLATE(k_gather, int64_t bytes, int64_t index_bytes, int64_t rows, int64_t outer, int64_t size, int64_t count, int64_t inner) {
  using namespace k;
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx r = u0 * rows; r < imin(outer * count, u1 * rows); r++) {
      const idx i = wrapped(index_at(args[1], index_bytes, r % count), size);
      __builtin_memcpy((T*)args[2] + r * inner, (const T*)args[0] + (r / count * size + i) * inner, inner * sizeof(T));
    }
  });
}

// out[i] = data at i's coordinates, but with index[i] on the axis. d: dims of the indices; s: steps of data, 0 on the axis.
// args: data, indices, out; units: ceil(elements / chunk).
TEMPLATE(k_gather_elements, int64_t bytes, int64_t index_bytes, int64_t chunk, int64_t size, int64_t step, int64_t d0,
         int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6, int64_t d7, int64_t s0, int64_t s1,
         int64_t s2, int64_t s3, int64_t s4, int64_t s5, int64_t s6, int64_t s7) {
  using namespace k;
  const gather::Dims x{{d0, d1, d2, d3, d4, d5, d6, d7}, {s0, s1, s2, s3, s4, s5, s6, s7}};
  const idx n = d0 * d1 * d2 * d3 * d4 * d5 * d6 * d7;
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx i = u0 * chunk; i < imin(n, u1 * chunk); i++)
      ((T*)args[2])[i] = ((const T*)args[0])[x.offset(i) + wrapped(index_at(args[1], index_bytes, i), size) * step];
  });
}

// out, which holds a copy of data, at i's coordinates but with index[i] on the axis, op= updates[i]. One unit: later updates
// win. args: indices, updates, out.
TEMPLATE(k_scatter_elements, int64_t dtype, int64_t index_bytes, int64_t op, int64_t size, int64_t step, int64_t d0,
         int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6, int64_t d7, int64_t s0, int64_t s1,
         int64_t s2, int64_t s3, int64_t s4, int64_t s5, int64_t s6, int64_t s7) {
  using namespace k;
  const gather::Dims x{{d0, d1, d2, d3, d4, d5, d6, d7}, {s0, s1, s2, s3, s4, s5, s6, s7}};
  const idx n = d0 * d1 * d2 * d3 * d4 * d5 * d6 * d7;
  if (u0 == 0 && u1 > 0) with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx i = 0; i < n; i++)
      gather::put(op, (T*)args[2] + x.offset(i) + wrapped(index_at(args[0], index_bytes, i), size) * step, ((const T*)args[1])[i]);
  });
}

// out[b][i] = data[b] at the tuple index[b][i] (`tuple` <= 4 numbers, dims g, steps p), `inner` elements. args: data, indices,
// out; units: batches * count. batch: elements of data per batch.
TEMPLATE(k_gather_nd, int64_t bytes, int64_t index_bytes, int64_t count, int64_t batch, int64_t inner, int64_t tuple,
         int64_t g0, int64_t g1, int64_t g2, int64_t g3, int64_t p0, int64_t p1, int64_t p2, int64_t p3) {
  using namespace k;
  const idx g[4] = {g0, g1, g2, g3}, p[4] = {p0, p1, p2, p3};
  with_size(bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const idx at = u / count * batch + gather::tuple(args[1], index_bytes, u * tuple, tuple, g, p);
      __builtin_memcpy((T*)args[2] + u * inner, (const T*)args[0] + at, inner * sizeof(T));
    }
  });
}

// out, which holds a copy of data, at the tuple index[i] op= updates[i], `inner` elements each. One unit. args: indices,
// updates, out.
TEMPLATE(k_scatter_nd, int64_t dtype, int64_t index_bytes, int64_t op, int64_t count, int64_t inner, int64_t tuple, int64_t g0,
         int64_t g1, int64_t g2, int64_t g3, int64_t p0, int64_t p1, int64_t p2, int64_t p3) {
  using namespace k;
  const idx g[4] = {g0, g1, g2, g3}, p[4] = {p0, p1, p2, p3};
  if (u0 == 0 && u1 > 0) with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx i = 0; i < count; i++) {
      T* to = (T*)args[2] + gather::tuple(args[0], index_bytes, i * tuple, tuple, g, p);
      ROLL for (idx j = 0; j < inner; j++) gather::put(op, to + j, ((const T*)args[1])[i * inner + j]);
    }
  });
}
