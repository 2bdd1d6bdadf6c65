// SPDX-License-Identifier: Apache-2.0
// reference/ops: convolution whose taps are moved by offsets that come with the input (J. Dai et al., "Deformable convolutional networks",
// 2017; with a mask X. Zhu et al., "Deformable ConvNets v2", 2019), in any number of spatial dims.
#include <cmath>

#include "reference/ops/conv.hpp"
#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// An element near a place, and its share of the value there.
struct Corner {
  int64_t at;
  double share;
};

/// Adds those around `place` that lie in the plane; beyond it everything is 0.
void find_corners(const Dims& dims, const std::vector<double>& place, double scale, std::vector<Corner>& to) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (!(place[d] > -1 && place[d] < static_cast<double>(dims[d]))) return;
  for (size_t corner = 0; corner < size_t{1} << dims.size(); ++corner) {
    Corner c{0, scale};
    bool inside = true;
    for (size_t d = 0; d < dims.size(); ++d) {
      const double base = std::floor(place[d]), rest = place[d] - base;
      const int64_t upper = static_cast<int64_t>(corner >> d & 1), i = static_cast<int64_t>(base) + upper;
      inside = inside && i >= 0 && i < dims[d];
      c.share *= upper ? rest : 1 - rest;
      c.at = c.at * dims[d] + i;
    }
    if (inside && c.share != 0) to.push_back(c);
  }
}

/// What a tap reads for every output, of any channel: the corners of output o end where `ends[o]` says.
struct Reads {
  std::vector<Corner> corners;
  std::vector<size_t> ends;

  std::vector<double> of(const double* plane) const {
    std::vector<double> out(ends.size());
    size_t k = 0;
    for (size_t o = 0; o < out.size(); ++o)
      for (; k < ends[o]; ++k) out[o] += corners[k].share * plane[corners[k].at];
    return out;
  }
};

/// Of the tap at kernel position k. `offset`: [axis, plane]; `mask`: [plane], or null.
Reads reads_of(const Window& w, const Dims& k, const double* offset, const double* mask) {
  Reads out;
  std::vector<double> place(w.rank());
  Dims to(w.rank(), 0);
  for (int64_t o = 0, size = count(w.out); o < size; ++o, next(to, w.out)) {
    for (size_t d = 0; d < w.rank(); ++d)
      place[d] = static_cast<double>(to[d] * w.stride[d] + k[d] * w.dilation[d] - w.begin[d]) + offset[static_cast<int64_t>(d) * size + o];
    find_corners(w.in, place, mask ? mask[o] : 1, out.corners);
    out.ends.push_back(out.corners.size());
  }
  return out;
}

}  // namespace

void deform_conv(Call& c) {
  const ConvShape s = shapes::deform_conv_shape(c);
  const Window& g = s.window;
  const std::vector<double> x = load<double>(c.in(0)), w = load<double>(c.in(1)), offset = load<double>(c.in(2));
  const std::vector<double> bias = c.maybe(3) ? load<double>(c.in(3)) : std::vector<double>(), mask = c.maybe(4) ? load<double>(c.in(4)) : std::vector<double>();
  const int64_t channels = c.in(0).dims[1], in = count(g.in), out = count(g.out), taps = count(g.kernel), per_group = s.out_channels / s.groups;
  const int64_t moved = c.integer("offset_group", 1), each = channels / moved, rank = static_cast<int64_t>(g.rank());
  std::vector<double> y(static_cast<size_t>(count(s.out)), 0.0);
  for (size_t i = 0; i < y.size() && !bias.empty(); ++i) y[i] = bias[i / static_cast<size_t>(out) % bias.size()];
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t m = 0; m < moved; ++m) {
      Dims k(g.rank(), 0);
      for (int64_t t = 0; t < taps; ++t, next(k, g.kernel)) {
        const int64_t line = (n * moved + m) * taps + t;
        const Reads reads = reads_of(g, k, offset.data() + line * rank * out, mask.empty() ? nullptr : mask.data() + line * out);
        for (int64_t ch = m * each; ch < (m + 1) * each; ++ch) {
          const std::vector<double> values = reads.of(x.data() + (n * channels + ch) * in);
          const int64_t group = ch / s.in_per_group;
          for (int64_t to = group * per_group; to < (group + 1) * per_group; ++to) {
            const double weight = w[static_cast<size_t>((to * s.in_per_group + ch % s.in_per_group) * taps + t)];
            double* row = y.data() + (n * s.out_channels + to) * out;
            for (int64_t o = 0; o < out; ++o) row[o] += weight * values[static_cast<size_t>(o)];
          }
        }
      }
    }
  c.out(0, store(c.in(0).dtype, s.out, y));
}

}  // namespace optima::reference::ops
