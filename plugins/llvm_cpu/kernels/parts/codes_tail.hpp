// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what happens to a result of a kernel on codes: steps in floats, then codes or floats are stored.
//
// Literals hold kinds alone. Scales, zero points and limits are numbers in memory, so that equal layers share a kernel.
// VALUE. A value is a float: the real number, or, until the first quantization, the real divided by that one's scale ("in steps"), which
//   saves the division: relu, clip and leaky relu do not mind, when their limits are divided, too.
// QUANTIZE. codes = clamp(round(real / scale)) + zero point, to nearest, ties to even, and the zero point after rounding, as ONNX has it.
//   A quotient is rounded as a division rounds it: a product with the inverse would turn ties.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace k {

enum class StepKind : int64_t {
  None,
  Activate,    ///< numbers: lo, hi of the activation
  Add,         ///< the step's operand; numbers: scale, zero point of its codes
  Mul,         ///< likewise
  Requantize,  ///< as codes and back; numbers: as of the end, without the zero point
};
/// How the elements of a step's operand, or of the result, are stored.
enum class Stored : int64_t { Floats, Unsigned, Signed };
/// One step. Its operand's element for channel c of pixel q of the result = operand[q / per * pixel + c].
struct CodesStep {
  StepKind kind;
  Act act;
  Stored stored;
  int64_t per, pixel;
  int64_t in_steps;  ///< of Requantize: the value is in steps of this scale already
};
constexpr int64_t kMostSteps = 6, kStepNumbers = 4, kEndNumbers = 8;
/// Numbers (float): kStepNumbers for each of `steps`, then those of the end: scale, 1 / scale, lowest and highest code without the zero point,
/// zero point.
struct CodesTail {
  int64_t steps;
  CodesStep at[kMostSteps];
  Stored stored;     ///< what is stored
  int64_t in_steps;  ///< the value arrives at the end in steps
  int64_t natural;   ///< the limits at the end are those of the type, and values in steps stay below 2^30: saturation does it
};
/// What of a tail may be read in the run: how pixels of operands follow those of the result.
constexpr void mark_tail(auto& tail, auto mark) {
  for (auto& step : tail.at) mark(step.per);
}
/// The same of a product whose columns, and so those of the operands, may be open.
constexpr void mark_columns(auto& tail, auto mark) {
  mark_tail(tail, mark);
  for (auto& step : tail.at) mark(step.pixel);
}

}  // namespace k

