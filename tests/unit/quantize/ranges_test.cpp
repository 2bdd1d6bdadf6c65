// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/ranges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/quantize/clip_search.hpp"
#include "core/support/text.hpp"

using namespace optima;

namespace {

ValueStatistics seen(const std::vector<float>& values) {
  ValueStatistics out;
  out.histogram.add(values);
  out.moving_min = out.histogram.min(), out.moving_max = out.histogram.max();
  out.samples = 1;
  return out;
}

Encoding encoded(const ValueStatistics& s, RangeChoice how, Scheme scheme, int bits = 8) {
  Result<Encoding> out = encode_range("v", s, how, scheme, bits);
  REQUIRE_MESSAGE(out.ok(), out.status().message());
  CHECK(check_encoding(*out, "v").ok());
  return *out;
}
Encoding encoded(const std::vector<float>& values, RangeMethod method, Scheme scheme, int bits = 8) { return encoded(seen(values), {method}, scheme, bits); }

/// As QuantizeLinear and DequantizeLinear do it.
float coded(float x, const Encoding& e, int64_t* code = nullptr) {
  const CodeLimits limits = *code_limits(e.dtype);
  const double steps = std::nearbyint(x / e.scale[0]) + e.zero_point[0];
  const double c = std::clamp(steps, static_cast<double>(limits.least), static_cast<double>(limits.largest));
  if (code) *code = static_cast<int64_t>(c);
  return static_cast<float>((c - e.zero_point[0]) * e.scale[0]);
}
int64_t code_of(float x, const Encoding& e) {
  int64_t out = 0;
  (void)coded(x, e, &out);
  return out;
}

double error_of(const std::vector<float>& values, const Encoding& e) {
  double sum = 0;
  for (const float x : values) sum += std::pow(static_cast<double>(coded(x, e)) - x, 2);
  return sum;
}

enum class Shape { Normal, Relu, Heavy, Skewed, Uniform };
std::vector<float> drawn(Shape shape, uint64_t seed = 1, size_t count = 20000) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& x : out) {
    x = normal(random);
    if (shape == Shape::Relu) x = std::max(x, 0.0F);
    if (shape == Shape::Heavy) x = x * x * x * x * x;
    if (shape == Shape::Skewed) x = std::exp(2 * x) - 0.5F;
    if (shape == Shape::Uniform) x = static_cast<float>(random() % 100000) / 50000 - 1;
  }
  return out;
}
constexpr Shape kShapes[] = {Shape::Normal, Shape::Relu, Shape::Heavy, Shape::Skewed, Shape::Uniform};
constexpr Scheme kSchemes[] = {Scheme::Shared, Scheme::Asymmetric, Scheme::Symmetric};
constexpr RangeMethod kMethods[] = {RangeMethod::Mse, RangeMethod::MinMax, RangeMethod::Ema, RangeMethod::Percentile, RangeMethod::Entropy};

}  // namespace

TEST_CASE("SNPE's worked example: -1.8, -1, 0 and 0.5 are codes 0, 89, 200 and 255") {
  const Encoding e = encoded({-1.8F, -1.0F, 0.0F, 0.5F}, RangeMethod::MinMax, Scheme::Asymmetric);
  CHECK(e.dtype == OPTIMA_U8);
  CHECK(e.scale[0] == doctest::Approx(0.009020).epsilon(1e-4));
  CHECK(-e.zero_point[0] * e.scale[0] == doctest::Approx(-1.803922).epsilon(1e-6));
  CHECK((255 - e.zero_point[0]) * e.scale[0] == doctest::Approx(0.496078).epsilon(1e-6));
  CHECK(code_of(-1.8F, e) == 0);
  CHECK(code_of(-1.0F, e) == 89);
  CHECK(code_of(0.0F, e) == 200);
  CHECK(code_of(0.5F, e) == 255);
  CHECK(e.low == -1.8F);
  CHECK(e.high == 0.5F);
}

TEST_CASE("each scheme states a range in its own codes") {
  const auto is = [](const Encoding& e, int32_t dtype, float scale, int32_t zero) {
    CHECK(e.dtype == dtype);
    CHECK(e.scale[0] == doctest::Approx(scale).epsilon(1e-6));
    CHECK(e.zero_point[0] == zero);
    CHECK(e.axis == -1);
  };
  is(encoding_of_range(0, 25.5, Scheme::Shared, 8), OPTIMA_U8, 0.1F, 0);
  is(encoding_of_range(3, 25.5, Scheme::Shared, 8), OPTIMA_U8, 0.1F, 0);
  is(encoding_of_range(-1, 12.7, Scheme::Shared, 8), OPTIMA_U8, 0.1F, 128);
  is(encoding_of_range(-12.7, 1, Scheme::Shared, 8), OPTIMA_U8, 0.1F, 128);
  is(encoding_of_range(-12.7, -3, Scheme::Shared, 8), OPTIMA_U8, 0.1F, 128);
  is(encoding_of_range(0, 12.7, Scheme::Symmetric, 8), OPTIMA_I8, 0.1F, 0);
  is(encoding_of_range(-25.5, -1, Scheme::Asymmetric, 8), OPTIMA_U8, 0.1F, 255);
  is(encoding_of_range(0, 65.535, Scheme::Shared, 16), OPTIMA_U16, 0.001F, 0);
  is(encoding_of_range(-1, 32.767, Scheme::Shared, 16), OPTIMA_U16, 0.001F, 32768);
  is(encoding_of_range(-32.767, 1, Scheme::Symmetric, 16), OPTIMA_I16, 0.001F, 0);
  is(encoding_of_range(-5.535, 60, Scheme::Asymmetric, 16), OPTIMA_U16, 0.001F, 5535);
  is(encoding_of_range(0, 0, Scheme::Shared, 8), OPTIMA_U8, 1e-4F / 255, 0);
  is(encoding_of_range(-1e-9, 1e-9, Scheme::Symmetric, 8), OPTIMA_I8, 0.5e-4F / 127, 0);
}

