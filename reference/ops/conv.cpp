// SPDX-License-Identifier: Apache-2.0
// reference/ops: convolution.
#include "reference/ops/conv.hpp"

#include <algorithm>

#include "reference/ops/ops.hpp"

namespace optima::reference {

ConvShape conv_shape(const Call& c, const Tensor& x, const Tensor& w) {
  const Dims in = spatial_of(x);
  if (w.dims.size() != x.dims.size()) invalid("weights have rank " + std::to_string(w.dims.size()) + ", must be " + std::to_string(x.dims.size()));
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  if (c.has("kernel_shape") && *c.integers("kernel_shape") != kernel && !c.integers("kernel_shape")->empty())
    invalid("kernel_shape is " + show(*c.integers("kernel_shape")) + ", the weights have " + show(kernel));
  for (int64_t k : kernel)
    if (k < 1 || k > 1 << 24) invalid("the weights have shape " + show(w.dims) + ", out of range");
  ConvShape s;
  s.window = window_of(c, in, kernel);
  s.groups = c.integer("group", 1);
  s.batch = x.dims[0], s.in_per_group = w.dims[1], s.out_channels = w.dims[0];
  if (s.groups < 1 || s.groups > 1 << 30 || s.groups * s.in_per_group != x.dims[1] || s.out_channels % s.groups != 0)
    invalid("group is " + std::to_string(s.groups) + ", which does not divide " + show(x.dims) + " and weights " + show(w.dims));
  s.out = {s.batch, s.out_channels};
  s.out.insert(s.out.end(), s.window.out.begin(), s.window.out.end());
  return s;
}

namespace {

/// Adds w · x for one kernel position over the whole output plane; the last dim is the inner loop.
template <class W>
void add_shifted(const Window& g, const Dims& k, W weight, const W* x, W* out) {
  const size_t last = g.rank() - 1;
  const Dims in_step = strides_of(g.in), rows(g.out.begin(), g.out.end() - 1);
  const int64_t shift = k[last] * g.dilation[last] - g.begin[last], s = g.stride[last], n = g.out[last];
  const int64_t first = shift >= 0 ? 0 : std::min(n, (-shift + s - 1) / s);
  const int64_t end = shift >= g.in[last] ? first : std::max(first, std::min(n, (g.in[last] - 1 - shift) / s + 1));
  Dims at(last, 0);
  for (int64_t row = 0, all = count(rows); row < all; ++row, next(at, rows), out += n) {
    int64_t from = shift;
    bool inside = true;
    for (size_t d = 0; d < last && inside; ++d) {
      const int64_t i = at[d] * g.stride[d] + k[d] * g.dilation[d] - g.begin[d];
      inside = i >= 0 && i < g.in[d];
      from += i * in_step[d];
    }
    if (!inside) continue;
    if (s == 1) for (int64_t o = first; o < end; ++o) out[o] += weight * x[from + o];
    else for (int64_t o = first; o < end; ++o) out[o] += weight * x[from + o * s];
  }
}

}  // namespace

template <class W>
std::vector<W> convolve(const ConvShape& s, const std::vector<W>& x, const std::vector<W>& w) {
  const Window& g = s.window;
  const int64_t in_plane = count(g.in), out_plane = count(g.out), taps = count(g.kernel), per_group = s.out_channels / s.groups;
  std::vector<W> out(static_cast<size_t>(count(s.out)), W{0});
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t m = 0; m < s.out_channels; ++m)
      for (int64_t c = 0; c < s.in_per_group; ++c) {
        const int64_t channel = m / per_group * s.in_per_group + c;
        const W* from = x.data() + (n * s.groups * s.in_per_group + channel) * in_plane;
        const W* weight = w.data() + (m * s.in_per_group + c) * taps;
        Dims k(g.rank(), 0);
        for (int64_t t = 0; t < taps; ++t, next(k, g.kernel)) add_shifted(g, k, weight[t], from, out.data() + (n * s.out_channels + m) * out_plane);
      }
  return out;
}

template std::vector<double> convolve(const ConvShape&, const std::vector<double>&, const std::vector<double>&);
template std::vector<int64_t> convolve(const ConvShape&, const std::vector<int64_t>&, const std::vector<int64_t>&);

namespace ops {

void conv(Call& c) {
  const ConvShape s = conv_shape(c, c.in(0), c.in(1));
  std::vector<double> out = convolve(s, load<double>(c.in(0)), load<double>(c.in(1)));
  if (c.maybe(2)) {
    const std::vector<double> bias = load<double>(c.in(2));
    if (c.in(2).dims != Dims{s.out_channels}) invalid("bias has shape " + show(c.in(2).dims) + ", must be " + show({s.out_channels}));
    const int64_t plane = count(s.window.out);
    for (size_t i = 0; i < out.size(); ++i) out[i] += bias[i / static_cast<size_t>(plane) % bias.size()];
  }
  c.out(0, store(c.in(0).dtype, s.out, out));
}

}  // namespace ops
}  // namespace optima::reference
