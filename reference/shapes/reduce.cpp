// SPDX-License-Identifier: Apache-2.0
// reference/shapes: axes that are folded, and what orders elements.

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

/// Axes come from an attribute or from input 1. None: all, or with noop_with_empty_axes every element for itself.
Reduced reduced(const Call& c) {
  const Dims& d = c.in(0).dims;
  Dims axes;
  if (c.maybe(1)) axes = c.ints(1);
  else if (c.has("axes")) axes = *c.integers("axes");
  Reduced r;
  r.reduce.assign(d.size(), axes.empty() && c.integer("noop_with_empty_axes", 0) == 0);
  for (int64_t axis : axes) r.reduce[normal_axis(axis, d.size())] = true;
  const bool keep = c.integer("keepdims", 1) != 0;
  for (size_t k = 0; k < d.size(); ++k) {
    r.kept.push_back(r.reduce[k] ? 1 : d[k]);
    if (keep || !r.reduce[k]) r.out.push_back(r.kept.back());
  }
  return r;
}

Dims arg_dims(const Call& c, size_t& axis) {
  Dims to = c.in(0).dims;
  axis = normal_axis(c.integer("axis", 0), to.size());
  if (c.integer("keepdims", 1) != 0) to[axis] = 1;
  else to.erase(to.begin() + static_cast<ptrdiff_t>(axis));
  return to;
}

Dims top_k_dims(const Call& c, size_t& axis) {
  Dims to = c.in(0).dims;
  if (to.empty()) invalid("input 0 has rank 0, must be 1 or more");
  const int64_t k = c.maybe(1) ? c.scalar(1, "k") : c.integer("k", 0);
  axis = normal_axis(c.integer("axis", -1), to.size());
  if (k < 0 || k > to[axis]) invalid("k is " + std::to_string(k) + ", must be within " + std::to_string(to[axis]));
  to[axis] = k;
  return to;
}

}  // namespace shapes

namespace rules {

void reduce(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::reduced(c).out); }

void arg(const Call& c, Inference& to) {
  size_t axis = 0;
  Dims dims = shapes::arg_dims(c, axis);
  give(c, to, 0, OPTIMA_I64, std::move(dims));
}

void top_k(const Call& c, Inference& to) {
  size_t axis = 0;
  Dims dims = shapes::top_k_dims(c, axis);
  give(c, to, 1, OPTIMA_I64, dims);
  give(c, to, 0, c.in(0).dtype, std::move(dims));
}

}  // namespace rules
}  // namespace optima::reference
