// SPDX-License-Identifier: Apache-2.0
// reference/ops: constants, and what only looks at or changes a shape.
#include <algorithm>
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"

namespace optima::reference::ops {
namespace {

/// Input `k` (newer versions) or the attribute (older ones) as integers; nullopt when absent.
std::optional<Dims> axes_of(const Call& c, uint32_t k) {
  if (c.maybe(k)) return load<int64_t>(c.in(k));
  return c.has("axes") ? c.integers("axes") : std::nullopt;
}

}  // namespace

void constant(Call& c) {
  if (c.has("value")) return c.out(0, *c.tensor("value"));
  if (c.has("sparse_value")) return c.out(0, *c.tensor("sparse_value"));
  if (c.has("value_float")) return c.out(0, store<double>(OPTIMA_F32, {}, {c.real("value_float", 0)}));
  if (c.has("value_int")) return c.out(0, make_ints({}, {c.integer("value_int", 0)}));
  if (c.has("value_string")) return c.out(0, make_strings({}, {c.text("value_string", "")}));
  if (const auto x = c.has("value_floats") ? c.reals("value_floats") : std::nullopt)
    return c.out(0, store<double>(OPTIMA_F32, {static_cast<int64_t>(x->size())}, *x));
  if (const auto x = c.has("value_ints") ? c.integers("value_ints") : std::nullopt)
    return c.out(0, make_ints({static_cast<int64_t>(x->size())}, *x));
  if (const auto x = c.has("value_strings") ? c.texts("value_strings") : std::nullopt)
    return c.out(0, make_strings({static_cast<int64_t>(x->size())}, *x));
  invalid("no attribute holds a value");
}

void constant_of_shape(Call& c) {
  const Dims dims = load<int64_t>(c.in(0));
  const Tensor value = c.tensor("value").value_or(store<double>(OPTIMA_F32, {1}, {0.0}));
  if (value.elements() != 1) invalid("value has shape " + show(value.dims) + ", must be one element");
  c.out(0, pick(value, dims, std::vector<int64_t>(static_cast<size_t>(count(dims)), 0)));
}

void identity(Call& c) { c.out(0, c.in(0)); }

/// Inference only: training would need random numbers.
void dropout(Call& c) {
  const bool training = c.maybe(2) && scalar_int(c.in(2), "training_mode") != 0;
  const double ratio = c.maybe(1) ? scalar_real(c.in(1), "ratio") : c.real("ratio", 0.5);
  if (training && ratio != 0) unsupported("training_mode is true, must be false: dropping is random");
  c.out(0, c.in(0));
  const int32_t mask = c.version() < 10 ? c.in(0).dtype : static_cast<int32_t>(OPTIMA_BOOL);
  if (c.wants(1)) c.out(1, store(mask, c.in(0).dims, std::vector<uint64_t>(static_cast<size_t>(c.in(0).elements()), 1)));
}

void reshape(Call& c) {
  const Tensor& x = c.in(0);
  Dims dims = load<int64_t>(c.in(1));
  const bool zero_stays = c.integer("allowzero", 0) != 0;
  size_t open = dims.size();
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && !zero_stays) {
      if (d >= x.dims.size()) invalid("shape " + show(dims) + " copies dim " + std::to_string(d) + " of " + show(x.dims));
      dims[d] = x.dims[d];
    } else if (dims[d] == -1) {
      if (open != dims.size()) invalid("shape " + show(dims) + " has two dims of -1");
      open = d;
    }
  }
  if (open != dims.size()) {
    dims[open] = 1;
    const int64_t known = count(dims);
    if (known == 0 || x.elements() % known != 0) invalid("shape " + show(x.dims) + " does not fit into " + show(dims));
    dims[open] = x.elements() / known;
  }
  c.out(0, reshaped(x, dims));
}

void flatten(Call& c) {
  const Dims& d = c.in(0).dims;
  int64_t axis = c.integer("axis", 1);
  const auto rank = static_cast<int64_t>(d.size());
  if (axis < -rank || axis > rank) invalid("axis is " + std::to_string(axis) + ", must be within rank " + std::to_string(rank));
  if (axis < 0) axis += rank;
  c.out(0, reshaped(c.in(0), {count(d, 0, static_cast<size_t>(axis)), count(d, static_cast<size_t>(axis), d.size())}));
}

