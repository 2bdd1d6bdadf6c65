// SPDX-License-Identifier: Apache-2.0
// Resize as a matrix of constants per axis, or as a choice of elements where nearest ones are wanted: right for every mode, rule of coordinates
// and size. top.Interp is written for what BM1684X and BM1684 were found to compute with it: whole factors.
#include <algorithm>
#include <cmath>

#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_resize {

struct Rule {
  std::string_view mode, coordinates, nearest;
  double cubic;
  bool exclude_outside, antialias;
};
Rule rule_of(const sdk::Node& node) {
  return {node.string("mode", "nearest"), node.string("coordinate_transformation_mode", "half_pixel"), node.string("nearest_mode", "round_prefer_floor"),
          node.real("cubic_coeff_a", -0.75), node.integer("exclude_outside", 0) != 0, node.integer("antialias", 0) != 0};
}

/// One axis that is resized. scale = output / input as ONNX has it: what was given, else of the sizes.
struct Axis {
  int64_t in, out;
  double scale;
};
/// Per axis of the operand.
std::vector<Axis> axes_of(const sdk::Node& node) {
  const std::vector<int64_t> in = dims_of(node.input(0)), out = dims_of(node.output(0)), named = node.integers("axes");
  std::vector<Axis> axes;
  for (size_t k = 0; k < in.size(); ++k) axes.push_back({in[k], out[k], static_cast<double>(out[k]) / static_cast<double>(in[k])});
  const bool by_scales = node.input(2) && node.input(2).elements() > 0;
  const std::vector<float> scales = by_scales ? Lowering::floats(node.input(2)) : std::vector<float>{};
  for (size_t k = 0; k < scales.size(); ++k) axes[named.empty() ? k : axis_of(named[k], in.size())].scale = static_cast<double>(scales[k]);
  return axes;
}
bool changes(const Axis& a) { return a.in != a.out || a.scale != 1; }

/// Where output i lies among the inputs.
double coordinate(const Rule& r, const Axis& a, int64_t i) {
  const double x = static_cast<double>(i), in = static_cast<double>(a.in), out = static_cast<double>(a.out), center = (x + 0.5) / a.scale - 0.5;
  if (r.coordinates == "asymmetric") return x / a.scale;
  if (r.coordinates == "align_corners") return a.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (r.coordinates == "pytorch_half_pixel") return a.out == 1 ? 0 : center;
  if (r.coordinates == "half_pixel_symmetric") return in / 2 * (1 - out / (a.scale * in)) + center;
  return center;
}

int64_t nearest(const Rule& r, double x) {
  if (r.nearest == "floor") return static_cast<int64_t>(std::floor(x));
  if (r.nearest == "ceil") return static_cast<int64_t>(std::ceil(x));
  return static_cast<int64_t>(r.nearest == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5));
}

/// The weight of an input at distance d: a triangle, or Keys' cubic (R. Keys, Cubic convolution interpolation, 1981).
double weight_at(const Rule& r, double d) {
  d = std::fabs(d);
  if (r.mode == "linear") return std::max(0.0, 1 - d);
  const double a = r.cubic;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// The matrix (in, out) of one axis. Shrinking with antialias stretches the weights' reach.
std::vector<float> matrix_of(const Rule& r, const Axis& a) {
  std::vector<double> m(static_cast<size_t>(a.in * a.out), 0);
  const double stretch = r.antialias && a.scale < 1 ? 1 / a.scale : 1, reach = (r.mode == "linear" ? 1 : 2) * stretch;
  for (int64_t i = 0; i < a.out; ++i) {
    const double x = coordinate(r, a, i);
    std::vector<double> weights;
    double sum = 0;
    const int64_t first = static_cast<int64_t>(std::ceil(x - reach)), last = static_cast<int64_t>(std::floor(x + reach));
    for (int64_t k = first; k <= last; ++k) {
      const bool left_out = r.exclude_outside && (k < 0 || k >= a.in);
      weights.push_back(left_out ? 0 : weight_at(r, (static_cast<double>(k) - x) / stretch));
      sum += weights.back();
    }
    const double all = (r.exclude_outside || stretch > 1) && sum != 0 ? sum : 1;
    for (int64_t k = first; k <= last; ++k) m[static_cast<size_t>(std::clamp<int64_t>(k, 0, a.in - 1) * a.out + i)] += weights[static_cast<size_t>(k - first)] / all;
  }
  return {m.begin(), m.end()};
}

Piece chosen(Pieces& make, const Piece& x, size_t axis, const Rule& r, const Axis& a) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < a.out; ++i) indices.push_back(std::clamp<int64_t>(nearest(r, coordinate(r, a, i)), 0, a.in - 1));
  return make.picked(x, axis, indices);
}

