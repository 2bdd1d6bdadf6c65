// SPDX-License-Identifier: Apache-2.0
// reference/shapes: elements moved by rules of position alone.
#include <algorithm>

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

Dims permutation(const Call& c) {
  const size_t rank = c.in(0).dims.size();
  Dims perm = c.list("perm");
  if (!c.has("perm"))
    for (size_t k = rank; k-- > 0;) perm.push_back(static_cast<int64_t>(k));
  std::vector<bool> seen(rank, false);
  bool fits = perm.size() == rank;
  for (size_t k = 0; k < perm.size() && fits; ++k) {
    fits = perm[k] >= 0 && perm[k] < static_cast<int64_t>(rank) && !seen[static_cast<size_t>(perm[k])];
    if (fits) seen[static_cast<size_t>(perm[k])] = true;
  }
  if (!fits) invalid("perm is " + show(perm) + ", must be a permutation of " + std::to_string(rank) + " axes");
  return perm;
}

Dims concat_dims(const Call& c, size_t& axis) {
  Dims to = c.in(0).dims;
  axis = normal_axis(c.integer("axis", 1), to.size());
  to[axis] = 0;
  for (uint32_t k = 0; k < c.inputs(); ++k) {
    Dims other = c.in(k).dims;
    if (other.size() != to.size()) invalid("input " + std::to_string(k) + " has rank " + std::to_string(other.size()) + ", must be " + std::to_string(to.size()));
    to[axis] += other[axis];
    other[axis] = to[axis];
    if (other != to) invalid("input " + std::to_string(k) + " has shape " + show(c.in(k).dims) + ", which does not join " + show(c.in(0).dims));
  }
  return to;
}

Dims split_lengths(const Call& c, int64_t total) {
  Dims lengths;
  if (c.maybe(1)) lengths = c.ints(1);
  else if (c.has("split")) lengths = *c.integers("split");
  const int64_t pieces = c.integer("num_outputs", c.outputs());
  if (pieces < 1 || pieces > c.outputs()) invalid("num_outputs is " + std::to_string(pieces) + ", the node has " + std::to_string(c.outputs()));
  if (lengths.empty())
    for (int64_t k = 0, each = (total + pieces - 1) / pieces; k < pieces; ++k) lengths.push_back(std::max<int64_t>(0, std::min(each, total - k * each)));
  int64_t left = total;
  for (int64_t n : lengths) {
    if (n < 0 || n > left) invalid("split is " + show(lengths) + ", must sum up to " + std::to_string(total));
    left -= n;
  }
  if (left != 0 || lengths.size() < c.outputs()) invalid("split is " + show(lengths) + ", must sum up to " + std::to_string(total) + " over " + std::to_string(c.outputs()) + " outputs");
  return lengths;
}

namespace {

/// Positions start, start + step, … before end, after ONNX's clamping.
Run run_of(int64_t n, int64_t start, int64_t end, int64_t step) {
  if (step == 0) invalid("a step is 0");
  const auto clamp = [n](int64_t i, int64_t low, int64_t high) {
    if (i < 0) i = i < -n ? -1 : i + n;
    return std::max(low, std::min(i, high));
  };
  if (step > 0) {
    const int64_t first = clamp(start, 0, n), stop = clamp(end, 0, n);
    if (step >= n) return {first, 1, first < stop ? 1 : 0};
    return {first, step, first < stop ? (stop - first + step - 1) / step : 0};
  }
  if (n == 0) return {0, 1, 0};
  const int64_t first = clamp(start, start < -n ? -1 : 0, n - 1), stop = end < -n ? -1 : clamp(end, -1, n - 1);
  if (step <= -n) return {first, -1, first > stop ? 1 : 0};
  return {first, step, first > stop ? (first - stop - step - 1) / -step : 0};
}

}  // namespace

std::vector<Run> slice_runs(const Call& c) {
  const Tensor& x = c.in(0);
  const bool by_input = c.version() >= 10;
  const auto list = [&](uint32_t k, const char* name) -> std::optional<Dims> {
    if (!by_input) return c.has(name) ? c.integers(name) : std::nullopt;
    return c.maybe(k) ? std::optional<Dims>(c.ints(k)) : std::nullopt;
  };
  const Dims starts = list(1, "starts").value_or(Dims{}), ends = list(2, "ends").value_or(Dims{});
  Dims all;
  for (size_t k = 0; k < starts.size(); ++k) all.push_back(static_cast<int64_t>(k));
  const Dims axes = list(3, "axes").value_or(all), steps = list(4, "steps").value_or(Dims(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    invalid("starts, ends, axes and steps differ in length");
  std::vector<Run> runs;
  for (int64_t n : x.dims) runs.push_back({0, 1, n});
  std::vector<bool> seen(x.dims.size(), false);
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t axis = normal_axis(axes[k], x.dims.size());
    if (seen[axis]) invalid("axes " + show(axes) + " name one axis twice");
    seen[axis] = true;
    runs[axis] = run_of(x.dims[axis], starts[k], ends[k], steps[k]);
  }
  return runs;
}

Dims tile_dims(const Call& c) {
  const Dims &x = c.in(0).dims, repeats = c.ints(1);
  if (repeats.size() != x.size()) invalid("repeats has " + std::to_string(repeats.size()) + " elements, must be " + std::to_string(x.size()));
  Dims to;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) invalid("repeats is " + show(repeats) + ", must not be negative");
    to.push_back(count({x[d], repeats[d]}));
  }
  count(to);
  return to;
}

