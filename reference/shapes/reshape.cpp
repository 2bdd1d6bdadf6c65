// SPDX-License-Identifier: Apache-2.0
// reference/shapes: what only looks at or changes a shape.
#include <algorithm>
#include <cmath>

#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {
namespace {

/// Input `k` (newer versions) or the attribute (older ones) as integers; nullopt when absent.
std::optional<Dims> axes_given(const Call& c, uint32_t k) {
  if (c.maybe(k)) return c.ints(k);
  return c.has("axes") ? c.integers("axes") : std::nullopt;
}

}  // namespace

Dims reshape_dims(const Call& c) {
  const Tensor& x = c.in(0);
  Dims dims = c.ints(1);
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
    dims[open] = known == 0 || x.elements() % known != 0 ? -1 : x.elements() / known;
    if (dims[open] < 0) invalid("shape " + show(x.dims) + " does not fit into " + show(dims));
  }
  if (count(dims) != x.elements()) invalid("shape " + show(x.dims) + " does not fit into " + show(dims));
  return dims;
}

Dims flatten_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  int64_t axis = c.integer("axis", 1);
  const auto rank = static_cast<int64_t>(d.size());
  if (axis < -rank || axis > rank) invalid("axis is " + std::to_string(axis) + ", must be within rank " + std::to_string(rank));
  if (axis < 0) axis += rank;
  return {count(d, 0, static_cast<size_t>(axis)), count(d, static_cast<size_t>(axis), d.size())};
}

Dims squeeze_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  std::vector<bool> drop(d.size(), false);
  const std::optional<Dims> axes = axes_given(c, 1);
  for (size_t k = 0; k < d.size() && !axes; ++k) drop[k] = d[k] == 1;
  for (int64_t axis : axes.value_or(Dims{})) {
    const size_t a = normal_axis(axis, d.size());
    if (d[a] != 1) invalid("dim " + std::to_string(a) + " is " + std::to_string(d[a]) + ", must be 1 to be squeezed");
    drop[a] = true;
  }
  Dims out;
  for (size_t k = 0; k < d.size(); ++k)
    if (!drop[k]) out.push_back(d[k]);
  return out;
}

Dims unsqueeze_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  const Dims axes = axes_given(c, 1).value_or(Dims{});
  if (axes.size() + d.size() > 64) invalid("the result has rank " + std::to_string(axes.size() + d.size()) + ", must be 64 or less");
  std::vector<bool> fresh(d.size() + axes.size(), false);
  for (int64_t axis : axes) {
    const size_t a = normal_axis(axis, fresh.size());
    if (fresh[a]) invalid("axes " + show(axes) + " name one axis twice");
    fresh[a] = true;
  }
  Dims out;
  for (size_t k = 0, from = 0; k < fresh.size(); ++k) out.push_back(fresh[k] ? 1 : d[from++]);
  return out;
}

std::pair<int64_t, int64_t> shape_part(const Call& c) {
  const Dims& d = c.in(0).dims;
  const auto rank = static_cast<int64_t>(d.size());
  const auto bound = [&](const char* name, int64_t otherwise) {
    int64_t i = c.integer(name, otherwise);
    if (i < 0) i = i < -rank ? 0 : i + rank;
    return std::min(i, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return {start, end};
}

int64_t range_size(const Call& c) {
  for (uint32_t k = 0; k < 3; ++k)
    if (c.in(k).elements() != 1) invalid("input " + std::to_string(k) + " has shape " + show(c.in(k).dims) + ", must be one element");
  const double start = c.numbers(0)[0], limit = c.numbers(1)[0], delta = c.numbers(2)[0];
  if (delta == 0 || !std::isfinite(delta)) invalid("delta is " + std::to_string(delta) + ", must be finite and not zero");
  const double n = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(n < 1 << 30)) throw Error(OPTIMA_MEMORY, "the range has more elements than the reference takes");
  return static_cast<int64_t>(n);
}

Dims eye_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  if (d.size() != 2) invalid("input 0 has rank " + std::to_string(d.size()) + ", must be 2");
  return d;
}

}  // namespace shapes

namespace rules {

void reshape(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::reshape_dims(c)); }
void flatten(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::flatten_dims(c)); }
void squeeze(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::squeeze_dims(c)); }
void unsqueeze(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::unsqueeze_dims(c)); }

void shape(const Call& c, Inference& to) {
  const auto [start, end] = shapes::shape_part(c);
  give(c, to, 0, OPTIMA_I64, {end - start});
}
void size(const Call& c, Inference& to) {
  c.in(0);
  give(c, to, 0, OPTIMA_I64, {});
}
void range(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, {shapes::range_size(c)}); }

void constant_of_shape(const Call& c, Inference& to) {
  const std::optional<Tensor> value = c.tensor("value");
  Dims dims = c.ints(0);
  count(dims);
  give(c, to, 0, value ? value->dtype : OPTIMA_F32, std::move(dims));
}

void eye_like(const Call& c, Inference& to) { give(c, to, 0, static_cast<int32_t>(c.integer("dtype", c.in(0).dtype)), shapes::eye_dims(c)); }

void dropout(const Call& c, Inference& to) {
  give(c, to, 0, c.in(0).dtype, c.in(0).dims);
  give(c, to, 1, c.version() < 10 ? c.in(0).dtype : static_cast<int32_t>(OPTIMA_BOOL), c.in(0).dims);
}

/// Its elements are at hand: running it is as cheap as anything.
void constant(const Call& c, Inference& to) {
  Call run(c.graph, c.node, c.all(), c.outer, c.foreign);
  ops::constant(run);
  for (const Tensor& t : run.take()) give(c, to, 0, t.dtype, t.dims);
}

}  // namespace rules
}  // namespace optima::reference