Attributes product_of() {
  return Attributes().flag("right_transpose", false).flag("left_transpose", false).flag("output_transpose", false).flag("hdim_is_batch", false).flag("keep_dims", true).flag("do_relu", false).f64("relu_limit", -1);
}
/// x times the matrix along an axis: turned to the last one for that.
Piece weighted(Lowering& to, Pieces& make, const Piece& x, size_t axis, const Rule& r, const Axis& a) {
  const int64_t outer = product(x.dims, 0, axis), inner = product(x.dims, axis + 1, x.dims.size());
  const Piece turned = make.transposed(make.reshaped(x, {outer, a.in, inner}), {0, 2, 1});
  const Piece flat = make.reshaped(turned, {outer * inner, a.in}), none{to.module().none(), {}};
  const Piece done = make.op("weighted", "MatMul", {flat, make.weight({a.in, a.out}, matrix_of(r, a)), none}, product_of(), {outer * inner, a.out});
  return make.reshaped(make.transposed(make.reshaped(done, {outer, inner, a.out}), {0, 2, 1}), with(x.dims, axis, a.out));
}

/// Every input as often as the axis grows.
bool repeats(const Rule& r, const Axis& a) {
  for (int64_t i = 0; i < a.out; ++i)
    if (std::clamp<int64_t>(nearest(r, coordinate(r, a, i)), 0, a.in - 1) != i / (a.out / a.in)) return false;
  return true;
}

/// What top.Interp was found to compute as ONNX says, on both chips: images made larger by whole factors, half_pixel or align_corners; and nearest ones
/// where that repeats each as often as the image grows.
bool interp(const Rule& r, const std::vector<Axis>& axes, const Chip& chip) {
  if (axes.size() != 4 || changes(axes[0]) || changes(axes[1]) || (chip.name != "bm1684x" && chip.name != "bm1684")) return false;
  for (const size_t k : {size_t{2}, size_t{3}})
    if (axes[k].in < 2 || axes[k].out < axes[k].in || axes[k].out % axes[k].in || axes[k].scale != static_cast<double>(axes[k].out / axes[k].in)) return false;
  if (r.mode == "linear") return r.coordinates == "half_pixel" || r.coordinates == "align_corners";
  return r.mode == "nearest" && repeats(r, axes[2]) && repeats(r, axes[3]) && axes[2].scale == axes[3].scale;
}

std::string refuses_resize(const sdk::Node& node, const Chip&) {
  for (uint32_t k = 1; k < node.input_count(); ++k)
    if (std::string why = wants_constant(node, k, "operand"); !why.empty()) return why;
  const Rule r = rule_of(node);
  if (r.coordinates == "tf_crop_and_resize") return "coordinate_transformation_mode is \"tf_crop_and_resize\", wanted one without a region";
  if (const std::string_view policy = node.string("keep_aspect_ratio_policy", "stretch"); policy != "stretch") return "keep_aspect_ratio_policy is \"" + std::string(policy) + "\", wanted \"stretch\"";
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic") return "mode is \"" + std::string(r.mode) + "\", wanted \"nearest\", \"linear\" or \"cubic\"";
  return node.input(0).dtype() == OPTIMA_F32 ? std::string() : wants_floats(node);
}
void write_resize(Lowering& to, const sdk::Node& node) {
  const Rule r = rule_of(node);
  const std::vector<Axis> axes = axes_of(node);
  Pieces make(to, node);
  Piece x = make.read(0);
  if (interp(r, axes, to.chip()))
    return to.emit(node, "Interp", {x.value, to.module().none()},
                   Attributes().text("mode", r.mode).text("coord_mode", r.mode == "nearest" ? "half_pixel" : r.coordinates).f64("scale_h", axes[2].scale).f64("scale_w", axes[3].scale));
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (changes(axes[axis])) x = r.mode == "nearest" ? chosen(make, x, axis, r, axes[axis]) : weighted(to, make, x, axis, r, axes[axis]);
  make.finish(x);
}

constexpr Row kRows[] = {
    {"Resize", refuses_resize, write_resize},
};

}  // namespace of_resize

sdk::Span<const Row> resizing() { return of_resize::kRows; }

}  // namespace bmcompiler_plugin::top
