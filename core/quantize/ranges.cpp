// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/ranges.hpp"

#include <algorithm>
#include <cmath>

#include "core/quantize/clip_search.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr double kLeastWidth = 1e-4;

/// How many steps a scheme has at each side of zero, and in all.
struct Steps {
  double side, all;
  int32_t middle;  // of the unsigned type
};
Steps steps_of(int bits) { return bits == 16 ? Steps{32767, 65535, 32768} : Steps{127, 255, 128}; }

Encoding coded(int32_t dtype, double scale, double zero_point) {
  Encoding out;
  out.dtype = dtype;
  out.scale = {static_cast<float>(scale)};
  out.zero_point = {static_cast<int32_t>(zero_point)};
  return out;
}

/// `negative`: whether there are values below zero, though the range may have none. low <= 0 <= high.
Encoding encode(double low, double high, bool negative, Scheme scheme, int bits) {
  const Steps steps = steps_of(bits);
  const int32_t plain = bits == 16 ? OPTIMA_U16 : OPTIMA_U8, with_sign = bits == 16 ? OPTIMA_I16 : OPTIMA_I8;
  const double side = std::max({-low, high, kLeastWidth / 2}) / steps.side, all = std::max(high - low, kLeastWidth) / steps.all;
  if (scheme == Scheme::Symmetric) return coded(with_sign, side, 0);
  if (scheme == Scheme::Asymmetric) return coded(plain, all, std::round(-low / all));
  return negative ? coded(plain, side, steps.middle) : coded(plain, all, 0);
}

/// |x| is a code of what has no other value.
Encoding encode_constant(double x, Scheme scheme, int bits) {
  const Steps steps = steps_of(bits);
  Encoding out = encode(std::min(x, 0.0), std::max(x, 0.0), x < 0, scheme, bits);
  out.scale = {static_cast<float>(std::max(std::abs(x) / steps.side, kLeastWidth / steps.all))};
  return out;
}

Status check(const std::string& value, const ValueStatistics& seen, int bits) {
  if (bits != 8 && bits != 16) return internal_error(cat("value ", quote(value), ": found ", bits, " bits, wanted 8 or 16"));
  const Histogram& h = seen.histogram;
  if (h.nans() + h.infinities() > 0)
    return invalid_input(cat("value ", quote(value), ": found ", h.nans(), " NaN and ", h.infinities(), " infinite elements, first in sample ",
                             quote(seen.first_bad), ", wanted finite numbers"));
  if (!h.any()) return invalid_input(cat("value ", quote(value), ": found no element in the data, wanted one or more"));
  return {};
}

detail::Ends ends_of(const ValueStatistics& seen, RangeChoice how, Scheme scheme) {
  const Histogram& h = seen.histogram;
  switch (how.method) {
    case RangeMethod::Mse: return detail::least_error(h, scheme == Scheme::Symmetric || (scheme == Scheme::Shared && h.min() < 0));
    case RangeMethod::Ema: return {std::min(seen.moving_min, 0.0), std::max(seen.moving_max, 0.0)};
    case RangeMethod::Percentile: return detail::percentile_ends(h, how.percentile);
    case RangeMethod::Entropy: return detail::least_divergence(h);
    case RangeMethod::MinMax: break;
  }
  return {std::min<double>(h.min(), 0), std::max<double>(h.max(), 0)};
}

Encoding with_range(Encoding encoding, double low, double high) {
  encoding.low = static_cast<float>(low), encoding.high = static_cast<float>(high);
  return encoding;
}

}  // namespace

Result<RangeChoice> range_choice(const std::string& name) {
  RangeChoice out;
  if (name == "mse") return out;
  out.method = RangeMethod::MinMax;
  if (name == "minmax") return out;
  out.method = RangeMethod::Ema;
  if (name == "ema") return out;
  out.method = RangeMethod::Entropy;
  if (name == "entropy") return out;
  out.method = RangeMethod::Percentile;
  if (name == "percentile") return out;
  constexpr std::string_view kKey = "percentile=";
  const std::optional<double> percentile = name.starts_with(kKey) ? parse_number<double>(std::string_view(name).substr(kKey.size())) : std::nullopt;
  if (!percentile) return usage_error(cat("found range ", quote(name), ", wanted mse, minmax, ema, percentile, percentile=NUMBER or entropy"));
  if (*percentile <= 50 || *percentile > 100) return usage_error(cat("found percentile ", *percentile, ", wanted more than 50, at most 100"));
  out.percentile = *percentile;
  return out;
}

Result<Scheme> scheme_named(const std::string& name) {
  if (name == "shared") return Scheme::Shared;
  if (name == "asymmetric") return Scheme::Asymmetric;
  if (name == "symmetric") return Scheme::Symmetric;
  return usage_error(cat("found scheme ", quote(name), ", wanted shared, asymmetric or symmetric"));
}

Result<Encoding> encode_range(const std::string& value, const ValueStatistics& seen, RangeChoice how, Scheme scheme, int bits) {
  OPTIMA_RETURN_IF_ERROR(check(value, seen, bits));
  const Histogram& h = seen.histogram;
  if (h.min() == h.max()) return with_range(encode_constant(h.min(), scheme, bits), h.min(), h.max());
  if (bits == 16) how.method = RangeMethod::MinMax;
  const detail::Ends ends = ends_of(seen, how, scheme);
  return with_range(encode(ends.low, ends.high, h.min() < 0, scheme, bits), h.min(), h.max());
}

Encoding encoding_of_range(double low, double high, Scheme scheme, int bits) {
  return with_range(encode(std::min(low, 0.0), std::max(high, 0.0), low < 0, scheme, bits), low, high);
}

}  // namespace optima