void squeeze(Call& c) {
  const Dims& d = c.in(0).dims;
  std::vector<bool> drop(d.size(), false);
  const std::optional<Dims> axes = axes_of(c, 1);
  for (size_t k = 0; k < d.size() && !axes; ++k) drop[k] = d[k] == 1;
  for (int64_t axis : axes.value_or(Dims{})) {
    const size_t a = normal_axis(axis, d.size());
    if (d[a] != 1) invalid("dim " + std::to_string(a) + " is " + std::to_string(d[a]) + ", must be 1 to be squeezed");
    drop[a] = true;
  }
  Dims out;
  for (size_t k = 0; k < d.size(); ++k)
    if (!drop[k]) out.push_back(d[k]);
  c.out(0, reshaped(c.in(0), out));
}

void unsqueeze(Call& c) {
  const Dims& d = c.in(0).dims;
  const Dims axes = axes_of(c, 1).value_or(Dims{});
  if (axes.size() + d.size() > 64) invalid("the result has rank " + std::to_string(axes.size() + d.size()) + ", must be 64 or less");
  std::vector<bool> fresh(d.size() + axes.size(), false);
  for (int64_t axis : axes) {
    const size_t a = normal_axis(axis, fresh.size());
    if (fresh[a]) invalid("axes " + show(axes) + " name one axis twice");
    fresh[a] = true;
  }
  Dims out;
  for (size_t k = 0, from = 0; k < fresh.size(); ++k) out.push_back(fresh[k] ? 1 : d[from++]);
  c.out(0, reshaped(c.in(0), out));
}

void shape(Call& c) {
  const Dims& d = c.in(0).dims;
  const auto rank = static_cast<int64_t>(d.size());
  const auto bound = [&](const char* name, int64_t otherwise) {
    int64_t i = c.integer(name, otherwise);
    if (i < 0) i = i < -rank ? 0 : i + rank;
    return std::min(i, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  c.out(0, make_ints({end - start}, Dims(d.begin() + start, d.begin() + end)));
}

void size(Call& c) { c.out(0, make_ints({}, {c.in(0).elements()})); }

/// max(ceil((limit - start) / delta), 0) numbers, each start + i · delta rounded once.
void range(Call& c) {
  const int32_t dtype = c.in(0).dtype;
  for (uint32_t k = 0; k < 3; ++k)
    if (c.in(k).elements() != 1) invalid("input " + std::to_string(k) + " has shape " + show(c.in(k).dims) + ", must be one element");
  const double start = load<double>(c.in(0))[0], limit = load<double>(c.in(1))[0], delta = load<double>(c.in(2))[0];
  if (delta == 0 || !std::isfinite(delta)) invalid("delta is " + std::to_string(delta) + ", must be finite and not zero");
  const double n = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(n < 1 << 30)) throw Error(OPTIMA_MEMORY, "the range has more elements than the reference takes");
  const auto size = static_cast<int64_t>(n);
  with_wide(dtype, [&](auto wide) {
    using W = decltype(wide);
    const W first = load<W>(c.in(0))[0], step = load<W>(c.in(2))[0];
    std::vector<W> out;
    if constexpr (std::is_floating_point_v<W>)
      for (int64_t i = 0; i < size; ++i) out.push_back(first + static_cast<W>(i) * step);
    else
      for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<W>(static_cast<uint64_t>(first) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step)));
    c.out(0, store(dtype, {size}, out));
  });
}

void eye_like(Call& c) {
  const Dims& d = c.in(0).dims;
  if (d.size() != 2) invalid("input 0 has rank " + std::to_string(d.size()) + ", must be 2");
  const auto dtype = static_cast<int32_t>(c.integer("dtype", c.in(0).dtype));
  const int64_t k = c.integer("k", 0);
  std::vector<uint64_t> out(static_cast<size_t>(count(d)), 0);
  for (int64_t i = 0; i < d[0]; ++i)
    for (int64_t j = 0; j < d[1]; ++j) out[static_cast<size_t>(i * d[1] + j)] = j - i == k;
  c.out(0, store(dtype, d, out));
}

}  // namespace optima::reference::ops
