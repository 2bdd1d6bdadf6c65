// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see window.hpp.
#include "plugins/llvm_cpu/lower/window.hpp"

#include <algorithm>

namespace optima::llvm_cpu {
namespace {

Three three(const Dims& dims, int64_t fill) {
  Three out{fill, fill, fill};
  for (size_t i = 0; i < dims.size() && i < 3; ++i) out[3 - dims.size() + i] = dims[i];
  return out;
}

Dims spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

}  // namespace

Window Window::of(const NodeView& node, const Dims& kernel) {
  const Dims in = node.in_dims(0), out = node.out_dims(0);
  const size_t n = in.size() - 2;
  Window w;
  w.batch = in[0], w.channels = in[1], w.out_channels = out[1];
  w.in = three(spatial(in), 1), w.out = three(spatial(out), 1), w.kernel = three(kernel, 1);
  w.stride = three(node.integers("strides", Dims(n, 1)), 1);
  w.dilation = three(node.integers("dilations", Dims(n, 1)), 1);
  const Dims pads = node.integers("pads", Dims(2 * n, 0));
  w.begin = three(Dims(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n)), 0);
  w.end = three(Dims(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end()), 0);
  const std::string_view mode = node.text("auto_pad", "NOTSET");
  for (size_t i = 3 - n; i < 3 && mode != "NOTSET"; ++i) {
    const int64_t reach = (w.out[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
    const int64_t total = mode == "VALID" ? 0 : std::max<int64_t>(0, reach - w.in[i]);
    w.begin[i] = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
    w.end[i] = total - w.begin[i];
  }
  return w;
}

}  // namespace optima::llvm_cpu
