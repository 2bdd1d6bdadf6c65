// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Resize as one weighted gather per resized axis.
#include <algorithm>
#include <cmath>

#include "optima/plugin/resample.hpp"
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/pool_codes.hpp"
#include "plugins/llvm_cpu/kernels/resize.hpp"
#include "plugins/llvm_cpu/lower/parts/last.hpp"
#include "plugins/llvm_cpu/lower/parts/moved.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

std::string_view mode_text(const NodeView& n) { return n.text("mode", "nearest"); }
std::string_view coordinates_text(const NodeView& n) { return n.text("coordinate_transformation_mode", "half_pixel"); }
std::string_view nearest_text(const NodeView& n) { return n.text("nearest_mode", "round_prefer_floor"); }

/// Requires names that check_resize knows.
sdk::Resample rule_of(const NodeView& n) {
  return {*sdk::resample_mode(mode_text(n)), *sdk::resample_coordinates(coordinates_text(n)), *sdk::resample_nearest(nearest_text(n)),
          n.real("cubic_coeff_a", -0.75f), n.integer("exclude_outside", 0) != 0, n.integer("antialias", 0) != 0};
}

/// Per axis of input 0: output / input. From input 2 when given, else from the shapes, also where no size changes: ONNX Runtime copies then, by scales of 1.01, too.
std::vector<double> scales_of(const NodeView& n) {
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  std::vector<double> scale;
  for (size_t d = 0; d < in.size(); ++d) scale.push_back(in[d] ? static_cast<double>(out[d]) / static_cast<double>(in[d]) : 1);
  const auto numbers = n.has_input(2) ? n.graph.floats(n.input(2)) : std::nullopt;
  if (!numbers || numbers->empty() || in == out) return scale;
  const auto axes = n.integers("axes");
  for (size_t i = 0; i < numbers->size(); ++i) scale[axes.empty() ? i : axis_at(axes[i], in.size())] = (*numbers)[i];
  return scale;
}

/// Start and end per axis of tf_crop_and_resize.
std::vector<std::pair<double, double>> regions_of(const NodeView& n) {
  const size_t rank = n.in_dims(0).size();
  std::vector<std::pair<double, double>> out(rank, {0, 1});
  const auto roi = n.has_input(1) ? n.graph.floats(n.input(1)) : std::nullopt;
  if (!roi || roi->empty()) return out;
  const auto axes = n.integers("axes");
  const size_t half = roi->size() / 2;
  for (size_t i = 0; i < half; ++i) out[axes.empty() ? i : axis_at(axes[i], rank)] = {(*roi)[i], (*roi)[half + i]};
  return out;
}

/// The axes that change, cheapest first: those that shrink, then the others from the back.
std::vector<size_t> axes_to_resize(const Dims& in, const Dims& out, const std::vector<double>& scale, bool crop) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < in.size(); ++d)
    if (in[d] != out[d] || scale[d] != 1 || crop) axes.push_back(d);
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return out[a] * in[b] < out[b] * in[a]; });
  return axes;
}

/// [length][taps] -> [taps][length].
template <class T>
std::vector<T> turned(const std::vector<T>& from, int64_t taps) {
  std::vector<T> out;
  for (size_t t = 0; t < static_cast<size_t>(taps); ++t)
    for (size_t i = t; i < from.size(); i += static_cast<size_t>(taps)) out.push_back(from[i]);
  return out;
}

/// [taps][ceil(length / vl)]: see Axis in kernels/resize.hpp. `index` is [taps][length].
std::vector<int32_t> first_neighbours(const std::vector<int32_t>& index, int64_t taps, int64_t size, int64_t vl) {
  const int64_t length = static_cast<int64_t>(index.size()) / taps, vectors = divide_up(length, vl);
  std::vector<int32_t> out(static_cast<size_t>(taps * vectors), -1);
  for (int64_t k = 0; length >= vl && k < vectors; ++k) {
    bool all = true;
    for (int64_t t = 0; t < taps; ++t) {
      const auto begin = index.begin() + t * length + std::min(k * vl, length - vl);
      const auto [least, most] = std::minmax_element(begin, begin + vl);
      out[static_cast<size_t>(t * vectors + k)] = std::max<int32_t>(0, std::min(*least, static_cast<int32_t>(size - vl)));
      all = all && *most - out[static_cast<size_t>(t * vectors + k)] < vl;
    }
    if (!all) out[static_cast<size_t>(k)] = -1;
  }
  return out;
}

