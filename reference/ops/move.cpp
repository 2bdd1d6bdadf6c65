// SPDX-License-Identifier: Apache-2.0
// reference/ops: elements moved by rules of position alone. Any element type.
#include <algorithm>
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"

namespace optima::reference::ops {

void transpose(Call& c) {
  const Dims& d = c.in(0).dims;
  Dims perm = c.list("perm");
  if (!c.has("perm"))
    for (size_t k = d.size(); k-- > 0;) perm.push_back(static_cast<int64_t>(k));
  std::vector<bool> seen(d.size(), false);
  const Dims step = strides_of(d);
  Dims to, by;
  for (int64_t p : perm) {
    if (p < 0 || p >= static_cast<int64_t>(d.size()) || seen[static_cast<size_t>(p)]) break;
    seen[static_cast<size_t>(p)] = true;
    to.push_back(d[static_cast<size_t>(p)]);
    by.push_back(step[static_cast<size_t>(p)]);
  }
  if (perm.size() != d.size() || to.size() != d.size()) invalid("perm is " + show(perm) + ", must be a permutation of " + std::to_string(d.size()) + " axes");
  c.out(0, pick(c.in(0), to, strided_index(to, by)));
}

void concat(Call& c) {
  Dims to = c.in(0).dims;
  const size_t axis = normal_axis(c.integer("axis", 1), to.size());
  to[axis] = 0;
  for (uint32_t k = 0; k < c.inputs(); ++k) {
    Dims other = c.in(k).dims;
    if (other.size() != to.size()) invalid("input " + std::to_string(k) + " has rank " + std::to_string(other.size()) + ", must be " + std::to_string(to.size()));
    to[axis] += other[axis];
    other[axis] = to[axis];
    if (other != to) invalid("input " + std::to_string(k) + " has shape " + show(c.in(k).dims) + ", which does not join " + show(c.in(0).dims));
  }
  const int64_t outer = count(to, 0, axis);
  std::vector<int64_t> index;
  index.reserve(static_cast<size_t>(count(to)));
  for (int64_t o = 0; o < outer; ++o) {
    int64_t base = 0;
    for (const Tensor& t : c.all()) {
      const int64_t block = count(t.dims, axis, to.size());
      for (int64_t i = 0; i < block; ++i) index.push_back(base + o * block + i);
      base += t.elements();
    }
  }
  c.out(0, pick(join(c.all()), to, index));
}

namespace {

/// Lengths of the pieces: given, or as equal as they can be with the last one smaller.
Dims split_lengths(const Call& c, int64_t total) {
  Dims lengths;
  if (c.maybe(1)) lengths = load<int64_t>(c.in(1));
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

}  // namespace

void split(Call& c) {
  const Tensor& x = c.in(0);
  const size_t axis = normal_axis(c.integer("axis", 0), x.dims.size());
  const Dims lengths = split_lengths(c, x.dims[axis]);
  int64_t begin = 0;
  for (uint32_t k = 0; k < c.outputs(); begin += lengths[k++]) {
    AxisMaps maps = whole(x.dims);
    maps[axis].clear();
    for (int64_t i = 0; i < lengths[k]; ++i) maps[axis].push_back(begin + i);
    if (c.wants(k)) c.out(k, take(x, maps));
  }
}

namespace {

/// Positions start, start + step, … before end, after ONNX's clamping.
std::vector<int64_t> slice_positions(int64_t n, int64_t start, int64_t end, int64_t step) {
  if (step == 0) invalid("a step is 0");
  const auto clamp = [n](int64_t i, int64_t low, int64_t high) {
    if (i < 0) i = i < -n ? -1 : i + n;
    return std::max(low, std::min(i, high));
  };
  std::vector<int64_t> out;
  if (step > 0) {
    for (int64_t i = clamp(start, 0, n), stop = clamp(end, 0, n); i < stop; i += step) {
      out.push_back(i);
      if (step >= n) break;
    }
    return out;
  }
  if (n == 0) return out;
  const int64_t first = clamp(start, start < -n ? -1 : 0, n - 1), stop = end < -n ? -1 : clamp(end, -1, n - 1);
  for (int64_t i = first; i > stop; i += step) {
    out.push_back(i);
    if (step <= -n) break;
  }
  return out;
}

}  // namespace

void slice(Call& c) {
  const Tensor& x = c.in(0);
  const bool by_input = c.version() >= 10;
  const auto list = [&](uint32_t k, const char* name) -> std::optional<Dims> {
    if (!by_input) return c.has(name) ? c.integers(name) : std::nullopt;
    return c.maybe(k) ? std::optional<Dims>(load<int64_t>(c.in(k))) : std::nullopt;
  };
  const Dims starts = list(1, "starts").value_or(Dims{}), ends = list(2, "ends").value_or(Dims{});
  Dims all;
  for (size_t k = 0; k < starts.size(); ++k) all.push_back(static_cast<int64_t>(k));
  const Dims axes = list(3, "axes").value_or(all), steps = list(4, "steps").value_or(Dims(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    invalid("starts, ends, axes and steps differ in length");
  AxisMaps maps = whole(x.dims);
  std::vector<bool> seen(x.dims.size(), false);
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t axis = normal_axis(axes[k], x.dims.size());
    if (seen[axis]) invalid("axes " + show(axes) + " name one axis twice");
    seen[axis] = true;
    maps[axis] = slice_positions(x.dims[axis], starts[k], ends[k], steps[k]);
  }
  c.out(0, take(x, maps));
}

void expand(Call& c) {
  const Dims to = broadcast(c.in(0).dims, load<int64_t>(c.in(1)));
  c.out(0, pick(c.in(0), to, broadcast_index(c.in(0).dims, to)));
}

void tile(Call& c) {
  const Tensor& x = c.in(0);
  const Dims repeats = load<int64_t>(c.in(1));
  if (repeats.size() != x.dims.size()) invalid("repeats has " + std::to_string(repeats.size()) + " elements, must be " + std::to_string(x.dims.size()));
  Dims to;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) invalid("repeats is " + show(repeats) + ", must not be negative");
    to.push_back(count({x.dims[d], repeats[d]}));
  }
  count(to);  // refuses hostile sizes before anything is made
  AxisMaps maps;
  for (size_t d = 0; d < to.size(); ++d) {
    maps.emplace_back();
    for (int64_t i = 0; i < to[d]; ++i) maps.back().push_back(i % x.dims[d]);
  }
  c.out(0, take(x, maps));
}

namespace {

/// Where position i of an axis of n elements comes from; -1 = the fill value.
int64_t pad_source(int64_t i, int64_t n, const std::string& mode) {
  if (i >= 0 && i < n) return i;
  if (mode == "constant") return -1;
  if (n == 0) invalid("a dim of 0 cannot be padded by mode " + mode);
  if (mode == "edge") return i < 0 ? 0 : n - 1;
  if (mode == "wrap") return (i % n + n) % n;
  if (mode != "reflect") invalid("mode is '" + mode + "', must be constant, reflect, edge or wrap");
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), p = (i % period + period) % period;
  return p < n ? p : period - p;
}

}  // namespace

