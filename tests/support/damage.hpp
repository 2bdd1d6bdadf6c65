// SPDX-License-Identifier: Apache-2.0
// tests/support: bytes that somebody or something has changed, for readers of what may be hostile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace optima::test {

/// A few bytes changed, cut off, repeated or taken out, more often near the ends, where headers and directories lie.
template <class Random>
std::string damaged(std::string bytes, Random& random) {
  for (uint64_t edits = 1 + random() % 4; edits > 0 && !bytes.empty(); --edits) {
    const size_t near = std::min<size_t>(bytes.size(), 100), ends[] = {random() % bytes.size(), random() % near, bytes.size() - 1 - random() % near};
    const size_t at = ends[random() % 3];
    switch (random() % 7) {
      case 0: bytes.resize(at); break;
      case 1: bytes.erase(at, random() % 16); break;
      case 2: bytes.insert(at, bytes.substr(at, random() % 64)); break;
      case 3: bytes[at] = '\xFF'; break;
      case 4: bytes[at] = "0123456789,():=#%\n\0"[random() % 19]; break;
      case 5: bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8); break;
      default: bytes[at] = static_cast<char>(random()); break;
    }
  }
  return bytes;
}

}  // namespace optima::test
