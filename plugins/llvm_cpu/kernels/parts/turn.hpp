// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: bytes turned between rows of pixels (plain) and rows of channels (channels last), 16 by 16 in registers.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k::turn {

constexpr idx kStrip = 64;  ///< pixels per unit, as for all passages between layouts

typedef uint8_t row __attribute__((vector_size(16)));
typedef uint8_t rowu __attribute__((vector_size(16), aligned(1), may_alias));

INL row load(const uint8_t* p) { return *(const rowu*)p; }
INL void store(uint8_t* p, row v) { *(rowu*)p = v; }
INL row low_pairs(row a, row b) { return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23); }
INL row high_pairs(row a, row b) { return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31); }

/// 16 rows of 16, transposed.
INL void square(row* r) {
  UNROLL for (int round = 0; round < 4; round++) {
    row t[16];
    UNROLL for (int i = 0; i < 8; i++) t[2 * i] = low_pairs(r[i], r[i + 8]), t[2 * i + 1] = high_pairs(r[i], r[i + 8]);
    UNROLL for (int i = 0; i < 16; i++) r[i] = t[i];
  }
}
/// 4 rows of 16 become 16 of 4, one after the other.
INL void narrow(row* r) {
  UNROLL for (int round = 0; round < 2; round++) {
    const row t[4] = {low_pairs(r[0], r[2]), high_pairs(r[0], r[2]), low_pairs(r[1], r[3]), high_pairs(r[1], r[3])};
    UNROLL for (int i = 0; i < 4; i++) r[i] = t[i];
  }
}
/// A round turns the six bits of an element's place by one: after two, four more lead back.
INL void widen(row* r) { narrow(r), narrow(r); }
INL row load_some(const uint8_t* p, idx n) {
  row v = {};
  UNROLL for (idx i = 0; i < 16; i++) if (i < n) v[i] = p[i];
  return v;
}
INL void store_some(uint8_t* p, row v, idx n) { UNROLL for (idx i = 0; i < 16; i++) if (i < n) p[i] = v[i]; }

/// One strip of kStrip pixels: f(first pixel, pixels) for pieces of 16, the last one over what the one before it did; fewer where the strip
/// itself is shorter.
template <class F>
INL void pieces(idx p0, idx p1, F f) {
  if (p1 - p0 < 16) return f(p0, p1 - p0);
  ROLL for (idx p = p0; p < p1; p += 16) f(imin(p, p1 - 16), (idx)16);
}

/// The strip u of an image of C channels and P pixels to channels last. from(n, c, p, pixels): 16 pixels of a channel, as bytes; those past
/// `pixels` may be anything.
template <class F>
INL void to_last(idx u, idx C, idx P, idx pixel, uint8_t* out, F from) {
  const idx strips = cdiv(P, kStrip), n = u / strips, first = u % strips * kStrip;
  pieces(first, imin(P, first + kStrip), [&](idx p, idx pixels) __attribute__((always_inline)) {
    uint8_t* to = out + (n * P + p) * pixel;
    if (C <= 4) {
      row r[4] = {};
      UNROLL for (idx c = 0; c < 4; c++) if (c < C) r[c] = from(n, c, p, pixels);
      narrow(r);
      if (pixels == 16) UNROLL for (idx i = 0; i < 4; i++) store(to + 16 * i, r[i]);
      else ROLL for (idx i = 0; i < pixels; i++) __builtin_memcpy(to + 4 * i, (const char*)r + 4 * i, 4);
      return;
    }
    ROLL for (idx c = 0; c < C; c += 16) {
      row r[16] = {};
      if (c + 16 <= C) UNROLL for (idx i = 0; i < 16; i++) r[i] = from(n, c + i, p, pixels);
      else ROLL for (idx i = 0; i < C - c; i++) r[i] = from(n, c + i, p, pixels);
      square(r);
      if (pixels == 16) UNROLL for (idx i = 0; i < 16; i++) store(to + i * pixel + c, r[i]);
      else ROLL for (idx i = 0; i < pixels; i++) store(to + i * pixel + c, r[i]);
    }
  });
}

/// Back: to(n, c, p, pixels, row) gets 16 pixels of a channel, of which `pixels` count.
template <class F>
INL void from_last(idx u, idx C, idx P, idx pixel, const uint8_t* in, F to) {
  const idx strips = cdiv(P, kStrip), n = u / strips, first = u % strips * kStrip;
  pieces(first, imin(P, first + kStrip), [&](idx p, idx pixels) __attribute__((always_inline)) {
    const uint8_t* from = in + (n * P + p) * pixel;
    if (C <= 4) {
      row r[4] = {};
      if (pixels == 16) UNROLL for (idx i = 0; i < 4; i++) r[i] = load(from + 16 * i);
      else ROLL for (idx i = 0; i < pixels; i++) __builtin_memcpy((char*)r + 4 * i, from + 4 * i, 4);
      widen(r);
      UNROLL for (idx c = 0; c < 4; c++) if (c < C) to(n, c, p, pixels, r[c]);
      return;
    }
    ROLL for (idx c = 0; c < C; c += 16) {
      row r[16] = {};
      if (pixels == 16) UNROLL for (idx i = 0; i < 16; i++) r[i] = load(from + i * pixel + c);
      else ROLL for (idx i = 0; i < pixels; i++) r[i] = load(from + i * pixel + c);
      square(r);
      if (c + 16 <= C) UNROLL for (idx i = 0; i < 16; i++) to(n, c + i, p, pixels, r[i]);
      else ROLL for (idx i = 0; i < C - c; i++) to(n, c + i, p, pixels, r[i]);
    }
  });
}

}  // namespace k::turn
