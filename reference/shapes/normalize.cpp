// SPDX-License-Identifier: Apache-2.0
// reference/shapes: what keeps the shape of input 0: normalisations, quantized numbers, casts.
#include <algorithm>

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

Dims layer_dims(const Call& c) {
  Dims dims = c.in(0).dims;
  std::fill(dims.begin() + static_cast<ptrdiff_t>(normal_axis(c.integer("axis", -1), dims.size())), dims.end(), 1);
  return dims;
}

int32_t quantized_type(const Call& c) {
  const auto asked = static_cast<int32_t>(c.integer("output_dtype", 0));
  if (c.maybe(2) && asked != 0 && asked != c.in(2).dtype) invalid("output_dtype is " + dtype_name(asked) + ", the zero point is " + dtype_name(c.in(2).dtype));
  return c.maybe(2) ? c.in(2).dtype : asked != 0 ? asked : static_cast<int32_t>(OPTIMA_U8);
}

}  // namespace shapes

namespace rules {

void same(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, c.in(0).dims); }
void same_bool(const Call& c, Inference& to) { give(c, to, 0, OPTIMA_BOOL, c.in(0).dims); }
void cast(const Call& c, Inference& to) { give(c, to, 0, static_cast<int32_t>(c.integer("to", 0)), c.in(0).dims); }
void cast_like(const Call& c, Inference& to) { give(c, to, 0, c.in(1).dtype, c.in(0).dims); }

void batch_normalization(const Call& c, Inference& to) {
  const Dims& x = c.in(0).dims;
  if (x.empty()) invalid("input 0 has rank 0, must be 1 or more");
  const Dims channels{x.size() > 1 ? x[1] : 1};
  if (c.in(1).dims != channels) invalid("scale has shape " + show(c.in(1).dims) + ", must be " + show(channels));
  give(c, to, 0, c.in(0).dtype, x);
  if (c.integer("training_mode", 0) == 0) return;
  give(c, to, 1, c.in(3).dtype, channels);
  give(c, to, 2, c.in(4).dtype, channels);
}

void layer_normalization(const Call& c, Inference& to) {
  shapes::need_broadcast(c.in(1).dims, c.in(0).dims);
  give(c, to, 0, c.in(0).dtype, c.in(0).dims);
  const auto stash = static_cast<int32_t>(c.integer("stash_type", OPTIMA_F32));
  for (uint32_t k = 1; k < 3; ++k)
    if (c.wants(k)) give(c, to, k, stash, shapes::layer_dims(c));
}

void rms_normalization(const Call& c, Inference& to) {
  shapes::need_broadcast(c.in(1).dims, c.in(0).dims);
  give(c, to, 0, c.in(1).dtype, c.in(0).dims);
}

void quantize_linear(const Call& c, Inference& to) { give(c, to, 0, shapes::quantized_type(c), c.in(0).dims); }
void dequantize_linear(const Call& c, Inference& to) {
  const auto asked = static_cast<int32_t>(c.integer("output_dtype", 0));
  give(c, to, 0, asked != 0 ? asked : c.in(1).dtype, c.in(0).dims);
}
void dynamic_quantize_linear(const Call& c, Inference& to) {
  give(c, to, 0, OPTIMA_U8, c.in(0).dims);
  give(c, to, 1, OPTIMA_F32, {});
  give(c, to, 2, OPTIMA_U8, {});
}

}  // namespace rules
}  // namespace optima::reference
