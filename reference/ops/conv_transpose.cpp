// SPDX-License-Identifier: Apache-2.0
// reference/ops: transposed convolution: every input element adds its weighted kernel to the output.
#include <algorithm>

#include "reference/ops/ops.hpp"
#include "reference/ops/window.hpp"

namespace optima::reference::ops {
namespace {

/// Pads and output dims. Given output_shape, the pads follow from it; SAME_* without one means in · stride.
Window transposed_window(const Call& c, const Dims& in, const Dims& kernel) {
  Window w;
  const size_t rank = in.size();
  w.in = in, w.kernel = kernel;
  w.stride = spatial_list(c, "strides", rank, 1);
  w.dilation = spatial_list(c, "dilations", rank, 1);
  const std::string how = c.text("auto_pad", "NOTSET");
  const bool same = how == "SAME_UPPER" || how == "SAME_LOWER";
  Dims extra = c.list("output_padding");
  if (extra.empty()) extra.assign(rank, 0);
  Dims wanted = c.list("output_shape");
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (extra.size() != rank || (!wanted.empty() && wanted.size() != rank)) invalid("output_padding or output_shape has another rank than the input");
  if (wanted.empty() && same)
    for (size_t d = 0; d < rank; ++d) wanted.push_back(count({in[d], w.stride[d]}));
  w.begin.assign(rank, 0);
  w.end.assign(rank, 0);
  if (wanted.empty() && how != "VALID") explicit_pads(c, w);
  for (size_t d = 0; d < rank; ++d) {
    if (extra[d] < 0 || extra[d] > 1 << 24) invalid("output_padding is " + show(extra) + ", out of range");
    const int64_t full = w.stride[d] * (in[d] - 1) + extra[d] + (kernel[d] - 1) * w.dilation[d] + 1;
    if (!wanted.empty()) {
      if (wanted[d] < 1 || wanted[d] > 1 << 30) invalid("output_shape is " + show(wanted) + ", out of range");
      const int64_t total = std::max<int64_t>(0, full - wanted[d]);
      w.begin[d] = how == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.end[d] = full - wanted[d] - w.begin[d];
    }
    w.out.push_back(full - w.begin[d] - w.end[d]);
    if (w.out.back() < 1) invalid("pads leave " + std::to_string(w.out.back()) + " elements of " + std::to_string(full));
  }
  return w;
}

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
  const Dims in = spatial_of(x);
  const int64_t groups = c.integer("group", 1);
  if (w.dims.size() != x.dims.size() || w.dims[0] != x.dims[1] || groups < 1 || w.dims[0] % groups != 0)
    invalid("group is " + std::to_string(groups) + ", which does not fit " + show(x.dims) + " and weights " + show(w.dims));
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  for (int64_t k : kernel)
    if (k < 1 || k > 1 << 24) invalid("the weights have shape " + show(w.dims) + ", out of range");
  const Window g = transposed_window(c, in, kernel);
  const int64_t channels = w.dims[1] * groups, per_group = w.dims[0] / groups;
  Dims to{x.dims[0], channels};
  to.insert(to.end(), g.out.begin(), g.out.end());
  const int64_t in_plane = count(g.in), out_plane = count(g.out), taps = count(kernel);
  const std::vector<double> xs = load<double>(x), ws = load<double>(w);
  std::vector<double> out(static_cast<size_t>(count(to)), 0.0);
  for (int64_t n = 0; n < x.dims[0]; ++n)
    for (int64_t i = 0; i < w.dims[0]; ++i)
      for (int64_t m = 0; m < w.dims[1]; ++m) {
        double* plane = out.data() + (n * channels + i / per_group * w.dims[1] + m) * out_plane;
        Dims k(g.rank(), 0);
        for (int64_t t = 0; t < taps; ++t, next(k, kernel))
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
