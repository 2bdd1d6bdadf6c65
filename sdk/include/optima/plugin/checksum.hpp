// SPDX-License-Identifier: Apache-2.0
// optima/plugin/checksum.hpp: a fast sum over the files of an artifact, for compat records. Not included by plugin.hpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "optima/plugin/error.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// 64 bits over any bytes, at memory speed: four multiply-rotate lanes. Finds damage, not forgery: the package has each file's
/// SHA-256 and checks it before the plugin sees a byte, so this one is for users of the bare seam, within check_artifact's 50 ms.
class Checksum {
 public:
  void add(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    for (; size > 0 && size_ % 32 != 0; --size) {
      rest_[size_++ % 32] = *p++;
      if (size_ % 32 == 0) block(rest_);
    }
    for (; size >= 32; size -= 32, p += 32, size_ += 32) block(p);
    for (; size > 0; --size) rest_[size_++ % 32] = *p++;
  }
  uint64_t value() const {
    Checksum last = *this;
    if (size_ % 32 != 0) {
      std::memset(last.rest_ + size_ % 32, 0, 32 - size_ % 32);
      last.block(last.rest_);
    }
    uint64_t h = size_;
    for (uint64_t lane : last.lanes_) h = (rotate(h ^ lane, 31) ^ lane >> 32) * 0xc2b2ae3d27d4eb4fu;
    return h ^ h >> 29;
  }
  /// Bytes so far.
  uint64_t size() const { return size_; }

 private:
  static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }
  void block(const uint8_t* p) {
    for (int k = 0; k < 4; ++k) {
      uint64_t w;
      std::memcpy(&w, p + 8 * k, 8);
      lanes_[k] = rotate(lanes_[k] ^ w, 29) * 0x9e3779b97f4a7c15u + 0x52dce729u;
    }
  }
  uint64_t lanes_[4] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0x85ebca77c2b2ae63u};
  uint64_t size_ = 0;
  uint8_t rest_[32] = {};
};

inline Checksum checksum_of(std::string_view bytes) {
  Checksum c;
  c.add(bytes.data(), bytes.size());
  return c;
}

/// A sum as records and messages have it: 16 hexadecimal digits.
inline std::string sum_text(uint64_t sum) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

/// Throws IO when the file cannot be read.
inline Checksum checksum_of_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (!file) throw Error(OPTIMA_IO, "file '" + path + "' cannot be read");
  std::vector<char> buffer(1 << 20);
  Checksum c;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) c.add(buffer.data(), n);
  const bool whole = std::ferror(file) == 0;
  std::fclose(file);
  if (!whole) throw Error(OPTIMA_IO, "file '" + path + "' cannot be read");
  return c;
}

}  // namespace v0_1
}  // namespace optima::sdk
