// SPDX-License-Identifier: Apache-2.0
#include "core/observe/observations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "core/support/text.hpp"
#include "core/tensor_io/half.hpp"

using namespace optima;

namespace {

using Random = std::mt19937_64;

Tensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  Tensor t = *Tensor::make(OPTIMA_F32, std::move(shape));
  std::memcpy(t.data, values.data(), t.size);
  return t;
}

Tensor noise(Random& random, std::vector<int64_t> shape, int exponent = 0) {
  Tensor t = *Tensor::make(OPTIMA_F32, std::move(shape));
  std::normal_distribution<float> normal(0.1f, 1);
  for (float& x : t.as<float>()) x = std::ldexp(normal(random), exponent);
  return t;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

const ValueStatistics& of(const Observations& all, const std::string& name = "v") {
  REQUIRE(all.find(name));
  return *all.find(name);
}

}  // namespace

TEST_CASE("each sample's extremes move the average by a hundredth, the first one sets it") {
  Observations seen({{"v"}});
  REQUIRE(seen.add(0, floats({2}, {-1, 2}), "a").ok());
  CHECK(of(seen).moving_min == -1);
  CHECK(of(seen).moving_max == 2);
  REQUIRE(seen.add(0, floats({3}, {-3, 0, 4}), "b").ok());
  CHECK(of(seen).moving_min == doctest::Approx(-1.02));
  CHECK(of(seen).moving_max == doctest::Approx(2.02));
  CHECK(of(seen).samples == 2);
  CHECK(of(seen).histogram.count() == 5);
  CHECK(!seen.find("w"));
}

TEST_CASE("channels are summed and bounded along their axis, wherever it lies") {
  // 2 x 3 x 2: channel c holds 10 c + {1, 2, 3, -4}
  std::vector<float> values;
  for (const float pair : {0.0f, 1.0f})
    for (const float c : {0.0f, 10.0f, 20.0f})
      for (const float x : {1.0f, 2.0f}) values.push_back(c + (pair > 0 ? (x > 1 ? -4 : 3) : x));
  Observations middle({{"v", 1}}), last({{"v", 1}});
  REQUIRE(middle.add(0, floats({2, 3, 2}, values), "a").ok());
  CHECK(of(middle).channel_sum == std::vector<double>{2, 42, 82});
  CHECK(of(middle).channel_max == std::vector<float>{4, 13, 23});
  CHECK(of(middle).per_channel == 4);
  CHECK(of(middle).channel_mean(1) == 10.5);
  REQUIRE(last.add(0, floats({2, 3}, {1, -5, 2, 3, 4, -7}), "a").ok());
  CHECK(of(last).channel_sum == std::vector<double>{4, -1, -5});
  CHECK(of(last).channel_max == std::vector<float>{3, 5, 7});
  CHECK(of(last).per_channel == 2);
}

TEST_CASE("XtX is that of all positions, for channels in the middle and at the end") {
  Random random(4);
  const Tensor t = noise(random, {2, 5, 13});  // as 2 x 5 channels x 13 positions
  Tensor turned = *Tensor::make(OPTIMA_F32, {2, 13, 5});
  for (size_t n = 0; n < 2; ++n)
    for (size_t c = 0; c < 5; ++c)
      for (size_t p = 0; p < 13; ++p) turned.as<float>()[(n * 13 + p) * 5 + c] = t.as<float>()[(n * 5 + c) * 13 + p];
  Observations middle({{"v", 1, true}}), last({{"v", 2, true}});
  for (int twice = 0; twice < 2; ++twice) {
    REQUIRE(middle.add(0, t, "a").ok());
    REQUIRE(last.add(0, turned, "a").ok());
  }
  CHECK(same_bytes(of(middle).gram, of(last).gram));
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 5; ++j) {
      double wanted = 0;
      for (size_t row = 0; row < 26; ++row) wanted += 2.0 * turned.as<float>()[row * 5 + i] * turned.as<float>()[row * 5 + j];
      CHECK(of(last).gram[i * 5 + j] == doctest::Approx(wanted).epsilon(1e-12));
    }
}

TEST_CASE("sums of channels have the same bytes in any order of samples and over any shards, however much is lost in plain doubles") {
  Random random(5);
  std::vector<Tensor> samples;
  for (int i = 0; i < 60; ++i) samples.push_back(noise(random, {1, 4, 37}, static_cast<int>(random() % 200) - 100));
  samples.push_back(floats({1, 4, 1}, {FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, -FLT_TRUE_MIN}));
  Observations in_order({{"v", 1}});
  for (const Tensor& t : samples) REQUIRE(in_order.add(0, t, "s").ok());
  for (int round = 0; round < 5; ++round) {
    std::shuffle(samples.begin(), samples.end(), random);
    std::vector<Observations> shards(3, Observations({{"v", 1}}));
    for (const Tensor& t : samples) REQUIRE(shards[random() % 3].add(0, t, "s").ok());
    Observations merged({{"v", 1}});
    for (const Observations& shard : shards) merged.merge(shard);
    CHECK(same_bytes(of(merged).channel_sum, of(in_order).channel_sum));
    CHECK(same_bytes(of(merged).channel_max, of(in_order).channel_max));
    CHECK(of(merged).per_channel == of(in_order).per_channel);
    CHECK(of(merged).histogram == of(in_order).histogram);
  }
}

