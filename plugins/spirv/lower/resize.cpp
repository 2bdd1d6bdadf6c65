// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: a weighted gather per axis that changes, by a table of places and weights.
#include <algorithm>
#include <cmath>

#include "compiler/lowering.hpp"
#include "optima/plugin/resample.hpp"

namespace spirv_plugin {
namespace of_resize {

bool is_upsample(const sdk::Node& node) { return node.op() == "Upsample"; }
bool is_first(const sdk::Node& node) { return is_upsample(node) || node.since_version() < 11; }

/// Requires names that no_resize() knows. Upsample, and Resize of version 10, have scales alone.
sdk::Resample rule_of(const sdk::Node& node) {
  sdk::Resample r;
  r.mode = *sdk::resample_mode(node.string("mode", "nearest"));
  if (is_first(node)) {
    r.coordinates = sdk::Resample::Coordinates::Asymmetric, r.nearest = sdk::Resample::Nearest::Floor;
    return r;
  }
  r.coordinates = *sdk::resample_coordinates(node.string("coordinate_transformation_mode", "half_pixel"));
  r.nearest = *sdk::resample_nearest(node.string("nearest_mode", "round_prefer_floor"));
  r.cubic = static_cast<float>(node.real("cubic_coeff_a", -0.75f));
  r.exclude_outside = node.integer("exclude_outside", 0) != 0, r.antialias = node.integer("antialias", 0) != 0;
  return r;
}

std::vector<double> numbers_of(const sdk::Node& node, uint32_t input) { return node.input(input) ? reals_of(node.input(input).constant()) : std::vector<double>(); }

std::vector<size_t> axes_of(const sdk::Node& node) {
  const auto rank = static_cast<size_t>(node.input(0).rank());
  std::vector<size_t> out;
  for (const int64_t a : node.integers("axes")) out.push_back(static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(rank) : a));
  if (out.empty())
    for (size_t k = 0; k < rank; ++k) out.push_back(k);
  return out;
}

std::vector<double> scales_of(const sdk::Node& node) {
  const std::vector<double> reals = node.reals("scales");
  return is_upsample(node) && node.since_version() < 9 ? reals : numbers_of(node, is_first(node) ? 1 : 2);
}

/// By axis of the input. Where no size changes the scales are 1: ONNX Runtime copies then, by scales of 1.01, too.
std::vector<sdk::ResampleAxis> resampled(const sdk::Node& node) {
  const Dims in = node.input(0).shape(), out = node.output(0).shape();
  std::vector<sdk::ResampleAxis> all;
  for (size_t k = 0; k < in.size(); ++k) all.push_back({in[k], out[k], static_cast<double>(out[k]) / static_cast<double>(in[k])});
  const std::vector<size_t> axes = axes_of(node);
  const std::vector<double> scales = scales_of(node), roi = is_first(node) ? std::vector<double>() : numbers_of(node, 1);
  for (size_t k = 0; k < axes.size() && k < scales.size() && in != out; ++k) all[axes[k]].scale = scales[k];
  for (size_t k = 0; k < axes.size() && roi.size() == 2 * axes.size(); ++k) all[axes[k]].start = roi[k], all[axes[k]].end = roi[axes.size() + k];
  const std::string_view policy = node.string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || !scales.empty() || is_first(node)) return all;
  const std::vector<double> sizes = numbers_of(node, 3);
  double one = policy == "not_larger" ? HUGE_VAL : 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const double scale = sizes[k] / static_cast<double>(in[axes[k]]);
    one = policy == "not_larger" ? std::min(one, scale) : std::max(one, scale);
  }
  for (const size_t a : axes) all[a].scale = one;
  return all;
}

/// One axis of a tensor of `dims`; the last axis has the group's tail.
void along(Lowering& to, const Group& group, const Tensor& from, const Tensor& into, size_t axis, const sdk::ResampleTable& t, bool is_last, Shader s, int x) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const std::string name = std::string(node.name()) + "/axis" + text(static_cast<int64_t>(axis));
  const bool picks = t.taps == 1;
  const int index = s.in(to.weight(name + "/index", {static_cast<int64_t>(t.index.size())}, t.index));
  const int weight = picks ? -1 : s.in(to.weight(name + "/weight", {static_cast<int64_t>(t.weight.size())}, t.weight));
  const Lowering::Tail tail = is_last ? to.tail(s, group) : [](const std::string& v, const std::string&) { return v; };
  const int y = s.out(into);
  int64_t inner = 1;
  for (size_t k = axis + 1; k < from.dims.size(); ++k) inner *= from.dims[k];
  const int64_t n = into.elements(), length = from.dims[axis], made = into.dims[axis];
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;");
  s.line("int at=o/" + text(inner * made) + "*" + text(inner * length) + "+o%" + text(inner) + ",tap=o/" + text(inner) + "%" + text(made) + "*" + text(t.taps) + ";");
  const auto got = [&](const std::string& k) { return s.load(x, "at+" + s.load(index, k) + "*" + text(inner)); };
  if (picks) s.line(std::string(type_of(from.element)) + " v=" + got("tap") + ";");
  else s.line("float v=0.0;for(int k=0;k<" + text(t.taps) + ";++k)v+=" + s.load(weight, "tap+k") + "*" + got("tap+k") + ";");
  s.line(s.store(y, "o", tail("v", "o")));
  to.step(group, std::move(s), g.groups, {static_cast<uint64_t>(2 * n * t.taps), 8 * static_cast<uint64_t>(n)});
}

