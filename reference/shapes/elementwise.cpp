// SPDX-License-Identifier: Apache-2.0
// reference/shapes: functions of broadcast tensors.

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

Dims broadcast_all(const Call& c) {
  Dims to = c.in(0).dims;
  for (uint32_t k = 1; k < c.inputs(); ++k)
    if (c.in(k).dims != to) to = broadcast(to, c.in(k).dims);
  return to;
}

void need_broadcast(const Dims& from, const Dims& to) {
  if (from != to && broadcast(from, to) != to) invalid("shape " + show(from) + " does not broadcast to " + show(to));
}

Dims one_shape(const Call& c) {
  if (c.in(0).dims != c.in(1).dims) invalid("inputs have shapes " + show(c.in(0).dims) + " and " + show(c.in(1).dims) + ", must be one");
  return c.in(0).dims;
}

}  // namespace shapes

namespace rules {

void binary(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::broadcast_all(c)); }
void comparison(const Call& c, Inference& to) { give(c, to, 0, OPTIMA_BOOL, shapes::broadcast_all(c)); }
void where(const Call& c, Inference& to) { give(c, to, 0, c.in(1).dtype, shapes::broadcast_all(c)); }
void swiglu(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::one_shape(c)); }

void prelu(const Call& c, Inference& to) {
  shapes::need_broadcast(c.in(1).dims, c.in(0).dims);
  give(c, to, 0, c.in(0).dtype, c.in(0).dims);
}

}  // namespace rules
}  // namespace optima::reference
