// SPDX-License-Identifier: Apache-2.0
// reference/ops: sliding windows of convolutions and pools, in any number of spatial dims.
#pragma once

#include "reference/call.hpp"

namespace optima::reference {

struct Window {
  Dims kernel, stride, dilation, begin, end;  ///< one number per spatial dim; begin and end are the pads
  Dims in, out;
  size_t rank() const { return kernel.size(); }
  /// First kernel position of output position o that lies inside the input, and one past the last.
  std::pair<int64_t, int64_t> inside(size_t d, int64_t o) const;
};

/// Attributes kernel_shape (of pools, which have no `kernel`), strides, dilations, pads, auto_pad, ceil_mode of a node whose
/// input has the spatial dims `in`. Throws INVALID_GRAPH on anything that has no output.
Window window_of(const Call& c, Dims in, Dims kernel = {});

/// The same of ConvTranspose, with its output [N, M, …].
struct TransposedShape {
  Window window;
  Dims out;
};
TransposedShape transposed_shape(const Call& c);

/// A list attribute of one number per spatial dim, all positive; `otherwise` fills an absent one.
Dims spatial_list(const Call& c, const char* name, size_t rank, int64_t otherwise);
/// pads as given (auto_pad NOTSET), begins then ends.
void explicit_pads(const Call& c, Window& w);

/// Dims of an [N, C, spatial…] tensor behind the first two. Throws when there is none.
Dims spatial_of(const Tensor& t);

}  // namespace optima::reference
