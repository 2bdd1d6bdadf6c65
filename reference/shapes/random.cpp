// SPDX-License-Identifier: Apache-2.0
// reference/shapes: random numbers.

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

Type random_type(const Call& c) {
  const bool like = c.inputs() > 0;
  const auto dtype = static_cast<int32_t>(c.integer("dtype", like ? c.in(0).dtype : static_cast<int32_t>(OPTIMA_F32)));
  const bool draws_bits = c.op() == "Bernoulli";
  if (!is_float(dtype) && !(draws_bits && (is_signed(dtype) || is_unsigned(dtype) || dtype == OPTIMA_BOOL))) invalid("dtype is " + dtype_name(dtype) + ", must be a type of " + (draws_bits ? "numbers" : "floats"));
  Type t{dtype, like ? c.in(0).dims : c.list("shape")};
  count(t.dims);
  return t;
}

Type multinomial_type(const Call& c) {
  const Dims& d = c.in(0).dims;
  if (d.size() != 2 || d[1] == 0) invalid("input 0 has shape " + show(d) + ", must be [batch, classes]");
  const int64_t samples = c.integer("sample_size", 1);
  const auto dtype = static_cast<int32_t>(c.integer("dtype", OPTIMA_I32));
  if (dtype != OPTIMA_I32 && dtype != OPTIMA_I64) invalid("dtype is " + dtype_name(dtype) + ", must be i32 or i64");
  if (samples < 1) invalid("sample_size is " + std::to_string(samples) + ", must be positive");
  Type t{dtype, {d[0], samples}};
  count(t.dims);
  return t;
}

}  // namespace shapes

namespace rules {
namespace {

void give_type(const Call& c, Inference& to, Type t) { give(c, to, 0, t.dtype, std::move(t.dims)); }

}  // namespace

void random_numbers(const Call& c, Inference& to) { give_type(c, to, shapes::random_type(c)); }
void multinomial(const Call& c, Inference& to) { give_type(c, to, shapes::multinomial_type(c)); }

}  // namespace rules
}  // namespace optima::reference
