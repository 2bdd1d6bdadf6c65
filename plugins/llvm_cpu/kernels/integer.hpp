// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: operators that are integers by themselves: products and convolutions of bytes whose sums are 32-bit integers or, divided
// by their scales, codes again; and codes whose scale follows from the values. Any operands in any place; what a quantized unit can do
// (kernels/codes_conv.hpp) is many times faster.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

/// What sums become. Sums: they are stored, of I32. Else codes: round(float(sum) * (xs * ws / ys)) + zero point.
enum class IntegerEnd : int64_t { Sums, Unsigned, Signed };

/// C[M][N] = (A[M][K] - az) (B[K][N] - bz) for b1 matrices after each other in two batch dims; steps in elements.
struct IntegerProduct {
  static constexpr char entry[] = "k_integer_product";
  static constexpr void sizes(auto& l, auto mark) { mark(l.M, l.N, l.K, l.b1, l.sa0, l.sa1, l.sb0, l.sb1); }
  int64_t a_signed, b_signed;
  IntegerEnd end;
  int64_t az_step, bz_step, ws_step;  ///< 1: one number per row of A, per column of B, scale per column; else 0
  int64_t M, N, K, b1, sa0, sa1, sb0, sb1;
};
/// Y = conv(X - xz, W - wz) + bias.
struct IntegerConv {
  static constexpr char entry[] = "k_integer_conv";
  static constexpr void sizes(auto& l, auto mark) { mark(l.in, l.out); }
  int64_t x_signed, w_signed;
  IntegerEnd end;
  int64_t wz_step, ws_step;  ///< 1: one per output channel; else 0
  int64_t G, IC, OC;         ///< groups, channels of one
  Three in, out, kernel, stride, dilation, begin;
};
/// Smallest and largest of pieces of kRangePiece floats.
struct DynamicRange {
  static constexpr char entry[] = "k_dynamic_range";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count); }
  int64_t count;
};
/// Codes of 8 bits between smallest and largest, with their scale and zero point.
struct DynamicCodes {
  static constexpr char entry[] = "k_dynamic_codes";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count); }
  int64_t count;
};
constexpr int64_t kRangePiece = 16384;
/// Multipliers and biases of a product of codes whose scale and zero point are made in the run: G times one per column, `lanes` of them, the
/// last ones 0.
struct DynamicColumns {
  static constexpr char entry[] = "k_dynamic_columns";
  int64_t is_signed;   ///< the zero point
  int64_t shift;       ///< that the codes, and so their zero point, were moved by
  int64_t scale_step;  ///< 1: a scale per column
  int64_t addend_step;  ///< 1: a number to add per column
  int64_t G, N, lanes;
  int64_t interleaved;  ///< 1: in the order of lanes of codes_depthwise.hpp
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

namespace k::integer {

/// Calls body(T*) with the type of a byte.
template <class F>
INL void with_sign(int64_t is_signed, F body) {
  if (is_signed) body((int8_t*)nullptr);
  else body((uint8_t*)nullptr);
}
template <class T>
INL int32_t byte_at(const void* p, idx i, T*) { return ((const T*)p)[i]; }
INL int32_t zero_at(const void* p, idx i, int64_t is_signed) {
  return !p ? 0 : is_signed ? ((const int8_t*)p)[i] : ((const uint8_t*)p)[i];
}
/// The nearest code of a real in steps; NaN becomes the lowest.
INL uint8_t code_of(float steps, int32_t zero, IntegerEnd end) {
  const float low = end == IntegerEnd::Signed ? -128.f : 0.f, high = low + 255.f;
  float v = __builtin_rintf(steps) + (float)zero;
  v = v > low ? v : low;
  v = v < high ? v : high;
  return (uint8_t)(int32_t)v;
}
INL void store_sum(void* out, idx at, int32_t sum, float m, int32_t zero, IntegerEnd end) {
  if (end == IntegerEnd::Sums) ((int32_t*)out)[at] = sum;
  else ((uint8_t*)out)[at] = code_of((float)sum * m, zero, end);
}
/// Smallest and largest of all pieces and 0.
struct Range {
  float low, high;
};
INL Range range_of(const float* pieces, idx n) {
  Range r{0, 0};
  ROLL for (idx i = 0; i < n; i++) r.low = pieces[2 * i] < r.low ? pieces[2 * i] : r.low, r.high = pieces[2 * i + 1] > r.high ? pieces[2 * i + 1] : r.high;
  return r;
}

}  // namespace k::integer

/// args: A, az or null, B, bz or null, C, xs, ws, ys, yz (null for Sums). units = batches * M rows. scratch: N int32.
TEMPLATE(k_integer_product, IntegerProduct, l) {
  using namespace k;
  using namespace k::integer;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx m = u % l.M, i1 = u / l.M % l.b1, i0 = u / (l.M * l.b1), a0 = i0 * l.sa0 + i1 * l.sa1 + m * l.K, b0 = i0 * l.sb0 + i1 * l.sb1;
    uint32_t* __restrict sums = (uint32_t*)scratch;
    for (idx n = 0; n < l.N; n++) sums[n] = 0;
    const int32_t az = zero_at(args[1], m * l.az_step, l.a_signed);
    with_sign(l.a_signed, [&](auto* a) __attribute__((always_inline)) {
      with_sign(l.b_signed, [&](auto* b) __attribute__((always_inline)) {
        ROLL for (idx k = 0; k < l.K; k++) {
          const int32_t x = byte_at(args[0], a0 + k, a) - az;
          const auto* __restrict row = (decltype(b))args[2] + b0 + k * l.N;
          if (!args[3]) for (idx n = 0; n < l.N; n++) sums[n] += (uint32_t)(x * row[n]);
          else if (!l.bz_step) for (idx n = 0; n < l.N; n++) sums[n] += (uint32_t)(x * (row[n] - *(decltype(b))args[3]));
          else for (idx n = 0; n < l.N; n++) sums[n] += (uint32_t)(x * (row[n] - ((decltype(b))args[3])[n]));
        }
      });
    });
    const bool codes = l.end != IntegerEnd::Sums;
    const int32_t zero = codes ? zero_at(args[8], 0, l.end == IntegerEnd::Signed) : 0;
    const float xs = codes ? *(const float*)args[5] : 0, ys = codes ? *(const float*)args[7] : 1;
    ROLL for (idx n = 0; n < l.N; n++)
      store_sum(args[4], u * l.N + n, (int32_t)sums[n], codes ? xs * ((const float*)args[6])[n * l.ws_step] / ys : 0, zero, l.end);
  }
}

