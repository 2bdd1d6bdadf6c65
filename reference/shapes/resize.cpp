// SPDX-License-Identifier: Apache-2.0
// reference/shapes: sizes of Resize and Upsample.
#include <algorithm>
#include <cmath>

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

namespace {

void check_scale(double scale) {
  if (!(scale > 0) || !(scale < 1 << 24)) invalid("a scale is " + std::to_string(scale) + ", must be positive and at most 16777216");
}

void scale_axis(ResizeAxis& a, double scale) {
  check_scale(scale);
  a.scale = scale;
  a.out = static_cast<int64_t>(std::floor(static_cast<float>(scale) * static_cast<float>(a.in)));  // as in ONNX Runtime: 10 by 0.7f is 7, and in doubles 6
}

/// Sizes, made to keep the aspect ratio when asked.
void size_axes(const Call& c, std::vector<ResizeAxis>& axes, const std::vector<size_t>& which, const Dims& sizes) {
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") invalid("keep_aspect_ratio_policy is '" + policy + "', must be stretch, not_larger or not_smaller");
  double common = 0;
  for (size_t k = 0; k < which.size(); ++k) {
    ResizeAxis& a = axes[which[k]];
    if (sizes[k] < 0) invalid("sizes is " + show(sizes) + ", must not be negative");
    a.out = sizes[k];
    a.scale = a.in == 0 ? 1 : static_cast<double>(sizes[k]) / static_cast<double>(a.in);
    common = k == 0 ? a.scale : policy == "not_larger" ? std::fmin(common, a.scale) : std::fmax(common, a.scale);
  }
  if (policy == "stretch") return;
  for (size_t k : which) {
    axes[k].scale = common;
    axes[k].out = static_cast<int64_t>(std::floor(common * static_cast<double>(axes[k].in) + 0.5));
  }
}

}  // namespace

std::vector<ResizeAxis> resize_axes(const Call& c, std::vector<size_t>& which) {
  const Tensor& x = c.in(0);
  const bool first_version = c.version() < 11;
  std::vector<ResizeAxis> axes;
  for (int64_t n : x.dims) axes.push_back({n, n});
  const Dims named = c.list("axes");
  for (int64_t a : named) which.push_back(normal_axis(a, x.dims.size()));
  if (!c.has("axes"))
    for (size_t d = 0; d < axes.size(); ++d) which.push_back(d);
  const auto given = [&](uint32_t k) { return c.maybe(k) && c.in(k).elements() != 0; };
  const uint32_t scales = first_version ? 1 : 2;
  const uint32_t by = given(scales) ? scales : 3;
  if (!given(by)) invalid("neither scales nor sizes are given");
  if (c.in(by).elements() != static_cast<int64_t>(which.size())) invalid("scales or sizes have " + std::to_string(c.in(by).elements()) + " elements, must be " + std::to_string(which.size()));
  if (by == 3) size_axes(c, axes, which, c.ints(3));
  else {
    const std::vector<double> factors = c.numbers(scales);
    for (size_t k = 0; k < which.size(); ++k) scale_axis(axes[which[k]], factors[k]);
  }
  return axes;
}

/// Scales from an attribute in version 7, from an input in version 9.
std::vector<ResizeAxis> upsample_axes(const Call& c) {
  const Tensor& x = c.in(0);
  const std::vector<double> scales = c.version() < 9 ? c.reals("scales").value_or(std::vector<double>{}) : c.numbers(1);
  if (scales.size() != x.dims.size()) invalid("scales has " + std::to_string(scales.size()) + " elements, must be " + std::to_string(x.dims.size()));
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < scales.size(); ++d) {
    axes.push_back({x.dims[d], x.dims[d]});
    scale_axis(axes.back(), scales[d]);
  }
  return axes;
}

Dims sizes_of(const std::vector<ResizeAxis>& axes) {
  Dims to;
  for (const ResizeAxis& a : axes) to.push_back(a.out);
  return to;
}

}  // namespace shapes

namespace rules {

void resize(const Call& c, Inference& to) {
  std::vector<size_t> which;
  give(c, to, 0, c.in(0).dtype, shapes::sizes_of(shapes::resize_axes(c, which)));
}
void upsample(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::sizes_of(shapes::upsample_axes(c))); }

}  // namespace rules
}  // namespace optima::reference
