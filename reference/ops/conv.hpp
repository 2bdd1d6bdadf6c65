// SPDX-License-Identifier: Apache-2.0
// reference/ops: the convolution loop, shared by the float, integer and quantized operators.
#pragma once

#include "reference/ops/window.hpp"

namespace optima::reference {

struct ConvShape {
  Window window;
  int64_t batch = 0, groups = 1, in_per_group = 0, out_channels = 0;
  Dims out;
};

/// Judges x [N, C, …], w [M, C/group, …] and the node's attributes. Throws INVALID_GRAPH.
ConvShape conv_shape(const Call& c, const Tensor& x, const Tensor& w);

/// out[n][m] = Σ over channels of the group and kernel positions of w · x; outside the input x is 0. W is double or int64_t.
template <class W>
std::vector<W> convolve(const ConvShape& s, const std::vector<W>& x, const std::vector<W>& w);

}  // namespace optima::reference
