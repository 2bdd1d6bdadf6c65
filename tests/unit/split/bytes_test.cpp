// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/split/bytes_sweep.hpp"
#include "core/split/bytes_windows.hpp"
#include "tests/support/split_families.hpp"

using namespace optima;
using namespace optima::test;

namespace {
constexpr uint64_t A = 1, B = 2;

// What crosses, each tensor once per reading part; on its own, not with the splitter's arithmetic.
uint64_t bytes_of(const SplitBuilder& b, const std::vector<uint32_t>& part) {
  uint64_t sum = 0;
  for (uint32_t u = 0; u < part.size(); ++u)
    for (uint32_t at = 0; at <= part.size(); ++at) {
      const auto reads_there = [&](uint32_t w) { return part[w] == at; };
      if (at != part[u] && std::any_of(b.readers[u].begin(), b.readers[u].end(), reads_there)) sum += b.bytes[u];
    }
  return sum;
}

// Tries every legal way to put units with given devices into the parts of a sequence.
struct LeastBytes {
  const SplitBuilder& b;
  const std::vector<uint32_t>& sequence;
  const std::vector<uint32_t>& device;
  std::vector<uint32_t> part = std::vector<uint32_t>(b.allow.size(), 0);
  uint64_t least = UINT64_MAX;

  uint64_t find(uint32_t u = 0) {
    if (u == part.size()) return least = std::min(least, bytes_of(b, part));
    uint32_t from = 0;
    for (uint32_t p = 0; p < u; ++p)
      if (std::count(b.readers[p].begin(), b.readers[p].end(), u)) from = std::max(from, part[p]);
    for (uint32_t at = from; at < sequence.size(); ++at)
      if (sequence[at] == device[u]) part[u] = at, find(u + 1);
    return least;
  }
};

std::vector<uint32_t> devices_of(const Split& s) {
  std::vector<uint32_t> out;
  for (uint32_t at : s.part) out.push_back(s.devices[at]);
  return out;
}

size_t most_parts_of_one_device(const std::vector<uint32_t>& sequence) {
  std::ptrdiff_t most = 0;
  for (uint32_t d : sequence) most = std::max(most, std::count(sequence.begin(), sequence.end(), d));
  return static_cast<size_t>(most);
}

}  // namespace

TEST_CASE("a chain moves to a later part although no unit of it gains alone") {
  SplitBuilder b;
  for (uint64_t mask : {A, A, A, B, A}) b.add(mask);
  b.bytes = {1, 100, 100, 1, 1};
  b.edge(0, 1), b.edge(1, 2), b.edge(2, 4), b.edge(0, 3), b.edge(3, 4);
  const Split s = split(b.build(2));
  CHECK(s.part == std::vector<uint32_t>{0, 2, 2, 1, 2});
  CHECK(s.bytes == 3);
}

TEST_CASE("units of both devices move together when none gains alone") {
  SplitBuilder b;  // parts A B A B; x and y could be in either part of their device
  const uint32_t a0 = b.add(A, 1), b1 = b.add(B, 1), a2 = b.add(A, 1), b3 = b.add(B, 1);
  b.edge(a0, b1), b.edge(b1, a2), b.edge(a2, b3);
  const uint32_t x = b.add(A, 50), y = b.add(B, 50), z = b.add(B, 1);
  b.edge(x, y), b.edge(x, z), b.edge(y, z), b.edge(b3, z);
  const Split s = split(b.build(2));
  CHECK(s.devices.size() == 4);
  CHECK(s.part[y] == s.part[z]);
  CHECK(s.bytes == LeastBytes{b, s.devices, devices_of(s)}.find());
}

