// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the passage between plain [N][C][P] and blocked [N][CB][P][VL], float.
#include "plugins/llvm_cpu/kernels/vec.hpp"

namespace k {

constexpr idx kStrip = 64;  // pixels per unit: both sides of a strip fit L1

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

/// args: plain, blocked. units = N * CB * ceil(P / 64). Lanes past C become 0.
TEMPLATE(k_to_blocked, int64_t C, int64_t P) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const Strip s = strip_at(u, C, P);
    const float* in = (const float*)args[0] + (s.n * C + s.b * VL) * P + s.p0;
    float* out = (float*)args[1] + ((s.n * cdiv(C, VL) + s.b) * P + s.p0) * VL;
    auto pixels = [&](idx lanes) __attribute__((always_inline)) {
      ROLL for (idx p = 0; p < s.pixels; p++) {
        vec v = {};
        UNROLL for (idx l = 0; l < VL; l++) if (l < lanes) v[l] = in[l * P + p];
        st(out + p * VL, v);
      }
    };
    if (C % VL == 0 || s.lanes == VL) pixels(VL);
    else pixels(C % VL);
  }
}

/// args: blocked, plain. units as above.
TEMPLATE(k_from_blocked, int64_t C, int64_t P) {
  using namespace k;
  ROLL for (idx u = u0; u < u1; u++) {
    const Strip s = strip_at(u, C, P);
    const float* in = (const float*)args[0] + ((s.n * cdiv(C, VL) + s.b) * P + s.p0) * VL;
    float* out = (float*)args[1] + (s.n * C + s.b * VL) * P + s.p0;
    ROLL for (idx l = 0; l < s.lanes; l++) ROLL for (idx p = 0; p < s.pixels; p++) out[l * P + p] = in[p * VL + l];
  }
}

/// args: from, to; units = pieces of 4096 bytes of `bytes`.
TEMPLATE(k_copy_bytes, int64_t bytes) {
  const int64_t from = u0 * 4096, to = u1 * 4096 < bytes ? u1 * 4096 : bytes;
  __builtin_memcpy((char*)args[1] + from, (const char*)args[0] + from, (size_t)(to - from));
}

/// A blocked tensor becomes channels [at, at + C) of a wider one: args part, whole; the whole's other lanes stay. units =
/// N * blocks of the whole that are touched, ceil((at + C) / VL) - at / VL. whole_image: floats per image of the whole.
TEMPLATE(k_join_channels, int64_t C, int64_t at, int64_t P, int64_t whole_image) {
  using namespace k;
  const idx s = at % VL, blocks = cdiv(at + C, VL) - at / VL, parts = cdiv(C, VL);
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / blocks, o = u % blocks;
    const float* in = (const float*)args[0] + n * parts * P * VL;
    float* out = (float*)args[1] + n * whole_image + (at / VL + o) * P * VL;
    // Lanes from s on come from part o, those before from part o - 1; first and last channel bound what is written.
    const idx first = o == 0 ? s : 0, last = imin(VL, s + C - o * VL);
    ROLL for (idx p = 0; p < P; p++) {
      const vec now = o < parts ? ld(in + (o * P + p) * VL) : vec{}, before = o > 0 ? ld(in + ((o - 1) * P + p) * VL) : vec{};
      vec v = ld(out + p * VL);
      UNROLL for (idx l = 0; l < VL; l++) {
        const float x = l < s ? before[(l - s + VL) % VL] : now[(l - s + VL) % VL];
        v[l] = l >= first && l < last ? x : v[l];
      }
      st(out + p * VL, v);
    }
  }
}
