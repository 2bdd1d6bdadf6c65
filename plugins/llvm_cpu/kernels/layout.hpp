// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the passages from plain [N][C][P] and back: to blocked [N][CB][P][VL], float; to channels last [N][P][pixel]; to 16-bit floats.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

constexpr int64_t kStrip = 64;       ///< pixels per unit of the passages: both sides of a strip fit L1
constexpr int64_t kCopyPiece = 4096;  ///< bytes per unit of a copy
struct ToBlocked {
  static constexpr char entry[] = "k_to_blocked";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t C, P;
};
struct FromBlocked {
  static constexpr char entry[] = "k_from_blocked";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t C, P;
};
struct CopyBytes {
  static constexpr char entry[] = "k_copy_bytes";
  static constexpr void sizes(auto& l, auto mark) { mark(l.bytes); }
  int64_t bytes;
};
/// 16-bit floats of which there are `count`, f16 or bf16, to f32 and back.
struct Widen {
  static constexpr char entry[] = "k_widen";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count); }
  int64_t bf16, count;
};
struct Narrow {
  static constexpr char entry[] = "k_narrow";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count); }
  int64_t bf16, count;
};
struct JoinChannels {
  static constexpr char entry[] = "k_join_channels";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P, l.whole_image); }
  int64_t C, at, P, whole_image;
};
/// Elements of 1, 2 or 4 `bytes`; `pixel`: elements from pixel to pixel of the channels-last side; `flip` is xored to single bytes.
struct ToLast {
  static constexpr char entry[] = "k_to_last";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t bytes, C, P, pixel, flip;
};
struct FromLast {
  static constexpr char entry[] = "k_from_last";
  static constexpr void sizes(auto& l, auto mark) { mark(l.P); }
  int64_t bytes, C, P, pixel, flip;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/blocked_rows.hpp"
#include "plugins/llvm_cpu/kernels/parts/half.hpp"
#include "plugins/llvm_cpu/kernels/parts/turn.hpp"
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

static_assert(kStrip == turn::kStrip);
/// f(source row of channel l, first pixel, pixels, channels present) for strip u of [0, N * CB * ceil(P / kStrip)).
struct Strip {
  idx n, b, p0, pixels, lanes;
};
INL Strip strip_at(idx u, idx C, idx P) {
  const idx strips = cdiv(P, kStrip), CB = cdiv(C, VL), plane = u / strips, p0 = u % strips * kStrip;
  const idx b = plane % CB;
  return {plane / CB, b, p0, imin(kStrip, P - p0), imin(VL, C - b * VL)};
}

}  // namespace k

/// args: plain, blocked. units = N * CB * ceil(P / kStrip). Lanes past C become 0.
TEMPLATE(k_to_blocked, ToBlocked, l) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const Strip s = strip_at(u, l.C, l.P);
    const float* in = (const float*)args[0] + (s.n * l.C + s.b * VL) * l.P + s.p0;
    float* out = (float*)args[1] + ((s.n * cdiv(l.C, VL) + s.b) * l.P + s.p0) * VL;
    auto pixels = [&](idx lanes) __attribute__((always_inline)) {
      if (s.pixels >= VL) return rows_to_blocked(in, out, lanes, l.P, s.pixels);
      ROLL for (idx p = 0; p < s.pixels; p++) {
        vec v = {};
        UNROLL for (idx i = 0; i < VL; i++) if (i < lanes) v[i] = in[i * l.P + p];
        st(out + p * VL, v);
      }
    };
    if (l.C % VL == 0 || s.lanes == VL) pixels(VL);
    else pixels(l.C % VL);
  }
}

/// args: blocked, plain. units as above.
TEMPLATE(k_from_blocked, FromBlocked, l) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const Strip s = strip_at(u, l.C, l.P);
    const float* in = (const float*)args[0] + ((s.n * cdiv(l.C, VL) + s.b) * l.P + s.p0) * VL;
    float* out = (float*)args[1] + (s.n * l.C + s.b * VL) * l.P + s.p0;
    if (s.pixels < VL) {
      ROLL for (idx i = 0; i < s.lanes; i++) ROLL for (idx p = 0; p < s.pixels; p++) out[i * l.P + p] = in[p * VL + i];
    } else if (l.C % VL == 0 || s.lanes == VL) {
      blocked_to_rows(in, out, VL, l.P, s.pixels);
    } else {
      blocked_to_rows(in, out, l.C % VL, l.P, s.pixels);
    }
  }
}

namespace k {

/// Elements wider than a byte, of type T, one by one: strips [u0, u1) of kStrip pixels of all channels. Back: from channels last.
template <class T, bool Back, class L>
INL void turn_words(const L& l, const void* from, void* to, idx u0, idx u1) {
  const idx strips = cdiv(l.P, kStrip);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / strips, p0 = u % strips * kStrip, p1 = imin(l.P, p0 + kStrip);
    for (idx c = 0; c < l.C; c++)
      for (idx p = p0; p < p1; p++) {
        const idx plain = (n * l.C + c) * l.P + p, last = (n * l.P + p) * l.pixel + c;
        ((T*)to)[Back ? plain : last] = ((const T*)from)[Back ? last : plain];
      }
  }
}

}  // namespace k

