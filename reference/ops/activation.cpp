// SPDX-License-Identifier: Apache-2.0
// reference/ops: activations, by the formulas of the ONNX operator pages.
#include <cmath>
#include <limits>
#include <type_traits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }  // does not overflow

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/// The nearest number of the type.
template <class W>
W nearest(double x) {
  using Limits = std::numeric_limits<W>;
  if constexpr (std::is_integral_v<W>) {
    if (!(x > static_cast<double>(Limits::lowest()))) return Limits::lowest();
    if (x >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<W>(x);
}

}  // namespace

void celu(Call& c) {
  const double a = c.real("alpha", 1);
  map_real(c, [=](double x) { return x > 0 ? x : a * std::expm1(x / a); });
}

/// Version 6 has attributes, later ones have inputs; a missing bound does not bound. NaN stays NaN.
void clip(Call& c) {
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    std::vector<W> x = load<W>(c.in(0));
    const auto bound = [&](uint32_t k, const char* name) -> std::vector<W> {
      if (c.version() < 11) return c.has(name) ? std::vector<W>{nearest<W>(c.real(name, 0))} : std::vector<W>{};
      if (!c.maybe(k)) return {};
      if (c.in(k).elements() != 1) invalid(std::string(name) + " has shape " + show(c.in(k).dims) + ", must be one element");
      return load<W>(c.in(k));
    };
    const std::vector<W> low = bound(1, "min"), high = bound(2, "max");
    for (W& e : x) {
      if (!low.empty() && e < low[0]) e = low[0];
      if (!high.empty() && e > high[0]) e = high[0];
    }
    c.out(0, store(c.in(0).dtype, c.in(0).dims, x));
  });
}

void elu(Call& c) {
  const double a = c.real("alpha", 1);
  map_real(c, [=](double x) { return x < 0 ? a * std::expm1(x) : x; });
}

void gelu(Call& c) {
  const std::string how = c.text("approximate", "none");
  if (how != "none" && how != "tanh") invalid("approximate is '" + how + "', must be none or tanh");
  if (how == "tanh") map_real(c, gelu_tanh);
  else map_real(c, [](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); });
}

void hard_sigmoid(Call& c) {
  const double a = c.real("alpha", 0.2), b = c.real("beta", 0.5);
  map_real(c, [=](double x) { return std::isnan(x) ? x : std::fmax(0, std::fmin(1, a * x + b)); });
}

void hard_swish(Call& c) {
  map_real(c, [](double x) { return std::isnan(x) ? x : x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); });
}

void leaky_relu(Call& c) {
  const double a = c.real("alpha", 0.01);
  map_real(c, [=](double x) { return x < 0 ? a * x : x; });
}

void mish(Call& c) {
  map_real(c, [](double x) { return x * std::tanh(softplus_of(x)); });
}

void prelu(Call& c) {
  const Dims& dims = c.in(0).dims;
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    c.out(0, store(c.in(0).dtype, dims, zip<W, W>(c.in(0), c.in(1), dims, [](W x, W slope) { return x < W{0} ? static_cast<W>(x * slope) : x; })));
  });
}

void relu(Call& c) {
  map_any(c, [](auto x) { return x < decltype(x){0} ? decltype(x){0} : x; });  // NaN stays NaN
}

void selu(Call& c) {
  const double a = c.real("alpha", 1.67326319217681884765625), g = c.real("gamma", 1.05070102214813232421875);
  map_real(c, [=](double x) { return g * (x > 0 ? x : a * std::expm1(x)); });
}

void shrink(Call& c) {
  const double lambda = c.real("lambd", 0.5), bias = c.real("bias", 0);
  map_any(c, [=](auto x) {
    const auto v = static_cast<double>(x);
    return static_cast<decltype(x)>(v < -lambda ? v + bias : v > lambda ? v - bias : 0);
  });
}

void sigmoid(Call& c) { map_real(c, logistic); }
void softplus(Call& c) {
  map_real(c, [](double x) { return std::isnan(x) ? x : softplus_of(x); });
}
void softsign(Call& c) {
  map_real(c, [](double x) { return x / (1 + std::fabs(x)); });
}

void swish(Call& c) {
  const double a = c.real("alpha", 1);
  map_real(c, [=](double x) { return x * logistic(a * x); });
}

void swiglu(Call& c) {
  const double a = c.real("alpha", 1);
  shapes::one_shape(c);
  zip_real(c, [=](double gate, double x) { return gate * logistic(a * gate) * x; });
}

void tanh(Call& c) {
  map_real(c, [](double x) { return std::tanh(x); });
}

void thresholded_relu(Call& c) {
  const double a = c.real("alpha", 1);
  map_real(c, [=](double x) { return x > a ? x : 0; });
}

}  // namespace optima::reference::ops
