// SPDX-License-Identifier: Apache-2.0
// reference/shapes: windows, pictures and regions of them, losses.
#include "reference/ops/conv.hpp"
#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {
namespace {

/// A sample reads two elements or more along every axis.
void need_few_axes(size_t rank) {
  if (rank > 8) invalid("input 0 has " + std::to_string(rank) + " spatial dims, must be 8 or fewer");
}

}  // namespace

Dims grid_sample_dims(const Call& c) {
  const Tensor &x = c.in(0), &grid = c.in(1);
  const size_t rank = x.dims.size() < 3 ? 0 : x.dims.size() - 2;
  if (rank == 0 || grid.dims.size() != rank + 2 || grid.dims.back() != static_cast<int64_t>(rank) || grid.dims[0] != x.dims[0])
    invalid("input " + show(x.dims) + " and grid " + show(grid.dims) + " do not fit together");
  need_few_axes(rank);
  Dims to{x.dims[0], x.dims[1]};
  to.insert(to.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  return to;
}

Dims affine_grid_dims(const Call& c) {
  const Dims& theta = c.in(0).dims;
  const Dims size = c.ints(1);
  if (size.size() != 4 && size.size() != 5) invalid("size is " + show(size) + ", must have 4 or 5 numbers");
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  if (theta != Dims{size[0], axes, axes + 1}) invalid("theta has shape " + show(theta) + ", must be " + show({size[0], axes, axes + 1}));
  Dims to{size[0]};
  to.insert(to.end(), size.begin() + 2, size.end());
  to.push_back(axes);
  count(to);
  return to;
}

Window col2im_window(const Call& c, Dims& out) {
  const Dims& x = c.in(0).dims;
  const Dims image = c.ints(1), block = c.ints(2);
  if (x.size() != 3) invalid("input 0 has rank " + std::to_string(x.size()) + ", must be 3");
  if (image.empty() || image.size() > 32 || block.size() != image.size()) invalid("image_shape is " + show(image) + " and block_shape " + show(block) + ", must be as many sizes");
  for (int64_t k : block)
    if (k < 1 || k > 1 << 24) invalid("block_shape is " + show(block) + ", out of range");
  const int64_t taps = count(block);
  if (x[1] % taps != 0) invalid("input 0 has shape " + show(x) + ", its dim 1 must be a multiple of the " + std::to_string(taps) + " elements of a block");
  out = {x[0], x[1] / taps};
  out.insert(out.end(), image.begin(), image.end());
  count(image);
  count(out);
  Window w = window_of(c, image, block);
  if (count(w.out) != x[2]) invalid("input 0 has shape " + show(x) + ", its dim 2 must be the " + std::to_string(count(w.out)) + " blocks of the image");
  return w;
}

ConvShape deform_conv_shape(const Call& c) {
  ConvShape s = conv_shape(c, c.in(0), c.in(1));
  const auto rank = static_cast<int64_t>(s.window.rank());
  need_few_axes(s.window.rank());
  const int64_t groups = c.integer("offset_group", 1), channels = c.in(0).dims[1];
  if (groups < 1 || groups > 1 << 30 || channels % groups != 0) invalid("offset_group is " + std::to_string(groups) + ", which does not divide " + std::to_string(channels) + " channels");
  const auto need = [&](uint32_t k, const char* what, int64_t each) {
    Dims wanted{s.batch, count({groups, count(s.window.kernel), each})};
    wanted.insert(wanted.end(), s.window.out.begin(), s.window.out.end());
    if (c.in(k).dims != wanted) invalid(std::string(what) + " has shape " + show(c.in(k).dims) + ", must be " + show(wanted));
  };
  need(2, "offset", rank);
  if (c.maybe(4)) need(4, "mask", 1);
  if (c.maybe(3) && c.in(3).dims != Dims{s.out_channels}) invalid("bias has shape " + show(c.in(3).dims) + ", must be " + show({s.out_channels}));
  return s;
}

namespace {

void check_fit(const Tensor& x, const Tensor& rois, int64_t columns) {
  if (x.dims.size() != 4) invalid("input 0 of shape " + show(x.dims) + " is no batch of pictures");
  if (rois.dims.size() != 2 || rois.dims[1] != columns) invalid("regions of shape " + show(rois.dims) + ", must be [any," + std::to_string(columns) + "]");
}

}  // namespace

Dims roi_align_dims(const Call& c) {
  const Tensor &rois = c.in(1), &index = c.in(2);
  check_fit(c.in(0), rois, 4);
  if (index.dims != Dims{rois.dims[0]}) invalid("batch_indices of shape " + show(index.dims) + ", must be " + show(Dims{rois.dims[0]}));
  const int64_t rows = c.integer("output_height", 1), columns = c.integer("output_width", 1), asked = c.integer("sampling_ratio", 0);
  if (rows < 1 || columns < 1 || asked < 0) invalid("output_height, output_width and sampling_ratio are " + show(Dims{rows, columns, asked}) + ", must not be negative");
  return {rois.dims[0], c.in(0).dims[1], rows, columns};
}

Dims max_roi_pool_dims(const Call& c) {
  check_fit(c.in(0), c.in(1), 5);
  const Dims shape = c.list("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) invalid("pooled_shape is " + show(shape) + ", must be two sizes");
  return {c.in(1).dims[0], c.in(0).dims[1], shape[0], shape[1]};
}

Dims target_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  if (d.size() < 2) invalid("input 0 has rank " + std::to_string(d.size()) + ", must be 2 or more");
  Dims targets{d[0]};
  targets.insert(targets.end(), d.begin() + 2, d.end());
  if (c.in(1).dims != targets) invalid("targets have shape " + show(c.in(1).dims) + ", must be " + show(targets));
  return targets;
}

Dims pooled_dims(const Tensor& x, const Dims& spatial) {
  if (x.dims.size() < 2) invalid("input 0 has rank " + std::to_string(x.dims.size()) + ", must be 2 or more");
  Dims to{x.dims[0], x.dims[1]};
  to.insert(to.end(), spatial.begin(), spatial.end());
  return to;
}

Dims unpool_dims(const Call& c, Dims& plain) {
  const Tensor &x = c.in(0), &indices = c.in(1);
  const Dims in = spatial_of(x);
  if (indices.dims != x.dims) invalid("indices have shape " + show(indices.dims) + ", must be " + show(x.dims));
  Window w;
  w.kernel = spatial_list(c, "kernel_shape", in.size(), 0);
  w.stride = spatial_list(c, "strides", in.size(), 1);
  explicit_pads(c, w);
  plain = {x.dims[0], x.dims[1]};
  for (size_t d = 0; d < in.size(); ++d) plain.push_back((in[d] - 1) * w.stride[d] + w.kernel[d] - w.begin[d] - w.end[d]);
  Dims to = c.maybe(2) ? c.ints(2) : plain;
  if (to.size() != x.dims.size()) invalid("output_shape has " + std::to_string(to.size()) + " elements, must be " + std::to_string(x.dims.size()));
  return to;
}

}  // namespace shapes