PadShape pad_shape(const Call& c) {
  const Tensor& x = c.in(0);
  const size_t rank = x.dims.size();
  const Dims pads = c.version() < 11 ? c.integers("pads").value_or(Dims{}) : c.ints(1);
  Dims axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (c.maybe(3)) axes = c.ints(3);
  if (pads.size() != 2 * axes.size()) invalid("pads has " + std::to_string(pads.size()) + " elements, must be " + std::to_string(2 * axes.size()));
  Dims begin(rank, 0), to = x.dims;
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t d = normal_axis(axes[k], rank);
    constexpr int64_t most = int64_t{1} << 31;
    if (std::max(pads[k], pads[k + axes.size()]) > most || std::min(pads[k], pads[k + axes.size()]) < -most) invalid("pads is " + show(pads) + ", out of range");
    begin[d] += pads[k];
    to[d] += pads[k] + pads[k + axes.size()];
  }
  count(to);
  return {std::move(begin), std::move(to)};
}

int64_t block_size(const Call& c) {
  const int64_t b = c.integer("blocksize", 0);
  if (c.in(0).dims.size() != 4) invalid("input 0 has rank " + std::to_string(c.in(0).dims.size()) + ", must be 4");
  if (b < 1 || b > 1 << 15) invalid("blocksize is " + std::to_string(b) + ", must be positive and at most 32768");
  return b;
}

namespace {

/// DCR or CRD.
void need_mode(const Call& c) {
  const std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") invalid("mode is '" + mode + "', must be DCR or CRD");
}

}  // namespace

Dims depth_to_space_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  const int64_t b = block_size(c);
  need_mode(c);
  if (d[1] % (b * b) != 0) invalid("channels are " + std::to_string(d[1]) + ", must be a multiple of " + std::to_string(b * b));
  return {d[0], d[1] / (b * b), d[2] * b, d[3] * b};
}

Dims space_to_depth_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  const int64_t b = block_size(c);
  need_mode(c);
  if (d[2] % b != 0 || d[3] % b != 0) invalid("shape " + show(d) + " is not a multiple of blocksize " + std::to_string(b));
  return {d[0], d[1] * b * b, d[2] / b, d[3] / b};
}

CropShape crop_shape(const Call& c) {
  const Dims& x = c.in(0).dims;
  CropShape s{{}, c.ints(1), x};
  Dims axes;
  for (size_t d = 0; d < x.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (c.has("axes")) axes = *c.integers("axes");
  if (axes.size() != s.target.size()) invalid("shape has " + std::to_string(s.target.size()) + " elements, must be " + std::to_string(axes.size()));
  count(s.target);
  for (size_t k = 0; k < axes.size(); ++k) {
    s.axes.push_back(normal_axis(axes[k], x.size()));
    s.out[s.axes[k]] = s.target[k];
  }
  return s;
}

}  // namespace shapes

namespace rules {

void transpose(const Call& c, Inference& to) {
  Dims dims = shapes::permutation(c);
  for (int64_t& d : dims) d = c.in(0).dims[static_cast<size_t>(d)];
  give(c, to, 0, c.in(0).dtype, std::move(dims));
}

void concat(const Call& c, Inference& to) {
  size_t axis = 0;
  give(c, to, 0, c.in(0).dtype, shapes::concat_dims(c, axis));
}

void split(const Call& c, Inference& to) {
  const Dims& x = c.in(0).dims;
  const size_t axis = normal_axis(c.integer("axis", 0), x.size());
  const Dims lengths = shapes::split_lengths(c, x[axis]);
  for (uint32_t k = 0; k < c.outputs(); ++k) {
    Dims piece = x;
    piece[axis] = lengths[k];
    give(c, to, k, c.in(0).dtype, std::move(piece));
  }
}

void slice(const Call& c, Inference& to) {
  Dims dims;
  for (const shapes::Run& run : shapes::slice_runs(c)) dims.push_back(run.size);
  give(c, to, 0, c.in(0).dtype, std::move(dims));
}

void expand(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, broadcast(c.in(0).dims, c.ints(1))); }
void tile(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::tile_dims(c)); }
void pad(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::pad_shape(c).out); }
void depth_to_space(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::depth_to_space_dims(c)); }
void space_to_depth(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::space_to_depth_dims(c)); }
void center_crop_pad(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::crop_shape(c).out); }

}  // namespace rules
}  // namespace optima::reference