/// Indices and weights, as the kernels read them; single: of single elements of an axis of `size`.
std::vector<Operand> operands_of(const sdk::ResampleTable& t, bool single, int64_t size, LowerContext& ctx) {
  if (!single) return {ctx.bytes(raw_bytes(t.index)), ctx.bytes(raw_bytes(t.weight))};
  std::vector<int32_t> index = turned(t.index, t.taps);
  const std::vector<int32_t> first = first_neighbours(index, t.taps, size, ctx.target().vector_width);
  index.insert(index.end(), first.begin(), first.end());
  return {ctx.bytes(raw_bytes(index)), ctx.bytes(raw_bytes(turned(t.weight, t.taps)))};
}

/// The walks of one node, each of which reads what the one before wrote.
class Walks {
 public:
  Walks(const NodeView& node, LowerContext& ctx) : n_(node), ctx_(ctx), rule_(rule_of(node)), in_(node.in_dims(0)), out_(node.out_dims(0)), scale_(scales_of(node)), region_(regions_of(node)) {}

  void lower() {
    axes_ = axes_to_resize(in_, out_, scale_, rule_.crops());
    if (axes_.empty()) return ctx_.alias(n_.output(0), n_.input(0));
    const bool channels_stay = std::find_if(axes_.begin(), axes_.end(), [](size_t a) { return a < 2; }) == axes_.end();
    blocked_ = in_.size() >= 3 && in_.size() <= 5 && channels_stay && ctx_.layout(n_.input(0)) == Layout::Blocked;
    dims_ = in_;
    if (blocked_) dims_[1] = divide_up(in_[1], ctx_.target().vector_width), dims_.push_back(ctx_.target().vector_width);
    from_ = ctx_.read(n_.input(0), layout());
    const size_t rank = in_.size();
    const bool plane = rank >= (blocked_ ? 4u : 2u) && resizes(rank - 1) && resizes(rank - 2);
    if (plane) std::erase_if(axes_, [&](size_t a) { return a + 2 >= rank; });
    for (const size_t axis : axes_) along(axis, !plane && axis == axes_.back());
    if (plane) last_two();
  }

 private:
  Layout layout() const { return blocked_ ? Layout::Blocked : Layout::Plain; }
  bool resizes(size_t axis) const { return std::find(axes_.begin(), axes_.end(), axis) != axes_.end(); }
  sdk::ResampleTable table(size_t axis) const { return sdk::resample_table(rule_, {in_[axis], out_[axis], scale_[axis], region_[axis].first, region_[axis].second}); }

