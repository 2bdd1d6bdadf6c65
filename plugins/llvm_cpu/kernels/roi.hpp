// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: RoiAlign and MaxRoiPool of blocked pictures: a small picture per region of interest. A sample is found once for all channels.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct RoiAlign {
  static constexpr char entry[] = "k_roi_align";
  static constexpr void sizes(auto& l, auto mark) { mark(l.batch, l.blocks, l.height, l.width); }
  int64_t most, half_pixel;  ///< the largest share instead of their mean; coordinates are less a half
  double scale;
  int64_t samples;  ///< along each axis of a cell; 0: as many as the cell has elements
  int64_t rows, columns, index_bytes;
  int64_t batch, blocks, height, width;
};
struct MaxRoiPool {
  static constexpr char entry[] = "k_max_roi_pool";
  static constexpr void sizes(auto& l, auto mark) { mark(l.batch, l.blocks, l.height, l.width); }
  double scale;
  int64_t rows, columns;
  int64_t batch, blocks, height, width;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

namespace k::roi {

/// The picture of a region. One that there is not is told, and the region is of the first.
INL idx picture(idx i, idx batch, char* scratch) {
  if (__builtin_expect(i >= 0 && i < batch, 1)) return i;
  tell_outside(i, batch, scratch);
  return 0;
}

/// The elements round a sample along one axis, and the share of the higher one.
struct Between {
  idx low = 0, high = 0;
  double rest = 0;
  /// False more than one element outside, and where `at` is no number.
  METHOD bool find(double at, idx n) {
    if (!(at >= -1 && at <= (double)n)) return false;
    at = at < 0 ? 0 : at > (double)(n - 1) ? (double)(n - 1) : at;
    low = (idx)at, high = imin(low + 1, n - 1), rest = at - (double)low;
    return true;
  }
};

/// Elements that a cell is made of, each with its share; none whose share is 0.
struct Corners {
  static constexpr idx kMost = 256;
  idx count = 0, at[kMost];
  float share[kMost];
  bool any_nothing = false;  // some sample or share was left out

  METHOD bool is_full() const { return count + 4 > kMost; }
  METHOD void add(idx place, double part) {
    if (part == 0) any_nothing = true;
    else at[count] = place * VL, share[count] = (float)part, count++;
  }
  METHOD void add(const Between& y, const Between& x, idx width) {
    add(y.low * width + x.low, (1 - y.rest) * (1 - x.rest)), add(y.low * width + x.high, (1 - y.rest) * x.rest);
    add(y.high * width + x.low, y.rest * (1 - x.rest)), add(y.high * width + x.high, y.rest * x.rest);
  }
  METHOD vec sum(const float* from, vec before) const {
    vec even = before, odd{};
    idx k = 0;
    ROLL for (; k + 2 <= count; k += 2) even += ld(from + at[k]) * share[k], odd += ld(from + at[k + 1]) * share[k + 1];
    if (k < count) even += ld(from + at[k]) * share[k];
    return even + odd;
  }
  METHOD vec most(const float* from, vec best) const {
    ROLL for (idx k = 0; k < count; k++) {
      const vec v = ld(from + at[k]) * share[k];
      best = v > best ? v : best;
    }
    return best;
  }
};

struct Cell {
  const float* in;  // of the picture
  float* out;       // of the first block
  idx blocks, plane, step;
  bool most, started = false;

