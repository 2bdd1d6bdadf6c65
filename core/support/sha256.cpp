// SPDX-License-Identifier: Apache-2.0
// The rounds are the author layer's; on x86-64 with the SHA extensions they run in hardware.
#include "core/support/sha256.hpp"

#include <algorithm>
#include <cstring>

#include "optima/plugin/sha256.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace optima {
namespace {

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
      const __m128i k = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sdk::detail::kSha256Rounds + 4 * i));
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
  sdk::detail::sha256_blocks(state, p, blocks);
}

}  // namespace

Sha256Hasher::Sha256Hasher() : block_{} {
  std::copy_n(sdk::detail::kSha256Begin, state_.size(), state_.begin());
}

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

std::string to_hex(const Sha256& hash) { return sdk::hex_text(hash.data(), hash.size()); }

}  // namespace optima