  /// op: kernel, tables, units and scratch; dims_ are those of the result.
  void emit(Op op, size_t axis, bool last, int64_t taps, int64_t elements_of_unit) {
    Operand to = last ? ctx_.write(n_.output(0), layout()) : ctx_.temporary(static_cast<uint64_t>(count(dims_)) * sizeof(float));
    to.written = true;
    op.args.insert(op.args.begin(), from_), op.args.push_back(to);
    if (count(dims_) == 0) op.units = 0;
    op.work = count(dims_) * taps * work::kPooled;
    op.grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, elements_of_unit));
    op.label = "resize " + std::string(mode_text(n_)) + " axis " + std::to_string(axis);
    ctx_.emit(std::move(op));
    from_ = to;
    from_.written = false;
  }

  void along(size_t axis, bool last) {
    const AxisView v = around(dims_, axis);
    const sdk::ResampleTable t = table(axis);
    dims_[axis] = out_[axis];
    Op op;
    op.kernel = k::Resize{.taps = t.taps, .size = v.len, .length = out_[axis], .inner = v.inner};
    op.args = operands_of(t, v.inner == 1, in_[axis], ctx_);
    op.units = v.inner > 1 ? v.outer * out_[axis] : v.outer;
    emit(std::move(op), axis, last, t.taps, v.inner > 1 ? v.inner : out_[axis]);
  }

  /// Those of an image in one walk, after all others.
  void last_two() {
    const size_t x = in_.size() - 1, y = x - 1;
    const int64_t inner = blocked_ ? ctx_.target().vector_width : 1, planes = around(dims_, y).outer;
    const sdk::ResampleTable ty = table(y), tx = table(x);
    dims_[y] = out_[y], dims_[x] = out_[x];
    Op op;
    op.kernel = k::ResizePlane{.taps_y = ty.taps, .taps_x = tx.taps, .height = in_[y], .width = in_[x], .out_height = out_[y], .out_width = out_[x], .inner = inner};
    op.args = operands_of(ty, false, in_[y], ctx_);
    for (const Operand& o : operands_of(tx, inner == 1, in_[x], ctx_)) op.args.push_back(o);
    op.units = planes * divide_up(out_[y], k::kResizedRows);
    op.scratch_per_thread = static_cast<uint64_t>(k::kResizedRows * in_[x] * inner) * sizeof(float);
    emit(std::move(op), x, true, ty.taps + tx.taps, k::kResizedRows * out_[x] * inner);
  }

  const NodeView& n_;
  LowerContext& ctx_;
  sdk::Resample rule_;
  Dims in_, out_, dims_;  ///< dims_: of what is there, blocked or not
  std::vector<double> scale_;
  std::vector<std::pair<double, double>> region_;
  std::vector<size_t> axes_;
  bool blocked_ = false;
  Operand from_;
};

void lower_resize(std::span<const NodeView> nodes, LowerContext& ctx) { Walks(nodes[0], ctx).lower(); }

// ---- codes

/// Whether each pixel of the result is a copy of one.
bool picks_pixels(const NodeView& n) {
  if (rule_of(n).mode != sdk::Resample::Mode::Nearest) return false;
  const auto axes = axes_to_resize(n.in_dims(0), n.out_dims(0), scales_of(n), rule_of(n).crops());
  return std::none_of(axes.begin(), axes.end(), [](size_t a) { return a < 2; });
}

bool takes_nearest(const Unit& u, const Target& target) {
  return takes_moved(u, target) && picks_pixels(u.op) && may_be_last(u.op.graph, u.out) && count(u.op.out_dims(0)) > 0;
}

/// For every pixel of the result: the one that it is a copy of.
std::vector<int32_t> nearest_pixels(const NodeView& n) {
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  const auto scale = scales_of(n);
  const auto region = regions_of(n);
  std::vector<int32_t> all{0};
  for (size_t d = 2; d < in.size(); ++d) {
    const sdk::ResampleTable t = sdk::resample_table(rule_of(n), {in[d], out[d], scale[d], region[d].first, region[d].second});
    std::vector<int32_t> finer;
    for (const int32_t row : all)
      for (const int32_t i : t.index) finer.push_back(row * static_cast<int32_t>(in[d]) + i);
    all = std::move(finer);
  }
  return all;
}

/// `made` from `codes`, both with channels last.
void pick_pixels(const NodeView& n, uint32_t codes, uint32_t made, LowerContext& ctx) {
  const Dims in = n.in_dims(0), out = n.out_dims(0);
  const int64_t pixels = count(out) / (out[0] * out[1]), run = last_channels(in[1]), rows = std::max<int64_t>(1, 4096 / run);
  Op op;
  op.kernel = k::PickPixels{.images = in[0], .size = count(in) / (in[0] * in[1]), .count = pixels, .rows = rows, .run = run,
                            .from = ctx.pixel(codes), .to = ctx.pixel(made)};
  op.args = {ctx.read(codes, Layout::Last), ctx.bytes(raw_bytes(nearest_pixels(n))), ctx.write(made, Layout::Last)};
  op.units = in[0] * divide_up(pixels, rows);
  op.work = in[0] * pixels * run / 8;
  op.label = "resize codes " + to_text(out);
  ctx.emit(std::move(op));
}

void lower_nearest(const Unit& u, LowerContext& ctx) { pick_pixels(u.op, u.inputs[0].codes->value, u.out, ctx); }
void lower_bare_nearest(std::span<const NodeView> nodes, LowerContext& ctx) { pick_pixels(nodes[0], nodes[0].input(0), nodes[0].output(0), ctx); }

