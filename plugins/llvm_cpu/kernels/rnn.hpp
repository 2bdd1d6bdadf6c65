// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the sequential half of LSTM, GRU and RNN. The input half X W' (and the biases that may be added early) is
// one matrix product before; here each step adds H R' and applies the gates. A chain is one direction of up to `rows` sequences of the batch, which read R
// once for all of them. Its turns follow each other: one for each step, or two, where a GRU's product with R is of the state scaled by the reset gate. The
// slices of a turn, some vectors of hidden units with all their gates, are independent of each other, so threads may share one step.
//
// R arrives packed by vectors of columns: r[(j / VL * hidden + k) * VL + j % VL] for column j and k in [0, hidden); width = columns rounded up to VL, columns =
// gates * hidden. Its elements are floats, or bytes (`bytes`) that stand for themselves times scale[j]: a step reads all of R, and a quarter of it stays in
// nearer caches. args: x [seq][batch][dirs][width] pre-activations, r [dirs][width / VL][hidden][VL], rbias [dirs][width] (GRU's hidden biases,
// or null), h0 [dirs][batch][hidden] or null, c0 (LSTM) or null, lengths int32 [batch] or null, peepholes [dirs][3*hidden]
// (i, o, f) or null, y [seq][dirs][batch][hidden] or null, yh [dirs][batch][hidden] or null, yc or null, and what stays from turn to turn:
// [chains][kRnnKept][rows][padded], as Kept has it; last scale [dirs][width], or null.
// units: the chains, dirs * ceil(batch / rows), each of seq * rnn_phases turns of ceil(padded / (kRnnSlice * VL)) slices: slice s of turn t of chain c is number
// (c * turns + t) * slices + s. scratch: rows * (width + 2 * padded) floats.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