TEST_CASE("where no device has more than two parts, the bytes are the least there are") {
  Random random(21);
  int tried = 0;
  for (int i = 0; i < 12000; ++i) {
    const Family& family = kFamilies[i % kFamilies.size()];
    const uint32_t devices = 2 + below(random, 3);
    const SplitBuilder b = i % 2 ? random_dag(random, 4 + below(random, 6), devices, 15 + below(random, 40)) : family.make(random, 9, devices);
    if (b.allow.size() > 11) continue;
    const Split s = split(b.build(devices));
    CHECK(s.bytes == bytes_of(b, s.part));
    if (most_parts_of_one_device(s.devices) != 2) continue;
    ++tried;
    CHECK(s.bytes == LeastBytes{b, s.devices, devices_of(s)}.find());
  }
  CHECK(tried > 2000);
}

TEST_CASE("of all plans with the fewest parts, two pinned devices, at most four parts: the least bytes") {
  Random random(22);
  int tried = 0;
  for (int i = 0; i < 6000; ++i) {
    SplitBuilder b = random_dag(random, 5 + below(random, 5), 2, 15 + below(random, 30));
    for (uint64_t& mask : b.allow) mask = below(random, 2) ? A : B;
    const Split s = split(b.build(2));
    if (s.devices.size() < 3 || s.devices.size() > 4) continue;
    ++tried;
    uint64_t least = UINT64_MAX;
    for (uint32_t start : {0u, 1u}) {
      std::vector<uint32_t> sequence;
      for (uint32_t at = 0; at < s.devices.size(); ++at) sequence.push_back((start + at) % 2);
      least = std::min(least, LeastBytes{b, sequence, devices_of(s)}.find());
    }
    CHECK(s.bytes == least);
  }
  CHECK(tried > 1000);
}

TEST_CASE("longer plans come near the least bytes") {
  Random random(23);
  int exact = 0, tried = 0;
  double excess = 0, worst = 0;
  for (int i = 0; i < 3000; ++i) {
    SplitBuilder b = random_dag(random, 13, 2, 15 + below(random, 15));
    for (uint64_t& mask : b.allow) mask = below(random, 2) ? A : B;
    const Split s = split(b.build(2));
    if (s.devices.size() < 5) continue;
    const uint64_t least = LeastBytes{b, s.devices, devices_of(s)}.find();
    CHECK(s.bytes >= least);
    const double gap = static_cast<double>(s.bytes - least) / static_cast<double>(least);
    ++tried, exact += gap == 0, excess += gap, worst = std::max(worst, gap);
  }
  MESSAGE("least bytes in ", exact, " of ", tried, " plans of five parts and more; excess ", 100 * excess / tried, " %, at worst ", 100 * worst, " %");
  CHECK(exact > tried * 0.98);
  CHECK(excess < tried * 0.001);
}

TEST_CASE("neither the sweep nor the cuts raise what crosses, and both lower it") {
  Random random(8);
  int lowered = 0, cut = 0;
  for (int i = 0; i < 500; ++i) {
    const SplitBuilder b = random_dag(random, 40, 2, 8);
    const SplitProblem p = b.build(2);
    std::vector<uint32_t> part(p.units(), 0), sequence;  // the plain alternation, each unit as early as it can run
    for (uint32_t u = 0; u < p.units(); ++u) {
      while (!(p.allow[u] >> (part[u] % 2) & 1)) ++part[u];
      while (sequence.size() <= part[u]) sequence.push_back(sequence.size() % 2);
      for (uint32_t w : b.readers[u]) part[w] = std::max(part[w], part[u]);
    }
    const uint64_t before = detail::crossing_bytes(p, part);
    if (sequence.size() < 3) continue;
    const detail::Reads reads(p);
    detail::sweep_bytes(p, reads, sequence, part);
    const uint64_t swept = detail::crossing_bytes(p, part);
    detail::cut_bytes(p, reads, sequence, part);
    const uint64_t after = detail::crossing_bytes(p, part);
    CHECK(after <= swept);
    CHECK(swept <= before);
    lowered += swept < before, cut += after < swept;
    const std::string wrong = wrong_with({sequence, part, 0, 0, 0}, p);
    CHECK((wrong.empty() || wrong == "empty part"));
  }
  CHECK(cut > 10);
  CHECK(lowered > 250);
}
