// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: what has to be looked at before stb_image 2.27 may decode a JPEG. C++17 and the standard library alone: the examples include it, too.
#pragma once

#include <algorithm>
#include <string_view>

namespace optima::stb {

/// Whether the Huffman tables of a DHT segment (ITU-T T.81, B.2.4.2), which begins at its length, hold at most 256 codes each. stb_image 2.27
/// counts no further and writes past its tables when there are more.
inline bool are_sound_tables(std::string_view segment) {
  const auto at = [&](size_t i) { return i < segment.size() ? static_cast<unsigned char>(segment[i]) : 0; };
  int left = at(0) << 8 | at(1);
  left -= 2;
  for (size_t table = 2; left > 0;) {
    int codes = 0;
    for (size_t length = 1; length <= 16; ++length) codes += at(table + length);
    if (codes > 256) return false;
    table += 17 + static_cast<size_t>(codes);
    left -= 17 + codes;
  }
  return true;
}

/// True for what is no JPEG. Looks at every place where a decoder could see a DHT marker: segments before the first scan are stepped over by their
/// lengths, as they may hold other pictures; from the first scan on, or from where the lengths do not add up, every such pair of bytes counts.
inline bool has_sound_tables(std::string_view file) {
  const auto at = [&](size_t i) { return i < file.size() ? static_cast<unsigned char>(file[i]) : 0u; };
  if (at(0) != 0xFF || at(1) != 0xD8) return true;
  bool in_segments = true;
  for (size_t i = 2; i + 1 < file.size();) {
    if (at(i) != 0xFF || at(i + 1) == 0xFF) {
      in_segments = in_segments && at(i) == 0xFF;
      ++i;
      continue;
    }
    const unsigned marker = at(i + 1);
    if (marker == 0xC4 && !are_sound_tables(file.substr(std::min(i + 2, file.size())))) return false;
    in_segments = in_segments && marker >= 0xC0 && marker != 0xDA && (marker < 0xD0 || marker > 0xD9);
    i += 2;
    if (in_segments) i += std::max(at(i) << 8 | at(i + 1), 2u);
  }
  return true;
}

}  // namespace optima::stb
