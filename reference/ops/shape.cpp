// SPDX-License-Identifier: Apache-2.0
// reference/ops: constants, and what only looks at or changes a shape.
#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {

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

void reshape(Call& c) { c.out(0, reshaped(c.in(0), shapes::reshape_dims(c))); }
void flatten(Call& c) { c.out(0, reshaped(c.in(0), shapes::flatten_dims(c))); }
void squeeze(Call& c) { c.out(0, reshaped(c.in(0), shapes::squeeze_dims(c))); }
void unsqueeze(Call& c) { c.out(0, reshaped(c.in(0), shapes::unsqueeze_dims(c))); }

void shape(Call& c) {
  const auto [start, end] = shapes::shape_part(c);
  const Dims& d = c.in(0).dims;
  c.out(0, make_ints({end - start}, Dims(d.begin() + start, d.begin() + end)));
}

void size(Call& c) { c.out(0, make_ints({}, {c.in(0).elements()})); }

/// Each number is start + i · delta, rounded once.
void range(Call& c) {
  const int32_t dtype = c.in(0).dtype;
  const int64_t size = shapes::range_size(c);
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
  const Dims d = shapes::eye_dims(c);
  const auto dtype = static_cast<int32_t>(c.integer("dtype", c.in(0).dtype));
  const int64_t k = c.integer("k", 0);
  std::vector<uint64_t> out(static_cast<size_t>(count(d)), 0);
  for (int64_t i = 0; i < d[0]; ++i)
    for (int64_t j = 0; j < d[1]; ++j) out[static_cast<size_t>(i * d[1] + j)] = j - i == k;
  c.out(0, store(dtype, d, out));
}

}  // namespace optima::reference::ops