TEST_CASE("exact sums are right to the last bit where doubles are not") {
  ExactSum sum;
  for (const double x : {1e30, 1.0, -1e30, 0x1p-149, -3.0, 5e37, -5e37}) sum.add(x);
  CHECK(sum.value() == -2.0);
  sum.add(2.0);
  CHECK(sum.value() == 0x1p-149);
  sum.add(-0x1p-148);
  CHECK(sum.value() == -0x1p-149);
  Random random(6);
  ExactSum integers;
  int64_t wanted = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<int64_t>(random() >> 24) - (int64_t{1} << 39);
    integers.add(static_cast<double>(x));
    wanted += x;
    if (i % 1000 == 0) CHECK(integers.value() == static_cast<double>(wanted));
  }
  CHECK(integers.value() == static_cast<double>(wanted));
}

TEST_CASE("shards that are merged in order are the same as one, moving averages included") {
  Random random(7);
  Observations one({{"v", 1, true}, {"w"}}), first({{"v", 1, true}, {"w"}}), second({{"v", 1, true}, {"w"}});
  for (int i = 0; i < 20; ++i)
    for (size_t tap = 0; tap < 2; ++tap) {
      const Tensor t = noise(random, {3, 4}, i % 5);
      REQUIRE(one.add(tap, t, cat(i)).ok());
      REQUIRE((i < 8 ? first : second).add(tap, t, cat(i)).ok());
    }
  one.samples = 20, first.samples = 8, second.samples = 12;
  Observations empty({{"v", 1, true}, {"w"}});
  empty.merge(first);
  empty.merge(second);
  CHECK(empty.samples == one.samples);
  for (const char* name : {"v", "w"}) {
    CHECK(of(empty, name).moving_min == of(one, name).moving_min);
    CHECK(of(empty, name).moving_max == of(one, name).moving_max);
    CHECK(of(empty, name).samples == 20);
  }
}

TEST_CASE("samples that came in another order have the moving averages of their own order once it is said") {
  Random random(8);
  std::vector<Tensor> samples;
  for (int i = 0; i < 10; ++i) samples.push_back(noise(random, {16}, i % 3));
  Observations in_order({{"v"}}), mixed({{"v"}});
  for (const Tensor& t : samples) REQUIRE(in_order.add(0, t, "s").ok());
  std::vector<uint64_t> place(10);
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), random);
  for (const uint64_t p : place) REQUIRE(mixed.add(0, samples[p], "s").ok());
  CHECK(of(mixed).moving_max != of(in_order).moving_max);
  mixed.reorder(place);
  CHECK(of(mixed).moving_max == of(in_order).moving_max);
  CHECK(of(mixed).moving_min == of(in_order).moving_min);
}

TEST_CASE("NaN and infinity are counted and named by their first sample, and are in no other figure") {
  Observations seen({{"v", 0}});
  REQUIRE(seen.add(0, floats({2}, {1, -2}), "good.npz").ok());
  REQUIRE(seen.add(0, floats({2}, {NAN, 5}), "bad.npz").ok());
  REQUIRE(seen.add(0, floats({2}, {INFINITY, -INFINITY}), "worse.npz").ok());
  CHECK(of(seen).first_bad == "bad.npz");
  CHECK(of(seen).histogram.nans() == 1);
  CHECK(of(seen).histogram.infinities() == 2);
  CHECK(of(seen).histogram.count() == 3);
  CHECK(of(seen).moving_max == doctest::Approx(1 + 0.01 * 4));
  CHECK(of(seen).channel_sum == std::vector<double>{1, 3});
}

TEST_CASE("all four float types are read, other types and changed channels are refused by sample and value") {
  Observations seen({{"v", 1}});
  for (const int32_t dtype : {OPTIMA_F16, OPTIMA_BF16, OPTIMA_F64, OPTIMA_F32}) {
    Tensor t = *Tensor::make(dtype, {1, 2});
    for (size_t i = 0; i < 2; ++i) {
      const float x = i ? -0.5f : 3;
      if (dtype == OPTIMA_F16) t.as<uint16_t>()[i] = half_of(x);
      if (dtype == OPTIMA_BF16) t.as<uint16_t>()[i] = bfloat_of(x);
      if (dtype == OPTIMA_F64) t.as<double>()[i] = x;
      if (dtype == OPTIMA_F32) t.as<float>()[i] = x;
    }
    REQUIRE(seen.add(0, t, "s").ok());
  }
  CHECK(of(seen).channel_sum == std::vector<double>{12, -2});
  CHECK(seen.add(0, *Tensor::make(OPTIMA_I64, {1, 2}), "ids.npz").message() ==
        "sample 'ids.npz': value 'v': found int64, wanted float32, float16, bfloat16 or float64");
  CHECK(seen.add(0, *Tensor::make(OPTIMA_F32, {1, 3}), "s").message() == "sample 's': value 'v': found 3 channels along axis 1, wanted 2 as in the samples before");
  CHECK(seen.add(0, *Tensor::make(OPTIMA_F32, {7}), "s").message() == "sample 's': value 'v': found shape 7, wanted channels along axis 1");
  CHECK(of(seen).samples == 4);
}