void pad(Call& c) {
  const Tensor& x = c.in(0);
  const size_t rank = x.dims.size();
  const Dims pads = c.version() < 11 ? c.integers("pads").value_or(Dims{}) : load<int64_t>(c.in(1));
  Dims axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (c.maybe(3)) axes = load<int64_t>(c.in(3));
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
  const std::string mode = c.text("mode", "constant");
  AxisMaps maps;
  for (size_t d = 0; d < rank; ++d) {
    maps.emplace_back();
    for (int64_t i = 0; i < to[d]; ++i) maps.back().push_back(pad_source(i - begin[d], x.dims[d], mode));
  }
  if (c.version() < 11 && c.real("value", 0) != 0) {
    const Tensor fill = store<double>(x.dtype, {}, {c.real("value", 0)});
    return c.out(0, take(x, maps, &fill));
  }
  c.out(0, take(x, maps, c.version() < 11 ? nullptr : c.maybe(2)));
}

namespace {

/// x seen as dims6, its axes permuted, then seen as `to`.
Tensor rearranged(const Tensor& x, const Dims& dims6, const std::array<size_t, 6>& perm, Dims to) {
  const Dims step = strides_of(dims6);
  Dims dims, by;
  for (size_t p : perm) dims.push_back(dims6[p]), by.push_back(step[p]);
  return reshaped(pick(x, dims, strided_index(dims, by)), std::move(to));
}

int64_t block_size(const Call& c) {
  const int64_t b = c.integer("blocksize", 0);
  if (c.in(0).dims.size() != 4) invalid("input 0 has rank " + std::to_string(c.in(0).dims.size()) + ", must be 4");
  if (b < 1 || b > 1 << 15) invalid("blocksize is " + std::to_string(b) + ", must be positive and at most 32768");
  return b;
}

}  // namespace

