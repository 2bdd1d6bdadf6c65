// SPDX-License-Identifier: Apache-2.0
// tests/support: zip archives as NumPy writes them, and broken ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace optima::test {

inline std::string little(uint64_t n, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(n >> (8 * i));
  return out;
}

/// Of an archive.
struct Member {
  std::string name, packed;
  uint32_t crc = 0;
  uint64_t size = 0;
  int method = 0;
};

/// A zip archive of those members.
inline std::string zip(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& m : members) {
    const std::string common = little(m.method, 2) + little(0, 4) + little(m.crc, 4) + little(m.packed.size(), 4) + little(m.size, 4) + little(m.name.size(), 2) + little(0, 2);
    directory += "PK\1\2" + little(20, 2) + little(20, 2) + little(0, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(out.size(), 4) + m.name;
    out += "PK\3\4" + little(20, 2) + little(0, 2) + common + m.name + m.packed;
  }
  return out + directory + "PK\5\6" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) + little(directory.size(), 4) + little(out.size(), 4) + little(0, 2);
}

inline uint32_t crc_of(const std::string& s) {
  uint32_t c = ~0u;
  for (const char b : s) {
    c ^= static_cast<unsigned char>(b);
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
  }
  return ~c;
}

inline Member stored(const std::string& name, const std::string& bytes) { return {name, bytes, crc_of(bytes), bytes.size(), 0}; }

/// The same through deflate's "stored" block, the simplest valid stream.
inline Member deflated(const std::string& name, const std::string& bytes) {
  return {name, "\x01" + little(bytes.size(), 2) + little(~bytes.size() & 0xFFFF, 2) + bytes, crc_of(bytes), bytes.size(), 8};
}

}  // namespace optima::test
