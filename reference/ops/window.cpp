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

/// A last window that would start in the end pad does not count.
int64_t output_size(const Window& w, size_t d, bool ceil) {
  const int64_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
  const int64_t room = w.in[d] + w.begin[d] + w.end[d] - span;
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
  w.in = std::move(in);
  w.kernel = kernel.empty() ? spatial_list(c, "kernel_shape", rank, 0) : std::move(kernel);
  w.stride = spatial_list(c, "strides", rank, 1);
  w.dilation = spatial_list(c, "dilations", rank, 1);
  w.begin.assign(rank, 0);
  w.end.assign(rank, 0);
  const std::string how = c.text("auto_pad", "NOTSET");
  if (how == "SAME_UPPER" || how == "SAME_LOWER") same_pads(w, how == "SAME_UPPER");
  else if (how == "NOTSET" || how.empty()) explicit_pads(c, w);
  else if (how != "VALID") invalid("auto_pad is '" + how + "', must be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  for (size_t d = 0; d < rank; ++d) w.out.push_back(output_size(w, d, c.integer("ceil_mode", 0) != 0));
  return w;
}

}  // namespace optima::reference