enum class RnnKind : int64_t { Rnn, Gru, Lstm };
[[gnu::always_inline]] constexpr int64_t rnn_gates(RnnKind kind) { return kind == RnnKind::Lstm ? 4 : kind == RnnKind::Gru ? 3 : 1; }
[[gnu::always_inline]] constexpr int64_t rnn_phases(RnnKind kind, int64_t before) { return kind == RnnKind::Gru && !before ? 2 : 1; }
constexpr int64_t kRnnSlice = 2, kRnnKept = 4;  // vectors of hidden units; buffers of a chain
/// Activations are those without parameters, and HardSigmoid, which has the operator's.
struct Rnn {
  static constexpr char entry[] = "k_rnn";
  static constexpr void sizes(auto& l, auto mark) { mark(l.seq, l.batch); }
  RnnKind kind;
  int64_t before, coupled, reverse, rows;  // rows: 1 or 4
  int64_t bytes;
  Act f, g, h;
  double clip;
  int64_t seq, batch, dirs, hidden;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::rnn {

INL vec apply(Act f, vec v) { return activate(v, {f, 0.2f, 0.5f}); }
INL vec weights(const float* r) { return ld(r); }
INL vec weights(const int8_t* r) { return __builtin_convertvector(__builtin_convertvector(ld_codes<sbytes>(r, VL), ivec), vec); }
/// g[b][j] += sum over k of h[b][k] r[k][j] for columns j in [0, columns), of B sequences whose h and g lie so many floats apart. Q vectors of columns at a time.
/// Bytes: the sum is scaled by scale[j] before.
template <int B, int Q, class T>
INL void add_product(idx hidden, idx columns, const float* h, idx h_step, const T* r, const float* scale, float* g, idx g_step, idx j = 0) {
  constexpr bool kScaled = sizeof(T) == 1;
  ROLL for (; j + Q * VL <= columns; j += Q * VL) {
    vec a[B][Q];
    UNROLL for (idx b = 0; b < B; b++) UNROLL for (idx q = 0; q < Q; q++) a[b][q] = kScaled ? vec{} : ld(g + b * g_step + j + q * VL);
    ROLL for (idx k = 0; k < hidden; k++)
      UNROLL for (idx q = 0; q < Q; q++) {
        const vec w = weights(r + j * hidden + (q * hidden + k) * VL);
        UNROLL for (idx b = 0; b < B; b++) a[b][q] += w * h[b * h_step + k];
      }
    UNROLL for (idx b = 0; b < B; b++) UNROLL for (idx q = 0; q < Q; q++) {
      float* to = g + b * g_step + j + q * VL;
      st(to, kScaled ? ld(to) + a[b][q] * ld(scale + j + q * VL) : a[b][q]);
    }
  }
  if constexpr (Q > 1) add_product<B, Q / 2>(hidden, columns, h, h_step, r, scale, g, g_step, j);
}
/// R from one column on: its elements and, of bytes, their scales.
struct Recurrent {
  const char* r;
  const float* scale;
  idx bytes, hidden;
  METHOD Recurrent from(idx column) const { return {r + column * hidden * (bytes ? 1 : 4), scale ? scale + column : nullptr, bytes, hidden}; }
};
/// Of n sequences, at most 4. As many accumulators as registers hold.
template <class T>
INL void add_products_of(idx n, const Recurrent& r, idx columns, const float* h, idx h_step, float* g, idx g_step) {
  constexpr int kWide = VW == 8 ? 2 : 4;
  if (n == 4) return add_product<4, kWide>(r.hidden, columns, h, h_step, (const T*)r.r, r.scale, g, g_step);
  if (n == 3) return add_product<3, kWide>(r.hidden, columns, h, h_step, (const T*)r.r, r.scale, g, g_step);
  if (n == 2) return add_product<2, kWide>(r.hidden, columns, h, h_step, (const T*)r.r, r.scale, g, g_step);
  add_product<1, 8>(r.hidden, columns, h, h_step, (const T*)r.r, r.scale, g, g_step);
}
INL void add_products(idx n, const Recurrent& r, idx columns, const float* h, idx h_step, float* g, idx g_step) {
  if (r.bytes) add_products_of<int8_t>(n, r, columns, h, h_step, g, g_step);
  else add_products_of<float>(n, r, columns, h, h_step, g, g_step);
}
struct Step {
  idx hidden, padded;  // padded: hidden rounded up to VL; gate q starts at column q * padded
  Act f, g, h;
  float clip;
  idx from, to;  // hidden units of this part, multiples of VL
  METHOD vec clipped(vec v) const { return clip > 0 ? vmin(splat(clip), vmax(splat(-clip), v)) : v; }
};
INL void lstm(const Step& s, bool coupled, const float* p, const float* gates, float* h, float* c) {  // gates i, o, f, c
  ROLL for (idx j = s.from; j < s.to; j += VL) {
    const idx n = imin(VL, s.hidden - j);
    const auto peep = [&](idx q, vec cell) __attribute__((always_inline)) { return p ? cell * ld_part(p + q * s.hidden + j, n, 0) : vec{}; };
    const vec old = ld(c + j);
    const vec i = apply(s.f, s.clipped(ld(gates + j) + peep(0, old)));
    const vec f = coupled ? 1.f - i : apply(s.f, s.clipped(ld(gates + 2 * s.padded + j) + peep(2, old)));
    const vec cell = f * old + i * apply(s.g, s.clipped(ld(gates + 3 * s.padded + j)));
    const vec o = apply(s.f, s.clipped(ld(gates + s.padded + j) + peep(1, cell)));
    st(c + j, cell);
    st(h + j, o * apply(s.h, cell));
  }
}
INL vec mixed(vec z, vec own, vec old) { return (1.f - z) * own + z * old; }
/// GRU whose reset gate scales the product, `own`, of the state with R. Gates z, r, h.
INL void gru_before(const Step& s, const float* gates, const float* own, const float* old, float* h) {
  ROLL for (idx j = s.from; j < s.to; j += VL) {
    const vec reset = apply(s.f, s.clipped(ld(gates + s.padded + j))), z = apply(s.f, s.clipped(ld(gates + j)));
    st(h + j, mixed(z, apply(s.g, s.clipped(ld(gates + 2 * s.padded + j) + reset * ld(own + j))), ld(old + j)));
  }
}
/// The first turn of a GRU whose reset gate scales the state: z, and what is multiplied with R.
INL void gru_reset(const Step& s, const float* gates, const float* old, float* z, float* scaled) {
  ROLL for (idx j = s.from; j < s.to; j += VL) {
    st(scaled + j, apply(s.f, s.clipped(ld(gates + s.padded + j))) * ld(old + j));
    st(z + j, apply(s.f, s.clipped(ld(gates + j))));
  }
}
INL void gru_after(const Step& s, const float* gates, const float* z, const float* old, float* h) {
  ROLL for (idx j = s.from; j < s.to; j += VL) st(h + j, mixed(ld(z + j), apply(s.g, s.clipped(ld(gates + 2 * s.padded + j))), ld(old + j)));
}
INL void plain(const Step& s, const float* gate, float* h) {
  ROLL for (idx j = s.from; j < s.to; j += VL) st(h + j, apply(s.f, s.clipped(ld(gate + j))));
}
/// The part's columns of gates [g0, g1), of each gate as many: once where it has all.
template <class F>
INL void for_columns(const Step& s, idx g0, idx g1, F body) {  // body(first column, how many)
  const bool is_whole = s.from == 0 && s.to == s.padded;
  const idx columns = is_whole ? (g1 - g0) * s.padded : s.to - s.from;
  ROLL for (idx g = g0; g < (is_whole ? g0 + 1 : g1); g++) body(g * s.padded + s.from, columns);
}
/// What stays of one chain from turn to turn, each [rows][padded]: the state after even steps, after odd ones, LSTM's cells or GRU's z, and GRU's scaled state.
struct Kept {
  float* at;
  idx floats;  // of each
  METHOD float* state(idx step) const { return at + (step & 1) * floats; }
  METHOD float* cells() const { return at + 2 * floats; }
  METHOD float* scaled() const { return at + 3 * floats; }
};

}  // namespace k::rnn

// Gates: of GRU z, r, h, of LSTM i, o, f, c. Every gate's columns start at a multiple of
// padded = ceil(hidden / VL) * VL, so width = gates * padded. before: GRU's linear_before_reset. reverse bit d: direction d
// runs backwards. f, g, h: activations, of both directions.
TEMPLATE(k_rnn, Rnn, l) {
  using namespace k;
  using namespace k::rnn;
  const idx padded = cdiv(l.hidden, VL) * VL, gates = rnn_gates(l.kind), width = gates * padded, blocks = cdiv(l.batch, l.rows);
  const bool before = l.kind == RnnKind::Gru && l.before;
  const idx phases = rnn_phases(l.kind, l.before), slices = cdiv(padded, kRnnSlice * VL);
  float* pre = (float*)scratch;  // [rows][width]; then [rows][padded] each
  float *first_state = pre + l.rows * width, *own = first_state + l.rows * padded;
  idx slice = u0 % slices, phase = u0 / slices % phases, q = u0 / slices / phases % l.seq, left = u1 - u0;
  ROLL for (idx u = u0 / slices / phases / l.seq; left > 0; u++, q = 0) {
    const idx d = u / blocks, first = u % blocks * l.batch / blocks, n = l.rows == 1 ? 1 : (u % blocks + 1) * l.batch / blocks - first;  // parts of nearly one size
    const Recurrent r = Recurrent{(const char*)args[1], (const float*)args[11], l.bytes, l.hidden}.from(d * width);
    const float* rb = args[2] ? (const float*)args[2] + d * width + 2 * padded : nullptr;
    const float* peep = args[6] ? (const float*)args[6] + d * 3 * l.hidden : nullptr;
    const Kept kept{(float*)args[10] + u * kRnnKept * l.rows * padded, l.rows * padded};
    const auto length = [&](idx b) __attribute__((always_inline)) { return args[5] ? imax(0, imin(l.seq, ((const int32_t*)args[5])[first + b])) : l.seq; };
    const auto time_of = [&](idx b, idx q) __attribute__((always_inline)) { return q < length(b) && l.reverse >> d & 1 ? length(b) - 1 - q : q; };
    const auto given = [&](idx arg, idx b, idx j) __attribute__((always_inline)) {  // of what the sequence begins with
      return args[arg] && j < l.hidden ? ((const float*)args[arg])[(d * l.batch + first + b) * l.hidden + j] : 0;
    };
    idx steps = 0;
    ROLL for (idx b = 0; b < n; b++) steps = imax(steps, length(b));
    ROLL for (; q < l.seq && left > 0; q++, phase = 0) ROLL for (; phase < phases && left > 0; phase++, slice = 0) {
      const idx taken = imin(left, slices - slice);
      left -= taken;
      const Step s{l.hidden, padded, l.f, l.g, l.h, (float)l.clip, slice * kRnnSlice * VL, imin(padded, (slice + taken) * kRnnSlice * VL)};
      const bool is_last = phase == phases - 1;
      const float* old = q == 0 ? first_state : kept.state(q - 1);
      float *state = kept.state(q), *cells = kept.cells();
      const auto give = [&](void* to, idx at, const float* from) __attribute__((always_inline)) {  // zeros where there is no `from`
        if (to) ROLL for (idx j = s.from; j < s.to; j += VL) st_part((float*)to + at + j, from ? ld(from + j) : vec{}, imin(VL, l.hidden - j));
      };
      if (q == 0) ROLL for (idx b = 0; b < n; b++) {
        ROLL for (idx j = 0; j < padded; j++) first_state[b * padded + j] = given(3, b, j);
        if (l.kind == RnnKind::Lstm) ROLL for (idx j = s.from; j < s.to; j++) cells[b * padded + j] = given(4, b, j);
      }
      if (q < steps) {
        const idx g0 = phase ? 2 : 0, g1 = is_last ? gates : 2;
        ROLL for (idx b = 0; b < n; b++) {
          const float* x = (const float*)args[0] + ((time_of(b, q) * l.batch + first + b) * l.dirs + d) * width;
          for_columns(s, g0, g1, [&](idx at, idx columns) __attribute__((always_inline)) {
            ROLL for (idx j = at; j < at + columns; j += VL) st(pre + b * width + j, ld(x + j));
          });
          if (before) ROLL for (idx j = s.from; j < s.to; j += VL) st(own + b * padded + j, rb ? ld(rb + j) : vec{});
        }
        for_columns(s, g0, before ? 2 : g1, [&](idx at, idx columns) __attribute__((always_inline)) {
          add_products(n, r.from(at), columns, phase ? kept.scaled() : old, padded, pre + at, width);
        });
        if (before) add_products(n, r.from(2 * padded + s.from), s.to - s.from, old, padded, own + s.from, padded);
      }
      ROLL for (idx b = 0; b < n; b++) {
        const float *gate = pre + b * width, *was = old + b * padded;
        float *h = state + b * padded, *c = cells + b * padded;
        const bool is_over = q >= length(b);
        if (is_over) ROLL for (idx j = s.from; j < s.to; j += VL) st(h + j, ld(was + j));
        else if (l.kind == RnnKind::Lstm) lstm(s, l.coupled, peep, gate, h, c);
        else if (l.kind == RnnKind::Gru && before) gru_before(s, gate, own + b * padded, was, h);
        else if (l.kind == RnnKind::Gru && !is_last) gru_reset(s, gate, was, c, kept.scaled() + b * padded);
        else if (l.kind == RnnKind::Gru) gru_after(s, gate, c, was, h);
        else plain(s, gate, h);
        if (!is_last) continue;
        const idx y_at = ((time_of(b, q) * l.dirs + d) * l.batch + first + b) * l.hidden, end_at = (d * l.batch + first + b) * l.hidden;
        give(args[7], y_at, is_over ? nullptr : h);
        if (q < l.seq - 1) continue;
        give(args[8], end_at, h);
        give(args[9], end_at, c);
      }
    }
  }
}
#endif
