// SPDX-License-Identifier: Apache-2.0
#include "python/binding/checksum.hpp"

#include <array>
#include <cstring>

namespace optima::python {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
constexpr size_t kLanes = 8;

uint64_t word_at(const unsigned char* bytes, size_t size = 8) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

uint64_t mixed(uint64_t x, uint64_t word) { return (x + word) * kOdd; }

}  // namespace

uint64_t checksum(const void* bytes, size_t size, uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::array<uint64_t, kLanes> lanes{};
  uint64_t out = mixed(seed, size);
  for (; size >= kLanes * 8; at += kLanes * 8, size -= kLanes * 8)
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], word_at(at + i * 8));
  for (const uint64_t lane : lanes) out = mixed(out ^ (out >> 32), lane);
  for (; size >= 8; at += 8, size -= 8) out = mixed(out, word_at(at));
  return size > 0 ? mixed(out, word_at(at, size)) : out;
}

}  // namespace optima::python
