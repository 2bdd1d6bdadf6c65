// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: what convolutions over one or two axes are: their numbers, and how much of one an invocation keeps in registers.
#pragma once

#include <algorithm>

#include "sums.hpp"
#include "window.hpp"

namespace spirv_plugin {
namespace of_conv {

/// A convolution as two axes: one of one axis has height 1.
struct Conv {
  int64_t batch, channels, height, width;       ///< of the input
  int64_t features, out_height, out_width;      ///< of the output
  int64_t groups, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
  int64_t group_channels() const { return channels / groups; }
  int64_t group_features() const { return features / groups; }
};

inline Conv conv_of(const sdk::Node& node, const sdk::Value& weights) {
  const Dims x = node.input(0).shape(), w = weights.shape(), y = node.output(0).shape();
  const std::vector<Axis> axes = window_of(node, {w.begin() + 2, w.end()});
  const Axis one{1, 1, 1, 1, 1, 0, 0}, &across = axes.back(), &down = axes.size() == 2 ? axes[0] : one;
  Conv c{x[0],          x[1],        down.in,     across.in,     y[1],          down.out,      across.out, node.integer("group", 1), down.kernel, across.kernel,
         down.stride,   across.stride, down.dilation, across.dilation, down.begin, across.begin};
  const bool is_product = c.kernel_h * c.kernel_w == 1 && c.stride_h * c.stride_w == 1 && c.out_height == c.height && c.out_width == c.width;
  if (is_product) c.width *= c.height, c.out_width *= c.out_height, c.height = c.out_height = 1;  // rows have no ends
  return c;
}

inline std::string acc(int64_t f, int64_t p) { return "a" + text(f) + "_" + text(p); }

/// Features and pixels of one invocation.
struct Patch {
  int64_t features, pixels;
};
/// Pixels of a tile divide a row with little left over; wide tiles load each weight for more of them.
inline int64_t pixels_for(int64_t width, int64_t most) {
  int64_t best = 1, waste = INT64_MAX;
  for (int64_t p = std::min(most, width); p >= std::min<int64_t>(4, width); --p) {
    const int64_t left = (width + p - 1) / p * p - width;
    if (left < waste) best = p, waste = left;
  }
  return best;
}

/// Tiles twice as tall take drivers twice as long to compile: they are for work that repays it.
constexpr int64_t kHeavy = 40'000'000;  // multiplications

/// As many sums as the target's registers are said to hold, with four pixels at least.
inline Patch patch_for(const Limits& limits, const Conv& c) {
  const int64_t f = c.group_features(), most = limits.register_tile ? std::clamp<int64_t>(limits.register_tile.sums(), 4, 128) : 128;
  const bool is_heavy = c.features * c.out_height * c.out_width * c.group_channels() * c.kernel_h * c.kernel_w >= kHeavy;
  int64_t features = is_heavy ? 16 : 8;
  while (features > 1 && (features > f || features * 4 > most)) features /= 2;
  return {features, pixels_for(std::max<int64_t>(1, c.out_width), std::min<int64_t>(8, most / features))};
}

/// The largest workgroup of which little is left without work.
inline uint32_t local_for(int64_t invocations) {
  constexpr int64_t kMost = 64, kLeast = 8;
  for (int64_t local = kMost; local > kLeast; local /= 2)
    if (const int64_t all = (invocations + local - 1) / local * local; 10 * (all - invocations) <= all) return static_cast<uint32_t>(local);
  return kLeast;
}

/// Weights by tile of features: [tile][place][feature of the tile], of `depth` places, zeros behind the last feature of a group. `at(feature, place)`.
template <class T, class At>
std::vector<T> packed(const Conv& c, const Patch& t, int64_t depth, const At& at) {
  const int64_t tiles = (c.group_features() + t.features - 1) / t.features;
  std::vector<T> out(static_cast<size_t>(c.groups * tiles * depth * t.features));
  for (int64_t g = 0; g < c.groups; ++g)
    for (int64_t f = 0; f < c.group_features(); ++f) {
      T* to = &out[static_cast<size_t>((g * tiles + f / t.features) * depth * t.features + f % t.features)];
      for (int64_t k = 0; k < depth; ++k) to[k * t.features] = at(g * c.group_features() + f, k);
    }
  return out;
}

/// Why the tiles do not hold a convolution over one or two axes; empty: they do.
inline std::string too_large(const sdk::Node& node) {
  constexpr int64_t kMost = 65535;
  const sdk::Value x = node.input(0), y = node.output(0);
  if (x.dim(0) > kMost || y.dim(1) > kMost) return "batch or channels above " + std::to_string(kMost);
  const int64_t pixels = y.rank() == 4 ? y.dim(2) * y.dim(3) : y.dim(2);
  return pixels > 64 * kMost ? "output of " + std::to_string(pixels) + " pixels, wanted at most " + std::to_string(64 * kMost) : "";
}

}  // namespace of_conv
}  // namespace spirv_plugin
