// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/tensor_io/compare.hpp"

using namespace optima;

namespace {

Tensor of(std::initializer_list<float> values) {
  Tensor t = *Tensor::make(OPTIMA_F32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.as<float>().begin());
  t.name = "t";
  return t;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("equal tensors are within tolerance with infinite signal to noise") {
  const auto c = compare_tensors(of({1, 2, 3}), of({1, 2, 3}));
  REQUIRE(c.ok());
  CHECK(c->cosine == doctest::Approx(1));
  CHECK(std::isinf(c->snr_db));
  CHECK(c->within);
  CHECK(c->share_within == 1);
}

TEST_CASE("the default tolerance is 1e-4 of the largest wanted magnitude") {
  const auto near = compare_tensors(of({100.009f, 0}), of({100, 0}));
  CHECK(near->within);
  CHECK(near->scale == 100);
  CHECK(near->atol == doctest::Approx(0.01));
  const auto far = compare_tensors(of({100, 0.02f}), of({100, 0}));
  CHECK_FALSE(far->within);
  CHECK(far->share_within == 0.5);
  CHECK(far->max_abs == doctest::Approx(0.02));
  CHECK(far->max_rel == 0);
}

TEST_CASE("given tolerances add up as atol + rtol * |wanted|") {
  CHECK(compare_tensors(of({10.5f}), of({10}), {0.1, 0.05})->within);
  CHECK_FALSE(compare_tensors(of({10.7f}), of({10}), {0.1, 0.05})->within);
  CHECK_FALSE(compare_tensors(of({1e-6f}), of({0}), {0, 0})->within);
}

TEST_CASE("cosine and signal to noise follow their definitions") {
  const auto c = compare_tensors(of({1, 0}), of({1, 1}));
  CHECK(c->cosine == doctest::Approx(std::sqrt(0.5)));
  CHECK(c->snr_db == doctest::Approx(10 * std::log10(2.0)));
  CHECK(compare_tensors(of({0, 0}), of({0, 0}))->cosine == 1);
  CHECK(compare_tensors(of({1, 0}), of({0, 0}))->cosine == 0);
}

TEST_CASE("NaN equals NaN, an infinity equals itself, and both are counted") {
  const auto same = compare_tensors(of({kNan, kInf, -kInf, 1}), of({kNan, kInf, -kInf, 1}));
  CHECK(same->within);
  CHECK(same->nan_got == 1);
  CHECK(same->inf_wanted == 2);
  const auto different = compare_tensors(of({kNan, kInf, 1}), of({1, -kInf, kNan}));
  CHECK_FALSE(different->within);
  CHECK(different->share_within == 0);
  CHECK(to_line(*different).find("nan 1/1  inf 1/1") != std::string::npos);
}

TEST_CASE("tensors of other types or shapes are not compared") {
  CHECK(compare_tensors(of({1, 2}), of({1})).status().message() == "tensor 't': found float32 2, wanted float32 1");
  CHECK(compare_tensors(*Tensor::make(OPTIMA_F64, {1}), of({1})).status().kind() == StatusKind::InvalidInput);
}
