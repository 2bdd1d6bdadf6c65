// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/graph/graph.hpp"
#include "core/quantize/encodings.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

bool is_float(int32_t dtype) { return dtype == OPTIMA_F32 || dtype == OPTIMA_F16 || dtype == OPTIMA_BF16; }

Status check_steps(const Encoding& e, const CodeLimits& codes, const std::string& place) {
  for (const float scale : e.scale)
    if (!std::isfinite(scale) || scale <= 0) return invalid_input(cat(place, ": found scale ", scale, ", wanted a finite number above 0"));
  for (const int32_t zero : e.zero_point)
    if (zero < codes.least || zero > codes.largest)
      return invalid_input(cat(place, ": found zero point ", zero, ", wanted ", codes.least, "..", codes.largest, " for ", short_dtype_name(e.dtype)));
  return {};
}

}  // namespace

std::optional<CodeLimits> code_limits(int32_t dtype) {
  switch (dtype) {
    case OPTIMA_U4: return CodeLimits{0, 15};
    case OPTIMA_I4: return CodeLimits{-8, 7};
    case OPTIMA_U8: return CodeLimits{0, 255};
    case OPTIMA_I8: return CodeLimits{-128, 127};
    case OPTIMA_U16: return CodeLimits{0, 65535};
    case OPTIMA_I16: return CodeLimits{-32768, 32767};
    case OPTIMA_I32: return CodeLimits{INT32_MIN, INT32_MAX};
    default: return std::nullopt;
  }
}

Status check_encoding(const Encoding& e, const std::string& place) {
  if (e.axis < -1) return invalid_input(cat(place, ": found axis ", e.axis, ", wanted 0 or more, counted from the front"));
  if (e.block < 0) return invalid_input(cat(place, ": found block ", e.block, ", wanted 0 or more elements"));
  if (!std::isfinite(e.low) || !std::isfinite(e.high) || e.low > e.high)
    return invalid_input(cat(place, ": found range ", e.low, "..", e.high, ", wanted two finite numbers in order"));
  if (is_float(e.dtype))
    return e.scale.empty() && e.zero_point.empty() ? Status() : invalid_input(cat(place, ": found a scale, wanted none for ", short_dtype_name(e.dtype)));
  const std::optional<CodeLimits> codes = code_limits(e.dtype);
  if (!codes) return invalid_input(cat(place, ": found type ", short_dtype_name(e.dtype), ", wanted u8, i8, u16, i16, u4, i4, i32, f32, f16 or bf16"));
  if (e.scale.empty()) return invalid_input(cat(place, ": found no scale, wanted one or more"));
  if (e.scale.size() != e.zero_point.size())
    return invalid_input(cat(place, ": found ", e.scale.size(), " scales and ", e.zero_point.size(), " zero points, wanted as many"));
  return check_steps(e, *codes, place);
}

}  // namespace optima
