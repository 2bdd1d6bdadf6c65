// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the sequential half of LSTM, GRU and RNN. The input half X W' (and the biases that may be added early) is
// one matrix product before; here each step adds H R' and applies the gates. One unit is one direction of up to `rows` sequences of the batch, which read R
// once for all of them.
//
// R arrives packed by vectors of columns: r[(j / VL * hidden + k) * VL + j % VL] for column j and k in [0, hidden); width = columns rounded up to VL, columns =
// gates * hidden. args: x [seq][batch][dirs][width] pre-activations, r [dirs][width / VL][hidden][VL], rbias [dirs][width] (GRU's hidden biases,
// or null), h0 [dirs][batch][hidden] or null, c0 (LSTM) or null, lengths int32 [batch] or null, peepholes [dirs][3*hidden]
// (i, o, f) or null, y [seq][dirs][batch][hidden] or null, yh [dirs][batch][hidden] or null, yc or null.
// units: dirs * ceil(batch / rows). scratch: rows * (width + 3 * padded) floats.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

enum class RnnKind : int64_t { Rnn, Gru, Lstm };
[[gnu::always_inline]] constexpr int64_t rnn_gates(RnnKind kind) { return kind == RnnKind::Lstm ? 4 : kind == RnnKind::Gru ? 3 : 1; }
/// Activations are those without parameters, and HardSigmoid, which has the operator's.
struct Rnn {
  static constexpr char entry[] = "k_rnn";
  static constexpr void sizes(auto& l, auto mark) { mark(l.seq, l.batch); }
  RnnKind kind;
  int64_t before, coupled, reverse, rows;  // rows: 1 or 4
  Act f, g, h;
  double clip;
  int64_t seq, batch, dirs, hidden;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::rnn {

INL vec apply(Act f, vec v) { return activate(v, {f, 0.2f, 0.5f}); }
/// g[b][j] += sum over k of h[b][k] r[k][j] for columns j in [0, columns), of B sequences whose h and g lie so many floats apart. Q vectors of columns at a time.
template <int B, int Q>
INL void add_product(idx hidden, idx columns, const float* h, idx h_step, const float* r, float* g, idx g_step, idx j = 0) {
  ROLL for (; j + Q * VL <= columns; j += Q * VL) {
    vec a[B][Q];
    UNROLL for (idx b = 0; b < B; b++) UNROLL for (idx q = 0; q < Q; q++) a[b][q] = ld(g + b * g_step + j + q * VL);
    ROLL for (idx k = 0; k < hidden; k++)
      UNROLL for (idx q = 0; q < Q; q++) {
        const vec w = ld(r + j * hidden + (q * hidden + k) * VL);
        UNROLL for (idx b = 0; b < B; b++) a[b][q] += w * h[b * h_step + k];
      }
    UNROLL for (idx b = 0; b < B; b++) UNROLL for (idx q = 0; q < Q; q++) st(g + b * g_step + j + q * VL, a[b][q]);
  }
  if constexpr (Q > 1) add_product<B, Q / 2>(hidden, columns, h, h_step, r, g, g_step, j);
}
/// Of n sequences, at most 4. As many accumulators as registers hold.
INL void add_products(idx n, idx hidden, idx columns, const float* h, idx h_step, const float* r, float* g, idx g_step) {
  constexpr int kWide = VW == 8 ? 2 : 4;
  if (n == 4) return add_product<4, kWide>(hidden, columns, h, h_step, r, g, g_step);
  if (n == 3) return add_product<3, kWide>(hidden, columns, h, h_step, r, g, g_step);
  if (n == 2) return add_product<2, kWide>(hidden, columns, h, h_step, r, g, g_step);
  add_product<1, 8>(hidden, columns, h, h_step, r, g, g_step);
}
struct Step {
  idx hidden, padded;  // padded: hidden rounded up to VL; gate q starts at column q * padded
  Act f, g, h;
  float clip;
  METHOD vec clipped(vec v) const { return clip > 0 ? vmin(splat(clip), vmax(splat(-clip), v)) : v; }
};
INL void lstm(const Step& s, bool coupled, const float* p, float* gates, float* h, float* c) {  // gates i, o, f, c
  ROLL for (idx j = 0; j < s.padded; j += VL) {
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

/// What GRU's product with R of the new state is of: the state, scaled by the reset gate, or, `before`, its bias, to which that is added and then scaled.
INL void gru_reset(const Step& s, bool before, const float* bias, float* gates, const float* h, float* to) {
  ROLL for (idx j = 0; j < s.padded; j += VL) {
    const vec reset = apply(s.f, s.clipped(ld(gates + s.padded + j)));
    st(gates + s.padded + j, reset);
    st(to + j, before ? (bias ? ld(bias + j) : vec{}) : reset * ld(h + j));
  }
}
INL void gru(const Step& s, bool before, const float* gates, const float* scaled, float* h) {  // gates z, r, h
  ROLL for (idx j = 0; j < s.padded; j += VL) {
    vec own = ld(gates + 2 * s.padded + j);
    if (before) own += ld(gates + s.padded + j) * ld(scaled + j);
    const vec z = apply(s.f, s.clipped(ld(gates + j))), n = apply(s.g, s.clipped(own));
    st(h + j, (1.f - z) * n + z * ld(h + j));
  }
}
INL void plain(const Step& s, const float* gate, float* h) {
  ROLL for (idx j = 0; j < s.padded; j += VL) st(h + j, apply(s.f, s.clipped(ld(gate + j))));
}

}  // namespace k::rnn

// Gates: of GRU z, r, h, of LSTM i, o, f, c. Every gate's columns start at a multiple of
// padded = ceil(hidden / VL) * VL, so width = gates * padded. before: GRU's linear_before_reset. reverse bit d: direction d
// runs backwards. f, g, h: activations, of both directions.
TEMPLATE(k_rnn, Rnn, l) {
  using namespace k;
  using namespace k::rnn;
  const idx padded = cdiv(l.hidden, VL) * VL, gates = rnn_gates(l.kind), width = gates * padded, blocks = cdiv(l.batch, l.rows);
  const Step s{l.hidden, padded, l.f, l.g, l.h, (float)l.clip};
  float* pre = (float*)scratch;  // [rows][width]; then [rows][padded] each
  float *hs = pre + l.rows * width, *cs = hs + l.rows * padded, *tmp = cs + l.rows * padded;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx d = u / blocks, first = u % blocks * l.batch / blocks, n = l.rows == 1 ? 1 : (u % blocks + 1) * l.batch / blocks - first;  // parts of nearly one size
    const float* r = (const float*)args[1] + d * l.hidden * width;
    const float* rb = args[2] ? (const float*)args[2] + d * width : nullptr;
    const float* peep = args[6] ? (const float*)args[6] + d * 3 * l.hidden : nullptr;
    const idx state = (d * l.batch + first) * l.hidden;
    const auto length = [&](idx b) __attribute__((always_inline)) { return args[5] ? imax(0, imin(l.seq, ((const int32_t*)args[5])[first + b])) : l.seq; };
    const auto step = [&](idx b, idx q) __attribute__((always_inline)) { return q < length(b) && l.reverse >> d & 1 ? length(b) - 1 - q : q; };
    ROLL for (idx b = 0; b < n; b++)
      ROLL for (idx j = 0; j < padded; j++) {
        hs[b * padded + j] = args[3] && j < l.hidden ? ((const float*)args[3])[state + b * l.hidden + j] : 0;
        cs[b * padded + j] = args[4] && j < l.hidden ? ((const float*)args[4])[state + b * l.hidden + j] : 0;
      }
    const auto y_of = [&](idx b, idx at) __attribute__((always_inline)) { return args[7] ? (float*)args[7] + ((at * l.dirs + d) * l.batch + first + b) * l.hidden : nullptr; };
    idx steps = 0;
    ROLL for (idx b = 0; b < n; b++) steps = imax(steps, length(b));
    ROLL for (idx q = 0; q < steps; q++) {
      ROLL for (idx b = 0; b < n; b++) {
        const float* x = (const float*)args[0] + ((step(b, q) * l.batch + first + b) * l.dirs + d) * width;
        ROLL for (idx j = 0; j < width; j += VL) st(pre + b * width + j, ld(x + j));
      }
      add_products(n, l.hidden, l.kind == RnnKind::Gru ? 2 * padded : width, hs, padded, r, pre, width);
      if (l.kind == RnnKind::Gru) {
        ROLL for (idx b = 0; b < n; b++) gru_reset(s, l.before, rb ? rb + 2 * padded : nullptr, pre + b * width, hs + b * padded, tmp + b * padded);
        const float* own = r + 2 * padded * l.hidden;
        if (l.before) add_products(n, l.hidden, padded, hs, padded, own, tmp, padded);
        else add_products(n, l.hidden, padded, tmp, padded, own, pre + 2 * padded, width);
      }
      ROLL for (idx b = 0; b < n; b++) {
        if (q >= length(b)) continue;
        float *gate = pre + b * width, *h = hs + b * padded, *y = y_of(b, step(b, q));
        if (l.kind == RnnKind::Lstm) lstm(s, l.coupled, peep, gate, h, cs + b * padded);
        else if (l.kind == RnnKind::Gru) gru(s, l.before, gate, tmp + b * padded, h);
        else plain(s, gate, h);
        if (y) ROLL for (idx j = 0; j < l.hidden; j += VL) st_part(y + j, ld(h + j), imin(VL, l.hidden - j));
      }
    }
    ROLL for (idx b = 0; b < n; b++) {
      ROLL for (idx q = length(b); q < l.seq; q++)
        if (float* y = y_of(b, q)) ROLL for (idx j = 0; j < l.hidden; j += VL) st_part(y + j, vec{}, imin(VL, l.hidden - j));
      if (args[8]) ROLL for (idx j = 0; j < l.hidden; j++) ((float*)args[8])[state + b * l.hidden + j] = hs[b * padded + j];
      if (args[9]) ROLL for (idx j = 0; j < l.hidden; j++) ((float*)args[9])[state + b * l.hidden + j] = cs[b * padded + j];
    }
  }
}
#endif