void lower_resize(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const sdk::Resample rule = rule_of(node);
  const std::vector<sdk::ResampleAxis> all = resampled(node);
  std::vector<size_t> axes;
  for (size_t k = 0; k < all.size(); ++k)
    if (all[k].in != all[k].out || all[k].scale != 1 || rule.crops()) axes.push_back(k);
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return all[a].out * all[b].in < all[b].out * all[a].in; });  // what shrinks first
  if (axes.empty()) axes.push_back(all.size() - 1);
  Tensor from = to.read(node.input(0));
  for (const size_t axis : axes) {
    constexpr uint32_t kLocal = 64;
    const bool is_last = axis == axes.back();
    Dims dims = from.dims;
    dims[axis] = all[axis].out;
    Shader s(kLocal);
    const int x = s.in(from);
    Tensor into = is_last ? to.made(group.end().output(0)) : to.scratch(node, from.element, dims);
    if (into.elements() == 0) return;
    along(to, group, from, into, axis, sdk::resample_table(rule, all[axis]), is_last, std::move(s), x);
    from = into;
  }
}

std::string no_resize(const sdk::Node& node) {
  if (!sdk::resample_mode(node.string("mode", "nearest"))) return "mode is " + std::string(node.string("mode", "")) + ", wanted nearest, linear or cubic";
  if (node.input(0).elements() == 0 || node.input(0).rank() != node.output(0).rank()) return "input 0 is empty, or of another rank than the output";
  if (node.input(0).rank() == 0) return "input 0 has no axis";
  if (!is_first(node)) {
    if (!sdk::resample_coordinates(node.string("coordinate_transformation_mode", "half_pixel"))) return "coordinate_transformation_mode is none that the operator has";
    if (!sdk::resample_nearest(node.string("nearest_mode", "round_prefer_floor"))) return "nearest_mode is none that the operator has";
  }
  const sdk::Resample rule = rule_of(node);
  if (element_of(node.input(0).dtype()) == Element::I32 && rule.mode != sdk::Resample::Mode::Nearest) return "whole numbers are resized by nearest alone";
  const std::vector<size_t> axes = axes_of(node);
  const std::vector<double> scales = scales_of(node);
  if (!scales.empty() && scales.size() != axes.size()) return "scales are " + text(static_cast<int64_t>(scales.size())) + ", wanted one per axis";
  for (const double s : scales)
    if (!(s > 0)) return "scales are not above 0";
  if (scales.empty() && (is_first(node) || numbers_of(node, 3).size() != axes.size())) return "neither scales nor sizes are given, one per axis";
  for (const sdk::ResampleAxis& a : resampled(node)) {
    if (rule.crops() && !(a.start >= 0 && a.end <= 1 && a.start <= a.end)) return "roi reaches outside of the image";
    if (!rule.crops() && std::fabs(static_cast<double>(a.in) * a.scale - static_cast<double>(a.out)) > 1.5) return "output is of another size than the scales say";
  }
  return rule.crops() && rule.antialias ? "antialias with tf_crop_and_resize" : "";
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_resize, r.refuse = no_resize, r.takes_tail = true;
  r.buffers = 4;
  return r;
}
constexpr sdk::Types X = sdk::types(OPTIMA_I64), S = kFloats | sdk::types(OPTIMA_F64);
constexpr Row kRows[] = {row(op("Upsample", 7, 7, {kAny}, {kAny})), row(op("Upsample", 9, 10, {kAny, S}, {kAny}, 2)), row(op("Resize", 10, 10, {kAny, S}, {kAny}, 2)),
                         row(op("Resize", 11, 19, {kAny, S, S, X}, {kAny}, 0b1110))};

}  // namespace of_resize

Family resize_family() { return of_resize::kRows; }

}  // namespace spirv_plugin
