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

/// The value between the elements around `place`; beyond the plane everything is 0.
double between(const double* plane, const Dims& dims, const std::vector<double>& place) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (!(place[d] > -1 && place[d] < static_cast<double>(dims[d]))) return 0;
  double sum = 0;
  for (size_t corner = 0; corner < size_t{1} << dims.size(); ++corner) {
    double share = 1;
    int64_t at = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      const double base = std::floor(place[d]), rest = place[d] - base;
      const int64_t upper = static_cast<int64_t>(corner >> d & 1), i = static_cast<int64_t>(base) + upper;
      share *= i < 0 || i >= dims[d] ? 0 : upper ? rest : 1 - rest;
      at = at * dims[d] + i;
    }
    if (share != 0) sum += share * plane[at];
  }
  return sum;
}

struct Deformed {
  const ConvShape& s;
  int64_t offset_groups;
  std::vector<double> offset, mask;  ///< [N, offset group, tap, axis, plane] and [N, offset group, tap, plane]

  /// What tap `t` at kernel position k reads of a channel's plane for output `o`, whose position is `to`.
  double sample(const double* plane, int64_t n, int64_t group, int64_t t, const Dims& k, int64_t o, const Dims& to) const {
    const Window& w = s.window;
    const auto rank = static_cast<int64_t>(w.rank());
    const int64_t line = (n * offset_groups + group) * count(w.kernel) + t, size = count(w.out);
    std::vector<double> place(w.rank());
    for (int64_t d = 0; d < rank; ++d) {
      const auto a = static_cast<size_t>(d);
      place[a] = static_cast<double>(to[a] * w.stride[a] + k[a] * w.dilation[a] - w.begin[a]) + offset[static_cast<size_t>((line * rank + d) * size + o)];
    }
    return between(plane, w.in, place) * (mask.empty() ? 1 : mask[static_cast<size_t>(line * size + o)]);
  }
};

}  // namespace

void deform_conv(Call& c) {
  const ConvShape s = shapes::deform_conv_shape(c);
  const Window& g = s.window;
  const Deformed deformed{s, c.integer("offset_group", 1), load<double>(c.in(2)), c.maybe(4) ? load<double>(c.in(4)) : std::vector<double>()};
  const std::vector<double> x = load<double>(c.in(0)), w = load<double>(c.in(1)), bias = c.maybe(3) ? load<double>(c.in(3)) : std::vector<double>();
  const int64_t channels = c.in(0).dims[1], in = count(g.in), out = count(g.out), taps = count(g.kernel), per_group = s.out_channels / s.groups;
  std::vector<double> y(static_cast<size_t>(count(s.out)), 0.0);
  for (size_t i = 0; i < y.size() && !bias.empty(); ++i) y[i] = bias[i / static_cast<size_t>(out) % bias.size()];
  if (y.empty()) return c.out(0, store(c.in(0).dtype, s.out, y));
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t ch = 0; ch < channels; ++ch) {
      const int64_t group = ch / s.in_per_group, moved_by = ch / (channels / deformed.offset_groups);
      Dims k(g.rank(), 0);
      for (int64_t t = 0; t < taps; ++t, next(k, g.kernel)) {
        Dims to(g.rank(), 0);
        for (int64_t o = 0; o < out; ++o, next(to, g.out)) {
          const double v = deformed.sample(x.data() + (n * channels + ch) * in, n, moved_by, t, k, o, to);
          for (int64_t m = group * per_group; m < (group + 1) * per_group; ++m)
            y[static_cast<size_t>((n * s.out_channels + m) * out + o)] += v * w[static_cast<size_t>((m * s.in_per_group + ch % s.in_per_group) * taps + t)];
        }
      }
    }
  c.out(0, store(c.in(0).dtype, s.out, y));
}

}  // namespace optima::reference::ops
