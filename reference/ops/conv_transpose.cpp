// SPDX-License-Identifier: Apache-2.0
// reference/ops: transposed convolution: every input element adds its weighted kernel to the output.
#include <algorithm>

#include "reference/ops/ops.hpp"
#include "reference/ops/window.hpp"

namespace optima::reference::ops {
namespace {

/// Adds weight · x over the whole input plane, shifted to kernel position k; the last dim is the inner loop.
void add_spread(const Window& g, const Dims& k, double weight, const double* x, double* out) {
  const size_t last = g.rank() - 1;
  const Dims out_step = strides_of(g.out), rows(g.in.begin(), g.in.end() - 1);
  const int64_t shift = k[last] * g.dilation[last] - g.begin[last];
  Dims at(last, 0);
  for (int64_t row = 0, all = count(rows); row < all; ++row, next(at, rows), x += g.in[last]) {
    int64_t to = 0;
    bool inside = true;
    for (size_t d = 0; d < last && inside; ++d) {
      const int64_t o = at[d] * g.stride[d] + k[d] * g.dilation[d] - g.begin[d];
      inside = o >= 0 && o < g.out[d];
      to += o * out_step[d];
    }
    for (int64_t i = 0; inside && i < g.in[last]; ++i) {
      const int64_t o = i * g.stride[last] + shift;
      if (o >= 0 && o < g.out[last]) out[to + o] += weight * x[i];
    }
  }
}

}  // namespace

void conv_transpose(Call& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  const auto [g, to] = transposed_shape(c);
  const int64_t groups = c.integer("group", 1), channels = to[1], per_group = w.dims[0] / groups;
  const int64_t in_plane = count(g.in), out_plane = count(g.out), taps = count(g.kernel);
  const std::vector<double> xs = load<double>(x), ws = load<double>(w);
  std::vector<double> out(static_cast<size_t>(count(to)), 0.0);
  for (int64_t n = 0; n < x.dims[0]; ++n)
    for (int64_t i = 0; i < w.dims[0]; ++i)
      for (int64_t m = 0; m < w.dims[1]; ++m) {
        double* plane = out.data() + (n * channels + i / per_group * w.dims[1] + m) * out_plane;
        Dims k(g.rank(), 0);
        for (int64_t t = 0; t < taps; ++t, next(k, g.kernel))
          add_spread(g, k, ws[static_cast<size_t>((i * w.dims[1] + m) * taps + t)], xs.data() + (n * w.dims[0] + i) * in_plane, plane);
      }
  if (c.maybe(2)) {
    if (c.in(2).dims != Dims{channels}) invalid("bias has shape " + show(c.in(2).dims) + ", must be " + show({channels}));
    const std::vector<double> bias = load<double>(c.in(2));
    for (size_t i = 0; i < out.size(); ++i) out[i] += bias[i / static_cast<size_t>(out_plane) % bias.size()];
  }
  c.out(0, store(x.dtype, to, out));
}

}  // namespace optima::reference::ops
