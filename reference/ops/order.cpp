// SPDX-License-Identifier: Apache-2.0
// reference/ops: what compares elements with each other, and running sums. NaN counts as larger than every number.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

struct Lines {
  int64_t n, inner, outer;
};
Lines lines_of(const Dims& d, size_t axis) { return {d[axis], count(d, axis + 1, d.size()), count(d, 0, axis)}; }

template <class W>
bool larger(W a, W b) { return (a != a && b == b) || a > b; }

/// better(a, b): a goes before b; the winner's index along the axis.
template <class Better>
void arg_best(Call& c, Better&& better) {
  const Tensor& x = c.in(0);
  size_t axis = 0;
  const Dims to = shapes::arg_dims(c, axis);
  const bool last = c.integer("select_last_index", 0) != 0;
  const Lines l = lines_of(x.dims, axis);
  if (l.n == 0 && l.inner * l.outer != 0) invalid("the axis has no elements");
  std::vector<int64_t> out;
  with_wide(x.dtype, [&](auto wide) {
    const auto v = load<decltype(wide)>(x);
    for (int64_t o = 0; o < l.outer; ++o)
      for (int64_t i = 0; i < l.inner; ++i) {
        const auto at = [&](int64_t k) { return v[static_cast<size_t>((o * l.n + k) * l.inner + i)]; };
        int64_t best = 0;
        for (int64_t k = 1; k < l.n; ++k)
          if (better(at(k), at(best)) || (last && !better(at(best), at(k)))) best = k;
        out.push_back(best);
      }
  });
  c.out(0, make_ints(to, out));
}

}  // namespace

void arg_max(Call& c) { arg_best(c, [](auto a, auto b) { return larger(a, b); }); }
void arg_min(Call& c) { arg_best(c, [](auto a, auto b) { return larger(b, a); }); }

/// Equal elements: the lower index first. Sorted whether asked or not.
void top_k(Call& c) {
  const Tensor& x = c.in(0);
  size_t axis = 0;
  const Dims to = shapes::top_k_dims(c, axis);
  const int64_t k = to[axis];
  const bool largest = c.integer("largest", 1) != 0;
  const Lines l = lines_of(x.dims, axis);
  std::vector<int64_t> where(static_cast<size_t>(count(to))), source(where.size());
  with_wide(x.dtype, [&](auto wide) {
    const auto v = load<decltype(wide)>(x);
    std::vector<int64_t> order(static_cast<size_t>(l.n));
    for (int64_t line = 0; line < l.outer * l.inner; ++line) {
      const int64_t base = line / l.inner * l.n * l.inner + line % l.inner;
      const auto at = [&](int64_t i) { return v[static_cast<size_t>(base + i * l.inner)]; };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return largest ? larger(at(a), at(b)) : larger(at(b), at(a)); });
      for (int64_t i = 0; i < k; ++i) {
        const auto out = static_cast<size_t>(line / l.inner * k * l.inner + i * l.inner + line % l.inner);
        where[out] = order[static_cast<size_t>(i)];
        source[out] = base + where[out] * l.inner;
      }
    }
  });
  c.out(0, pick(x, to, source));
  c.out(1, make_ints(to, where));
}

namespace {

template <class Step>
void running(Call& c, int start, Step&& step) {
  const Tensor& x = c.in(0);
  const size_t axis = normal_axis(scalar_int(c.in(1), "axis"), x.dims.size());
  const bool exclusive = c.integer("exclusive", 0) != 0, reverse = c.integer("reverse", 0) != 0;
  const Lines l = lines_of(x.dims, axis);
  const auto run = [&](auto wide) {
    using W = decltype(wide);
    std::vector<W> v = load<W>(x);
    for (int64_t line = 0; line < l.outer * l.inner; ++line) {
      W sum = static_cast<W>(start);
      for (int64_t k = 0; k < l.n; ++k) {
        W& e = v[static_cast<size_t>(line / l.inner * l.n * l.inner + (reverse ? l.n - 1 - k : k) * l.inner + line % l.inner)];
        const W now = step(sum, e);
        e = exclusive ? sum : now;
        sum = now;
      }
    }
    c.out(0, store(x.dtype, x.dims, v));
  };
  if (is_float(x.dtype)) run(double{});
  else run(uint64_t{});  // wraps
}

}  // namespace

