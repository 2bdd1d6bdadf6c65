// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the sequential half of LSTM, GRU and RNN. The input half X W' (and the biases that may be added early) is
// one matrix product before; here each step adds H R' and applies the gates. One unit is one direction of one batch row.
//
// R arrives packed [K = hidden][columns] in vectors: r[k * width + j], width = columns rounded up to VL, columns = gates *
// hidden. args: x [seq][batch][dirs][width] pre-activations, r [dirs][hidden][width], rbias [dirs][width] (GRU's hidden biases,
// or null), h0 [dirs][batch][hidden] or null, c0 (LSTM) or null, lengths int32 [batch] or null, peepholes [dirs][3*hidden]
// (i, o, f) or null, y [seq][dirs][batch][hidden] or null, yh [dirs][batch][hidden] or null, yc or null.
// units: dirs * batch. scratch: width + 3 * padded floats.
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
  int64_t before, coupled, reverse;
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
// g[j] (+)= sum over k of h[k] r[k][j] for columns [0, width).
INL void add_product(idx hidden, idx width, idx first, idx last, const float* h, const float* r, float* g) {
  idx j = first;
  ROLL for (; j + 4 * VL <= last; j += 4 * VL) {
    vec a[4];
    UNROLL for (idx q = 0; q < 4; q++) a[q] = ld(g + j + q * VL);
    ROLL for (idx k = 0; k < hidden; k++) UNROLL for (idx q = 0; q < 4; q++) a[q] += ld(r + k * width + j + q * VL) * h[k];
    UNROLL for (idx q = 0; q < 4; q++) st(g + j + q * VL, a[q]);
  }
  ROLL for (; j < last; j += VL) {
    vec a = ld(g + j);
    ROLL for (idx k = 0; k < hidden; k++) a += ld(r + k * width + j) * h[k];
    st(g + j, a);
  }
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

}  // namespace k::rnn

// Gates: of GRU z, r, h, of LSTM i, o, f, c. Every gate's columns start at a multiple of
// padded = ceil(hidden / VL) * VL, so width = gates * padded. before: GRU's linear_before_reset. reverse bit d: direction d
// runs backwards. f, g, h: activations, of both directions.
TEMPLATE(k_rnn, Rnn, l) {
  using namespace k;
  using namespace k::rnn;
  const idx padded = cdiv(l.hidden, VL) * VL, gates = rnn_gates(l.kind), width = gates * padded;
  const Step s{l.hidden, padded, l.f, l.g, l.h, (float)l.clip};
  float* pre = (float*)scratch;
  float *hs = pre + width, *cs = hs + padded, *tmp = cs + padded;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx d = u / l.batch, b = u % l.batch;
    const float* r = (const float*)args[1] + d * l.hidden * width;
    const float* rb = args[2] ? (const float*)args[2] + d * width : nullptr;
    const float* peep = args[6] ? (const float*)args[6] + d * 3 * l.hidden : nullptr;
    const idx state = (d * l.batch + b) * l.hidden, length = args[5] ? imax(0, imin(l.seq, ((const int32_t*)args[5])[b])) : l.seq;
    ROLL for (idx j = 0; j < padded; j++) {
      hs[j] = args[3] && j < l.hidden ? ((const float*)args[3])[state + j] : 0;
      cs[j] = args[4] && j < l.hidden ? ((const float*)args[4])[state + j] : 0;
    }
    ROLL for (idx q = 0; q < l.seq; q++) {
      const idx t = q >= length ? q : l.reverse >> d & 1 ? length - 1 - q : q;
      float* y = args[7] ? (float*)args[7] + ((t * l.dirs + d) * l.batch + b) * l.hidden : nullptr;
      if (q >= length) {
        if (y) ROLL for (idx j = 0; j < l.hidden; j++) y[j] = 0;
        continue;
      }
      const float* x = (const float*)args[0] + ((t * l.batch + b) * l.dirs + d) * width;
      ROLL for (idx j = 0; j < width; j += VL) st(pre + j, ld(x + j));
      if (l.kind == RnnKind::Lstm) {
        add_product(l.hidden, width, 0, width, hs, r, pre);
        lstm(s, l.coupled, peep, pre, hs, cs);
      } else if (l.kind == RnnKind::Rnn) {
        add_product(l.hidden, width, 0, width, hs, r, pre);
        ROLL for (idx j = 0; j < padded; j += VL) st(hs + j, apply(l.f, s.clipped(ld(pre + j))));
      } else {
        add_product(l.hidden, width, 0, 2 * padded, hs, r, pre);
        ROLL for (idx j = 0; j < padded; j += VL) {  // reset gate, then what it scales
          const vec reset = apply(l.f, s.clipped(ld(pre + padded + j)));
          st(pre + padded + j, reset);
          st(tmp + j, l.before ? (rb ? ld(rb + 2 * padded + j) : vec{}) : reset * ld(hs + j));
        }
        if (l.before) {
          ROLL for (idx j = 0; j < padded; j += VL) {
            vec a = ld(tmp + j);
            ROLL for (idx k = 0; k < l.hidden; k++) a += ld(r + k * width + 2 * padded + j) * hs[k];
            st(pre + 2 * padded + j, ld(pre + 2 * padded + j) + ld(pre + padded + j) * a);
          }
        } else {
          add_product(l.hidden, width, 2 * padded, 3 * padded, tmp, r, pre);
        }
        ROLL for (idx j = 0; j < padded; j += VL) {
          const vec z = apply(l.f, s.clipped(ld(pre + j))), n = apply(l.g, s.clipped(ld(pre + 2 * padded + j)));
          st(hs + j, (1.f - z) * n + z * ld(hs + j));
        }
      }
      if (y) ROLL for (idx j = 0; j < l.hidden; j++) y[j] = hs[j];
    }
    if (args[8]) ROLL for (idx j = 0; j < l.hidden; j++) ((float*)args[8])[state + j] = hs[j];
    if (args[9]) ROLL for (idx j = 0; j < l.hidden; j++) ((float*)args[9])[state + j] = cs[j];
  }
}
#endif
