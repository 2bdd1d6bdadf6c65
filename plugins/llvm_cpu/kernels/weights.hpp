// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: weights that are computed, rearranged in the run as others are when the artifact is loaded: Pack::Dense.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// The fields of Pack (compiler/op.hpp) by their letters there; steps in floats.
struct Weights {
  static constexpr char entry[] = "k_weights";
  static constexpr void sizes(auto& l, auto mark) {
    mark(l.OCB, l.IB, l.G, l.D, l.OC, l.IC, l.KD, l.KH, l.KW, l.offset, l.group, l.diagonal, l.oc, l.ic, l.kd, l.kh, l.kw);
  }
  int64_t OCB, IB, G, D, OC, IC, KD, KH, KW, offset, group, diagonal, oc, ic, kd, kh, kw;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

/// Outputs [o, o + lanes) of input i at one tap, whose first element of the whole is in[at]; 0 where the input is of another block of the diagonal, and in lanes past the last.
INL void weights_of(const Weights& l, const float* in, idx at, idx o, idx lanes, idx i, float* to) {
  if (l.D == 1) {
    ROLL for (idx lane = 0; lane < VL; lane++) to[lane] = lane < lanes ? in[at + (o + lane) * l.oc + i * l.ic] : 0.f;
    return;
  }
  const idx oc = l.OC / l.D, ic = l.IC / l.D, block = i / ic;
  ROLL for (idx lane = 0; lane < VL; lane++) {
    const bool there = lane < lanes && (o + lane) / oc == block;
    to[lane] = there ? in[at + block * l.diagonal + (o + lane) % oc * l.oc + i % ic * l.ic] : 0.f;
  }
}

}  // namespace k

/// args: weights as the graph has them, packed. units = G * ceil(ceil(OC / VL) / OCB) * ceil(IC / IB).
TEMPLATE(k_weights, Weights, l) {
  using namespace k;
  const idx nb = cdiv(l.OC, VL), groups = cdiv(nb, l.OCB), chunks = cdiv(l.IC, l.IB), taps = l.KD * l.KH * l.KW;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx og = u / chunks % groups, g = u / chunks / groups, b0 = og * l.OCB, OB = imin(l.OCB, nb - b0), i0 = u % chunks * l.IB, i1 = imin(l.IC, i0 + l.IB);
    float* to = (float*)args[1] + ((g * nb + b0) * l.IC + i0 * OB) * taps * VL;
    ROLL for (idx z = 0; z < l.KD; z++) ROLL for (idx y = 0; y < l.KH; y++) ROLL for (idx i = i0; i < i1; i++) ROLL for (idx x = 0; x < l.KW; x++)
      ROLL for (idx b = b0; b < b0 + OB; b++, to += VL)
        weights_of(l, (const float*)args[0], l.offset + g * l.group + z * l.kd + y * l.kh + x * l.kw, b * VL, imin(VL, l.OC - b * VL), i, to);
  }
}
#endif
