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
  static constexpr void sizes(auto& l, auto mark) { mark(l.chunk, l.size, l.step, l.d, l.s); }
  int64_t dtype, index_bytes;
  ScatterOp op;
  int64_t axis, chunk, size, step;
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
  static constexpr void sizes(auto& l, auto mark) { mark(l.chunk, l.count, l.inner, l.g, l.p); }
  int64_t dtype, index_bytes;
  ScatterOp op;
  int64_t chunk, count, inner, tuple;
  List<4> g, p;
};
struct TensorScatter {
  static constexpr char entry[] = "k_tensor_scatter";
  static constexpr void sizes(auto& l, auto mark) { mark(l.outer, l.size, l.rows, l.inner); }
  int64_t bytes, has_begin, circular, outer, size, rows, inner;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/copy_row.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::gather {

/// A walk over elements of dims d, of which data moves by steps s. A row is the innermost dims that move as one: `length` elements, `step` apart.
struct Walk {
  idx length = 1, step = 0;
  idx place = 0, at = 0;  // where it is: element `place` of the row that begins at `at`
  idx d[8], s[8], c[8];   // the dims around a row (1: none), and how far each is
  METHOD Walk(const List<8>& dims, const List<8>& steps, idx from, idx to) {  // of dims [from, to) alone
    bool in_row = true;
    UNROLL for (idx q = 7; q >= 0; q--) {
      const bool is_one = q < from || q >= to || dims[q] == 1;
      d[q] = is_one ? 1 : dims[q], s[q] = steps[q], c[q] = 0;
      in_row = in_row && (is_one || length == 1 || s[q] == step * length);
      if (is_one || !in_row) continue;
      step = length == 1 ? s[q] : step, length *= d[q], d[q] = 1;
    }
  }
  METHOD idx elements() const { return length * d[0] * d[1] * d[2] * d[3] * d[4] * d[5] * d[6] * d[7]; }
  METHOD void start(idx element) {
    place = element % length, element /= length, at = 0;
    UNROLL for (int q = 7; q >= 0; q--) {
      if (d[q] == 1) continue;
      c[q] = element % d[q], element /= d[q], at += c[q] * s[q];
    }
  }
  METHOD idx offset() const { return at + place * step; }
  /// Up to n elements, no more than the row has left: how many.
  METHOD idx some(idx n) const { return imin(n, length - place); }
  METHOD void skip(idx n) {  // n: what some() gave
    if ((place += n) < length) return;
    place = 0;
    UNROLL for (int q = 7; q >= 0; q--) {
      if (d[q] == 1) continue;
      at += s[q];
      if (++c[q] < d[q]) return;
      at -= c[q] * s[q], c[q] = 0;
    }
  }
};

/// Calls body(I*) with the type of the indices.
template <class F>
INL void with_index(int64_t bytes, F body) {
  if (bytes == 8) body((int64_t*)nullptr);
  else body((int32_t*)nullptr);
}
/// Whether n indices are one, as those are that were repeated along a row.
template <class I>
INL bool all_equal(const I* p, idx n) {
  typedef I block __attribute__((vector_size(16 * sizeof(I)), aligned(sizeof(I)), may_alias));
  if (p[n - 1] != p[0]) return false;
  idx i = 0;
  ROLL for (; i + 16 <= n; i += 16) if (__builtin_reduce_or(*(const block*)(p + i) ^ p[0])) return false;
  ROLL for (; i < n; i++) if (p[i] != p[0]) return false;
  return true;
}
template <class T>
INL void put(ScatterOp op, T* to, T v) {
  if (op == ScatterOp::Add) *to = (T)(*to + v);
  else if (op == ScatterOp::Mul) *to = (T)(*to * v);
  else if (op == ScatterOp::Max) *to = *to > v || *to != *to ? *to : v;  // NaN wins
  else if (op == ScatterOp::Min) *to = *to < v || *to != *to ? *to : v;
  else *to = v;
}
template <class T>
INL void put_row(ScatterOp op, T* to, const T* v, idx n) {  // n updates side by side
  if (op == ScatterOp::Set) copy_row(to, v, n);
  else for (idx j = 0; j < n; j++) put(op, to + j, v[j]);
}
/// out[j] = from[j * ahead + index[j] * step]. Sixteen indices are looked at at once: nearly all are within the axis as they are.
template <class T, class I>
INL void pick(T* out, const T* from, const I* index, idx n, idx size, idx step, idx ahead, char* scratch) {
  typedef I block __attribute__((vector_size(16 * sizeof(I)), aligned(sizeof(I)), may_alias));
  idx j = 0;
  ROLL for (; j + 16 <= n; j += 16) {
    const block at = *(const block*)(index + j);
    if (__builtin_expect(__builtin_reduce_or((at < 0) | (at >= (I)imin(size, sizeof(I) == 8 ? INT64_MAX : INT32_MAX))) == 0, 1))
      UNROLL for (idx q = 0; q < 16; q++) out[j + q] = from[(j + q) * ahead + (idx)index[j + q] * step];
    else
      ROLL for (idx q = j; q < j + 16; q++) out[q] = from[q * ahead + wrapped(index[q], size, scratch) * step];
  }
  ROLL for (; j < n; j++) out[j] = from[j * ahead + wrapped(index[j], size, scratch) * step];
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
    const idx first = u0 * l.rows, last = imin(l.outer * l.count, u1 * l.rows);
    if (first >= last) return;
    idx i = first % l.count;
    const T* from = (const T*)args[0] + first / l.count * l.size * l.inner;
    if (l.inner == 1) {
      gather::with_index(l.index_bytes, [&]<class I>(I*) __attribute__((always_inline)) {
        ROLL for (idx r = first; r < last; from += l.size) {
          const idx n = imin(l.count - i, last - r);
          gather::pick((T*)args[2] + r, from, (const I*)args[1] + i, n, l.size, 1, 0, scratch);
          r += n, i = 0;
        }
      });
      return;
    }
    ROLL for (idx r = first; r < last; r++) {
      copy_row((T*)args[2] + r * l.inner, from + wrapped(index_at(args[1], l.index_bytes, i), l.size, scratch) * l.inner, l.inner);
      if (++i == l.count) i = 0, from += l.size * l.inner;
    }
  });
}