namespace rules {

namespace {

void pooled(const Call& c, Inference& to, uint32_t outputs) {
  const Tensor& x = c.in(0);
  Dims dims = shapes::pooled_dims(x, window_of(c, spatial_of(x)).out);
  if (outputs > 1) give(c, to, 1, OPTIMA_I64, dims);
  give(c, to, 0, x.dtype, std::move(dims));
}

}  // namespace

void conv(const Call& c, Inference& to) {
  ConvShape s = conv_shape(c, c.in(0), c.in(1));
  if (c.maybe(2) && c.in(2).dims != Dims{s.out_channels}) invalid("bias has shape " + show(c.in(2).dims) + ", must be " + show({s.out_channels}));
  give(c, to, 0, c.in(0).dtype, std::move(s.out));
}
void conv_integer(const Call& c, Inference& to) { give(c, to, 0, OPTIMA_I32, conv_shape(c, c.in(0), c.in(1)).out); }
void qlinear_conv(const Call& c, Inference& to) { give(c, to, 0, c.in(7).dtype, conv_shape(c, c.in(0), c.in(3)).out); }
void conv_transpose(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, transposed_shape(c).out); }
void max_pool(const Call& c, Inference& to) { pooled(c, to, 2); }
void pool(const Call& c, Inference& to) { pooled(c, to, 1); }
void global_pool(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::pooled_dims(c.in(0), Dims(c.in(0).dims.size() < 2 ? 0 : c.in(0).dims.size() - 2, 1))); }

void max_unpool(const Call& c, Inference& to) {
  Dims plain;
  Dims dims = shapes::unpool_dims(c, plain);
  give(c, to, 0, c.in(0).dtype, std::move(dims));
}

void grid_sample(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::grid_sample_dims(c)); }
void affine_grid(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::affine_grid_dims(c)); }
void col2im(const Call& c, Inference& to) {
  Dims dims;
  shapes::col2im_window(c, dims);
  give(c, to, 0, c.in(0).dtype, std::move(dims));
}
void deform_conv(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::deform_conv_shape(c).out); }
void roi_align(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::roi_align_dims(c)); }
void max_roi_pool(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::max_roi_pool_dims(c)); }

void loss(const Call& c, Inference& to) {
  Dims targets = shapes::target_dims(c);
  if (c.text("reduction", "mean") != "none") targets.clear();
  give(c, to, 0, c.in(0).dtype, std::move(targets));
  give(c, to, 1, c.in(0).dtype, c.in(0).dims);
}

}  // namespace rules
}  // namespace optima::reference
