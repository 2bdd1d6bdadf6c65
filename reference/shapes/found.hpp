// SPDX-License-Identifier: Apache-2.0
// reference/shapes: numbers of things, found by what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optima::reference {

/// A mixing step of a hash: the multiplier is 2^64 divided by the golden ratio.
inline uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

/// Forgets in no time to speak of, and asks for memory once: it is cleared for every walk. What it has no room for it does not find.
class Found {
 public:
  /// Forgets all; then there is room for `most` numbers.
  void clear(size_t most) {
    size_t size = 4;
    while (size < 2 * most) size *= 2;
    slots_.assign(size, Slot());
    left_ = size / 2;
  }

  /// The first number that was put in under this hash of which is(number) holds; else `number`, which is put in.
  template <class Is>
  uint32_t find_or_put(uint64_t hash, uint32_t number, Is is) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask; left_ > 0; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.number == kNone) {
        slot = {static_cast<uint32_t>(hash >> 32), number};
        --left_;
        break;
      }
      if (slot.hash == static_cast<uint32_t>(hash >> 32) && is(slot.number)) return slot.number;
    }
    return number;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Slot {
    uint32_t hash = 0, number = kNone;
  };
  std::vector<Slot> slots_;
  size_t left_ = 0;
};

}  // namespace optima::reference
