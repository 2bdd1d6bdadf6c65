// SPDX-License-Identifier: Apache-2.0
// reference/ops: Resize and Upsample. Interpolation is separable: every axis has, per output position, source positions and
// weights; axes are applied one after the other.
#include <algorithm>
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// Sources of one output position along one axis. Empty = outside: the extrapolation value.
struct Taps {
  std::vector<int64_t> from;
  std::vector<double> weight;
};

struct Settings {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

using Axis = shapes::ResizeAxis;

/// Where output position o lies in the input, in the arithmetic of F.
template <class F>
F position_of(const Settings& s, const Axis& a, int64_t position) {
  const auto o = static_cast<F>(position), in = static_cast<F>(a.in), out = static_cast<F>(a.out), half = F(0.5);
  const auto scale = static_cast<F>(a.scale), begin = static_cast<F>(a.begin), end = static_cast<F>(a.end);
  if (s.coordinates == "half_pixel") return (o + half) / scale - half;
  if (s.coordinates == "asymmetric") return o / scale;
  if (s.coordinates == "align_corners") return a.out == 1 ? 0 : o * (in - 1) / (out - 1);
  if (s.coordinates == "pytorch_half_pixel") return a.out == 1 ? -half : (o + half) / scale - half;
  if (s.coordinates == "tf_half_pixel_for_nn") return (o + half) / scale;
  if (s.coordinates == "half_pixel_symmetric") return in / 2 * (1 - out / (scale * in)) + (o + half) / scale - half;
  if (s.coordinates == "tf_crop_and_resize")
    return a.out == 1 ? half * (begin + end) * (in - 1) : begin * (in - 1) + o * (end - begin) * (in - 1) / (out - 1);
  invalid("coordinate_transformation_mode '" + s.coordinates + "' is unknown");
}
/// In floats, as ONNX Runtime: 6 / 1.2f is 5 there, and a little less in doubles, which is another pixel.
double source(const Settings& s, const Axis& a, int64_t position) {
  return s.antialias ? position_of<double>(s, a, position) : static_cast<double>(position_of<float>(s, a, position));
}

/// What is within 1e-6 of a half is one, as ONNX Runtime has it.
int64_t nearest_to(const std::string& how, double x) {
  constexpr double kHalf = 0.5 + 1e-6;
  if (how == "round_prefer_floor") return static_cast<int64_t>(std::ceil(x - kHalf));
  if (how == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + kHalf));
  if (how == "floor") return static_cast<int64_t>(std::floor(x));
  if (how == "ceil") return static_cast<int64_t>(std::ceil(x));
  invalid("nearest_mode '" + how + "' is unknown");
}

