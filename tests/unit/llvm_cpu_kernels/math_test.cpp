// SPDX-License-Identifier: Apache-2.0
// The vector functions against libm in double: error in units of the last place over random and special arguments.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include <string>

#include "plugins/llvm_cpu/kernels/functions.hpp"

using kernel_test::rounds;

namespace {

using Unary = k::vec (*)(k::vec);

float apply(Unary f, float x) {
  k::vec v = k::splat(x);
  v[0] = 0.5f;
  return f(v)[k::VL - 1];
}

double ulps(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    return std::isinf(rounded) && std::fabs(got) > 3.4028e38f ? 1 : 1e9;
  }
  const float a = std::fabs(rounded);
  return std::fabs(got - want) / (std::nextafter(a, INFINITY) - a);
}

struct Function {
  const char* name;
  Unary f;
  double (*exact)(double);
  double lo, hi, limit;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

const Function functions[] = {
    {"exp", e_exp, std::exp, -110, 95, 2},         {"log", e_log, std::log, 0, 10, 3},
    {"log wide", e_log, std::log, 0, 3e38, 3},     {"log tiny", e_log, std::log, 0, 1e-37, 3},
    {"tanh", e_tanh, std::tanh, -12, 12, 3},       {"sigmoid", e_sigmoid, sigmoid, -88, 88, 3},
    {"erf", e_erf, std::erf, -5, 5, 3},            {"erf small", e_erf, std::erf, -1e-3, 1e-3, 3},
    {"sin", e_sin, std::sin, -1000, 1000, 2},      {"cos", e_cos, std::cos, -1000, 1000, 2},
    {"sin huge", e_sin, std::sin, -1e12, 1e12, 2}, {"tan", e_tan, std::tan, -100, 100, 4},
    {"softplus", e_softplus, softplus, -80, 60, 3}, {"expm1", e_expm1, std::expm1, -20, 20, 6},
    {"atan", e_atan, std::atan, -30, 30, 1},       {"asin", e_asin, std::asin, -1, 1, 1},
    {"acos", e_acos, std::acos, -1, 1, 1},         {"sinh", e_sinh, std::sinh, -30, 30, 1},
    {"cosh", e_cosh, std::cosh, -30, 30, 1},       {"asinh", e_asinh, std::asinh, -100, 100, 1},
    {"acosh", e_acosh, std::acosh, 1, 1000, 1},    {"atanh", e_atanh, std::atanh, -1, 1, 1},
};

std::vector<float> pow_arguments() {
  return {0.f, -0.f, 1.f, -1.f, 2.f, -2.f, 0.5f, -0.5f, 3.f, -3.f, INFINITY, -INFINITY, NAN, 1e-40f, 16777217.f, 1e30f};
}

}  // namespace

TEST_CASE("vector functions stay within their error limits") {
  std::mt19937 random(7);
  for (const Function& fn : functions) {
    double worst = 0;
    float at = 0;
    std::uniform_real_distribution<double> spread(fn.lo, fn.hi), exponent(-44, 0);
    for (int i = 0; i < rounds(40000); ++i) {
      float x = static_cast<float>(spread(random));
      if (i % 4 == 0 && fn.lo < 0) x *= static_cast<float>(std::pow(10.0, exponent(random)));
      const double e = ulps(apply(fn.f, x), fn.exact(x));
      if (e > worst) worst = e, at = x;
    }
    INFO(fn.name << " at " << at << ": " << worst << " ulp");
    CHECK(worst <= fn.limit);
  }
}

TEST_CASE("vector functions follow libm at zeros, infinities, NaN and denormals") {
  for (const Function& fn : functions)
    for (float x : {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 1.f, -1.f, 2.f, -2.f, 88.8f, -88.8f, 1e-39f}) {
      const float got = apply(fn.f, x);
      INFO(fn.name << "(" << x << ") = " << got << ", wanted " << fn.exact(x));
      if (std::string(fn.name) == "sigmoid" && x < -80) CHECK(std::fabs(got - fn.exact(x)) < 1e-37);
      else CHECK(ulps(got, fn.exact(x)) <= fn.limit);
    }
}

TEST_CASE("the exponential that softmax takes follows libm down to -87, and is 0 below") {
  std::mt19937 random(8);
  std::uniform_real_distribution<float> spread(-87, 0);
  for (int i = 0; i < rounds(40000); ++i) {
    const float x = spread(random);
    REQUIRE(ulps(apply(k::vexp_flushed, x), std::exp(static_cast<double>(x))) <= 3);
  }
  for (const float x : {-87.01f, -100.f, -1e9f, -INFINITY}) CHECK(apply(k::vexp_flushed, x) == 0.f);
  CHECK(apply(k::vexp_flushed, 0.f) == 1.f);
  CHECK(std::isnan(apply(k::vexp_flushed, NAN)));
}

TEST_CASE("pow follows libm, special cases included") {
  std::mt19937 random(9);
  std::uniform_real_distribution<float> base(0, 20), power(-12, 12);
  double worst = 0;
  for (int i = 0; i < rounds(40000); ++i) {
    const float x = base(random), y = power(random);
    worst = std::max(worst, ulps(e_pow(k::splat(x), k::splat(y))[1], std::pow(double(x), double(y))));
  }
  CHECK(worst <= 1);
  for (float x : pow_arguments())
    for (float y : pow_arguments()) {
      const float got = e_pow(k::splat(x), k::splat(y))[0];
      INFO("pow(" << x << ", " << y << ") = " << got << ", wanted " << std::pow(x, y));
      CHECK(ulps(got, std::pow(double(x), double(y))) <= 1);
    }
}

TEST_CASE("mod follows fmod") {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> value(-50, 50);
  for (int i = 0; i < rounds(20000); ++i) {
    const float x = value(random), y = value(random), got = e_mod(k::splat(x), k::splat(y))[0];
    REQUIRE(got == std::fmod(x, y));
  }
  for (float x : {3.f, -3.f, INFINITY, NAN, 0.f})
    for (float y : {2.f, -2.f, INFINITY, 0.f, NAN}) {
      const float got = e_mod(k::splat(x), k::splat(y))[0], want = std::fmod(x, y);
      INFO(x << " mod " << y << " = " << got);
      CHECK((std::isnan(want) ? std::isnan(got) : got == want));
    }
}
