// SPDX-License-Identifier: Apache-2.0
// reference/ops: elements moved by positions that are data. Any element type.
#include <algorithm>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// 0 ≤ i < n, negative counted from the end.
int64_t position(int64_t i, int64_t n) {
  if (i < -n || i >= n) invalid("an index is " + std::to_string(i) + ", must be within " + std::to_string(n));
  return i < 0 ? i + n : i;
}

}  // namespace

void gather(Call& c) {
  const Tensor& x = c.in(0);
  const size_t axis = normal_axis(c.integer("axis", 0), x.dims.size());
  std::vector<int64_t> indices = load<int64_t>(c.in(1));
  for (int64_t& i : indices) i = position(i, x.dims[axis]);
  AxisMaps maps = whole(x.dims);
  maps[axis] = indices;
  c.out(0, reshaped(take(x, maps), shapes::gather_dims(c)));
}

namespace {

/// For every element of `indices`: the element of a tensor of shape `data` that it names along `axis`.
std::vector<int64_t> along_axis(const Dims& data, const Tensor& indices, size_t axis) {
  shapes::need_inside(data, indices.dims, axis);
  const Dims step = strides_of(data);
  std::vector<int64_t> out = load<int64_t>(indices);
  Dims at(data.size(), 0);
  for (int64_t& i : out) {
    int64_t where = position(i, data[axis]) * step[axis];
    for (size_t d = 0; d < data.size(); ++d)
      if (d != axis) where += at[d] * step[d];
    i = where;
    next(at, indices.dims);
  }
  return out;
}

/// For every tuple of `indices` (last dim = its length): the first element of the slice of `data` that it names.
std::vector<int64_t> tuples(const Dims& data, const Tensor& indices, size_t batch) {
  shapes::need_tuples(data, indices.dims, batch);
  const auto length = static_cast<size_t>(indices.dims.back());
  const Dims step = strides_of(data);
  const std::vector<int64_t> all = load<int64_t>(indices);
  const int64_t slices = count(indices.dims, 0, indices.dims.size() - 1);
  const int64_t per_batch = count(indices.dims, batch, indices.dims.size() - 1);
  const int64_t batch_step = batch ? step[batch - 1] : 0;
  std::vector<int64_t> out;
  for (int64_t s = 0; s < slices; ++s) {
    int64_t where = batch ? s / per_batch * batch_step : 0;
    for (size_t k = 0; k < length; ++k) where += position(all[static_cast<size_t>(s) * length + k], data[batch + k]) * step[batch + k];
    out.push_back(where);
  }
  return out;
}

/// Every slice of `block` elements that starts at one of `first`.
std::vector<int64_t> blocks(const std::vector<int64_t>& first, int64_t block) {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(count({static_cast<int64_t>(first.size()), block})));
  for (int64_t f : first)
    for (int64_t i = 0; i < block; ++i) out.push_back(f + i);
  return out;
}

/// data with data[where[i]] = updates[i], or combined by `reduction`.
Tensor scattered(const Tensor& data, const Tensor& updates, const std::vector<int64_t>& where, const std::string& reduction) {
  if (updates.elements() != static_cast<int64_t>(where.size())) invalid("updates have shape " + show(updates.dims) + ", which does not fit the indices");
  if (reduction == "none") {
    std::vector<int64_t> index(static_cast<size_t>(data.elements()));
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i < where.size(); ++i) index[static_cast<size_t>(where[i])] = data.elements() + static_cast<int64_t>(i);
    return pick(join({data, updates}), data.dims, index);
  }
  if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min")
    invalid("reduction is '" + reduction + "', must be none, add, mul, max or min");
  return with_wide(data.dtype, [&](auto wide) {
    using W = decltype(wide);
    using U = std::conditional_t<std::is_floating_point_v<W>, W, uint64_t>;
    std::vector<W> out = load<W>(data);
    const std::vector<W> x = load<W>(updates);
    for (size_t i = 0; i < where.size(); ++i) {
      W& o = out[static_cast<size_t>(where[i])];
      if (reduction == "add") o = static_cast<W>(static_cast<U>(o) + static_cast<U>(x[i]));
      else if (reduction == "mul") o = static_cast<W>(static_cast<U>(o) * static_cast<U>(x[i]));
      else if (x[i] != x[i] || (reduction == "max" ? x[i] > o : x[i] < o)) o = x[i];  // NaN wins
    }
    return store(data.dtype, data.dims, out);
  });
}

}  // namespace

void gather_elements(Call& c) {
  const size_t axis = normal_axis(c.integer("axis", 0), c.in(0).dims.size());
  c.out(0, pick(c.in(0), c.in(1).dims, along_axis(c.in(0).dims, c.in(1), axis)));
}