/// args: plain, channels last. units = N * ceil(P / kStrip). Elements past C are left as they are, or become anything.
TEMPLATE(k_to_last, ToLast, l) {
  using namespace k;
  if (l.bytes == 2) return turn_words<uint16_t, false>(l, args[0], args[1], u0, u1);
  if (l.bytes == 4) return turn_words<uint32_t, false>(l, args[0], args[1], u0, u1);
  ROLL for (idx u = u0; u < u1; u++)
    turn::to_last(u, l.C, l.P, l.pixel, (uint8_t*)args[1], [&](idx n, idx c, idx p, idx pixels) __attribute__((always_inline)) {
      const uint8_t* from = (const uint8_t*)args[0] + (n * l.C + c) * l.P + p;
      return (pixels == 16 ? turn::load(from) : turn::load_some(from, pixels)) ^ (uint8_t)l.flip;
    });
}

/// args: channels last, plain. units as above.
TEMPLATE(k_from_last, FromLast, l) {
  using namespace k;
  if (l.bytes == 2) return turn_words<uint16_t, true>(l, args[0], args[1], u0, u1);
  if (l.bytes == 4) return turn_words<uint32_t, true>(l, args[0], args[1], u0, u1);
  ROLL for (idx u = u0; u < u1; u++)
    turn::from_last(u, l.C, l.P, l.pixel, (const uint8_t*)args[0], [&](idx n, idx c, idx p, idx pixels, turn::row v) __attribute__((always_inline)) {
      uint8_t* to = (uint8_t*)args[1] + (n * l.C + c) * l.P + p;
      v ^= (uint8_t)l.flip;
      if (pixels == 16) turn::store(to, v);
      else turn::store_some(to, v, pixels);
    });
}

/// args: from, to, which may be one place; units = pieces of kCopyPiece bytes of `bytes`.
TEMPLATE(k_copy_bytes, CopyBytes, l) {
  if (args[0] == args[1]) return;
  const int64_t from = u0 * k::kCopyPiece, to = u1 * k::kCopyPiece < l.bytes ? u1 * k::kCopyPiece : l.bytes;
  __builtin_memcpy((char*)args[1] + from, (const char*)args[0] + from, (size_t)(to - from));
}

namespace k {

/// f(first element, elements up to VL) for pieces [u0, u1) of kCopyPiece elements of `count`.
template <class F>
INL void pieces(idx count, idx u0, idx u1, F f) {
  const idx end = imin(count, u1 * kCopyPiece), even = end / VL * VL;
  ROLL for (idx i = u0 * kCopyPiece; i < even; i += VL) f(i, VL);
  if (even < end) f(even, end - even);
}

}  // namespace k

/// args: 16-bit floats, f32; units = pieces of kCopyPiece elements of `count`.
TEMPLATE(k_widen, Widen, l) {
  using namespace k;
  const uint16_t* in = (const uint16_t*)args[0];
  float* out = (float*)args[1];
  pieces(l.count, u0, u1, [&](idx i, idx n) __attribute__((always_inline)) {
    if (n == VL) return st(out + i, widened(ld_words(in + i), l.bf16));
    words v = {};
    ROLL for (idx j = 0; j < n; j++) v[j] = in[i + j];
    const vec wide = widened(v, l.bf16);
    ROLL for (idx j = 0; j < n; j++) out[i + j] = wide[j];
  });
}

/// args: f32, 16-bit floats; units as above.
TEMPLATE(k_narrow, Narrow, l) {
  using namespace k;
  const float* in = (const float*)args[0];
  uint16_t* out = (uint16_t*)args[1];
  pieces(l.count, u0, u1, [&](idx i, idx n) __attribute__((always_inline)) {
    if (n == VL) return st_words(out + i, narrowed(ld(in + i), l.bf16));
    vec v = {};
    ROLL for (idx j = 0; j < n; j++) v[j] = in[i + j];
    const words narrow = narrowed(v, l.bf16);
    ROLL for (idx j = 0; j < n; j++) out[i + j] = narrow[j];
  });
}

/// A blocked tensor becomes channels [at, at + C) of a wider one: args part, whole; the whole's other lanes stay. units =
/// N * blocks of the whole that are touched, ceil((at + C) / VL) - at / VL. whole_image: floats per image of the whole.
TEMPLATE(k_join_channels, JoinChannels, l) {
  using namespace k;
  const idx s = l.at % VL, blocks = cdiv(l.at + l.C, VL) - l.at / VL, parts = cdiv(l.C, VL);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / blocks, o = u % blocks;
    const float* in = (const float*)args[0] + n * parts * l.P * VL;
    float* out = (float*)args[1] + n * l.whole_image + (l.at / VL + o) * l.P * VL;
    // Lanes from s on come from part o, those before from part o - 1; first and last channel bound what is written.
    const idx first = o == 0 ? s : 0, last = imin(VL, s + l.C - o * VL);
    ROLL for (idx p = 0; p < l.P; p++) {
      const vec now = o < parts ? ld(in + (o * l.P + p) * VL) : vec{}, before = o > 0 ? ld(in + ((o - 1) * l.P + p) * VL) : vec{};
      vec v = ld(out + p * VL);
      UNROLL for (idx i = 0; i < VL; i++) {
        const float x = i < s ? before[(i - s + VL) % VL] : now[(i - s + VL) % VL];
        v[i] = i >= first && i < last ? x : v[i];
      }
      st(out + p * VL, v);
    }
  }
}
#endif