TEST_CASE("whatever the data and the method, zero is a code and nothing seen is far outside what min-max covers") {
  for (const Shape shape : kShapes)
    for (const Scheme scheme : kSchemes)
      for (const RangeMethod method : kMethods)
        for (const int bits : {8, 16}) {
          CAPTURE(static_cast<int>(shape));
          CAPTURE(static_cast<int>(scheme));
          CAPTURE(static_cast<int>(method));
          CAPTURE(bits);
          const std::vector<float> values = drawn(shape);
          const Encoding e = encoded(values, method, scheme, bits);
          const Encoding widest = encoded(values, RangeMethod::MinMax, scheme, bits);
          CHECK(coded(0.0F, e) == 0.0F);
          CHECK(e.scale[0] <= widest.scale[0] * 1.0001F);
          if (bits == 16) CHECK(e == widest);
          CHECK(e.low == *std::min_element(values.begin(), values.end()));
          if (method != RangeMethod::MinMax || scheme == Scheme::Asymmetric) continue;
          for (const float x : values) CHECK_MESSAGE(std::abs(coded(x, e) - x) <= 0.505F * e.scale[0], x);
        }
}

TEST_CASE("mse is nearly the best of all ranges by the error that QuantizeLinear really makes") {
  for (const Shape shape : kShapes)
    for (const Scheme scheme : kSchemes) {
      CAPTURE(static_cast<int>(shape));
      CAPTURE(static_cast<int>(scheme));
      const std::vector<float> values = drawn(shape);
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      double best = std::numeric_limits<double>::infinity();
      // One end where the scheme has one, else both.
      const bool both = scheme == Scheme::Asymmetric && *low < 0;
      for (int i = 1; i <= 60; ++i)
        for (int j = both ? 1 : 60; j <= 60; ++j) {
          const double top = scheme != Scheme::Asymmetric ? std::max<double>(-*low, *high) : *high;
          const double cut = *low < 0 ? (both ? *low * j / 60.0 : -top * i / 60) : 0;
          if (both && (i + j) % 3) continue;
          best = std::min(best, error_of(values, encoding_of_range(cut, top * i / 60, scheme, 8)));
        }
      CHECK(error_of(values, encoded(values, RangeMethod::Mse, scheme)) <= best * 1.03);
      CHECK(error_of(values, encoded(values, RangeMethod::Mse, scheme)) <= error_of(values, encoded(values, RangeMethod::MinMax, scheme)) * 1.001);
    }
}

TEST_CASE("the histogram's error is the error of the values, but for the width of its bins") {
  const std::vector<float> values = drawn(Shape::Normal);
  Histogram h;
  h.add(values);
  const Encoding e = encoding_of_range(-2, 2, Scheme::Shared, 8);
  const double sums = detail::BinSums(h).error(e.scale[0], e.zero_point[0], {0, 255});
  CHECK(sums == doctest::Approx(error_of(values, e)).epsilon(0.02));
}

TEST_CASE("mse weighs one far outlier against the steps of all others, and leaves a uniform range alone") {
  std::vector<float> values = drawn(Shape::Normal, 3, 100000);
  values.push_back(100);
  // (100 - T)^2 for the outlier, (T / 127)^2 / 12 for each of the others.
  const double best = 100 / (1 + 100000 / (12.0 * 127 * 127));
  CHECK(encoded(values, RangeMethod::Mse, Scheme::Shared).scale[0] * 127 == doctest::Approx(best).epsilon(0.05));
  CHECK(encoded(values, RangeMethod::MinMax, Scheme::Shared).scale[0] == doctest::Approx(100.0F / 127));
  const std::vector<float> uniform = drawn(Shape::Uniform);
  CHECK(encoded(uniform, RangeMethod::Mse, Scheme::Shared).scale[0] > 0.97F / 127);
}

TEST_CASE("values that are few and far apart keep their largest one") {
  std::vector<float> bits(10000, 0.0F);
  for (size_t i = 0; i < bits.size(); i += 3) bits[i] = 1;
  CHECK(coded(1.0F, encoded(bits, RangeMethod::Mse, Scheme::Shared)) == doctest::Approx(1).epsilon(0.002));
}

