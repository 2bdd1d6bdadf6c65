// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the sequential half of LSTM, GRU and RNN. The input half X W' (and the biases that may be added early) is
// one matrix product before; here each step adds H R' and applies the gates. One unit is one direction of one batch row.
//
// R arrives packed [K = hidden][columns] in vectors: r[k * width + j], width = columns rounded up to VL, columns = gates *
// hidden. args: x [seq][batch][dirs][width] pre-activations, r [dirs][hidden][width], rbias [dirs][width] (GRU's hidden biases,
// or null), h0 [dirs][batch][hidden] or null, c0 (LSTM) or null, lengths int32 [batch] or null, peepholes [dirs][3*hidden]
// (i, o, f) or null, y [seq][dirs][batch][hidden] or null, yh [dirs][batch][hidden] or null, yc or null.
// units: dirs * batch. scratch: width + 3 * padded floats.
#include "plugins/llvm_cpu/kernels/lanes.hpp"
#include "plugins/llvm_cpu/kernels/math.hpp"

namespace k::rnn {

enum { Tanh, Sigmoid, Relu, HardSigmoid, Affine };
INL vec apply(int64_t f, vec v) {
  if (f == Tanh) return vtanh(v);
  if (f == Sigmoid) return vsigmoid(v);
  if (f == Relu) return vmax(vec{}, v);
  if (f == HardSigmoid) return vmin(splat(1.f), vmax(vec{}, 0.2f * v + 0.5f));
  return v;
}
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
  int64_t f, g, h;
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

// kind 0 RNN, 1 GRU (gates z, r, h), 2 LSTM (gates i, o, f, c). Every gate's columns start at a multiple of
// padded = ceil(hidden / VL) * VL, so width = gates * padded. before: GRU's linear_before_reset. reverse bit d: direction d
// runs backwards. f, g, h: activations, of both directions.
TEMPLATE(k_rnn, int64_t kind, int64_t before, int64_t coupled, int64_t reverse, int64_t f, int64_t g, int64_t h, float clip,
         int64_t seq, int64_t batch, int64_t dirs, int64_t hidden) {
  using namespace k;
  using namespace k::rnn;
  const idx padded = cdiv(hidden, VL) * VL, gates = kind == 2 ? 4 : kind == 1 ? 3 : 1, width = gates * padded;
  const Step s{hidden, padded, f, g, h, clip};
  float* pre = (float*)scratch;
  float *hs = pre + width, *cs = hs + padded, *tmp = cs + padded;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx d = u / batch, b = u % batch;
    const float* r = (const float*)args[1] + d * hidden * width;
    const float* rb = args[2] ? (const float*)args[2] + d * width : nullptr;
    const float* peep = args[6] ? (const float*)args[6] + d * 3 * hidden : nullptr;
    const idx state = (d * batch + b) * hidden, length = args[5] ? imax(0, imin(seq, ((const int32_t*)args[5])[b])) : seq;
    ROLL for (idx j = 0; j < padded; j++) {
      hs[j] = args[3] && j < hidden ? ((const float*)args[3])[state + j] : 0;
      cs[j] = args[4] && j < hidden ? ((const float*)args[4])[state + j] : 0;
    }
    ROLL for (idx q = 0; q < seq; q++) {
      const idx t = q >= length ? q : reverse >> d & 1 ? length - 1 - q : q;
      float* y = args[7] ? (float*)args[7] + ((t * dirs + d) * batch + b) * hidden : nullptr;
      if (q >= length) {
        if (y) ROLL for (idx j = 0; j < hidden; j++) y[j] = 0;
        continue;
      }
      const float* x = (const float*)args[0] + ((t * batch + b) * dirs + d) * width;
      ROLL for (idx j = 0; j < width; j += VL) st(pre + j, ld(x + j));
      if (kind == 2) {
        add_product(hidden, width, 0, width, hs, r, pre);
        lstm(s, coupled, peep, pre, hs, cs);
      } else if (kind == 0) {
        add_product(hidden, width, 0, width, hs, r, pre);
        ROLL for (idx j = 0; j < padded; j += VL) st(hs + j, apply(f, s.clipped(ld(pre + j))));
      } else {
        add_product(hidden, width, 0, 2 * padded, hs, r, pre);
        ROLL for (idx j = 0; j < padded; j += VL) {  // reset gate, then what it scales
          const vec reset = apply(f, s.clipped(ld(pre + padded + j)));
          st(pre + padded + j, reset);
          st(tmp + j, before ? (rb ? ld(rb + 2 * padded + j) : vec{}) : reset * ld(hs + j));
        }
        if (before) {
          ROLL for (idx j = 0; j < padded; j += VL) {
            vec a = ld(tmp + j);
            ROLL for (idx k = 0; k < hidden; k++) a += ld(r + k * width + 2 * padded + j) * hs[k];
            st(pre + 2 * padded + j, ld(pre + 2 * padded + j) + ld(pre + padded + j) * a);
          }
        } else {
          add_product(hidden, width, 2 * padded, 3 * padded, tmp, r, pre);
        }
        ROLL for (idx j = 0; j < padded; j += VL) {
          const vec z = apply(f, s.clipped(ld(pre + j))), n = apply(g, s.clipped(ld(pre + 2 * padded + j)));
          st(hs + j, (1.f - z) * n + z * ld(hs + j));
        }
      }
      if (y) ROLL for (idx j = 0; j < hidden; j++) y[j] = hs[j];
    }
    if (args[8]) ROLL for (idx j = 0; j < hidden; j++) ((float*)args[8])[state + j] = hs[j];
    if (args[9]) ROLL for (idx j = 0; j < hidden; j++) ((float*)args[9])[state + j] = cs[j];
  }
}
