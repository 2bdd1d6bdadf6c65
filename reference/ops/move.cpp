// SPDX-License-Identifier: Apache-2.0
// reference/ops: elements moved by rules of position alone. Any element type.
#include <algorithm>
#include <array>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {

void transpose(Call& c) {
  const Dims step = strides_of(c.in(0).dims);
  Dims to, by;
  for (int64_t p : shapes::permutation(c)) {
    to.push_back(c.in(0).dims[static_cast<size_t>(p)]);
    by.push_back(step[static_cast<size_t>(p)]);
  }
  c.out(0, pick(c.in(0), to, strided_index(to, by)));
}

void concat(Call& c) {
  size_t axis = 0;
  const Dims to = shapes::concat_dims(c, axis);
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

void split(Call& c) {
  const Tensor& x = c.in(0);
  const size_t axis = normal_axis(c.integer("axis", 0), x.dims.size());
  const Dims lengths = shapes::split_lengths(c, x.dims[axis]);
  int64_t begin = 0;
  for (uint32_t k = 0; k < c.outputs(); begin += lengths[k++]) {
    AxisMaps maps = whole(x.dims);
    maps[axis].clear();
    for (int64_t i = 0; i < lengths[k]; ++i) maps[axis].push_back(begin + i);
    if (c.wants(k)) c.out(k, take(x, maps));
  }
}

void slice(Call& c) {
  AxisMaps maps;
  for (const shapes::Run& run : shapes::slice_runs(c)) {
    maps.emplace_back();
    for (int64_t i = 0; i < run.size; ++i) maps.back().push_back(run.first + i * run.step);
  }
  c.out(0, take(c.in(0), maps));
}

void expand(Call& c) {
  const Dims to = broadcast(c.in(0).dims, load<int64_t>(c.in(1)));
  c.out(0, pick(c.in(0), to, broadcast_index(c.in(0).dims, to)));
}

void tile(Call& c) {
  const Tensor& x = c.in(0);
  const Dims to = shapes::tile_dims(c);  // refuses hostile sizes before anything is made
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
  const auto [begin, to] = shapes::pad_shape(c);
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

}  // namespace

void depth_to_space(Call& c) {
  const Dims& d = c.in(0).dims;
  const Dims to = shapes::depth_to_space_dims(c);
  const int64_t b = shapes::block_size(c);
  if (c.text("mode", "DCR") == "DCR") c.out(0, rearranged(c.in(0), {d[0], b, b, to[1], d[2], d[3]}, {0, 3, 4, 1, 5, 2}, to));
  else c.out(0, rearranged(c.in(0), {d[0], to[1], b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, to));
}

void space_to_depth(Call& c) {
  const Dims& d = c.in(0).dims;
  const Dims to = shapes::space_to_depth_dims(c);
  const int64_t b = shapes::block_size(c);
  const Dims six{d[0], d[1], to[2], b, to[3], b};
  if (c.text("mode", "DCR") == "DCR") c.out(0, rearranged(c.in(0), six, {0, 3, 5, 1, 2, 4}, to));
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
  const shapes::CropShape crop = shapes::crop_shape(c);
  AxisMaps maps = whole(x.dims);
  for (size_t k = 0; k < crop.axes.size(); ++k) {
    const size_t d = crop.axes[k];
    const int64_t n = x.dims[d], wanted = crop.target[k];
    const int64_t offset = wanted < n ? (n - wanted) / 2 : -((wanted - n) / 2);
    maps[d].clear();
    for (int64_t i = 0; i < wanted; ++i) maps[d].push_back(pad_source(i + offset, n, "constant"));
  }
  c.out(0, take(x, maps));
}

}  // namespace optima::reference::ops