void gather_nd(Call& c) {
  const Dims to = shapes::gather_nd_dims(c);
  const Dims &data = c.in(0).dims, &indices = c.in(1).dims;
  const int64_t batch = c.integer("batch_dims", 0);
  const auto used = static_cast<size_t>(batch + indices.back());
  c.out(0, pick(c.in(0), to, blocks(tuples(data, c.in(1), static_cast<size_t>(batch)), count(data, used, data.size()))));
}

void scatter_elements(Call& c) {
  if (c.in(1).dims != c.in(2).dims) invalid("indices have shape " + show(c.in(1).dims) + ", updates " + show(c.in(2).dims));
  const size_t axis = normal_axis(c.integer("axis", 0), c.in(0).dims.size());
  c.out(0, scattered(c.in(0), c.in(2), along_axis(c.in(0).dims, c.in(1), axis), c.text("reduction", "none")));
}

void scatter_nd(Call& c) {
  const Dims& data = c.in(0).dims;
  const std::vector<int64_t> first = tuples(data, c.in(1), 0);
  const int64_t block = count(data, static_cast<size_t>(c.in(1).dims.back()), data.size());
  c.out(0, scattered(c.in(0), c.in(2), blocks(first, block), c.text("reduction", "none")));
}

void one_hot(Call& c) {
  const Tensor &indices = c.in(0), &values = c.in(2);
  size_t axis = 0;
  const Dims to = shapes::one_hot_dims(c, axis);
  const int64_t depth = to[axis];
  const std::vector<int64_t> hot = load<int64_t>(indices);
  const int64_t inner = count(to, axis + 1, to.size());
  std::vector<int64_t> index(static_cast<size_t>(count(to)));
  for (size_t i = 0; i < index.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t h = hot[static_cast<size_t>(at / (depth * inner) * inner + at % inner)];
    index[i] = at / inner % depth == (h < 0 ? h + depth : h);
  }
  c.out(0, pick(values, to, index));
}

void non_zero(Call& c) {
  const Dims& d = c.in(0).dims;
  const std::vector<double> x = c.in(0).dtype == OPTIMA_STRING ? std::vector<double>() : load<double>(c.in(0));
  const auto many = static_cast<size_t>(std::count_if(x.begin(), x.end(), [](double e) { return e != 0; }));
  std::vector<int64_t> out(d.size() * many);
  Dims at(d.size(), 0);
  for (size_t i = 0, found = 0; i < x.size(); ++i, next(at, d)) {
    if (x[i] == 0) continue;
    for (size_t k = 0; k < d.size(); ++k) out[k * many + found] = at[k];
    ++found;
  }
  c.out(0, make_ints({static_cast<int64_t>(d.size()), static_cast<int64_t>(many)}, out));
}

void compress(Call& c) {
  size_t axis = 0;
  const Tensor x = reshaped(c.in(0), shapes::compressed(c, axis));
  const std::vector<int64_t> keep = load<int64_t>(c.in(1));
  AxisMaps maps = whole(x.dims);
  maps[axis].clear();
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) maps[axis].push_back(static_cast<int64_t>(i));
  c.out(0, take(x, maps));
}

/// A cache along `axis` overwritten from write_indices[batch] on; mode circular wraps.
void tensor_scatter(Call& c) {
  const Tensor &cache = c.in(0), &update = c.in(1);
  const size_t rank = cache.dims.size(), axis = normal_axis(c.integer("axis", -2), rank);
  const std::string mode = c.text("mode", "linear");
  if (axis == 0) invalid("axis is 0, must not be the batch");
  if (mode != "linear" && mode != "circular") invalid("mode is '" + mode + "', must be linear or circular");
  Dims same = update.dims;
  if (same.size() == rank) same[axis] = cache.dims[axis];
  if (same != cache.dims) invalid("update of shape " + show(update.dims) + " does not fit " + show(cache.dims));
  const std::vector<int64_t> begin = c.maybe(2) ? load<int64_t>(c.in(2)) : std::vector<int64_t>(static_cast<size_t>(cache.dims[0]), 0);
  if (static_cast<int64_t>(begin.size()) != cache.dims[0]) invalid("write_indices has " + std::to_string(begin.size()) + " elements, must be " + std::to_string(cache.dims[0]));
  const Dims step = strides_of(cache.dims);
  const int64_t length = cache.dims[axis];
  if (length == 0 && update.elements() != 0) invalid("a cache of length 0 takes no update");
  std::vector<int64_t> where;
  Dims at(rank, 0);
  for (int64_t i = 0; i < update.elements(); ++i, next(at, update.dims)) {
    const int64_t first = position(begin[static_cast<size_t>(at[0])], length + 1);
    int64_t to = first + at[axis];
    if (mode == "circular") to %= length;
    int64_t offset = position(to, length) * step[axis];
    for (size_t d = 0; d < rank; ++d) offset += d == axis ? 0 : at[d] * step[d];
    where.push_back(offset);
  }
  c.out(0, scattered(cache, update, where, "none"));
}

}  // namespace optima::reference::ops
