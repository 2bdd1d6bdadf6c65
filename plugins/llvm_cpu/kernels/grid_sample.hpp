// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: GridSample of pictures: the element nearest to each point of a grid, or the four around it by their shares.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

enum class GridMode : int64_t { Nearest, Linear };
/// What lies outside of a picture: zeros, its border, or the picture mirrored.
enum class GridOutside : int64_t { Zeros, Border, Reflection };
struct GridSample {
  static constexpr char entry[] = "k_grid_sample";
  static constexpr void sizes(auto& l, auto mark) { mark(l.channels, l.height, l.width, l.points); }
  GridMode mode;
  GridOutside outside;
  int64_t corners, channels, height, width, points;
};
constexpr int64_t kGridBlock = 64;  // points of a unit

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::grid {

struct Rule {
  GridMode mode;
  GridOutside outside;
  bool corners;

  /// The middle of the first and of the last element, or their outer edges.
  METHOD double low() const { return corners ? 0 : -0.5; }
  METHOD double high(double size) const { return corners ? size - 1 : size - 0.5; }

  /// Mirrored at both as often as needed.
  METHOD double mirrored(double x, double size) const {
    const double from = low(), range = high(size) - from;
    if (range <= 0) return from;
    const double away = x < from ? from - x : x - from, turns = __builtin_elementwise_floor(away / range), rest = away - turns * range;
    const double even = turns - 2 * __builtin_elementwise_floor(turns * 0.5), to = even == 0 ? from + rest : high(size) - rest;
    return to < from ? from : to > high(size) ? high(size) : to;
  }
  /// On an axis of `size` elements, of a coordinate from -1 to 1.
  METHOD double place(double at, double size) const {
    double x = corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
    if (!(x - x == 0)) x = -1;  // no finite number
    if (mode == GridMode::Nearest) x = __builtin_elementwise_rint(x);
    if (x >= low() && x <= high(size)) return x;
    if (outside == GridOutside::Reflection) return mirrored(x, size);
    const double first = outside == GridOutside::Border ? 0 : -8, last = outside == GridOutside::Border ? size - 1 : size + 8;
    return x < first ? first : x > last ? last : x;
  }
  /// The element that is read at i; -1: there is none.
  METHOD idx element(idx i, idx n) const {
    if (i >= 0 && i < n) return i;
    if (outside == GridOutside::Zeros) return -1;
    if (outside == GridOutside::Reflection) i = (idx)mirrored((double)i, (double)n);
    return imax(0, imin(n - 1, i));
  }
};

/// Where the elements of each point lie, and their shares. One that is outside is element 0 and is masked to zero, whatever that is.
struct Points {
  idx taps = 0;  // 1 or 4, a number of the kernel
  int32_t at[4][kGridBlock]{}, mask[4][kGridBlock]{};
  float share[4][kGridBlock]{};
  bool any_outside = false;

  METHOD void put(int tap, idx j, idx y, idx x, idx width, double weight) {
    const bool is_outside = y < 0 || x < 0;
    any_outside |= is_outside;
    at[tap][j] = is_outside ? 0 : (int32_t)(y * width + x);
    mask[tap][j] = is_outside ? 0 : -1;
    share[tap][j] = (float)weight;
  }
  template <bool MASKED>
  METHOD void sum(const float* from, float* out, idx many) const {
    idx j = 0;
    ROLL for (; j + VL <= many; j += VL) part<MASKED>(from, out + j, j, VL);
    if (j < many) part<MASKED>(from, out + j, j, many - j);
  }
  /// n points from j on, at most a vector.
  template <bool MASKED>
  METHOD void part(const float* from, float* out, idx j, idx n) const {
    vec v{};
    UNROLL for (idx t = 0; t < 4; t++) {
      if (t >= taps) break;
      alignas(64) float x[VL] = {};
      if (n == VL) UNROLL for (idx q = 0; q < VL; q++) x[q] = from[at[t][j + q]];
      else ROLL for (idx q = 0; q < n; q++) x[q] = from[at[t][j + q]];
      vec lanes = *(const vec*)x;
      if (MASKED) lanes = bits_as<vec>(bits_as<ivec>(lanes) & *(const ivecu*)(mask[t] + j));
      v += lanes * ld(share[t] + j);
    }
    st_part(out, v, n);
  }
};

}  // namespace k::grid

// out[n][c][p] = in[n][c] at point p of the grid, for in [batch][channels][height][width] and a grid [batch][points] of (x, y). args: in, grid, out; units:
// batch * ceil(points / kGridBlock).
TEMPLATE(k_grid_sample, GridSample, l) {
  using namespace k;
  const grid::Rule rule{l.mode, l.outside, l.corners != 0};
  const idx blocks = (l.points + kGridBlock - 1) / kGridBlock, plane = l.height * l.width;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx n = u / blocks, first = u % blocks * kGridBlock, many = imin(kGridBlock, l.points - first);
    const float* grid = (const float*)args[1] + (n * l.points + first) * 2;
    grid::Points points;
    points.taps = l.mode == GridMode::Nearest ? 1 : 4;
    ROLL for (idx j = 0; j < many; j++) {
      const double x = rule.place(grid[2 * j], (double)l.width), y = rule.place(grid[2 * j + 1], (double)l.height);
      if (l.mode == GridMode::Nearest) {
        points.put(0, j, rule.element((idx)__builtin_elementwise_rint(y), l.height), rule.element((idx)__builtin_elementwise_rint(x), l.width), l.width, 1);
      } else {
        const double down = __builtin_elementwise_floor(y), left = __builtin_elementwise_floor(x), v = y - down, h = x - left;
        const idx y0 = rule.element((idx)down, l.height), y1 = rule.element((idx)down + 1, l.height), x0 = rule.element((idx)left, l.width), x1 = rule.element((idx)left + 1, l.width);
        points.put(0, j, y0, x0, l.width, (1 - v) * (1 - h)), points.put(1, j, y0, x1, l.width, (1 - v) * h);
        points.put(2, j, y1, x0, l.width, v * (1 - h)), points.put(3, j, y1, x1, l.width, v * h);
      }
    }
    ROLL for (idx c = 0; c < l.channels; c++) {
      const float* from = (const float*)args[0] + (n * l.channels + c) * plane;
      float* out = (float*)args[2] + (n * l.channels + c) * l.points + first;
      if (points.any_outside) points.sum<true>(from, out, many);
      else points.sum<false>(from, out, many);
    }
  }
}
#endif
