// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: reading and writing by computed indices. Indices are int32 or int64 (index_bytes 4 or 8); negative ones
// count from the end, of those out of range the run is told, and nothing outside the tensors is ever touched.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// How an update joins what is there; Set replaces it.
enum class ScatterOp : int64_t { Set, Add, Mul, Max, Min };
struct Gather {
  static constexpr char entry[] = "k_gather";
  static constexpr void sizes(auto& l, auto mark) { mark(l.rows, l.outer, l.size, l.count, l.inner); }
  int64_t bytes, index_bytes, rows, outer, size, count, inner;
};
struct GatherElements {
  static constexpr char entry[] = "k_gather_elements";
  static constexpr void sizes(auto& l, auto mark) { mark(l.chunk, l.size, l.step, l.d, l.s); }
  int64_t bytes, index_bytes, chunk, size, step;
  List<8> d, s;
};
struct ScatterElements {
  static constexpr char entry[] = "k_scatter_elements";
  static constexpr void sizes(auto& l, auto mark) { mark(l.size, l.step, l.d, l.s); }
  int64_t dtype, index_bytes;
  ScatterOp op;
  int64_t size, step;
  List<8> d, s;
};
struct GatherNd {
  static constexpr char entry[] = "k_gather_nd";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count, l.batch, l.inner, l.g, l.p); }
  int64_t bytes, index_bytes, count, batch, inner, tuple;
  List<4> g, p;
};
struct ScatterNd {
  static constexpr char entry[] = "k_scatter_nd";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count, l.inner, l.g, l.p); }
  int64_t dtype, index_bytes;
  ScatterOp op;
  int64_t count, inner, tuple;
  List<4> g, p;
};
struct TensorScatter {
  static constexpr char entry[] = "k_tensor_scatter";
  static constexpr void sizes(auto& l, auto mark) { mark(l.outer, l.size, l.rows, l.inner); }
  int64_t bytes, has_begin, circular, outer, size, rows, inner;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::gather {

// Of the i-th element of dims d under steps s.
INL idx offset(const List<8>& d, const List<8>& s, idx i) {
  idx at = 0;
  UNROLL for (int q = 7; q >= 0; q--) {
    at += i % d[q] * s[q];
    i /= d[q];
  }
  return at;
}
INL idx elements(const List<8>& d) { return d[0] * d[1] * d[2] * d[3] * d[4] * d[5] * d[6] * d[7]; }
template <class T>
INL void put(ScatterOp op, T* to, T v) {
  if (op == ScatterOp::Add) *to = (T)(*to + v);
  else if (op == ScatterOp::Mul) *to = (T)(*to * v);
  else if (op == ScatterOp::Max) *to = *to > v || *to != *to ? *to : v;  // NaN wins
  else if (op == ScatterOp::Min) *to = *to < v || *to != *to ? *to : v;
  else *to = v;
}
// Offset that a tuple of indices names in dims g with steps p.
INL idx tuple(const void* indices, int64_t index_bytes, idx first, idx n, const List<4>& g, const List<4>& p, char* scratch) {
  idx at = 0;
  UNROLL for (idx q = 0; q < 4; q++) if (q < n) at += wrapped(index_at(indices, index_bytes, first + q), g[q], scratch) * p[q];
  return at;
}

}  // namespace k::gather

// out[o][i][j] = data[o][index[i]][j] for data [outer][size][inner], i < count. args: data, indices, out; units:
// ceil(outer * count / rows): a unit is `rows` pieces of `inner` elements.
TEMPLATE(k_gather, Gather, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx r = u0 * l.rows; r < imin(l.outer * l.count, u1 * l.rows); r++) {
      const idx i = wrapped(index_at(args[1], l.index_bytes, r % l.count), l.size, scratch);
      __builtin_memcpy((T*)args[2] + r * l.inner, (const T*)args[0] + (r / l.count * l.size + i) * l.inner, l.inner * sizeof(T));
    }
  });
}

// out[i] = data at i's coordinates, but with index[i] on the axis. d: dims of the indices; s: steps of data, 0 on the axis.
// args: data, indices, out; units: ceil(elements / chunk).
TEMPLATE(k_gather_elements, GatherElements, l) {
  using namespace k;
  const idx n = gather::elements(l.d);
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx i = u0 * l.chunk; i < imin(n, u1 * l.chunk); i++)
      ((T*)args[2])[i] = ((const T*)args[0])[gather::offset(l.d, l.s, i) + wrapped(index_at(args[1], l.index_bytes, i), l.size, scratch) * l.step];
  });
}

// out, which holds a copy of data, at i's coordinates but with index[i] on the axis, op= updates[i]. One unit: later updates
// win. args: indices, updates, out.
TEMPLATE(k_scatter_elements, ScatterElements, l) {
  using namespace k;
  const idx n = gather::elements(l.d);
  if (u0 == 0 && u1 > 0) with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx i = 0; i < n; i++)
      gather::put(l.op, (T*)args[2] + gather::offset(l.d, l.s, i) + wrapped(index_at(args[0], l.index_bytes, i), l.size, scratch) * l.step, ((const T*)args[1])[i]);
  });
}

// out[b][i] = data[b] at the tuple index[b][i] (`tuple` <= 4 numbers, dims g, steps p), `inner` elements. args: data, indices,
// out; units: batches * count. batch: elements of data per batch.
TEMPLATE(k_gather_nd, GatherNd, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const idx at = u / l.count * l.batch + gather::tuple(args[1], l.index_bytes, u * l.tuple, l.tuple, l.g, l.p, scratch);
      __builtin_memcpy((T*)args[2] + u * l.inner, (const T*)args[0] + at, l.inner * sizeof(T));
    }
  });
}

// out, which holds a copy of data, at the tuple index[i] op= updates[i], `inner` elements each. One unit. args: indices,
// updates, out.
TEMPLATE(k_scatter_nd, ScatterNd, l) {
  using namespace k;
  if (u0 == 0 && u1 > 0) with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx i = 0; i < l.count; i++) {
      T* to = (T*)args[2] + gather::tuple(args[0], l.index_bytes, i * l.tuple, l.tuple, l.g, l.p, scratch);
      ROLL for (idx j = 0; j < l.inner; j++) gather::put(l.op, to + j, ((const T*)args[1])[i * l.inner + j]);
    }
  });
}

// out [batch][outer][size][inner], which holds a copy of data, from row begin[batch] on = updates [batch][outer][rows][inner]; past the end from row 0 on
// where that is circular. args: begin (int64, or null: 0), updates, out; units: batch * outer.
TEMPLATE(k_tensor_scatter, TensorScatter, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const idx first = l.has_begin ? wrapped(((const int64_t*)args[0])[u / l.outer], l.size + 1, scratch) : 0;
      ROLL for (idx r = 0; r < l.rows; r++) {
        const idx row = l.circular ? (first + r) % l.size : wrapped(first + r, l.size, scratch);
        __builtin_memcpy((T*)args[2] + (u * l.size + row) * l.inner, (const T*)args[1] + (u * l.rows + r) * l.inner, l.inner * sizeof(T));
      }
    }
  });
}
#endif