/// args: X, xz or null, W, wz or null, bias (I32) or null, Y, xs, ws, ys, yz (null for Sums). units = batch * G * OC * out.d * out.h rows.
/// scratch: out.w int32.
TEMPLATE(k_integer_conv, IntegerConv, l) {
  using namespace k;
  using namespace k::integer;
  const idx plane = l.in.d * l.in.h * l.in.w, taps = l.kernel.d * l.kernel.h * l.kernel.w, width = l.out.w;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx y = u % l.out.h, z = u / l.out.h % l.out.d, o = u / (l.out.h * l.out.d) % (l.G * l.OC), batch = u / (l.out.h * l.out.d * l.G * l.OC);
    const int32_t xz = zero_at(args[1], 0, l.x_signed), wz = zero_at(args[3], o * l.wz_step, l.w_signed);
    uint32_t* __restrict sums = (uint32_t*)scratch;
    const uint32_t bias = args[4] ? ((const uint32_t*)args[4])[o] : 0;
    for (idx i = 0; i < width; i++) sums[i] = bias;
    with_sign(l.x_signed, [&](auto* xt) __attribute__((always_inline)) {
      ROLL for (idx c = 0; c < l.IC; c++) ROLL for (idx t = 0; t < taps; t++) {
        const idx kx = t % l.kernel.w, ky = t / l.kernel.w % l.kernel.h, kz = t / (l.kernel.w * l.kernel.h);
        const idx iz = z * l.stride.d - l.begin.d + kz * l.dilation.d, iy = y * l.stride.h - l.begin.h + ky * l.dilation.h;
        if (iz < 0 || iz >= l.in.d || iy < 0 || iy >= l.in.h) continue;
        const idx at = (o * l.IC + c) * taps + t, shift = kx * l.dilation.w - l.begin.w;
        const int32_t w = zero_at(args[2], at, l.w_signed) - wz;
        // Outputs whose tap lies on the image.
        const idx first = shift < 0 ? cdiv(-shift, l.stride.w) : 0, last = imin(width, cdiv(imax(0, l.in.w - shift), l.stride.w));
        const auto* __restrict x = (decltype(xt))args[0] + (batch * l.G * l.IC + o / l.OC * l.IC + c) * plane + (iz * l.in.h + iy) * l.in.w + shift;
        for (idx i = first; i < last; i++) sums[i] += (uint32_t)(w * (x[i * l.stride.w] - xz));
      }
    });
    const bool codes = l.end != IntegerEnd::Sums;
    const int32_t zero = codes ? zero_at(args[9], 0, l.end == IntegerEnd::Signed) : 0;
    const float m = codes ? *(const float*)args[6] * ((const float*)args[7])[o * l.ws_step] / *(const float*)args[8] : 0;
    ROLL for (idx i = 0; i < width; i++) store_sum(args[5], u * width + i, (int32_t)sums[i], m, zero, l.end);
  }
}