/// Keys' kernel with parameter a; the triangle for linear.
double kernel(const Settings& s, double distance) {
  const double x = std::fabs(distance), a = s.cubic;
  if (s.mode == "linear") return std::fmax(0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// With antialiasing a downscaled axis has its kernel widened by 1 / scale.
Taps interpolated(const Settings& s, const Axis& a, double x) {
  const double squeeze = s.antialias ? std::fmin(a.scale, 1) : 1;
  const double reach = (s.mode == "linear" ? 1 : 2) / squeeze;
  const double base = std::ceil(x) - 1;  // x - base in (0, 1]
  const auto first = static_cast<int64_t>(std::floor(-reach) + 1), last = 1 - first;
  Taps taps;
  double sum = 0;
  for (int64_t k = first; k <= last; ++k) {
    const double at = base + static_cast<double>(k);
    const bool outside = at < 0 || at >= static_cast<double>(a.in);
    const double w = s.exclude_outside && outside ? 0 : kernel(s, (at - x) * squeeze);
    taps.from.push_back(static_cast<int64_t>(std::fmax(0, std::fmin(static_cast<double>(a.in - 1), at))));
    taps.weight.push_back(w);
    sum += w;
  }
  for (double& w : taps.weight) w /= sum;
  return taps;
}

std::vector<Taps> taps_of(const Settings& s, const Axis& a) {
  std::vector<Taps> taps;
  for (int64_t o = 0; o < a.out; ++o) {
    const double x = source(s, a, o);
    if (s.coordinates == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(a.in - 1))) taps.push_back({});
    else if (s.mode == "nearest") taps.push_back({{std::max<int64_t>(0, std::min(a.in - 1, nearest_to(s.nearest, x)))}, {1.0}});
    else taps.push_back(interpolated(s, a, x));
  }
  return taps;
}

/// One axis of x (shape dims) resized; dims is updated.
std::vector<double> along(const std::vector<double>& x, Dims& dims, size_t axis, const std::vector<Taps>& taps) {
  const int64_t inner = count(dims, axis + 1, dims.size()), outer = count(dims, 0, axis), n = dims[axis];
  dims[axis] = static_cast<int64_t>(taps.size());
  std::vector<double> out(static_cast<size_t>(count(dims)), 0.0);
  for (int64_t o = 0; o < outer; ++o)
    for (size_t p = 0; p < taps.size(); ++p) {
      double* to = out.data() + (o * dims[axis] + static_cast<int64_t>(p)) * inner;
      for (size_t t = 0; t < taps[p].from.size(); ++t)
        for (int64_t i = 0; i < inner; ++i) to[i] += taps[p].weight[t] * x[static_cast<size_t>((o * n + taps[p].from[t]) * inner + i)];
    }
  return out;
}

/// Nearest moves elements of any type; the others compute.
Tensor resized(const Tensor& x, const Settings& s, const std::vector<Axis>& axes) {
  const Dims to = shapes::sizes_of(axes);
  if (count(to) == 0) return take(x, whole(to), nullptr);
  if (to == x.dims && s.coordinates != "tf_crop_and_resize") return x;  // scales of 1.01, too, as in ONNX Runtime
  if (x.elements() == 0) invalid("input 0 of shape " + show(x.dims) + " has no elements to resize");
  std::vector<std::vector<Taps>> taps;
  for (const Axis& a : axes) taps.push_back(taps_of(s, a));
  if (s.mode == "nearest") {
    AxisMaps maps;
    for (const auto& axis : taps) {
      maps.emplace_back();
      for (const Taps& t : axis) maps.back().push_back(t.from.empty() ? -1 : t.from[0]);
    }
    if (s.coordinates != "tf_crop_and_resize") return take(x, maps);
    const Tensor fill = store<double>(x.dtype, {}, {s.extrapolation});
    return take(x, maps, &fill);
  }
  Dims dims = x.dims;
  std::vector<double> v = load<double>(x);
  for (size_t d = 0; d < axes.size(); ++d)
    if (axes[d].in != axes[d].out || axes[d].scale != 1 || s.coordinates == "tf_crop_and_resize") v = along(v, dims, d, taps[d]);
  Dims at(dims.size(), 0);
  for (double& e : v) {
    for (size_t d = 0; d < dims.size(); ++d)
      if (taps[d][static_cast<size_t>(at[d])].from.empty()) e = s.extrapolation;
    next(at, dims);
  }
  return store(x.dtype, dims, v);
}

}  // namespace

void resize(Call& c) {
  const Tensor& x = c.in(0);
  const bool first_version = c.version() < 11;
  Settings s;
  s.mode = c.text("mode", "nearest");
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic") invalid("mode is '" + s.mode + "', must be nearest, linear or cubic");
  s.coordinates = first_version ? "asymmetric" : c.text("coordinate_transformation_mode", "half_pixel");
  s.nearest = first_version ? "floor" : c.text("nearest_mode", "round_prefer_floor");
  s.cubic = c.real("cubic_coeff_a", -0.75);
  s.extrapolation = c.real("extrapolation_value", 0);
  s.exclude_outside = c.integer("exclude_outside", 0) != 0;
  s.antialias = c.integer("antialias", 0) != 0;
  std::vector<size_t> which;
  std::vector<Axis> axes = shapes::resize_axes(c, which);
  if (s.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = load<double>(c.in(1));
    if (roi.size() != 2 * which.size()) invalid("roi has " + std::to_string(roi.size()) + " elements, must be " + std::to_string(2 * which.size()));
    for (size_t k = 0; k < which.size(); ++k) axes[which[k]].begin = roi[k], axes[which[k]].end = roi[k + which.size()];
  }
  c.out(0, resized(x, s, axes));
}

/// Scales from an attribute in version 7, from an input in version 9.
void upsample(Call& c) {
  const Tensor& x = c.in(0);
  Settings s;
  s.mode = c.text("mode", "nearest");
  if (s.mode == "bilinear") s.mode = "linear";
  if (s.mode != "nearest" && s.mode != "linear") invalid("mode is '" + s.mode + "', must be nearest or linear");
  s.coordinates = "asymmetric", s.nearest = "floor";
  c.out(0, resized(x, s, shapes::upsample_axes(c)));
}

}  // namespace optima::reference::ops