  METHOD void take(Corners& corners) {
    ROLL for (idx b = 0; b < blocks; b++) {
      float* to = out + b * step;
      const float* from = in + b * plane;
      if (most) st(to, corners.most(from, started ? ld(to) : splat(-__builtin_inff())));
      else st(to, corners.sum(from, started ? ld(to) : vec{}));
    }
    started = true, corners.count = 0;
  }
  METHOD void finish(float samples, bool any_nothing) {
    ROLL for (idx b = 0; b < blocks; b++) {
      float* to = out + b * step;
      const vec v = ld(to), zero{};
      if (samples == 0) st(to, zero);
      else if (most) st(to, any_nothing ? (v < zero ? zero : v) : v);
      else st(to, v / samples);
    }
  }
};

INL idx samples_of(int64_t asked, double size, idx cells) {
  constexpr double kMost = 1 << 12;  // of one axis: a region is not larger than a picture
  if (asked > 0) return asked;
  const double wanted = __builtin_elementwise_ceil(size / (double)cells);
  return wanted >= kMost ? (idx)kMost : wanted > 0 ? (idx)wanted : 0;
}

/// The elements [from, to) of the cell i. In floats, as ONNX Runtime has it.
INL void range_of(idx i, float start, float size, idx cells, idx n, idx& from, idx& to) {
  const float step = size / (float)cells;
  const float low = start + __builtin_elementwise_floor((float)i * step), high = start + __builtin_elementwise_ceil((float)(i + 1) * step), most = (float)n;
  from = low > 0 ? (low < most ? (idx)low : n) : 0, to = high > 0 ? (high < most ? (idx)high : n) : 0;
}

}  // namespace k::roi

// out[r][c] of in [batch][blocks][height][width][VL] in the regions [r] (x1, y1, x2, y2), each of the picture index[r]; sampled bilinearly (K. He et al., "Mask R-CNN", 2017).
// args: in, regions, index, out [r][blocks][rows][columns][VL]; units: regions * rows.
TEMPLATE(k_roi_align, RoiAlign, l) {
  using namespace k;
  const idx plane = l.height * l.width * VL, cells = l.rows * l.columns;
  const double shift = l.half_pixel ? 0.5 : 0;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx r = u / l.rows, row = u % l.rows, n = roi::picture(index_at(args[2], l.index_bytes, r), l.batch, scratch);
    const float* box = (const float*)args[1] + 4 * r;
    const double left = box[0] * l.scale - shift, top = box[1] * l.scale - shift;
    double width = box[2] * l.scale - shift - left, height = box[3] * l.scale - shift - top;
    if (!l.half_pixel) width = width < 1 ? 1 : width, height = height < 1 ? 1 : height;
    const double down = height / (double)l.rows, right = width / (double)l.columns;
    const idx many_y = roi::samples_of(l.samples, height, l.rows), many_x = roi::samples_of(l.samples, width, l.columns);
    roi::Corners corners;
    ROLL for (idx column = 0; column < l.columns; column++) {
      roi::Cell cell{(const float*)args[0] + n * l.blocks * plane, (float*)args[3] + (r * l.blocks * cells + row * l.columns + column) * VL, l.blocks, plane, cells * VL, l.most != 0};
      corners.count = 0, corners.any_nothing = false;
      ROLL for (idx i = 0; i < many_y; i++) {
        roi::Between y;
        const bool is_inside = y.find(top + (double)row * down + ((double)i + 0.5) * down / (double)many_y, l.height);
        ROLL for (idx j = 0; j < many_x; j++) {
          roi::Between x;
          if (corners.is_full()) cell.take(corners);
          if (is_inside && x.find(left + (double)column * right + ((double)j + 0.5) * right / (double)many_x, l.width)) corners.add(y, x, l.width);
          else corners.any_nothing = true;
        }
      }
      cell.take(corners);
      cell.finish((float)(many_y * many_x), corners.any_nothing);
    }
  }
}

// The largest element of each cell, 0 of an empty one. args: in [batch][blocks][height][width][VL], regions [r] (picture, x1, y1, x2, y2), out as of k_roi_align; units:
// regions * rows.
TEMPLATE(k_max_roi_pool, MaxRoiPool, l) {
  using namespace k;
  const idx plane = l.height * l.width * VL, cells = l.rows * l.columns;
  ROLL for (idx u = u0; u < u1; u++) {
    const idx r = u / l.rows, row = u % l.rows;
    const float *box = (const float*)args[1] + 5 * r, scale = (float)l.scale;
    const bool is_index = box[0] > -1e9f && box[0] < 1e9f;
    const idx n = roi::picture(is_index ? (idx)__builtin_elementwise_floor(box[0]) : -1, l.batch, scratch);
    float edges[4];
    UNROLL for (int q = 0; q < 4; q++) edges[q] = __builtin_elementwise_round(box[q + 1] * scale);
    const float left = edges[0], top = edges[1], wide = edges[2] - left + 1, tall = edges[3] - top + 1;
    idx y0, y1;
    roi::range_of(row, top, tall < 1 ? 1 : tall, l.rows, l.height, y0, y1);
    ROLL for (idx column = 0; column < l.columns; column++) {
      idx x0, x1;
      roi::range_of(column, left, wide < 1 ? 1 : wide, l.columns, l.width, x0, x1);
      const bool is_empty = y1 <= y0 || x1 <= x0;
      ROLL for (idx b = 0; b < l.blocks; b++) {
        const float* from = (const float*)args[0] + (n * l.blocks + b) * plane;
        vec best = is_empty ? vec{} : splat(-__builtin_inff());
        ROLL for (idx y = y0; y < y1; y++)
          ROLL for (idx x = x0; x < x1; x++) {
            const vec v = ld(from + (y * l.width + x) * VL);
            best = v > best ? v : best;
          }
        st((float*)args[2] + ((r * l.blocks + b) * cells + row * l.columns + column) * VL, best);
      }
    }
  }
}
#endif