TEST_CASE("percentile cuts off as many values as it says, at the ends that there are") {
  std::vector<float> values;
  for (int i = 0; i < 10000; ++i) values.push_back(static_cast<float>(i));
  const auto cut = [&](double percentile, const std::vector<float>& v) { return encoded(seen(v), {RangeMethod::Percentile, percentile}, Scheme::Asymmetric); };
  CHECK(cut(99, values).scale[0] * 255 == doctest::Approx(9900).epsilon(0.002));
  CHECK(cut(100, values).scale[0] * 255 == doctest::Approx(9999).epsilon(0.002));
  std::vector<float> both = values;
  for (float& x : both) x -= 5000;
  const Encoding e = cut(99, both);
  CHECK((255 - e.zero_point[0]) * e.scale[0] == doctest::Approx(4950).epsilon(0.01));
  CHECK(-e.zero_point[0] * e.scale[0] == doctest::Approx(-4950).epsilon(0.01));
}

TEST_CASE("ema takes the averages of the samples' ends") {
  ValueStatistics s = seen({-8, 16});
  s.moving_min = -1.27, s.moving_max = 1;
  CHECK(encoded(s, {RangeMethod::Ema}, Scheme::Shared).scale[0] == doctest::Approx(0.01));
  s.moving_min = 1, s.moving_max = 2.55;  // all samples above zero but one: zero stays a code, and the values negative
  const Encoding e = encoded(s, {RangeMethod::Ema}, Scheme::Shared);
  CHECK(e.zero_point[0] == 128);
  CHECK(e.scale[0] == doctest::Approx(2.55 / 127));
}

TEST_CASE("entropy cuts a heavy tail off on both sides") {
  const std::vector<float> values = drawn(Shape::Heavy, 5, 200000);
  const Encoding e = encoded(values, RangeMethod::Entropy, Scheme::Asymmetric), widest = encoded(values, RangeMethod::MinMax, Scheme::Asymmetric);
  CHECK(e.scale[0] < widest.scale[0] / 2);
  CHECK(std::abs(e.zero_point[0] - 128) < 3);
  CHECK(encoded(drawn(Shape::Relu), RangeMethod::Entropy, Scheme::Shared).zero_point[0] == 0);
}

TEST_CASE("a value that is always the same is a code of its encoding") {
  for (const float x : {3.25F, -7.5F, 1e-3F, 0.0F, 1e30F})
    for (const Scheme scheme : kSchemes)
      for (const RangeMethod method : kMethods)
        for (const int bits : {8, 16}) {
          CAPTURE(x);
          CAPTURE(static_cast<int>(scheme));
          CAPTURE(bits);
          const Encoding e = encoded({x, x, x}, method, scheme, bits);
          CHECK(coded(x, e) == doctest::Approx(x));
          if (std::abs(x) >= 1e-3F) CHECK(e.scale[0] == doctest::Approx(std::abs(x) / (bits == 8 ? 127 : 32767)));
          CHECK(e.scale[0] * (bits == 8 ? 255 : 65535) >= 0.99e-4F);
        }
}

TEST_CASE("data that give no range are an error that names value and sample") {
  ValueStatistics s = seen({1, 2, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()});
  s.first_bad = "faces/7.npz";
  const Result<Encoding> bad = encode_range("conv/out", s, {}, Scheme::Shared, 8);
  CHECK(bad.status().kind() == StatusKind::InvalidInput);
  CHECK(bad.status().message() == "value 'conv/out': found 1 NaN and 2 infinite elements, first in sample 'faces/7.npz', wanted finite numbers");
  CHECK(encode_range("v", {}, {}, Scheme::Shared, 8).status().message() == "value 'v': found no element in the data, wanted one or more");
  CHECK(encode_range("v", seen({1, 2}), {}, Scheme::Shared, 12).status().kind() == StatusKind::Internal);
}

TEST_CASE("methods and schemes have names") {
  CHECK(range_choice("mse")->method == RangeMethod::Mse);
  CHECK(range_choice("minmax")->method == RangeMethod::MinMax);
  CHECK(range_choice("ema")->method == RangeMethod::Ema);
  CHECK(range_choice("entropy")->method == RangeMethod::Entropy);
  CHECK(range_choice("percentile")->percentile == 99.99);
  CHECK(range_choice("percentile=99.9")->percentile == 99.9);
  CHECK(range_choice("percentile=99.9")->method == RangeMethod::Percentile);
  CHECK(range_choice("percentile=50").status().message() == "found percentile 50, wanted more than 50, at most 100");
  CHECK(range_choice("kl").status().message() == "found range 'kl', wanted mse, minmax, ema, percentile, percentile=NUMBER or entropy");
  CHECK(range_choice("percentile=").status().kind() == StatusKind::Usage);
  CHECK(*scheme_named("shared") == Scheme::Shared);
  CHECK(*scheme_named("asymmetric") == Scheme::Asymmetric);
  CHECK(*scheme_named("symmetric") == Scheme::Symmetric);
  CHECK(scheme_named("tf").status().kind() == StatusKind::Usage);
}
