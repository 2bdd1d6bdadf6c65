// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: what convolutions on codes share, whether their scales are constants or made in the run: padding, where pixels, runs and
// taps lie, and the order of lanes of the depthwise kernel.
#pragma once

#include "plugins/llvm_cpu/kernels/codes_conv.hpp"
#include "plugins/llvm_cpu/kernels/codes_depthwise.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {

/// The input, channels last, with its padding as far as taps reach; `zero`: one byte, the code of 0. w.in becomes what lies there.
Operand with_padding(const Operand& in, Window& w, int64_t pixel, const Operand& zero, LowerContext& context);

/// Literals and packing of weights [out_channels][channels / groups][taps], without the tile and the tail.
struct CodesWindow {
  k::CodesConv literals{};
  Pack pack{};
};
CodesWindow dense_window(const Window& w, int64_t pixel, int64_t groups, int64_t out_pixel);

/// One channel in, one out, as k_codes_depthwise has them: at least five channels, which have pixels of 16.
bool is_depthwise(const Window& w, int64_t groups);
/// Literals without the tail.
k::CodesDepthwise depthwise_window(const Window& w, int64_t pixel, int64_t out_pixel, const Target& target);
/// Signed weights [channels][taps], after a flip of these bits, as the kernel reads them.
std::string depthwise_weights(std::string_view weights, char flip, const Window& w, const Target& target);

/// The channel in lane i of vector j of a block: see kernels/codes_depthwise.hpp.
inline int64_t channel_of(int64_t block, int64_t j, int64_t i, int64_t vl) { return block * vl * 4 + i / 4 * 16 + j * 4 + i % 4; }
/// A number per channel in that order, filled up to whole blocks.
template <class T>
Operand in_lanes(const std::vector<T>& all, LowerContext& ctx) {
  const auto channels = static_cast<int64_t>(all.size()), vl = ctx.target().vector_width;
  std::vector<T> out;
  for (int64_t b = 0; b < divide_up(channels, vl * 4); ++b)
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t i = 0; i < vl; ++i) out.push_back(channel_of(b, j, i, vl) < channels ? all[static_cast<size_t>(channel_of(b, j, i, vl))] : T{});
  return ctx.bytes(raw_bytes(out));
}

}  // namespace optima::llvm_cpu
