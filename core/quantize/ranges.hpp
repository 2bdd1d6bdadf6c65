// SPDX-License-Identifier: Apache-2.0
// core/quantize: from statistics to encodings of activations.
#pragma once

#include <string>

#include "core/observe/observations.hpp"
#include "core/quantize/encodings.hpp"

namespace optima {

enum class RangeMethod { Mse, MinMax, Ema, Percentile, Entropy };
/// Which codes a range becomes. Shared: values never negative are u8 with zero point 0, 255 steps; others u8 with 128, 127 steps to the larger end.
/// Asymmetric: u8, any zero point (SNPE's `tf`). Symmetric: s8 with zero point 0, 127 steps. Code -128 (0 of u8) is nobody's end, but values
/// half a step and more beyond -127 become it, as QuantizeLinear saturates; mse counts it so.
enum class Scheme { Shared, Asymmetric, Symmetric };
/// By name, "mse", "minmax", "ema", "percentile" or "percentile=99.9", "entropy"; Usage.
struct RangeChoice {
  RangeMethod method = RangeMethod::Mse;
  double percentile = 99.99;
};
Result<RangeChoice> range_choice(const std::string& name);
Result<Scheme> scheme_named(const std::string& name);

/// bits: 8 or 16 (u16 with 32768 or 0 in scheme Shared; min-max whatever the method). Zero is a code; the range is at least 1e-4 wide; a value
/// that is always x gets |x| / 127 (or / 32767) steps. InvalidInput for NaN or infinity in the data, naming value and sample, and for no data.
Result<Encoding> encode_range(const std::string& value, const ValueStatistics& seen, RangeChoice how, Scheme scheme, int bits);

/// The encoding whose codes cover [low, high] exactly as `scheme` states it; low <= 0 <= high is made so. Used for overrides and by encode_range.
Encoding encoding_of_range(double low, double high, Scheme scheme, int bits);

}  // namespace optima
