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
};

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

/// VL codes, the first `lanes` of them from memory.
template <class V, class T>
INL V ld_codes(const T* p, idx lanes) {
  V v = {};
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
  if (lanes >= VL) __builtin_memcpy(p, &b, sizeof b);
  else UNROLL for (idx l = 0; l < VL; l++) if (l < lanes) p[l] = b[l];
}

/// The steps of a tail on channels [c, c + VL) of pixel q; `lanes` of them exist. others[k]: the operand of step k.
INL vec codes_steps(vec v, const CodesTail& t, const float* numbers, void* const* others, idx q, idx c, idx lanes) {
  UNROLL for (idx k = 0; k < t.steps; k++) {
    const CodesStep& s = t.at[k];
    const float* n = numbers + k * kStepNumbers;
    if (s.kind == StepKind::Activate) {
      v = activate(v, {s.act, (double)n[0], (double)n[1]});
    } else if (s.kind == StepKind::Requantize) {
      v = rounded(limited(s.in_steps ? v : divided(v, n[0], n[1]), n)) * n[0];
    } else {
      vec o = ld_stored(others[k], (s.per == 1 ? q : q / s.per) * s.pixel + c, s.stored, lanes);
      if (s.stored != Stored::Floats) o = (o - n[1]) * n[0];
      v = s.kind == StepKind::Add ? v + o : v * o;
    }
  }
  return v;
}
/// Stores what the steps made: codes or floats, element `at` of out on.
INL void codes_end(vec v, const CodesTail& t, const float* numbers, void* out, idx at, idx lanes) {
  if (t.stored == Stored::Floats) return st_part((float*)out + at, v, lanes);
  const float* end = numbers + t.steps * kStepNumbers;
  v = limited(t.in_steps ? v : divided(v, end[0], end[1]), end);
  st_codes(out, at, to_integers(v) + (int32_t)end[4], lanes);
}

}  // namespace k
#endif
