// SPDX-License-Identifier: Apache-2.0
// reference/ops: reductions. The sum over nothing is 0, the product 1, the largest the lowest number of the type.
#include <cmath>
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

struct Groups {
  Dims kept, out;              // with the reduced axes as 1, and as the node wants them
  std::vector<int64_t> index;  // per element: its group
};

Groups groups_of(const Call& c) {
  const Dims& d = c.in(0).dims;
  shapes::Reduced r = shapes::reduced(c);
  Dims step = strides_of(r.kept);
  for (size_t k = 0; k < d.size(); ++k)
    if (r.reduce[k]) step[k] = 0;
  return {std::move(r.kept), std::move(r.out), strided_index(d, step)};
}

/// each(accumulator, element) over the elements of every group, then last(accumulator, number of elements).
template <class W, class Each, class Last>
void fold(Call& c, W start, Each&& each, Last&& last) {
  const Groups g = groups_of(c);
  const std::vector<W> x = load<W>(c.in(0));
  std::vector<W> out(static_cast<size_t>(count(g.kept)), start);
  for (size_t i = 0; i < x.size(); ++i) each(out[static_cast<size_t>(g.index[i])], x[i]);
  const size_t n = out.empty() ? 0 : x.size() / out.size();
  for (W& o : out) o = last(o, static_cast<W>(n));
  c.out(0, store(c.in(0).dtype, g.out, out));
}

/// As fold(), in double whatever the type.
template <class Each, class Last>
void fold_real(Call& c, Each&& each, Last&& last) { fold<double>(c, 0.0, each, last); }

/// Sums and products of integers wrap.
template <class Each>
void fold_exact(Call& c, int start, Each&& each) {
  const auto same = [](auto sum, auto) { return sum; };
  if (is_float(c.in(0).dtype)) fold<double>(c, start, each, same);
  else fold<uint64_t>(c, static_cast<uint64_t>(start), each, same);
}

template <class Better>
void extreme(Call& c, bool largest, Better&& better) {
  with_wide(c.in(0).dtype, [&](auto wide) {
    using W = decltype(wide);
    using Limits = std::numeric_limits<W>;
    W start = largest ? Limits::lowest() : Limits::max();  // of the element's type, not of the wide one
    if constexpr (std::is_floating_point_v<W>) {
      start = largest ? -Limits::infinity() : Limits::infinity();
    } else if (c.in(0).dtype == OPTIMA_BOOL) {
      start = !largest;
    } else {
      const uint32_t unused = 64 - optima_dtype_bits(c.in(0).dtype);
      start = largest ? Limits::lowest() >> unused : Limits::max() >> unused;
    }
    fold<W>(c, start, [&](W& best, W x) { if (x != x || better(x, best)) best = x; }, [](W best, W) { return best; });
  });
}

}  // namespace

void reduce_sum(Call& c) { fold_exact(c, 0, [](auto& s, auto x) { s += x; }); }
void reduce_prod(Call& c) { fold_exact(c, 1, [](auto& s, auto x) { s *= x; }); }
void reduce_sum_square(Call& c) { fold_exact(c, 0, [](auto& s, auto x) { s += x * x; }); }
void reduce_max(Call& c) { extreme(c, true, [](auto x, auto best) { return x > best; }); }
void reduce_min(Call& c) { extreme(c, false, [](auto x, auto best) { return x < best; }); }

void reduce_l1(Call& c) { fold_real(c, [](double& s, double x) { s += std::fabs(x); }, [](double s, double) { return s; }); }
void reduce_l2(Call& c) { fold_real(c, [](double& s, double x) { s += x * x; }, [](double s, double) { return std::sqrt(s); }); }
void reduce_mean(Call& c) { fold_real(c, [](double& s, double x) { s += x; }, [](double s, double n) { return s / n; }); }
void reduce_log_sum(Call& c) { fold_real(c, [](double& s, double x) { s += x; }, [](double s, double) { return std::log(s); }); }

/// log Σ exp x, shifted by the largest element of the group so that it does not overflow.
void reduce_log_sum_exp(Call& c) {
  const Groups g = groups_of(c);
  const std::vector<double> x = load<double>(c.in(0));
  constexpr double least = -std::numeric_limits<double>::infinity();
  std::vector<double> top(static_cast<size_t>(count(g.kept)), least), sum(top.size(), 0.0);
  for (size_t i = 0; i < x.size(); ++i) top[static_cast<size_t>(g.index[i])] = std::fmax(top[static_cast<size_t>(g.index[i])], x[i]);
  for (double& t : top) t = std::isinf(t) ? 0 : t;
  for (size_t i = 0; i < x.size(); ++i) sum[static_cast<size_t>(g.index[i])] += std::exp(x[i] - top[static_cast<size_t>(g.index[i])]);
  for (size_t k = 0; k < sum.size(); ++k) sum[k] = std::log(sum[k]) + top[k];
  c.out(0, store(c.in(0).dtype, g.out, sum));
}

}  // namespace optima::reference::ops
