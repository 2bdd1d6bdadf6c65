// SPDX-License-Identifier: Apache-2.0
// reference/ops: functions of two and more broadcast tensors. Integers wrap, as in two's complement hardware.
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// f in unsigned arithmetic for integers (no undefined overflow), as is for doubles.
template <class F>
auto wrapping(F f) {
  return [f](auto a, auto b) {
    using W = decltype(a);
    if constexpr (std::is_floating_point_v<W>) return f(a, b);
    else return static_cast<W>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  };
}

template <class W>
W quotient(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) return a / b;
  else {
    if (b == 0) invalid("integer division by zero");
    if constexpr (std::is_signed_v<W>)
      if (b == -1) return static_cast<W>(uint64_t{0} - static_cast<uint64_t>(a));
    return a / b;
  }
}

/// Sign of the dividend (C's fmod and %).
template <class W>
W remainder(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) return std::fmod(a, b);
  else {
    if (b == 0) invalid("integer division by zero");
    if constexpr (std::is_signed_v<W>)
      if (b == -1) return 0;
    return a % b;
  }
}

/// Sign of the divisor (Python's %).
template <class W>
W floor_remainder(W a, W b) {
  const W r = remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

uint64_t integer_power(uint64_t base, uint64_t exponent) {
  uint64_t out = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) out *= base;
  return out;
}

template <class F>
void bits(Call& c, F&& f) {
  const Dims to = broadcast(c.in(0).dims, c.in(1).dims);
  c.out(0, store(c.in(0).dtype, to, zip<uint64_t, uint64_t>(c.in(0), c.in(1), to, f)));
}

/// Folds all inputs, broadcast to one shape, with f.
template <class F>
std::pair<Dims, std::vector<double>> fold_real(Call& c, F&& f) {
  const Dims to = shapes::broadcast_all(c);
  std::vector<double> out = load_as<double>(c.in(0), to);
  for (uint32_t k = 1; k < c.inputs(); ++k) {
    const std::vector<double> x = load_as<double>(c.in(k), to);
    for (size_t i = 0; i < out.size(); ++i) out[i] = f(out[i], x[i]);
  }
  return {to, out};
}

/// take_new(best, x): whether x replaces best.
template <class F>
void extreme(Call& c, F&& take_new) {
  const Dims to = shapes::broadcast_all(c);
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    std::vector<W> out = load_as<W>(c.in(0), to);
    for (uint32_t k = 1; k < c.inputs(); ++k) {
      const std::vector<W> x = load_as<W>(c.in(k), to);
      for (size_t i = 0; i < out.size(); ++i)
        if (x[i] != x[i] || take_new(out[i], x[i])) out[i] = x[i];  // NaN wins
    }
    c.out(0, store(c.in(0).dtype, to, out));
  });
}

}  // namespace

void add(Call& c) { zip_any(c, wrapping([](auto a, auto b) { return a + b; })); }
void sub(Call& c) { zip_any(c, wrapping([](auto a, auto b) { return a - b; })); }
void mul(Call& c) { zip_any(c, wrapping([](auto a, auto b) { return a * b; })); }
void div(Call& c) { zip_any(c, [](auto a, auto b) { return quotient(a, b); }); }

void mod(Call& c) {
  if (c.integer("fmod", 0) != 0) zip_any(c, [](auto a, auto b) { return remainder(a, b); });
  else zip_any(c, [](auto a, auto b) { return floor_remainder(a, b); });
}

/// The result has the base's type; an integer to an integer power is exact (modulo 2^bits).
void pow(Call& c) {
  const Tensor &base = c.in(0), &exponent = c.in(1);
  const Dims to = broadcast(base.dims, exponent.dims);
  if (is_float(base.dtype) || is_float(exponent.dtype)) {
    c.out(0, store(base.dtype, to, zip<double, double>(base, exponent, to, [](double a, double b) { return std::pow(a, b); })));
    return;
  }
  const std::vector<int64_t> b = load_as<int64_t>(base, to), e = load_as<int64_t>(exponent, to);
  std::vector<int64_t> out(b.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const bool below_one = e[i] < 0 && is_signed(exponent.dtype);
    if (below_one) out[i] = b[i] == 1 ? 1 : b[i] == -1 ? (e[i] % 2 ? -1 : 1) : 0;
    else out[i] = static_cast<int64_t>(integer_power(static_cast<uint64_t>(b[i]), static_cast<uint64_t>(e[i])));
  }
  c.out(0, store(base.dtype, to, out));
}

