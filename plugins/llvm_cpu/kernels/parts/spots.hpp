// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: dense tiles of output pixels that lie anywhere, in any rows and images: for maps whose rows are shorter than a tile.
//
// What is shared by the pixels of a tile is one tap. A convolution of several takes one after the other, each with the pixels for which it lies
// on the input, and partial sums pass through the output: whatever the map's size and its padding, all tiles are full but for the last one of a tap.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

/// Pixels of a tile, each in floats from the first image's begin: as many as there are registers for their addresses.
struct Spots {
  static constexpr idx most = 12;
  idx in[most], out[most], residual[most];
};

/// The first tile of a tap fetches weights of so many channels on, where they come from memory: they do not follow one another there.
constexpr idx kChannelsAhead = 32;

/// The weights of one tap (Pack::Dense) for OB blocks of outputs. A block of VL input channels is in_block floats behind the one before, and its weights
/// `block`; in a block of m channels the tap begins m * `before` floats on, and its channels are `step` floats apart. far: they come from memory.
struct SpotsTap {
  idx OB, channels, in_block, before, step, block;
  const float* w;
  bool far;
};

/// `width` pixels, the first ones of the tap or not: acc = begin(block, pixel), the products added, end(block, pixel, acc).
template <class Begin, class End>
INL void spots_tile(const SpotsTap& t, idx width, const float* in, const Spots& at, bool first, Begin begin, End end) {
  const idx ahead = first ? kChannelsAhead * t.step : 0;
  vec acc[32];
  const float* x[Spots::most];
  UNROLL for (idx p = 0; p < width; p++) x[p] = in + at.in[p];
  UNROLL for (idx p = 0; p < width; p++) UNROLL for (idx o = 0; o < t.OB; o++) acc[o * width + p] = begin(o, p);
  const float* w = t.w;
  ROLL for (idx c = 0; c < t.channels; c += VL, w += t.block) {
    const idx lanes = imin(VL, t.channels - c);
    const float* wp = w + lanes * t.before;
    ROLL for (idx i = 0; i < lanes; i++, wp += t.step) {
      BARRIER;
      vec wv[8];
      UNROLL for (idx o = 0; o < t.OB; o++) wv[o] = ld(wp + o * VL);
      UNROLL for (idx p = 0; p < width; p++) {
        const float s = x[p][i];
        UNROLL for (idx o = 0; o < t.OB; o++) acc[o * width + p] += wv[o] * s;
      }
      if (t.far) UNROLL for (idx o = 0; o < t.OB * VL; o += 16) __builtin_prefetch(wp + o + ahead, 0, 2);
    }
    UNROLL for (idx p = 0; p < width; p++) x[p] += t.in_block;
  }
  UNROLL for (idx p = 0; p < width; p++) UNROLL for (idx o = 0; o < t.OB; o++) end(o, p, acc[o * width + p]);
}

/// Cuts pixels into as few tiles of at most WT, and Spots::most, as there can be, and these as even: each(f) calls f(in, out, residual) for every pixel,
/// run(width, tile, the first one or not) takes those of a tile. A tile of few pixels waits for its weights and for its own additions.
template <class Each, class Run>
INL void spots_tiles(idx WT, Each each, Run run) {
  idx all = 0, count = 0;
  each([&](idx, idx, idx) __attribute__((always_inline)) { all++; });
  const idx most = imin(WT, Spots::most), width = cdiv(all, imax(1, cdiv(all, most)));
  Spots at;
  bool first = true;
  each([&](idx in, idx out, idx residual) __attribute__((always_inline)) {
    at.in[count] = in, at.out[count] = out, at.residual[count] = residual;
    all--;
    if (++count < width && all > 0) return;
    exactly(most + 1, count, [&](idx some) __attribute__((always_inline)) { run(some, at, first); });
    count = 0, first = false;
  });
}

}  // namespace k
