// SPDX-License-Identifier: Apache-2.0
// reference/ops: functions of one number.
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"

namespace optima::reference::ops {
namespace {

template <class F>
void test(Call& c, F&& f) {
  const std::vector<double> x = load<double>(c.in(0));
  std::vector<uint64_t> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = f(x[i]);
  c.out(0, store(OPTIMA_BOOL, c.in(0).dims, out));
}

/// Two's complement, so that the most negative number has no overflow.
template <class W>
W negated(W x) {
  if constexpr (std::is_integral_v<W>) return static_cast<W>(uint64_t{0} - static_cast<uint64_t>(x));
  else return -x;
}

}  // namespace

void abs(Call& c) {
  map_any(c, [](auto x) {
    using W = decltype(x);
    if constexpr (std::is_floating_point_v<W>) return std::fabs(x);
    else return x < W{0} ? negated(x) : x;
  });
}
void neg(Call& c) { map_any(c, [](auto x) { return negated(x); }); }
void sign(Call& c) {
  map_any(c, [](auto x) {
    using W = decltype(x);
    if (x != x) return x;  // NaN
    return static_cast<W>(x > W{0} ? 1 : x < W{0} ? -1 : 0);
  });
}

void acos(Call& c) { map_real(c, [](double x) { return std::acos(x); }); }
void acosh(Call& c) { map_real(c, [](double x) { return std::acosh(x); }); }
void asin(Call& c) { map_real(c, [](double x) { return std::asin(x); }); }
void asinh(Call& c) { map_real(c, [](double x) { return std::asinh(x); }); }
void atan(Call& c) { map_real(c, [](double x) { return std::atan(x); }); }
void atanh(Call& c) { map_real(c, [](double x) { return std::atanh(x); }); }
void ceil(Call& c) { map_real(c, [](double x) { return std::ceil(x); }); }
void cos(Call& c) { map_real(c, [](double x) { return std::cos(x); }); }
void cosh(Call& c) { map_real(c, [](double x) { return std::cosh(x); }); }
void erf(Call& c) {
  map_any(c, [](auto x) { return static_cast<decltype(x)>(std::erf(static_cast<double>(x))); });
}
void exp(Call& c) { map_real(c, [](double x) { return std::exp(x); }); }
void floor(Call& c) { map_real(c, [](double x) { return std::floor(x); }); }
void log(Call& c) { map_real(c, [](double x) { return std::log(x); }); }
void reciprocal(Call& c) { map_real(c, [](double x) { return 1 / x; }); }
void round(Call& c) { map_real(c, [](double x) { return std::nearbyint(x); }); }  // half to even
void sin(Call& c) { map_real(c, [](double x) { return std::sin(x); }); }
void sinh(Call& c) { map_real(c, [](double x) { return std::sinh(x); }); }
void sqrt(Call& c) { map_real(c, [](double x) { return std::sqrt(x); }); }
void tan(Call& c) { map_real(c, [](double x) { return std::tan(x); }); }

void is_nan(Call& c) { test(c, [](double x) { return std::isnan(x); }); }
void is_inf(Call& c) {
  const bool negative = c.integer("detect_negative", 1) != 0, positive = c.integer("detect_positive", 1) != 0;
  test(c, [&](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}
void logical_not(Call& c) { test(c, [](double x) { return x == 0; }); }
void bitwise_not(Call& c) {
  std::vector<uint64_t> x = load<uint64_t>(c.in(0));
  for (uint64_t& e : x) e = ~e;
  c.out(0, store(c.in(0).dtype, c.in(0).dims, x));
}

}  // namespace optima::reference::ops