#ifdef VW
#include "plugins/llvm_cpu/kernels/parts/activation.hpp"
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k {

typedef uint8_t ubytes __attribute__((vector_size(VW)));
typedef int8_t sbytes __attribute__((vector_size(VW)));

INL vec vfma(vec a, vec b, vec c) { return __builtin_elementwise_fma(a, b, c); }
/// a / b rounded as a division rounds, given inverse = 1 / b. Requires b within [2^-60, 2^60]; quotients beyond 2^59 lose their value only.
INL vec divided(vec a, float b, float inverse) {
  a = vmin(vmax(a, splat(-0x1p60f)), splat(0x1p60f));
  const vec q = a * inverse;
  return vfma(vfma(-q, splat(b), a), splat(inverse), q);
}
/// Rounds to nearest, ties to even. Requires |v| < 2^22.
INL vec rounded(vec v) { return (v + 12582912.f) - 12582912.f; }
INL ivec to_integers(vec v) { return bits_as<ivec>(v + 12582912.f) - 0x4B400000; }
/// The nearest codes without the zero point, still floats to be rounded; NaN becomes the lowest.
INL vec limited(vec v, const float* end) { return vmin(vmax(v, splat(end[2])), splat(end[3])); }

#if GENERAL
/// The first n of less than VL bytes, n being a number of the run: in pieces that are powers of two.
INL void copy_some(void* to, const void* from, idx n) {
  char* out = (char*)to;
  const char* in = (const char*)from;
  if (VL > 8 && n & 8) __builtin_memcpy(out, in, 8), out += 8, in += 8;
  if (VL > 4 && n & 4) __builtin_memcpy(out, in, 4), out += 4, in += 4;
  if (n & 2) __builtin_memcpy(out, in, 2), out += 2, in += 2;
  if (n & 1) *out = *in;
}
#endif

/// VL codes, the first `lanes` of them from memory.
template <class V, class T>
INL V ld_codes(const T* p, idx lanes) {
  V v = {};
#if GENERAL
  if (lanes < VL) return copy_some(&v, p, lanes), v;
#endif
  if (lanes >= VL) __builtin_memcpy(&v, p, sizeof v);
  else UNROLL for (idx l = 0; l < VL; l++) if (l < lanes) v[l] = p[l];
  return v;
}
INL vec ld_stored(const void* p, idx at, Stored stored, idx lanes) {
  if (stored == Stored::Floats) return ld_part((const float*)p + at, lanes, 0);
  if (stored == Stored::Unsigned) return __builtin_convertvector(__builtin_convertvector(ld_codes<ubytes>((const uint8_t*)p + at, lanes), ivec), vec);
  return __builtin_convertvector(__builtin_convertvector(ld_codes<sbytes>((const int8_t*)p + at, lanes), ivec), vec);
}
INL void st_codes(void* out, idx at, ivec v, idx lanes) {
  const ubytes b = __builtin_convertvector(v, ubytes);
  uint8_t* p = (uint8_t*)out + at;
#if GENERAL
  if (lanes < VL) return copy_some(p, &b, lanes);
#endif
  if (lanes >= VL) __builtin_memcpy(p, &b, sizeof b);
  else UNROLL for (idx l = 0; l < VL; l++) if (l < lanes) p[l] = b[l];
}

/// The pixel of a step's operand that belongs to pixel q of the result. General: without a division where all images share one.
INL idx other_pixel(const CodesStep& s, idx q) {
#if GENERAL
  if (q < s.per) return s.per == 1 ? q : 0;
#endif
  return s.per == 1 ? q : q / s.per;
}
/// One step with its numbers and its operand.
INL vec codes_step(vec v, const CodesStep& s, const float* n, const void* other, idx q, idx c, idx lanes) {
  if (s.kind == StepKind::Activate) return activate(v, {s.act, (double)n[0], (double)n[1]});
  if (s.kind == StepKind::Requantize) return rounded(limited(s.in_steps ? v : divided(v, n[0], n[1]), n)) * n[0];
  vec o = ld_stored(other, other_pixel(s, q) * s.pixel + c, s.stored, lanes);
  if (s.stored != Stored::Floats) o = (o - n[1]) * n[0];
  return s.kind == StepKind::Add ? v + o : v * o;
}
#if GENERAL
/// Step by step without a loop: where some literals are numbers of the run, a step whose number were one, too, would be no constant.
template <int K>
INL vec codes_steps_from(vec v, const CodesTail& t, const float* numbers, void* const* others, idx q, idx c, idx lanes) {
  if constexpr (K < kMostSteps) {
    if (K < t.steps) return codes_steps_from<K + 1>(codes_step(v, t.at[K], numbers + K * kStepNumbers, others[K], q, c, lanes), t, numbers, others, q, c, lanes);
  }
  return v;
}
#endif
/// The steps of a tail on channels [c, c + VL) of pixel q; `lanes` of them exist. others[k]: the operand of step k.
INL vec codes_steps(vec v, const CodesTail& t, const float* numbers, void* const* others, idx q, idx c, idx lanes) {
#if GENERAL
  return codes_steps_from<0>(v, t, numbers, others, q, c, lanes);
#endif
  UNROLL for (idx k = 0; k < t.steps; k++) v = codes_step(v, t.at[k], numbers + k * kStepNumbers, others[k], q, c, lanes);
  return v;
}
#ifndef __aarch64__
/// Integers of four vectors as saturated bytes: 128-bit lane by lane, four bytes of each vector.
INL ivec pack_bytes(const ivec* v, ivec zeros, bool is_signed) {
  ivec low, high, all;
  asm("vpackssdw %2, %1, %0" : "=" VREG(low) : VREG(v[0]), VREG(v[1]));
  asm("vpackssdw %2, %1, %0" : "=" VREG(high) : VREG(v[2]), VREG(v[3]));
  asm("vpaddsw %2, %1, %0" : "=" VREG(low) : VREG(low), VREG(zeros));
  asm("vpaddsw %2, %1, %0" : "=" VREG(high) : VREG(high), VREG(zeros));
  if (is_signed) asm("vpacksswb %2, %1, %0" : "=" VREG(all) : VREG(low), VREG(high));
  else asm("vpackuswb %2, %1, %0" : "=" VREG(all) : VREG(low), VREG(high));
  return all;
}
/// The codes of four vectors of values at the end of a tail that stores codes: 128-bit lane by lane, four of each vector.
INL ivec four_codes(const vec* v, const CodesTail& t, const float* numbers) {
  const float* end = numbers + t.steps * kStepNumbers;
  ivec nearest[4];
  UNROLL for (idx k = 0; k < 4; k++) {
    vec x = t.in_steps ? v[k] : divided(v[k], end[0], end[1]);
    if (!t.natural) x = limited(x, end);
    asm("vcvtps2dq %1, %0" : "=" VREG(nearest[k]) : VREG(x));
  }
  const int32_t zero = (int32_t)end[4];
  return pack_bytes(nearest, ivec{} + (int32_t)((uint32_t)(zero & 0xFFFF) * 0x10001u), t.stored == Stored::Signed);
}
/// The same, vector after vector.
INL ivec codes_in_order(const vec* v, const CodesTail& t, const float* numbers) {
  const ivec b = four_codes(v, t, numbers);
#if VW == 16
  const ivec out = __builtin_shufflevector(b, b, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#else
  const ivec out = __builtin_shufflevector(b, b, 0, 4, 1, 5, 2, 6, 3, 7);
#endif
  return out;
}
#endif
/// Stores what the steps made: codes or floats, element `at` of out on.
INL void codes_end(vec v, const CodesTail& t, const float* numbers, void* out, idx at, idx lanes) {
  if (t.stored == Stored::Floats) return st_part((float*)out + at, v, lanes);
  const float* end = numbers + t.steps * kStepNumbers;
  v = limited(t.in_steps ? v : divided(v, end[0], end[1]), end);
  st_codes(out, at, to_integers(v) + (int32_t)end[4], lanes);
}

/// How many channels the last block of a tile has. is_open: only the run tells whether these are VL.
struct Last {
  idx lanes;
  bool is_open;
};
/// Stores the values of a tile of OB blocks (the last one of `last` channels) x wt pixels: value(block, pixel) gives each before the steps.
template <class F>
INL void codes_finish(const CodesTail& t, const float* numbers, void* const* others, void* out, idx out_pixel, idx OB, idx wt, Last last, idx c0, idx q,
                      F value) {
  const auto done = [&](idx o, idx p, idx lanes) __attribute__((always_inline)) { return codes_steps(value(o, p), t, numbers, others, q + p, c0 + o * VL, lanes); };
  idx first = 0;  // of the blocks that go one by one
#ifndef __aarch64__
  const auto fours = [&](idx o, idx g) __attribute__((always_inline)) {  // g blocks of 4 / g pixels
    UNROLL for (idx p = 0; p < wt; p += 4 / g) {
      vec v[4];
      UNROLL for (idx k = 0; k < 4; k++) v[k] = p + k / g < wt ? done(o + k % g, p + k / g, VL) : v[0];
      const ivec b = codes_in_order(v, t, numbers);
      UNROLL for (idx k = 0; k < 4 / g; k++)
        if (p + k < wt) __builtin_memcpy((uint8_t*)out + (q + p + k) * out_pixel + c0 + o * VL, (const char*)&b + k * g * VL, (size_t)(g * VL));
    }
  };
  if (t.stored != Stored::Floats) {
    const idx full = last.is_open || last.lanes < VL ? OB - 1 : OB, by4 = full / 4 * 4, by2 = full / 2 * 2;
    UNROLL for (idx o = 0; o < by4; o += 4) fours(o, 4);
    if (by4 < by2) fours(by4, 2);
    if (by2 < full) fours(by2, 1);
    first = full;
    if (last.is_open && last.lanes == VL) return fours(full, 1);
  }
#endif
  UNROLL for (idx o = first; o < OB; o++) {
    const idx lanes = o == OB - 1 ? last.lanes : VL;
    UNROLL for (idx p = 0; p < wt; p++) codes_end(done(o, p, lanes), t, numbers, out, (q + p) * out_pixel + c0 + o * VL, lanes);
  }
}

}  // namespace k
#endif
