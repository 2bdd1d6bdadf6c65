// SPDX-License-Identifier: Apache-2.0
// Source of the method: FIPS 180-4, section 6.2; on x86-64 with the SHA extensions the same rounds run in hardware.
#include "core/support/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace optima {
namespace {

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* p) { return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3]; }

void compress_portable(uint32_t* s, const uint8_t* p, size_t blocks) {
  for (; blocks; --blocks, p += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) w[i] = big_endian(p + 4 * i);
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      const uint32_t b = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    uint32_t v[8];
    std::copy_n(s, 8, v);
    for (int i = 0; i < 64; ++i) {
      const uint32_t e = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
      const uint32_t t1 = v[7] + e + ((v[4] & v[5]) ^ (~v[4] & v[6])) + kRound[i] + w[i];
      const uint32_t a = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
      const uint32_t t2 = a + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      std::copy_backward(v, v + 7, v + 8);
      v[4] += t1;
      v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) s[i] += v[i];
  }
}

#if defined(__x86_64__)
__attribute__((target("sha,sse4.1,ssse3"))) void compress_sha_ni(uint32_t* s, const uint8_t* p, size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s));       // d c b a
  __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s + 4));  // h g f e
  low = _mm_shuffle_epi32(low, 0xB1);
  high = _mm_shuffle_epi32(high, 0x1B);
  __m128i abef = _mm_alignr_epi8(low, high, 8);
  __m128i cdgh = _mm_blend_epi16(high, low, 0xF0);
  for (; blocks; --blocks, p += 64) {
    const __m128i abef0 = abef, cdgh0 = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i)), swap);
    for (int i = 0; i < 16; ++i) {
      const __m128i k = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRound + 4 * i));
      const __m128i x = _mm_add_epi32(w[i & 3], k);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, x);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(x, 0x0E));
      if (i < 12) {
        __m128i next = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
        next = _mm_add_epi32(next, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
        w[i & 3] = _mm_sha256msg2_epu32(next, w[(i + 3) & 3]);
      }
    }
    abef = _mm_add_epi32(abef, abef0);
    cdgh = _mm_add_epi32(cdgh, cdgh0);
  }
  low = _mm_shuffle_epi32(abef, 0x1B);
  high = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(s), _mm_blend_epi16(low, high, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(s + 4), _mm_alignr_epi8(high, low, 8));
}

// CPUID leaf 7, EBX bit 29: SHA extensions. (g++ 12 does not know "sha" in __builtin_cpu_supports.)
bool cpu_has_sha() {
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (b >> 29 & 1) && __builtin_cpu_supports("sse4.1");
}
#endif

void compress(uint32_t* state, const uint8_t* p, size_t blocks) {
#if defined(__x86_64__)
  static const bool hardware = cpu_has_sha();
  if (hardware) return compress_sha_ni(state, p, blocks);
#endif
  compress_portable(state, p, blocks);
}

}  // namespace

Sha256Hasher::Sha256Hasher()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, block_{} {}

void Sha256Hasher::update(const void* data, size_t size) {
  auto p = static_cast<const uint8_t*>(data);
  const size_t held = total_ % 64;
  total_ += size;
  if (held) {
    const size_t n = std::min(64 - held, size);
    std::memcpy(block_.data() + held, p, n);
    p += n, size -= n;
    if (held + n < 64) return;
    compress(state_.data(), block_.data(), 1);
  }
  compress(state_.data(), p, size / 64);
  if (size % 64) std::memcpy(block_.data(), p + size / 64 * 64, size % 64);
}

Sha256 Sha256Hasher::finish() {
  const uint64_t bits = total_ * 8;
  const size_t held = total_ % 64, pad = (held < 56 ? 56 : 120) - held;
  uint8_t tail[72] = {0x80};
  for (int i = 0; i < 8; ++i) tail[pad + static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(tail, pad + 8);
  Sha256 out;
  for (size_t i = 0; i < 8; ++i)
    for (size_t k = 0; k < 4; ++k) out[4 * i + k] = static_cast<uint8_t>(state_[i] >> (24 - 8 * k));
  return out;
}

Sha256 sha256(const void* data, size_t size) {
  Sha256Hasher h;
  h.update(data, size);
  return h.finish();
}

std::string to_hex(const Sha256& hash) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (uint8_t b : hash) {
    out += digits[b >> 4];
    out += digits[b & 15];
  }
  return out;
}

}  // namespace optima
