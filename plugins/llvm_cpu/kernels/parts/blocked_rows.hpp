// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: rows of pixels, one per channel and `step` floats apart, to pixels of VL channels and back, VL by VL in registers. At least VL
// pixels; the last square lies over what the one before it did, so nothing outside them is touched.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k {

/// `lanes` rows; the lanes behind them become 0.
INL void rows_to_blocked(const float* in, float* out, idx lanes, idx step, idx pixels) {
  ROLL for (idx at = 0; at < pixels; at += VL) {
    const idx p = imin(at, pixels - VL);
    vec r[VL];
    UNROLL for (idx i = 0; i < VL; i++) r[i] = i < lanes ? ld(in + i * step + p) : vec{};
    transpose(r);
    UNROLL for (idx i = 0; i < VL; i++) st(out + (p + i) * VL, r[i]);
  }
}
INL void blocked_to_rows(const float* in, float* out, idx lanes, idx step, idx pixels) {
  ROLL for (idx at = 0; at < pixels; at += VL) {
    const idx p = imin(at, pixels - VL);
    vec r[VL];
    UNROLL for (idx i = 0; i < VL; i++) r[i] = ld(in + (p + i) * VL);
    transpose(r);
    UNROLL for (idx i = 0; i < VL; i++) if (i < lanes) st(out + i * step + p, r[i]);
  }
}

}  // namespace k