Refusal check_resize(const NodeView& n) {
  if (count(n.in_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(n.in_dims(0)), "not empty"};
  if (n.in_dims(0).size() != n.out_dims(0).size()) return wrong_shape(n, 0, "as many dims as the result");
  for (const int64_t a : n.integers("axes"))
    if (const Refusal bad = check_axis(a, n.in_dims(0).size())) return bad;
  if (!sdk::resample_coordinates(coordinates_text(n)))
    return {OPTIMA_REASON_ATTRIBUTE, "coordinate_transformation_mode", std::string(coordinates_text(n)), "one of the operator's page"};
  if (!sdk::resample_nearest(nearest_text(n)))
    return {OPTIMA_REASON_ATTRIBUTE, "nearest_mode", std::string(nearest_text(n)), "round_prefer_floor, round_prefer_ceil, floor or ceil"};
  for (const uint32_t k : {1u, 2u}) {  // one number per axis, two of the region
    const size_t all = n.integers("axes").empty() ? n.in_dims(0).size() : n.integers("axes").size();
    const auto numbers = n.has_input(k) ? n.graph.floats(n.input(k)) : std::nullopt;
    if (numbers && !numbers->empty() && numbers->size() != (k == 1 ? 2 * all : all)) return wrong_shape(n, k, "one number per axis");
    if (numbers && k == 2)
      for (const float s : *numbers)
        if (!(s > 0)) return {OPTIMA_REASON_SIZE_LIMIT, "input 2", "not positive", "positive scales"};
  }
  if (!sdk::resample_mode(mode_text(n))) return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(mode_text(n)), "nearest, linear or cubic"};
  const sdk::Resample r = rule_of(n);
  if (r.crops()) {
    if (n.has_input(1) && !n.graph.floats(n.input(1))) return needs_constant(1);
    for (const auto& [start, end] : regions_of(n))
      if (!(start >= 0 && end <= 1 && start <= end)) return {OPTIMA_REASON_ATTRIBUTE, "roi", "outside the image", "within [0, 1]"};
  }
  if (n.has_input(2) && !n.graph.floats(n.input(2))) return needs_constant(2);
  if (r.crops() && r.antialias) return {OPTIMA_REASON_ATTRIBUTE, "antialias", "1", "0 with tf_crop_and_resize"};
  const auto scale = scales_of(n);
  for (size_t d = 0; d < scale.size(); ++d)  // else positions would lie anywhere
    if (std::fabs(static_cast<double>(n.in_dims(0)[d]) * scale[d] - static_cast<double>(n.out_dims(0)[d])) > 1.5 && !r.crops())
      return wrong_shape(n, 0, "what the scales make of it: " + to_text(n.out_dims(0)));
  return {};
}

/// Of codes that no QuantizeLinear stands behind, as QLinearConv makes them.
Refusal check_nearest(const NodeView& n) {
  if (const Refusal bad = check_resize(n)) return bad;
  if (mode_text(n) != "nearest") return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(mode_text(n)), "nearest, of codes"};
  if (count(n.out_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "output 0", to_text(n.out_dims(0)), "not empty"};
  if (!picks_pixels(n)) return wrong_shape(n, 0, "the same images and channels as the result, of codes");
  return {};
}

constexpr Types kBytes = types(OPTIMA_U8, OPTIMA_I8);
constexpr Types kAnything = kFloat | kIndex | types(OPTIMA_F16, OPTIMA_F64);
constexpr Lowering kResizeFamily[] = {
    {"Resize", 11, 19, {kFloat, kAnything, kFloat, types(OPTIMA_I64)}, {kFloat}, 1, 8, 0, {1, 4}, check_resize, lower_resize, false, Tails::None, "", takes_nearest,
     lower_nearest},
    {"Resize", 11, 19, {kBytes, kAnything, kFloat, types(OPTIMA_I64)}, {kBytes}, 3, 5, 0, {1, 4}, check_nearest, lower_bare_nearest},
};

}  // namespace

Family resize_family() { return kResizeFamily; }

}  // namespace optima::llvm_cpu