void depth_to_space(Call& c) {
  const Dims& d = c.in(0).dims;
  const int64_t b = block_size(c);
  const std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") invalid("mode is '" + mode + "', must be DCR or CRD");
  if (d[1] % (b * b) != 0) invalid("channels are " + std::to_string(d[1]) + ", must be a multiple of " + std::to_string(b * b));
  const int64_t channels = d[1] / (b * b);
  const Dims to{d[0], channels, d[2] * b, d[3] * b};
  if (mode == "DCR") c.out(0, rearranged(c.in(0), {d[0], b, b, channels, d[2], d[3]}, {0, 3, 4, 1, 5, 2}, to));
  else c.out(0, rearranged(c.in(0), {d[0], channels, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, to));
}

void space_to_depth(Call& c) {
  const Dims& d = c.in(0).dims;
  const int64_t b = block_size(c);
  const std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") invalid("mode is '" + mode + "', must be DCR or CRD");
  if (d[2] % b != 0 || d[3] % b != 0) invalid("shape " + show(d) + " is not a multiple of blocksize " + std::to_string(b));
  const Dims six{d[0], d[1], d[2] / b, b, d[3] / b, b}, to{d[0], d[1] * b * b, d[2] / b, d[3] / b};
  if (mode == "DCR") c.out(0, rearranged(c.in(0), six, {0, 3, 5, 1, 2, 4}, to));
  else c.out(0, rearranged(c.in(0), six, {0, 1, 3, 5, 2, 4}, to));
}

void trilu(Call& c) {
  const Tensor& x = c.in(0);
  const size_t rank = x.dims.size();
  if (rank < 2) invalid("input 0 has rank " + std::to_string(rank) + ", must be 2 or more");
  const int64_t k = c.maybe(1) ? scalar_int(c.in(1), "k") : 0, rows = x.dims[rank - 2], columns = x.dims[rank - 1];
  const bool upper = c.integer("upper", 1) != 0;
  const int64_t diagonal = std::max(-rows, std::min(k, columns));
  std::vector<int64_t> index(static_cast<size_t>(x.elements()));
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i), column = at % columns, row = at / columns % rows;
    index[i] = (upper ? column - row >= diagonal : column - row <= diagonal) ? at : -1;
  }
  c.out(0, pick(x, x.dims, index));
}

void reverse_sequence(Call& c) {
  const Tensor& x = c.in(0);
  const size_t batch = normal_axis(c.integer("batch_axis", 1), x.dims.size(), "batch_axis");
  const size_t time = normal_axis(c.integer("time_axis", 0), x.dims.size(), "time_axis");
  const std::vector<int64_t> lengths = load<int64_t>(c.in(1));
  if (batch == time) invalid("batch_axis and time_axis are the same");
  if (static_cast<int64_t>(lengths.size()) != x.dims[batch]) invalid("sequence_lens has " + std::to_string(lengths.size()) + " elements, must be " + std::to_string(x.dims[batch]));
  for (int64_t n : lengths)
    if (n < 0 || n > x.dims[time]) invalid("a sequence has length " + std::to_string(n) + ", must be within " + std::to_string(x.dims[time]));
  const Dims step = strides_of(x.dims);
  std::vector<int64_t> index(static_cast<size_t>(x.elements()));
  Dims at(x.dims.size(), 0);
  for (size_t i = 0; i < index.size(); ++i, next(at, x.dims)) {
    const int64_t n = lengths[static_cast<size_t>(at[batch])], t = at[time];
    index[i] = static_cast<int64_t>(i) + (t < n ? n - 1 - 2 * t : 0) * step[time];
  }
  c.out(0, pick(x, x.dims, index));
}

void center_crop_pad(Call& c) {
  const Tensor& x = c.in(0);
  const Dims target = load<int64_t>(c.in(1));
  Dims axes;
  for (size_t d = 0; d < x.dims.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (c.has("axes")) axes = *c.integers("axes");
  if (axes.size() != target.size()) invalid("shape has " + std::to_string(target.size()) + " elements, must be " + std::to_string(axes.size()));
  count(target);
  AxisMaps maps = whole(x.dims);
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t d = normal_axis(axes[k], x.dims.size());
    const int64_t n = x.dims[d], wanted = target[k];
    const int64_t offset = wanted < n ? (n - wanted) / 2 : -((wanted - n) / 2);
    maps[d].clear();
    for (int64_t i = 0; i < wanted; ++i) maps[d].push_back(pad_source(i + offset, n, "constant"));
  }
  c.out(0, take(x, maps));
}

}  // namespace optima::reference::ops
