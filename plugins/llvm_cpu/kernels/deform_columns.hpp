// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what the taps of a deformable convolution read, as an image of channels x taps for a product.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct DeformColumns {
  static constexpr char entry[] = "k_deform_columns";
  static constexpr void sizes(auto& l, auto mark) { mark(l.groups, l.blocks, l.height, l.width, l.out_height, l.out_width); }
  int64_t masked;                                 ///< there is an operand that multiplies every sample
  int64_t groups, blocks;                         ///< of offsets; of VL channels, all of them
  int64_t height, width, out_height, out_width;
  Three kernel, stride, dilation, begin;          ///< the first number is of no use
};
constexpr int64_t kDeformBlock = 64;  // outputs of a unit

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::deform {

/// The elements round the place that a tap reads for each output, and their shares. at: floats from the first pixel; -1: outside, or nothing of it is wanted.
struct Places {
  idx at[4][kDeformBlock]{};
  float share[4][kDeformBlock]{};
  bool any_outside = false;

  METHOD void find(idx j, double y, double x, double scale, idx height, idx width) {
    const bool is_near = y > -1 && y < (double)height && x > -1 && x < (double)width;  // not where it is no number
    if (!is_near) y = -2, x = -2;
    const double top = __builtin_elementwise_floor(y), left = __builtin_elementwise_floor(x), v = y - top, h = x - left;
    UNROLL for (int k = 0; k < 4; k++) {
      const idx row = (idx)top + k / 2, column = (idx)left + k % 2;
      const double part = (k / 2 ? v : 1 - v) * (k % 2 ? h : 1 - h) * scale;
      const bool is_inside = row >= 0 && row < height && column >= 0 && column < width && part != 0;
      at[k][j] = is_inside ? (row * width + column) * VL : -1;
      share[k][j] = (float)part;
      any_outside |= !is_inside;
    }
  }
  METHOD vec sum(const float* from, idx j) const {
    return ld(from + at[0][j]) * share[0][j] + ld(from + at[1][j]) * share[1][j] + (ld(from + at[2][j]) * share[2][j] + ld(from + at[3][j]) * share[3][j]);
  }
  METHOD vec sum_inside(const float* from, idx j) const {
    vec v{};
    UNROLL for (int k = 0; k < 4; k++)
      if (at[k][j] >= 0) v += ld(from + at[k][j]) * share[k][j];
    return v;
  }
};

}  // namespace k::deform

// out[n][channel block][tap][output][VL], of in [n][channel block][height][width][VL] at the places that offsets [n][group][tap][2][output] move the taps to, times a mask
// [n][group][tap][output]. args: in, offsets, mask, out; units: batch * ceil(outputs / kDeformBlock). Places as in J. Dai et al., 2017.
TEMPLATE(k_deform_columns, DeformColumns, l) {
  using namespace k;
  const idx outputs = l.out_height * l.out_width, parts = (outputs + kDeformBlock - 1) / kDeformBlock, taps = l.kernel.h * l.kernel.w, each = l.blocks / l.groups;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / parts, first = u % parts * kDeformBlock, many = imin(kDeformBlock, outputs - first);
    ROLL for (idx g = 0; g < l.groups; g++) ROLL for (idx t = 0; t < taps; t++) {
      const idx line = (n * l.groups + g) * taps + t;
      const float *down = (const float*)args[1] + line * 2 * outputs + first, *right = down + outputs, *mask = (const float*)args[2] + line * outputs + first;
      const idx y0 = t / l.kernel.w * l.dilation.h - l.begin.h, x0 = t % l.kernel.w * l.dilation.w - l.begin.w;
      deform::Places places;
      idx row = first / l.out_width, column = first % l.out_width;
      ROLL for (idx j = 0; j < many; j++) {
        places.find(j, (double)(row * l.stride.h + y0) + down[j], (double)(column * l.stride.w + x0) + right[j], l.masked ? mask[j] : 1, l.height, l.width);
        if (++column == l.out_width) column = 0, row++;
      }
      ROLL for (idx b = g * each; b < (g + 1) * each; b++) {
        const float* from = (const float*)args[0] + (n * l.blocks + b) * l.height * l.width * VL;
        float* out = (float*)args[3] + (((n * l.blocks + b) * taps + t) * outputs + first) * VL;
        if (places.any_outside) ROLL for (idx j = 0; j < many; j++) st(out + j * VL, places.sum_inside(from, j));
        else ROLL for (idx j = 0; j < many; j++) st(out + j * VL, places.sum(from, j));
      }
    }
  }
}
#endif
