// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: depthwise convolution on codes, channels last, in 1 to 3 dimensions. Padding is there already (k_codes_pad).
//
// A block is 4 * VL channels. Four rows of taps at a time: their bytes of one column are interleaved, so that a lane holds four taps of a
// channel, and one such column serves every output that has a tap on it. Interleaving leaves channels in the order of 128-bit lanes: lane i
// of vector j of a block is channel i / 4 * 16 + j * 4 + i % 4. Numbers per channel come in that order, and packing to bytes undoes it.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/codes.hpp"
#include "plugins/llvm_cpu/kernels/parts/codes_tail.hpp"

namespace k {

struct CodesDepthwise {
  static constexpr char entry[] = "k_codes_depthwise";
  static constexpr void sizes(auto& l, auto mark) {
    mark(l.N, l.out, l.in_step.d, l.in_step.h, l.tap_step, l.in_image);
    mark_tail(l.tail, mark);
  }
  Dot dot;
  int64_t WT;
  CodesTail tail;
  int64_t joins;       ///< a step of the tail has an operand
  int64_t float_bias;  ///< there is one
  int64_t C, N;
  Three out, kernel;
  Three in_step, tap_step;  ///< input bytes from output to output, and from tap to tap
  int64_t stride, dilation, pixel;  ///< along rows, and the input's bytes of a pixel
  int64_t in_image, out_pixel;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/powers.hpp"

namespace k::depthwise {

constexpr int kBytes = VW * 4;
template <class T, T... I>
struct Sequence {};
template <int N>
using Up = __make_integer_seq<Sequence, int, N>;

/// Elements of a and b in turn, from the lower (H = 0) or upper halves of their 128-bit lanes.
template <int H, int... I>
INL bvec zip_bytes(bvec a, bvec b, Sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (I / 16 * 16 + H * 8 + I % 16 / 2 + I % 2 * kBytes)...);
}
template <int H, int... I>
INL ivec zip_halves(bvec a, bvec b, Sequence<int, I...>) {
  return (ivec)__builtin_shufflevector((svec)a, (svec)b, (I / 8 * 8 + H * 4 + I % 8 / 2 + I % 2 * kBytes / 2)...);
}
INL bvec ld_bytes(const uint8_t* p) {
  bvec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
INL void interleave(bvec a, bvec b, bvec c, bvec d, ivec* out) {
  const Up<kBytes> bytes;
  const Up<kBytes / 2> halves;
  const bvec low0 = zip_bytes<0>(a, b, bytes), high0 = zip_bytes<1>(a, b, bytes), low1 = zip_bytes<0>(c, d, bytes), high1 = zip_bytes<1>(c, d, bytes);
  out[0] = zip_halves<0>(low0, low1, halves), out[1] = zip_halves<1>(low0, low1, halves);
  out[2] = zip_halves<0>(high0, high1, halves), out[3] = zip_halves<1>(high0, high1, halves);
}

/// One output pixel of a block: four vectors of sums of which `lanes` channels, a multiple of 16 or of VL, are stored.
INL void finish(const CodesDepthwise& l, void* const* args, const ivec* acc, idx block, idx lanes, idx q) {
  const float* numbers = (const float*)args[5];
  vec v[4];
  UNROLL for (idx j = 0; j < 4; j++) {
    const idx at = block * kBytes + j * VL;
    v[j] = __builtin_convertvector(acc[j], vec) * ld((const float*)args[2] + at);
    if (l.float_bias) v[j] += ld((const float*)args[4] + at);
  }
  const idx c = block * kBytes, at = q * l.out_pixel + c;
#ifndef __aarch64__
  if (!l.joins && l.tail.stored != Stored::Floats) {
    UNROLL for (idx j = 0; j < 4; j++) v[j] = codes_steps(v[j], l.tail, numbers, args + 7, q, c, VL);
    const ivec b = four_codes(v, l.tail, numbers);
    uint8_t* out = (uint8_t*)args[6] + at;
    UNROLL for (idx i = 0; i < kBytes / 16; i++) if (i * 16 < lanes) __builtin_memcpy(out + i * 16, (const char*)&b + i * 16, 16);
    return;
  }
#endif
  float in_order[kBytes];
  UNROLL for (idx j = 0; j < 4; j++) UNROLL for (idx i = 0; i < VL; i++) in_order[i / 4 * 16 + j * 4 + i % 4] = v[j][i];
  UNROLL for (idx k = 0; k < 4; k++) {
    if (k * VL >= lanes) continue;
    const vec x = codes_steps(ld(in_order + k * VL), l.tail, numbers, args + 7, q, c + k * VL, VL);
    codes_end(x, l.tail, numbers, args[6], at + k * VL, VL);
  }
}

/// acc[p * 4 + j] += taps of rows [r0, r0 + 4) on the pixels from x on; weights [kernel width][4][VL] quads (Pairs: [2][4][VL]).
INL void rows(const CodesDepthwise& l, idx wt, const uint8_t* x, const char* w, idx r0, ivec* acc) {
  const idx all = l.kernel.d * l.kernel.h;
  const uint8_t* row[4];
  UNROLL for (idx i = 0; i < 4; i++) {
    const idx r = r0 + i < all ? r0 + i : r0;
    row[i] = x + r / l.kernel.h * l.tap_step.d + r % l.kernel.h * l.tap_step.h;
  }
  const idx columns = (wt - 1) * l.stride + (l.kernel.w - 1) * l.dilation + 1;
  UNROLL for (idx c = 0; c < columns; c++) {
    BARRIER;
    bool used = false;
    UNROLL for (idx kw = 0; kw < l.kernel.w; kw++)
      used = used || (c >= kw * l.dilation && (c - kw * l.dilation) % l.stride == 0 && (c - kw * l.dilation) / l.stride < wt);
    if (!used) continue;
    ivec quads[4];
    interleave(ld_bytes(row[0] + c * l.pixel), ld_bytes(row[1] + c * l.pixel), ld_bytes(row[2] + c * l.pixel), ld_bytes(row[3] + c * l.pixel), quads);
    UNROLL for (idx kw = 0; kw < l.kernel.w; kw++) {
      const idx p = (c - kw * l.dilation) / l.stride;
      if (c < kw * l.dilation || (c - kw * l.dilation) % l.stride || p >= wt) continue;
      UNROLL for (idx j = 0; j < 4; j++) {
#ifndef __aarch64__
        if (l.dot == Dot::Pairs) {
          UNROLL for (idx odd = 0; odd < 2; odd++)
            acc[p * 4 + j] = dot_pairs(acc[p * 4 + j], pair_of(quads[j], odd), ld_weights(w + ((kw * 2 + odd) * 4 + j) * kBytes));
          continue;
        }
#endif
        acc[p * 4 + j] = dot_bytes(l.dot, acc[p * 4 + j], quads[j], ld_weights(w + (kw * 4 + j) * kBytes));
      }
    }
  }
}

/// Outputs [q, q + wt) of a block.
INL void tile(const CodesDepthwise& l, idx wt, void* const* args, const uint8_t* x, idx block, idx lanes, idx q) {
  ivec acc[32];
  UNROLL for (idx j = 0; j < 4; j++) {
    const ivec b = *(const ivecu*)((const int32_t*)args[3] + block * kBytes + j * VL);
    UNROLL for (idx p = 0; p < wt; p++) acc[p * 4 + j] = b;
  }
  const idx chunks = cdiv(l.kernel.d * l.kernel.h, 4), bytes = l.kernel.w * 4 * kBytes * (l.dot == Dot::Pairs ? 2 : 1);
  const char* w = (const char*)args[1] + block * chunks * bytes;
  if (chunks == 1) rows(l, wt, x, w, 0, acc);
  else ROLL for (idx r = 0; r < chunks; r++) rows(l, wt, x, w + r * bytes, r * 4, acc);
  UNROLL for (idx p = 0; p < wt; p++) finish(l, args, acc + p * 4, block, lanes, q + p);
}

}  // namespace k::depthwise

/// args: in, weights [block][ceil(KD * KH / 4)][KW] as rows() wants them, multipliers (float) and bias (int32) and float bias or null per
/// channel in the order of lanes, numbers of the tail, out, operands of the tail's steps. units = N * OD * OH rows.
TEMPLATE(k_codes_depthwise, CodesDepthwise, l) {
  using namespace k;
  const idx blocks = cdiv(l.C, depthwise::kBytes), rest = cdiv(l.C, 16) * 16 - (blocks - 1) * depthwise::kBytes;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / (l.out.d * l.out.h), z = u / l.out.h % l.out.d, y = u % l.out.h;
    const uint8_t* row = (const uint8_t*)args[0] + n * l.in_image + z * l.in_step.d + y * l.in_step.h;
    const auto block = [&](idx b, idx lanes) __attribute__((always_inline)) {
      const uint8_t* x = row + b * depthwise::kBytes;
      ROLL for (idx t = 0; t < l.out.w / l.WT; t++) depthwise::tile(l, l.WT, args, x + t * l.WT * l.in_step.w, b, lanes, u * l.out.w + t * l.WT);
#if GENERAL
      const idx done = l.out.w / l.WT * l.WT;
      exactly(l.WT, l.out.w - done, [&](idx wt) __attribute__((always_inline)) {
        depthwise::tile(l, wt, args, x + done * l.in_step.w, b, lanes, u * l.out.w + done);
      });
      return;
#endif
      if (l.out.w % l.WT) depthwise::tile(l, l.out.w % l.WT, args, x + l.out.w / l.WT * l.WT * l.in_step.w, b, lanes, u * l.out.w + l.out.w / l.WT * l.WT);
    };
    ROLL for (idx b = 0; b < (rest == depthwise::kBytes ? blocks : blocks - 1); b++) block(b, depthwise::kBytes);
    if (rest != depthwise::kBytes) block(blocks - 1, rest);
  }
}
#endif
