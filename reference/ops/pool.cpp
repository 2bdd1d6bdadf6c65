// SPDX-License-Identifier: Apache-2.0
// reference/ops: pooling.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"
#include "reference/ops/window.hpp"

namespace optima::reference::ops {
namespace {

/// f(offset in the input plane) for every element under the window at output position `at`, in row-major order.
template <class F>
void each_under(const Window& w, const Dims& at, const Dims& step, F&& f) {
  Dims first, size;
  int64_t offset = 0;
  for (size_t d = 0; d < w.rank(); ++d) {
    const auto [from, to] = w.inside(d, at[d]);
    first.push_back(from);
    size.push_back(to - from);
    offset += (at[d] * w.stride[d] - w.begin[d] + from * w.dilation[d]) * step[d];
  }
  Dims k(w.rank(), 0);
  for (int64_t t = 0, n = count(size); t < n; ++t, next(k, size)) {
    int64_t i = offset;
    for (size_t d = 0; d < w.rank(); ++d) i += k[d] * w.dilation[d] * step[d];
    f(i);
  }
}

/// f(input plane, output position) → output element, over all planes.
template <class W, class F>
std::vector<W> each_output(const Tensor& x, const std::vector<W>& in, const Window& w, F&& f) {
  const int64_t planes = x.dims[0] * x.dims[1], size = count(w.in), outs = count(w.out);
  std::vector<W> out;
  out.reserve(static_cast<size_t>(count({planes, outs})));
  for (int64_t p = 0; p < planes; ++p) {
    Dims at(w.rank(), 0);
    for (int64_t o = 0; o < outs; ++o, next(at, w.out)) out.push_back(f(in.data() + p * size, at, p));
  }
  return out;
}

/// Elements of the window that lie inside the padded input: what count_include_pad divides by.
double padded_count(const Window& w, const Dims& at) {
  double n = 1;
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t start = at[d] * w.stride[d] - w.begin[d], room = w.in[d] + w.end[d] - start;
    n *= static_cast<double>(std::min(w.kernel[d], (room + w.dilation[d] - 1) / w.dilation[d]));
  }
  return n;
}

/// Position in a plane when its last spatial dim moves slowest.
int64_t column_major(int64_t i, const Dims& in) {
  int64_t out = 0, step = 1;
  const Dims own = strides_of(in);
  for (size_t d = 0; d < in.size(); ++d) {
    out += i / own[d] % in[d] * step;
    step *= in[d];
  }
  return out;
}

template <class W>
W lowest() {
  if constexpr (std::is_floating_point_v<W>) return -std::numeric_limits<W>::infinity();
  else return std::numeric_limits<W>::lowest();
}

/// Window over the whole plane, for the global pools.
Window whole_plane(const Tensor& x) {
  Window w;
  w.in = w.kernel = x.dims.size() > 2 ? spatial_of(x) : Dims{};
  w.stride = w.dilation = w.out = Dims(w.in.size(), 1);
  w.begin = w.end = Dims(w.in.size(), 0);
  return w;
}

Tensor norm_pool(const Tensor& x, const Window& w, double p) {
  Dims to = shapes::pooled_dims(x, w.out);
  const Dims step = strides_of(w.in);
  return store(x.dtype, std::move(to), each_output(x, load<double>(x), w, [&](const double* in, const Dims& at, int64_t) {
    double sum = 0;
    each_under(w, at, step, [&](int64_t i) { sum += std::pow(std::fabs(in[i]), p); });
    return std::pow(sum, 1 / p);
  }));
}

Tensor average(const Tensor& x, const Window& w, bool with_pads) {
  Dims to = shapes::pooled_dims(x, w.out);
  const Dims step = strides_of(w.in);
  return store(x.dtype, std::move(to), each_output(x, load<double>(x), w, [&](const double* in, const Dims& at, int64_t) {
    double sum = 0, n = 0;
    each_under(w, at, step, [&](int64_t i) { sum += in[i], ++n; });
    return sum / (with_pads ? padded_count(w, at) : n);
  }));
}

/// Largest element and where it is in the whole input; NaN wins.
void largest(Call& c, const Window& w) {
  const Tensor& x = c.in(0);
  const Dims to = shapes::pooled_dims(x, w.out), step = strides_of(w.in);
  const int64_t plane = count(w.in);
  const bool by_column = c.integer("storage_order", 0) != 0;
  std::vector<int64_t> where;
  with_wide(x.dtype, [&](auto wide) {
    using W = decltype(wide);
    c.out(0, store(x.dtype, to, each_output(x, load<W>(x), w, [&](const W* in, const Dims& at, int64_t p) {
      W best = lowest<W>();
      int64_t found = -1;
      each_under(w, at, step, [&](int64_t i) {
        if (found < 0 || in[i] > best || (in[i] != in[i] && best == best)) best = in[i], found = i;
      });
      where.push_back(p * plane + (found < 0 ? 0 : by_column ? column_major(found, w.in) : found));
      return best;
    })));
  });
  c.out(1, make_ints(to, where));
}

}  // namespace

void max_pool(Call& c) { largest(c, window_of(c, spatial_of(c.in(0)))); }
void global_max_pool(Call& c) { largest(c, whole_plane(c.in(0))); }
void average_pool(Call& c) {
  c.out(0, average(c.in(0), window_of(c, spatial_of(c.in(0))), c.integer("count_include_pad", 0) != 0));
}
void global_average_pool(Call& c) { c.out(0, average(c.in(0), whole_plane(c.in(0)), false)); }
void lp_pool(Call& c) {
  c.out(0, norm_pool(c.in(0), window_of(c, spatial_of(c.in(0))), static_cast<double>(c.integer("p", 2))));
}
void global_lp_pool(Call& c) { c.out(0, norm_pool(c.in(0), whole_plane(c.in(0)), static_cast<double>(c.integer("p", 2)))); }

/// Puts each element at its index in a tensor of zeros.
void max_unpool(Call& c) {
  const Tensor &x = c.in(0), &indices = c.in(1);
  Dims plain;
  const Dims to = shapes::unpool_dims(c, plain);
  std::vector<int64_t> index(static_cast<size_t>(count(to)), -1);
  // Indices count in the plain shape; a larger output keeps the positions.
  const Dims plain_step = strides_of(plain), step = strides_of(to);
  const std::vector<int64_t> where = load<int64_t>(indices);
  const int64_t all = count(plain);
  for (size_t i = 0; i < where.size(); ++i) {
    if (where[i] < 0 || where[i] >= all) invalid("an index is " + std::to_string(where[i]) + ", must be within " + std::to_string(all));
    int64_t at = 0;
    for (size_t d = 0; d < to.size(); ++d) {
      const int64_t p = where[i] / plain_step[d] % plain[d];
      if (p >= to[d]) invalid("output_shape is " + show(to) + ", must hold " + show(plain));
      at += p * step[d];
    }
    index[static_cast<size_t>(at)] = static_cast<int64_t>(i);
  }
  c.out(0, pick(x, to, index));
}

}  // namespace optima::reference::ops
