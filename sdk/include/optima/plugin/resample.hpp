// SPDX-License-Identifier: Apache-2.0
// optima/plugin/resample.hpp: ONNX's Resize as a weighted gather per axis: every mode and rule of coordinates ends in a table. Not included by
// plugin.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace optima::sdk {
inline namespace v0_1 {

/// The operator's attributes, by the names of its page (ONNX operators, Resize 11 to 19).
struct Resample {
  enum class Mode { Nearest, Linear, Cubic };
  enum class Coordinates { HalfPixel, Asymmetric, AlignCorners, PytorchHalfPixel, HalfPixelSymmetric, Crop };
  enum class Nearest { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
  Mode mode = Mode::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  Nearest nearest = Nearest::RoundPreferFloor;
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
  bool crops() const { return coordinates == Coordinates::Crop; }
};

/// Nothing for a name that the page has not.
inline std::optional<Resample::Mode> resample_mode(std::string_view name) {
  if (name == "nearest") return Resample::Mode::Nearest;
  if (name == "linear") return Resample::Mode::Linear;
  if (name == "cubic") return Resample::Mode::Cubic;
  return std::nullopt;
}
inline std::optional<Resample::Coordinates> resample_coordinates(std::string_view name) {
  using C = Resample::Coordinates;
  if (name == "half_pixel") return C::HalfPixel;
  if (name == "asymmetric") return C::Asymmetric;
  if (name == "align_corners") return C::AlignCorners;
  if (name == "pytorch_half_pixel") return C::PytorchHalfPixel;
  if (name == "half_pixel_symmetric") return C::HalfPixelSymmetric;
  if (name == "tf_crop_and_resize") return C::Crop;
  return std::nullopt;
}
inline std::optional<Resample::Nearest> resample_nearest(std::string_view name) {
  using N = Resample::Nearest;
  if (name == "round_prefer_floor") return N::RoundPreferFloor;
  if (name == "round_prefer_ceil") return N::RoundPreferCeil;
  if (name == "floor") return N::Floor;
  if (name == "ceil") return N::Ceil;
  return std::nullopt;
}

/// One axis: for every output in turn, `taps` inputs (inside of the axis) and their weights.
struct ResampleTable {
  int64_t taps = 1;
  std::vector<int32_t> index{};
  std::vector<float> weight{};
};

/// Sizes of one axis; scale = output / input, as the model gives it; start and end: the region of tf_crop_and_resize.
struct ResampleAxis {
  int64_t in, out;
  double scale, start = 0, end = 1;
};

namespace detail {
/// Where output i lies among the inputs, in the arithmetic of F.
template <class F>
F resample_position(const Resample& r, int64_t i, const ResampleAxis& a) {
  using C = Resample::Coordinates;
  const F x = static_cast<F>(i), length = static_cast<F>(a.in), resized = static_cast<F>(a.out), half = F(0.5);
  const F scale = static_cast<F>(a.scale), start = static_cast<F>(a.start), end = static_cast<F>(a.end);
  if (r.coordinates == C::Asymmetric) return x / scale;
  if (r.coordinates == C::AlignCorners) return a.out == 1 ? 0 : x * (length - 1) / (resized - 1);
  if (r.coordinates == C::PytorchHalfPixel) return a.out == 1 ? 0 : (x + half) / scale - half;
  if (r.coordinates == C::HalfPixelSymmetric) {
    const F whole = scale * length, offset = length / 2 * (1 - resized / whole);
    return offset + (x + half) / scale - half;
  }
  if (r.crops()) return a.out == 1 ? half * (start + end) * (length - 1) : start * (length - 1) + x * (end - start) * (length - 1) / (resized - 1);
  return (x + half) / scale - half;
}

/// In floats, as ONNX Runtime: 6 / 1.2f is 5 there, and a little less in doubles, which is another pixel. Antialiasing is the same in any.
inline double resample_at(const Resample& r, int64_t i, const ResampleAxis& a) {
  return r.antialias ? resample_position<double>(r, i, a) : static_cast<double>(resample_position<float>(r, i, a));
}

/// What is within 1e-6 of a half is one, as ONNX Runtime has it.
inline int64_t resample_nearest_to(const Resample& r, double x) {
  constexpr double half = 0.5 + 1e-6;
  if (r.nearest == Resample::Nearest::Floor) return static_cast<int64_t>(std::floor(x));
  if (r.nearest == Resample::Nearest::Ceil) return static_cast<int64_t>(std::ceil(x));
  if (r.nearest == Resample::Nearest::RoundPreferCeil) return static_cast<int64_t>(std::floor(x + half));
  return static_cast<int64_t>(std::ceil(x - half));
}

/// The interpolation kernel at distance d: a triangle, or Keys' cubic.
inline double resample_kernel(const Resample& r, double d) {
  d = std::fabs(d);
  if (r.mode == Resample::Mode::Linear) return std::max(0.0, 1 - d);
  const double a = r.cubic;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Adds one output's taps. Shrinking with antialias stretches the kernel.
inline void add_taps(const Resample& r, double x, int64_t in, double stretch, ResampleTable& t) {
  const bool linear = r.mode == Resample::Mode::Linear;
  const double reach = (linear ? 1 : 2) * stretch;
  const int64_t first = stretch > 1 ? static_cast<int64_t>(std::floor(x - reach)) + 1 : static_cast<int64_t>(std::floor(x)) - (linear ? 0 : 1);
  std::vector<double> w;
  double sum = 0;
  for (int64_t k = 0; k < t.taps; ++k) {
    const int64_t at = first + k;
    double v = resample_kernel(r, (static_cast<double>(at) - x) / stretch);
    if (r.exclude_outside && (at < 0 || at >= in)) v = 0;
    w.push_back(v);
    sum += v;
  }
  const bool scaled = r.exclude_outside || stretch > 1;
  for (int64_t k = 0; k < t.taps; ++k) {
    t.index.push_back(static_cast<int32_t>(std::clamp<int64_t>(first + k, 0, in - 1)));
    t.weight.push_back(static_cast<float>(scaled && sum != 0 ? w[static_cast<size_t>(k)] / sum : w[static_cast<size_t>(k)]));
  }
}
}  // namespace detail

inline ResampleTable resample_table(const Resample& r, const ResampleAxis& a) {
  ResampleTable t;
  const double stretch = r.antialias && a.scale < 1 ? 1 / a.scale : 1;
  if (r.mode != Resample::Mode::Nearest) t.taps = static_cast<int64_t>(std::ceil((r.mode == Resample::Mode::Linear ? 1 : 2) * stretch)) * 2;
  for (int64_t i = 0; i < a.out; ++i) {
    const double x = detail::resample_at(r, i, a);
    if (r.mode == Resample::Mode::Nearest) {
      t.index.push_back(static_cast<int32_t>(std::clamp<int64_t>(detail::resample_nearest_to(r, x), 0, a.in - 1)));
      t.weight.push_back(1);
    } else {
      detail::add_taps(r, x, a.in, stretch, t);
    }
  }
  return t;
}

}  // namespace v0_1
}  // namespace optima::sdk