/// args: x, pairs of smallest and largest. units = pieces.
TEMPLATE(k_dynamic_range, DynamicRange, l) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const float* x = (const float*)args[0] + u * kRangePiece;
    const idx n = imin(kRangePiece, l.count - u * kRangePiece);
    vec low = {}, high = {};
    idx i = 0;
    ROLL for (; i + VL <= n; i += VL) low = vmin(ld(x + i), low), high = vmax(ld(x + i), high);
    if (i < n) low = vmin(ld_part(x + i, n - i, 0), low), high = vmax(ld_part(x + i, n - i, 0), high);
    float* out = (float*)args[1] + 2 * u;
    out[0] = -lane_max(-low), out[1] = lane_max(high);
  }
}

/// args: x, the pairs, codes (U8), scale, zero point (U8). units = pieces.
TEMPLATE(k_dynamic_codes, DynamicCodes, l) {
  using namespace k;
  using namespace k::integer;
  typedef uint8_t bytes __attribute__((vector_size(VW)));
  const Range r = range_of((const float*)args[1], cdiv(l.count, kRangePiece));
  const float scale = (float)(((double)r.high - (double)r.low) / 255), by = scale > 0 ? scale : 1;
  const float zero = scale > 0 ? (float)code_of(-r.low / by, 0, IntegerEnd::Unsigned) : 0;
  if (u0 == 0) *(float*)args[3] = scale, *(uint8_t*)args[4] = (uint8_t)zero;
  ROLL for (idx u = u0; u < u1; u++) {
    const float* x = (const float*)args[0] + u * kRangePiece;
    uint8_t* out = (uint8_t*)args[2] + u * kRangePiece;
    const idx n = imin(kRangePiece, l.count - u * kRangePiece);
    ROLL for (idx i = 0; i < n; i += VL) {
      vec v = __builtin_elementwise_rint(ld_part(x + i, n - i, 0) / splat(by)) + splat(zero);
      v = vmin(vmax(v, splat(0)), splat(255));
      const bytes b = __builtin_convertvector(__builtin_convertvector(v, ivec), bytes);
      if (n - i >= VL) __builtin_memcpy(out + i, &b, sizeof b);
      else UNROLL for (idx j = 0; j < VL; j++) if (j < n - i) out[i + j] = b[j];
    }
  }
}

/// args: scales, zero point or null (0), sums of weights (I32) per column, multipliers, biases (I32), what they get added (I32) or null. units = 1.
TEMPLATE(k_dynamic_columns, DynamicColumns, l) {
  using namespace k::integer;
  if (u0 >= u1) return;
  const int32_t zero = zero_at(args[1], 0, l.is_signed) + (int32_t)l.shift;
  for (int64_t g = 0; g < l.G; g++) for (int64_t at = 0; at < l.lanes; at++) {
    const int64_t i = at % VW, j = at / VW % 4, n = l.interleaved ? at / (VW * 4) * (VW * 4) + i / 4 * 16 + j * 4 + i % 4 : at;
    ((float*)args[3])[g * l.lanes + at] = n < l.N ? ((const float*)args[0])[(g * l.N + n) * l.scale_step] : 0;
    const uint32_t more = n < l.N && args[5] ? ((const uint32_t*)args[5])[(g * l.N + n) * l.addend_step] : 0;
    ((uint32_t*)args[4])[g * l.lanes + at] = n < l.N ? more - (uint32_t)zero * ((const uint32_t*)args[2])[g * l.N + n] : 0;
  }
}
#endif