void cum_sum(Call& c) { running(c, 0, [](auto a, auto b) { return a + b; }); }
void cum_prod(Call& c) { running(c, 1, [](auto a, auto b) { return a * b; }); }

namespace {

/// Rows of the tensor along `axis`, as comparable keys.
template <class W>
std::vector<std::vector<W>> rows_along(const Tensor& x, size_t axis) {
  const std::vector<W> v = load<W>(x);
  const Lines l = lines_of(x.dims, axis);
  std::vector<std::vector<W>> rows(static_cast<size_t>(l.n));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.n; ++k)
      for (int64_t i = 0; i < l.inner; ++i) rows[static_cast<size_t>(k)].push_back(v[static_cast<size_t>((o * l.n + k) * l.inner + i)]);
  return rows;
}

/// Rows of strings: an axis of a string tensor.
std::vector<std::vector<std::string>> text_rows_along(const Tensor& x, size_t axis) {
  const std::vector<std::string> v = strings(x);
  const Lines l = lines_of(x.dims, axis);
  std::vector<std::vector<std::string>> rows(static_cast<size_t>(l.n));
  for (size_t i = 0; i < v.size(); ++i) rows[i / static_cast<size_t>(l.inner) % static_cast<size_t>(l.n)].push_back(v[i]);
  return rows;
}

/// A strict order even where NaN turns up: it comes last, and is equal to itself.
template <class T>
bool before(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) return larger(b, a);
  else return a < b;
}
template <class T>
bool before(const std::vector<T>& a, const std::vector<T>& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return before(x, y); });
}

struct Distinct {
  std::vector<int64_t> first, inverse, counts;
};

template <class Key>
Distinct distinct(const std::vector<Key>& keys, bool sorted) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int64_t i) -> const Key& { return keys[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(key(a), key(b)); });
  std::vector<int64_t> first_of(keys.size());  // per element: the first one equal to it
  std::vector<int64_t> firsts;
  for (size_t k = 0; k < order.size(); ++k) {
    const bool fresh = k == 0 || before(key(order[k - 1]), key(order[k]));
    if (fresh) firsts.push_back(order[k]);
    first_of[static_cast<size_t>(order[k])] = firsts.back();
  }
  if (!sorted) std::sort(firsts.begin(), firsts.end());
  std::vector<int64_t> rank(keys.size());
  for (size_t k = 0; k < firsts.size(); ++k) rank[static_cast<size_t>(firsts[k])] = static_cast<int64_t>(k);
  Distinct d{firsts, {}, std::vector<int64_t>(firsts.size(), 0)};
  for (int64_t f : first_of) {
    d.inverse.push_back(rank[static_cast<size_t>(f)]);
    ++d.counts[static_cast<size_t>(d.inverse.back())];
  }
  return d;
}

}  // namespace

void unique(Call& c) {
  const bool flat = !c.has("axis"), sorted = c.integer("sorted", 1) != 0;
  const Tensor x = flat ? reshaped(c.in(0), {c.in(0).elements()}) : c.in(0);
  const size_t axis = flat ? 0 : normal_axis(c.integer("axis", 0), x.dims.size());
  Distinct d;
  if (x.dtype == OPTIMA_STRING) d = distinct(text_rows_along(x, axis), sorted);
  else with_wide(x.dtype, [&](auto wide) { d = distinct(rows_along<decltype(wide)>(x, axis), sorted); });
  AxisMaps maps = whole(x.dims);
  maps[axis] = d.first;
  c.out(0, take(x, maps));
  c.out(1, make_ints({static_cast<int64_t>(d.first.size())}, d.first));
  c.out(2, make_ints({static_cast<int64_t>(d.inverse.size())}, d.inverse));
  c.out(3, make_ints({static_cast<int64_t>(d.counts.size())}, d.counts));
}

}  // namespace optima::reference::ops
