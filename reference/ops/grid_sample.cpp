// SPDX-License-Identifier: Apache-2.0
// reference/ops: GridSample in any number of spatial dims, and AffineGrid, which makes its grids. As in Resize, every axis has positions
// and weights; a sample is the sum over their combinations.
#include <algorithm>
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

enum class Outside { Zeros, Border, Reflection };

struct Grid {
  std::string mode;
  Outside outside = Outside::Zeros;
  bool corners = false;
};

/// Mirrored at low and high as often as needed.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double away = std::fabs(x - low), turns = std::floor(away / range), rest = away - turns * range;
  return std::fmax(low, std::fmin(high, std::fmod(turns, 2) == 0 ? low + rest : high - rest));
}

/// Position of a normalised coordinate (-1..1) on an axis of n elements.
double position(const Grid& g, double at, int64_t n) {
  const auto size = static_cast<double>(n);
  double x = g.corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
  if (!std::isfinite(x)) x = -1;
  if (g.mode == "nearest") x = std::nearbyint(x);
  const double low = g.corners ? 0 : -0.5, high = g.corners ? size - 1 : size - 0.5;
  if (x >= low && x <= high) return x;
  if (g.outside == Outside::Border && g.mode != "cubic") return std::fmax(0, std::fmin(size - 1, x));  // of a cubic it is the elements that are moved to the border
  return g.outside == Outside::Reflection ? reflect(x, low, high) : std::fmax(-8, std::fmin(size + 8, x));
}

/// Element to read for position i, -1 = zero.
int64_t element(const Grid& g, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (g.outside == Outside::Zeros) return -1;
  if (g.outside == Outside::Border) return std::max<int64_t>(0, std::min(n - 1, i));
  const double low = g.corners ? 0 : -0.5, high = g.corners ? static_cast<double>(n) - 1 : static_cast<double>(n) - 0.5;
  return std::max<int64_t>(0, std::min(n - 1, static_cast<int64_t>(reflect(static_cast<double>(i), low, high))));
}

struct Tap {
  int64_t from;
  double weight;
};

std::vector<Tap> taps(const Grid& g, double at, int64_t n) {
  const double x = position(g, at, n), base = std::floor(x), t = x - base;
  const auto i = static_cast<int64_t>(base);
  if (g.mode == "nearest") return {{element(g, static_cast<int64_t>(std::nearbyint(x)), n), 1}};
  if (g.mode == "linear") return {{element(g, i, n), 1 - t}, {element(g, i + 1, n), t}};
  const auto near = [](double d) { return ((-0.75 + 2) * d - (-0.75 + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((-0.75 * d + 5 * 0.75) * d - 8 * 0.75) * d + 4 * 0.75; };
  return {{element(g, i - 1, n), far(t + 1)}, {element(g, i, n), near(t)}, {element(g, i + 1, n), near(1 - t)}, {element(g, i + 2, n), far(2 - t)}};
}

double sum_of(const double* plane, const Dims& step, const std::vector<std::vector<Tap>>& axes, size_t d, int64_t offset) {
  if (d == axes.size()) return plane[offset];
  double sum = 0;
  for (const Tap& t : axes[d])
    if (t.from >= 0) sum += t.weight * sum_of(plane, step, axes, d + 1, offset + t.from * step[d]);
  return sum;
}

Grid settings(const Call& c) {
  Grid g;
  g.mode = c.text("mode", "linear");
  if (g.mode == "bilinear") g.mode = "linear";
  if (g.mode == "bicubic") g.mode = "cubic";
  if (g.mode != "linear" && g.mode != "nearest" && g.mode != "cubic") invalid("mode is '" + g.mode + "', must be linear, nearest or cubic");
  const std::string outside = c.text("padding_mode", "zeros");
  if (outside != "zeros" && outside != "border" && outside != "reflection") invalid("padding_mode is '" + outside + "', must be zeros, border or reflection");
  g.outside = outside == "zeros" ? Outside::Zeros : outside == "border" ? Outside::Border : Outside::Reflection;
  g.corners = c.integer("align_corners", 0) != 0;
  return g;
}

}  // namespace

void grid_sample(Call& c) {
  const Tensor &x = c.in(0), &grid = c.in(1);
  const Dims to = shapes::grid_sample_dims(c);
  const size_t rank = x.dims.size() - 2;
  const Grid g = settings(c);
  const Dims in(x.dims.begin() + 2, x.dims.end());
  const std::vector<double> v = load<double>(x), at = load<double>(grid);
  const int64_t points = count(to, 2, to.size()), plane = count(in), channels = x.dims[1];
  if (plane == 0 && count(to) != 0) invalid("input 0 of shape " + show(x.dims) + " has nothing to sample");
  const Dims step = strides_of(in);
  std::vector<double> out(static_cast<size_t>(count(to)));
  for (int64_t n = 0; n < x.dims[0]; ++n)
    for (int64_t p = 0; p < points; ++p) {
      std::vector<std::vector<Tap>> axes;  // the grid names the last axis first
      for (size_t d = 0; d < rank; ++d) axes.push_back(taps(g, at[static_cast<size_t>(n * points + p) * rank + rank - 1 - d], in[d]));
      for (int64_t ch = 0; ch < channels; ++ch)
        out[static_cast<size_t>((n * channels + ch) * points + p)] = sum_of(v.data() + (n * channels + ch) * plane, step, axes, 0, 0);
    }
  c.out(0, store(x.dtype, to, out));
}

/// Each place of a picture, from -1 to 1 along its axes, times the matrices. With align_corners the ends are the centers of the first and
/// the last element; of an axis of one element its place is -1, as the function in the operator's page has it where it has a number.
void affine_grid(Call& c) {
  const Dims to = shapes::affine_grid_dims(c);
  const auto axes = static_cast<size_t>(to.back());
  const bool corners = c.integer("align_corners", 0) != 0;
  const std::vector<double> theta = load<double>(c.in(0));
  const Dims places(to.begin() + 1, to.end() - 1);
  const auto place = [&](size_t d, int64_t i) {
    const auto n = static_cast<double>(places[d]), k = static_cast<double>(i);
    return corners ? (n == 1 ? 0 : 2 * k / (n - 1)) - 1 : (2 * k + 1) / n - 1;
  };
  std::vector<double> out;
  out.reserve(static_cast<size_t>(count(to)));
  for (int64_t n = 0, points = count(places); n < to[0]; ++n) {
    Dims at(axes, 0);
    for (int64_t p = 0; p < points; ++p, next(at, places))
      for (size_t row = 0; row < axes; ++row) {
        const double* r = theta.data() + (static_cast<size_t>(n) * axes + row) * (axes + 1);
        double sum = r[axes];
        for (size_t k = 0; k < axes; ++k) sum += r[k] * place(axes - 1 - k, at[axes - 1 - k]);  // columns name the last axis first
        out.push_back(sum);
      }
  }
  c.out(0, store(c.in(0).dtype, to, out));
}

}  // namespace optima::reference::ops
