// SPDX-License-Identifier: Apache-2.0
// Histograms against two passes over the data in long double, over shuffled data, and over data that threads shared.
#include "core/observe/histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/support/threads.hpp"

using namespace optima;

namespace {

using Random = std::mt19937_64;

/// The definition: the least width that fits all, then floor(x / width).
struct TwoPasses {
  int exponent = -126;
  float low = 0, high = 0;
  uint64_t count = 0, nans = 0, infinities = 0;
  std::vector<uint64_t> bins = std::vector<uint64_t>(Histogram::kBins);

  explicit TwoPasses(const std::vector<float>& data) {
    for (const float x : data) {
      if (std::isnan(x) || std::isinf(x)) {
        ++(std::isnan(x) ? nans : infinities);
        continue;
      }
      low = count ? std::min(low, x) : x, high = count ? std::max(high, x) : x;
      ++count;
    }
    while (std::floor(std::ldexp(static_cast<long double>(low), -exponent)) < -2048 || std::floor(std::ldexp(static_cast<long double>(high), -exponent)) > 2047)
      ++exponent;
    for (const float x : data)
      if (std::isfinite(x)) ++bins[static_cast<size_t>(std::floor(std::ldexp(static_cast<long double>(x), -exponent)) + 2048)];
  }
};

void check_same(const Histogram& h, const std::vector<float>& data) {
  const TwoPasses wanted(data);
  CHECK(h.count() == wanted.count);
  CHECK(h.nans() == wanted.nans);
  CHECK(h.infinities() == wanted.infinities);
  CHECK(h.min() == wanted.low);
  CHECK(h.max() == wanted.high);
  CHECK(h.exponent() == wanted.exponent);
  CHECK(h.width() == std::ldexp(1.0, wanted.exponent));
  CHECK(std::equal(h.bins().begin(), h.bins().end(), wanted.bins.begin()));
}

bool same_bytes(const Histogram& a, const Histogram& b) {
  return std::memcmp(&a.bins(), &b.bins(), sizeof a.bins()) == 0 && a.count() == b.count() && a.exponent() == b.exponent() && a.nans() == b.nans() &&
         a.infinities() == b.infinities() && std::signbit(a.min()) == std::signbit(b.min()) && std::signbit(a.max()) == std::signbit(b.max()) && a == b;
}

/// In parts of random length, in the given order.
Histogram of(const std::vector<float>& data, Random& random) {
  Histogram h;
  for (size_t at = 0; at < data.size();) {
    const size_t count = std::min(data.size() - at, static_cast<size_t>(random() % (random() % 4 ? 300 : 200000)));
    h.add(std::span(data).subspan(at, count));
    at += count;
  }
  return h;
}

/// Every kind of data that has its own way through: name and values.
std::vector<std::pair<const char*, std::vector<float>>> families(Random& random) {
  std::vector<std::pair<const char*, std::vector<float>>> out;
  const auto make = [&](const char* name, size_t count, auto&& f) {
    std::vector<float>& data = out.emplace_back(name, std::vector<float>(count)).second;
    for (float& x : data) x = f();
  };
  std::normal_distribution<float> normal(0.3f, 2);
  std::uniform_real_distribution<float> even(-1, 1);
  make("normal", 300001, [&] { return normal(random); });
  make("behind a ReLU", 200000, [&] { return std::max(0.0f, normal(random)); });
  make("any bits", 100000, [&] { uint32_t bits = static_cast<uint32_t>(random()); float x; std::memcpy(&x, &bits, 4); return x; });
  make("finite bits", 100000, [&] { uint32_t bits = static_cast<uint32_t>(random()) & 0xBFFFFFFF; float x; std::memcpy(&x, &bits, 4); return x; });
  make("denormals", 70000, [&] { return std::ldexp(even(random), -127); });
  make("growing", 50000, [&, n = 0]() mutable { return std::ldexp(even(random), -140 + n++ / 200); });
  make("huge and tiny", 50000, [&] { return random() % 2 ? FLT_MAX : random() % 2 ? -FLT_TRUE_MIN : -1e-40f; });
  make("powers of two", 50000, [&] { return std::ldexp(random() % 2 ? -1.0f : 1.0f, static_cast<int>(random() % 250) - 125); });
  make("zeros of both signs", 20000, [&] { return random() % 2 ? 0.0f : -0.0f; });
  make("a constant", 20000, [&] { return -1.75f; });
  make("few", 5, [&] { return even(random); });
  make("none", 0, [&] { return 0.0f; });
  make("NaN and infinities alone", 9, [&] { return random() % 2 ? NAN : -INFINITY; });
  return out;
}

}  // namespace

TEST_CASE("a histogram of one pass is that of two passes, whatever the data, its order and its parts") {
  Random random(1);
  for (auto& [name, data] : families(random)) {
    CAPTURE(name);
    Histogram whole;
    whole.add(data);
    check_same(whole, data);
    const Histogram in_parts = of(data, random);
    CHECK(same_bytes(in_parts, whole));
    std::shuffle(data.begin(), data.end(), random);
    CHECK(same_bytes(of(data, random), whole));
    std::sort(data.begin(), data.end(), [](float a, float b) { return std::isnan(b) ? !std::isnan(a) : std::fabs(a) < std::fabs(b); });
    CHECK(same_bytes(of(data, random), whole));
  }
}

TEST_CASE("merged histograms are those of all the data, in any order of merging") {
  Random random(2);
  for (const auto& [name, data] : families(random)) {
    CAPTURE(name);
    Histogram whole;
    whole.add(data);
    std::vector<Histogram> parts(7);
    for (size_t i = 0; i < data.size(); ++i) parts[random() % 6].add(std::span(data).subspan(i, 1));
    std::shuffle(parts.begin(), parts.end(), random);  // one of them is empty
    Histogram merged;
    for (const Histogram& part : parts) merged.merge(part);
    CHECK(same_bytes(merged, whole));
  }
}

TEST_CASE("threads that share the data in any way give the same bytes together") {
  Random random(3);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> data(400000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = std::ldexp(normal(random), static_cast<int>(i / 20000));
  Histogram whole;
  whole.add(data);
  std::vector<Histogram> shards(4);
  std::atomic<size_t> next = 0, shard = 0;
  const Status done = run_on_threads(4, [&]() -> Status {
    Histogram& mine = shards[shard++];
    for (size_t i; (i = next++) < 400;) mine.add(std::span(data).subspan(i * 1000, 1000));
    return {};
  });
  REQUIRE(done.ok());
  Histogram merged;
  for (const Histogram& part : shards) merged.merge(part);
  CHECK(same_bytes(merged, whole));
}

TEST_CASE("the ends of a range go into the first and the last bin, and one step further makes bins twice as wide") {
  Histogram h;
  h.add(std::vector<float>{-2048, std::nextafter(2048.0f, 0.0f), -0.5f, 0.5f});
  CHECK(h.exponent() == 0);
  CHECK(h.bins()[0] == 1);
  CHECK(h.bins()[4095] == 1);
  CHECK(h.bins()[2047] == 1);
  CHECK(h.bins()[2048] == 1);
  h.add(std::vector<float>{2048});
  CHECK(h.exponent() == 1);
  CHECK(h.bins()[1024] == 1);
  CHECK(h.bins()[3071] == 1);
  CHECK(h.bins()[3072] == 1);
}
