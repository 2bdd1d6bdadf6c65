// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: sliding windows: kernel, stride, dilation and padding of convolution and pooling, always as three dims.
#pragma once

#include <array>
#include <optional>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace optima::llvm_cpu {

/// Depth, height, width; missing ones in front are 1 (padding 0).
using Three = std::array<int64_t, 3>;
inline k::Three literal(const Three& t) { return {t[0], t[1], t[2]}; }

/// The attribute, or `n` times the default when it is absent or empty.
Dims list_of(const NodeView& node, const char* name, size_t n, int64_t otherwise);
/// Refuses a list of a window's sizes that has not `n` of them, and one with a size under `least` or huge.
Refusal check_list(const char* name, const Dims& list, size_t n, int64_t least);

enum class AutoPad { Explicit, Valid, SameUpper, SameLower };
/// Nothing when the attribute has another value.
std::optional<AutoPad> auto_pad(const NodeView& node);

struct Window {
  int64_t batch = 1, channels = 1, out_channels = 1;
  Three in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, begin{0, 0, 0}, end{0, 0, 0};

  /// What is wrong, if anything: attributes of a wrong number of entries, negative or huge ones; a result of another shape than
  /// the window makes. `kernel` as given, one number per spatial dim.
  static Refusal check(const NodeView& node, const Dims& kernel, int64_t out_channels);
  /// The half of check() that asks nothing of the result but its rank.
  static Refusal check_attributes(const NodeView& node);
  /// Input 0 and output 0 of a node of rank 3 to 5 with attributes strides, dilations, pads, auto_pad. `kernel` as given.
  static Window of(const NodeView& node, const Dims& kernel);

  /// The same, with single columns as rows: while everything along W is 1 and nothing is padded there, H and D move up. Equal bytes.
  Window with_long_rows() const;

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

}  // namespace optima::llvm_cpu
