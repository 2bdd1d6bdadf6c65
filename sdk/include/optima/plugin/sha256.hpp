// SPDX-License-Identifier: Apache-2.0
// optima/plugin/sha256.hpp: SHA-256 (FIPS 180-4) of bytes, for files of which an artifact says what they are. Not included by plugin.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace optima::sdk {
inline namespace v0_1 {

namespace detail {
inline constexpr uint32_t kSha256Rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
inline constexpr uint32_t kSha256Begin[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

inline uint32_t turned_right(uint32_t x, int by) { return x >> by | x << (32 - by); }

/// Section 6.2.2 for blocks of 64 bytes each; `s`: the eight words of the hash so far.
inline void sha256_blocks(uint32_t* s, const uint8_t* p, size_t blocks) {
  for (; blocks; --blocks, p += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) w[i] = uint32_t{p[4 * i]} << 24 | uint32_t{p[4 * i + 1]} << 16 | uint32_t{p[4 * i + 2]} << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = turned_right(w[i - 15], 7) ^ turned_right(w[i - 15], 18) ^ w[i - 15] >> 3;
      const uint32_t b = turned_right(w[i - 2], 17) ^ turned_right(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    uint32_t v[8];
    std::copy_n(s, 8, v);
    for (int i = 0; i < 64; ++i) {
      const uint32_t e = turned_right(v[4], 6) ^ turned_right(v[4], 11) ^ turned_right(v[4], 25);
      const uint32_t t1 = v[7] + e + ((v[4] & v[5]) ^ (~v[4] & v[6])) + kSha256Rounds[i] + w[i];
      const uint32_t a = turned_right(v[0], 2) ^ turned_right(v[0], 13) ^ turned_right(v[0], 22);
      const uint32_t t2 = a + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      std::copy_backward(v, v + 7, v + 8);
      v[4] += t1;
      v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) s[i] += v[i];
  }
}
}  // namespace detail

/// Two lower-case hexadecimal digits for each byte.
inline std::string hex_text(const uint8_t* bytes, size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (size_t k = 0; k < count; ++k) out += digits[bytes[k] >> 4], out += digits[bytes[k] & 15];
  return out;
}

/// The hash as the seam has it in `sha256` members.
inline std::array<uint8_t, 32> sha256_of(std::string_view bytes) {
  uint32_t s[8];
  std::copy_n(detail::kSha256Begin, 8, s);
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t whole = bytes.size() / 64, rest = bytes.size() % 64;
  detail::sha256_blocks(s, p, whole);
  uint8_t last[128] = {};  // what is left, a bit, zeros, the length in bits
  if (rest > 0) std::memcpy(last, p + whole * 64, rest);
  last[rest] = 0x80;
  const size_t blocks = rest < 56 ? 1 : 2;
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < 8; ++i) last[blocks * 64 - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  detail::sha256_blocks(s, last, blocks);
  std::array<uint8_t, 32> out{};
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(s[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

/// The same as 64 hexadecimal digits.
inline std::string sha256_text(std::string_view bytes) {
  const std::array<uint8_t, 32> hash = sha256_of(bytes);
  return hex_text(hash.data(), hash.size());
}

}  // namespace v0_1
}  // namespace optima::sdk
