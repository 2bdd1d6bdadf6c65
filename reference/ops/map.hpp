// SPDX-License-Identifier: Apache-2.0
// reference/ops: element by element application in the wide type, shared by the elementwise families.
#pragma once

#include "reference/call.hpp"

namespace optima::reference {

/// out0 = f(double) over input 0, in its own float type.
template <class F>
void map_real(Call& c, F&& f) {
  std::vector<double> x = load<double>(c.in(0));
  for (double& e : x) e = f(e);
  c.out(0, store(c.in(0).dtype, c.in(0).dims, x));
}

/// out0 = f(x) over input 0, in its own type; f takes any wide type.
template <class F>
void map_any(Call& c, F&& f) {
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    std::vector<W> x = load<W>(c.in(0));
    for (W& e : x) e = f(e);
    c.out(0, store(c.in(0).dtype, c.in(0).dims, x));
  });
}

/// f(a, b) over two broadcast tensors of one type, as elements of type R.
template <class W, class R, class F>
std::vector<R> zip(const Tensor& a, const Tensor& b, const Dims& to, F&& f) {
  const std::vector<W> x = load_as<W>(a, to), y = load_as<W>(b, to);
  std::vector<R> out(x.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = f(x[i], y[i]);
  return out;
}

/// out0 = f(input 0, input 1) in double, broadcast, in the type of input 0.
template <class F>
void zip_real(Call& c, F&& f) {
  const Dims to = broadcast(c.in(0).dims, c.in(1).dims);
  c.out(0, store(c.in(0).dtype, to, zip<double, double>(c.in(0), c.in(1), to, f)));
}

/// out0 = f(input 0, input 1), broadcast, in the type of input 0; f takes any wide type.
template <class F>
void zip_any(Call& c, F&& f) {
  const Dims to = broadcast(c.in(0).dims, c.in(1).dims);
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    c.out(0, store(c.in(0).dtype, to, zip<W, W>(c.in(0), c.in(1), to, f)));
  });
}

/// out0 = f(input 0, input 1) as bool.
template <class F>
void compare(Call& c, F&& f) {
  const Dims to = broadcast(c.in(0).dims, c.in(1).dims);
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    c.out(0, store(OPTIMA_BOOL, to, zip<W, uint64_t>(c.in(0), c.in(1), to, f)));
  });
}

}  // namespace optima::reference
