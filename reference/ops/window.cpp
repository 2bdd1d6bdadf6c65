// SPDX-License-Identifier: Apache-2.0
// reference/ops: sliding windows.
#include "reference/ops/window.hpp"

#include <algorithm>

namespace optima::reference {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;  // of any one attribute: products of three stay far from overflow

/// SAME_*: as many outputs as ceil(in / stride); the odd pad goes to the end (UPPER) or the begin (LOWER).
void same_pads(Window& w, bool upper) {
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t out = (w.in[d] + w.stride[d] - 1) / w.stride[d];
    const int64_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * w.stride[d] + span - w.in[d]);
    w.begin[d] = upper ? total / 2 : total - total / 2;
    w.end[d] = total - w.begin[d];
  }
}

/// A last window that would start in the end pad does not count. The only window of a pool may reach over the end by less than a stride: ONNX's
/// formula says so with ceil_mode, and without it ONNX's shape inference and ONNX Runtime, whose division rounds towards zero.
int64_t output_size(const Window& w, size_t d, bool pool, bool ceil) {
  const int64_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
  const int64_t room = w.in[d] + w.begin[d] + w.end[d] - span;
  if (pool && room < 0 && room > -w.stride[d] && w.in[d] + w.begin[d] > 0) return 1;
  if (room < 0) invalid("a window of " + std::to_string(span) + " does not fit into " + std::to_string(w.in[d] + w.begin[d] + w.end[d]) + " padded elements");
  int64_t out = room / w.stride[d] + 1;
  if (ceil && room % w.stride[d] != 0 && out * w.stride[d] < w.in[d] + w.begin[d]) ++out;
  return out;
}

}  // namespace

std::pair<int64_t, int64_t> Window::inside(size_t d, int64_t o) const {
  const int64_t at = o * stride[d] - begin[d], step = dilation[d];
  const int64_t first = at >= 0 ? 0 : (-at + step - 1) / step;
  const int64_t last = at >= in[d] ? 0 : (in[d] - at + step - 1) / step;
  return {std::min(first, kernel[d]), std::max(std::min(first, kernel[d]), std::min(last, kernel[d]))};
}

Dims spatial_list(const Call& c, const char* name, size_t rank, int64_t otherwise) {
  Dims list = c.list(name);
  if (list.empty()) list.assign(rank, otherwise);
  if (list.size() != rank) invalid(std::string(name) + " is " + show(list) + ", must have " + std::to_string(rank) + " numbers");
  for (int64_t n : list)
    if (n < 1 || n > kMost) invalid(std::string(name) + " is " + show(list) + ", must be positive and at most " + std::to_string(kMost));
  return list;
}

void explicit_pads(const Call& c, Window& w) {
  Dims pads = c.list("pads");
  if (pads.empty()) pads.assign(2 * w.rank(), 0);
  if (pads.size() != 2 * w.rank()) invalid("pads is " + show(pads) + ", must have " + std::to_string(2 * w.rank()) + " numbers");
  for (int64_t p : pads)
    if (p < -kMost || p > kMost) invalid("pads is " + show(pads) + ", out of range");
  w.begin.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(w.rank()));
  w.end.assign(pads.begin() + static_cast<ptrdiff_t>(w.rank()), pads.end());
}

Dims spatial_of(const Tensor& t) {
  if (t.dims.size() < 3) invalid("input 0 has rank " + std::to_string(t.dims.size()) + ", must be 3 or more");
  return {t.dims.begin() + 2, t.dims.end()};
}

Window window_of(const Call& c, Dims in, Dims kernel) {
  Window w;
  const size_t rank = in.size();
  const bool pool = kernel.empty();
  w.in = std::move(in);
  w.kernel = pool ? spatial_list(c, "kernel_shape", rank, 0) : std::move(kernel);
  w.stride = spatial_list(c, "strides", rank, 1);
  w.dilation = spatial_list(c, "dilations", rank, 1);
  w.begin.assign(rank, 0);
  w.end.assign(rank, 0);
  const std::string how = c.text("auto_pad", "NOTSET");
  if (how == "SAME_UPPER" || how == "SAME_LOWER") same_pads(w, how == "SAME_UPPER");
  else if (how == "NOTSET" || how.empty()) explicit_pads(c, w);
  else if (how != "VALID") invalid("auto_pad is '" + how + "', must be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  for (size_t d = 0; d < rank; ++d) w.out.push_back(output_size(w, d, pool, c.integer("ceil_mode", 0) != 0));
  return w;
}

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

}  // namespace

TransposedShape transposed_shape(const Call& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  const Dims in = spatial_of(x);
  const int64_t groups = c.integer("group", 1);
  if (w.dims.size() != x.dims.size() || w.dims[0] != x.dims[1] || groups < 1 || w.dims[0] % groups != 0)
    invalid("group is " + std::to_string(groups) + ", which does not fit " + show(x.dims) + " and weights " + show(w.dims));
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  for (int64_t k : kernel)
    if (k < 1 || k > 1 << 24) invalid("the weights have shape " + show(w.dims) + ", out of range");
  Window g = transposed_window(c, in, kernel);
  const int64_t channels = w.dims[1] * groups;
  Dims to{x.dims[0], channels};
  to.insert(to.end(), g.out.begin(), g.out.end());
  return {std::move(g), std::move(to)};
}

}  // namespace optima::reference