// out[i] = data at i's coordinates, but with index[i] on the axis. d: dims of the indices; s: steps of data, 0 on the axis.
// args: data, indices, out; units: ceil(elements / chunk).
TEMPLATE(k_gather_elements, GatherElements, l) {
  using namespace k;
  gather::Walk w(l.d, l.s, 0, 8);
  const idx last = imin(w.elements(), u1 * l.chunk);
  idx i = u0 * l.chunk;
  if (i >= last) return;
  w.start(i);
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    gather::with_index(l.index_bytes, [&]<class I>(I*) __attribute__((always_inline)) {
      ROLL while (i < last) {
        const idx n = w.some(last - i);
        const T* from = (const T*)args[0] + w.offset();
        const I* index = (const I*)args[1] + i;
        T* out = (T*)args[2] + i;
        if (w.step == 1 && n > 1 && gather::all_equal(index, n)) __builtin_memcpy(out, from + wrapped(index[0], l.size, scratch) * l.step, n * sizeof(T));
        else gather::pick(out, from, index, n, l.size, l.step, w.step, scratch);
        i += n, w.skip(n);
      }
    });
  });
}

// out, which holds a copy of data, at i's coordinates but with index[i] on the axis, op= updates[i]. d, s: as of GatherElements. Updates that may meet have
// the same coordinates but on the axis, a lane; of each lane they are done in their order. args: indices, updates, out; units: ceil(lanes / chunk).
TEMPLATE(k_scatter_elements, ScatterElements, l) {
  using namespace k;
  gather::Walk around(l.d, l.s, 0, l.axis), inside(l.d, l.s, l.axis + 1, 8);
  const idx inner = inside.elements(), rows = l.d[l.axis], last = imin(around.elements() * inner, u1 * l.chunk);
  idx lane = u0 * l.chunk;
  if (lane >= last) return;
  around.start(lane / inner);
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    gather::with_index(l.index_bytes, [&]<class I>(I*) __attribute__((always_inline)) {
      ROLL while (lane < last) {
        const idx first = lane % inner, many = imin(inner - first, last - lane);
        const I* index = (const I*)args[0] + (lane / inner * rows) * inner + first;
        const T* updates = (const T*)args[1] + (lane / inner * rows) * inner + first;
        T* out = (T*)args[2] + around.offset();
        inside.start(first);
        if (inner == 1) {
          ROLL for (idx a = 0; a < rows; a++) gather::put(l.op, out + wrapped(index[a], l.size, scratch) * l.step, updates[a]);
        } else {
          ROLL for (idx a = 0; a < rows; a++, index += inner, updates += inner) {
            gather::Walk w = inside;
            ROLL for (idx i = 0; i < many;) {
              const idx n = w.some(many - i);
              T* to = out + w.offset();
              if (w.step == 1 && n > 1 && gather::all_equal(index + i, n)) gather::put_row(l.op, to + wrapped(index[i], l.size, scratch) * l.step, updates + i, n);
              else ROLL for (idx j = i; j < i + n; j++, to += w.step) gather::put(l.op, to + wrapped(index[j], l.size, scratch) * l.step, updates[j]);
              i += n, w.skip(n);
            }
          }
        }
        lane += many, around.skip(1);
      }
    });
  });
}

// out[b][i] = data[b] at the tuple index[b][i] (`tuple` <= 4 numbers, dims g, steps p), `inner` elements. args: data, indices,
// out; units: batches * count. batch: elements of data per batch.
TEMPLATE(k_gather_nd, GatherNd, l) {
  using namespace k;
  with_size(l.bytes, [&]<class T>(T*) __attribute__((always_inline)) {
    idx i = u0 % l.count;
    const T* from = (const T*)args[0] + u0 / l.count * l.batch;
    ROLL for (idx u = u0; u < u1; u++) {
      copy_row((T*)args[2] + u * l.inner, from + gather::tuple(args[1], l.index_bytes, u * l.tuple, l.tuple, l.g, l.p, scratch), l.inner);
      if (++i == l.count) i = 0, from += l.batch;
    }
  });
}

// out, which holds a copy of data, at the tuple index[i] op= updates[i], `inner` elements each, one tuple after the other. args: indices, updates,
// out; units: ceil(inner / chunk), as what two tuples name is the same or has no element in common.
TEMPLATE(k_scatter_nd, ScatterNd, l) {
  using namespace k;
  const idx first = u0 * l.chunk, n = imin(l.inner, u1 * l.chunk) - first;
  if (n <= 0) return;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    const T* updates = (const T*)args[1] + first;
    ROLL for (idx i = 0; i < l.count; i++, updates += l.inner) {
      T* to = (T*)args[2] + gather::tuple(args[0], l.index_bytes, i * l.tuple, l.tuple, l.g, l.p, scratch) + first;
      if (n == 1) gather::put(l.op, to, *updates);
      else gather::put_row(l.op, to, updates, n);
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
