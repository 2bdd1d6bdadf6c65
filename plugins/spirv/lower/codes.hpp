// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: codes of 8 and 16 bits.
#pragma once

#include <algorithm>

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// Least and largest code of a type.
struct CodeRange {
  int64_t low, high;
};
inline CodeRange range_of(int32_t dtype) {
  switch (dtype) {
    case OPTIMA_I8: return {-128, 127};
    case OPTIMA_U8: return {0, 255};
    case OPTIMA_I16: return {-32768, 32767};
    default: return {0, 65535};
  }
}

/// The code of a quotient that is a float: the nearest, half to even, and never outside of its type.
inline std::string code_of(int32_t dtype, const std::string& ratio, const std::string& zero) {
  const CodeRange r = range_of(dtype);
  const std::string code = "int(clamp(roundEven(" + ratio + "),-1.0e6,1.0e6))" + (zero.empty() ? "" : "+" + zero);
  return "clamp(" + code + "," + literal(r.low) + "," + literal(r.high) + ")";
}

inline bool all_zero(const sdk::Value& v) {
  if (!v.is_constant()) return false;
  const std::vector<double> all = reals_of(v.constant());
  return std::all_of(all.begin(), all.end(), [](double n) { return n == 0; });
}

}  // namespace spirv_plugin