void logical_and(Call& c) { bits(c, [](uint64_t a, uint64_t b) { return a & b; }); }
void logical_or(Call& c) { bits(c, [](uint64_t a, uint64_t b) { return a | b; }); }
void logical_xor(Call& c) { bits(c, [](uint64_t a, uint64_t b) { return a ^ b; }); }
void bitwise_and(Call& c) { logical_and(c); }
void bitwise_or(Call& c) { logical_or(c); }
void bitwise_xor(Call& c) { logical_xor(c); }

void bit_shift(Call& c) {
  const std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") invalid("direction is '" + direction + "', must be LEFT or RIGHT");
  const uint64_t width = optima_dtype_bits(c.in(0).dtype);
  const bool left = direction == "LEFT";
  zip_any(c, [=](auto a, auto b) {
    using W = decltype(a);
    if constexpr (std::is_integral_v<W>) {
      const auto by = static_cast<uint64_t>(b);
      if (by >= width) return static_cast<W>(!left && a < W{0} ? -1 : 0);
      return left ? static_cast<W>(static_cast<uint64_t>(a) << by) : static_cast<W>(a >> by);
    } else {
      return a;  // the table lets no float in
    }
  });
}

void equal(Call& c) {
  if (c.in(0).dtype != OPTIMA_STRING) return compare(c, [](auto a, auto b) { return a == b; });
  const Dims to = broadcast(c.in(0).dims, c.in(1).dims);
  const std::vector<std::string> a = strings(c.in(0)), b = strings(c.in(1));
  const std::vector<int64_t> x = broadcast_index(c.in(0).dims, to), y = broadcast_index(c.in(1).dims, to);
  std::vector<uint64_t> out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(a[static_cast<size_t>(x[i])] == b[static_cast<size_t>(y[i])]);
  c.out(0, store(OPTIMA_BOOL, to, out));
}
void greater(Call& c) { compare(c, [](auto a, auto b) { return a > b; }); }
void greater_or_equal(Call& c) { compare(c, [](auto a, auto b) { return a >= b; }); }
void less(Call& c) { compare(c, [](auto a, auto b) { return a < b; }); }
void less_or_equal(Call& c) { compare(c, [](auto a, auto b) { return a <= b; }); }

void max(Call& c) { extreme(c, [](auto best, auto x) { return x > best; }); }
void min(Call& c) { extreme(c, [](auto best, auto x) { return x < best; }); }

void sum(Call& c) {
  auto [dims, out] = fold_real(c, [](double a, double b) { return a + b; });
  c.out(0, store(c.in(0).dtype, dims, out));
}
void mean(Call& c) {
  auto [dims, out] = fold_real(c, [](double a, double b) { return a + b; });
  for (double& e : out) e /= c.inputs();
  c.out(0, store(c.in(0).dtype, dims, out));
}

void where(Call& c) {
  const Tensor &yes = c.in(1), &no = c.in(2);
  const Dims to = shapes::broadcast_all(c);
  const std::vector<uint64_t> condition = load_as<uint64_t>(c.in(0), to);
  const std::vector<int64_t> a = broadcast_index(yes.dims, to), b = broadcast_index(no.dims, to);
  std::vector<int64_t> index(condition.size());
  for (size_t i = 0; i < index.size(); ++i) index[i] = condition[i] ? a[i] : b[i] + yes.elements();
  c.out(0, pick(join({yes, no}), to, index));
}

}  // namespace optima::reference::ops
