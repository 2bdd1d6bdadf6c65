// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: ArgMax, ArgMin, TopK and CumSum along one axis of [outer][len][inner].
#pragma once
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace k {

struct Arg {
  static constexpr char entry[] = "k_arg";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.inner); }
  int64_t dtype, smallest, last, len, inner;
};
struct Top {
  static constexpr char entry[] = "k_top";
  static constexpr void sizes(auto& l, auto mark) { mark(l.count, l.len, l.inner); }
  int64_t dtype, smallest, count, len, inner;
};
struct CumSum {
  static constexpr char entry[] = "k_cumsum";
  static constexpr void sizes(auto& l, auto mark) { mark(l.len, l.inner); }
  int64_t dtype, exclusive, reverse, len, inner;
};

}  // namespace k

#ifdef VW  // the template, which only clang compiles
#include "plugins/llvm_cpu/kernels/parts/lanes.hpp"

// Index of the largest (smallest) element, NaN being the largest; of equal ones the first, or the last when `last`. args: in, out (int64); units: outer.
TEMPLATE(k_arg, Arg, l) {
  using namespace k;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) ROLL for (idx j = 0; j < l.inner; j++) {
      const T* x = (const T*)args[0] + u * l.len * l.inner + j;
      T best = *x;
      idx at = 0;
      ROLL for (idx i = 1; i < l.len; i++) {
        const T v = x[i * l.inner];
        const bool better = l.smallest ? larger(best, v) : larger(v, best), worse = l.smallest ? larger(v, best) : larger(best, v);
        if (better || (l.last && !worse)) best = v, at = i;
      }
      ((int64_t*)args[1])[u * l.inner + j] = at;
    }
  });
}

// The `count` largest (smallest) elements in order, NaN being the largest; of equal ones the lower index first. args: in, values, indices (int64);
// units: outer * inner.
TEMPLATE(k_top, Top, l) {
  using namespace k;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* x = (const T*)args[0] + u / l.inner * l.len * l.inner + u % l.inner;
      T* best = (T*)args[1] + u / l.inner * l.count * l.inner + u % l.inner;
      int64_t* at = (int64_t*)args[2] + u / l.inner * l.count * l.inner + u % l.inner;
      idx n = 0;
      ROLL for (idx i = 0; i < l.len; i++) {
        const T v = x[i * l.inner];
        const auto before = [&](T b) __attribute__((always_inline)) { return l.smallest ? larger(b, v) : larger(v, b); };
        if (n == l.count && !before(best[(l.count - 1) * l.inner])) continue;
        idx q = n < l.count ? n++ : l.count - 1;
        ROLL for (; q > 0 && before(best[(q - 1) * l.inner]); q--) {
          best[q * l.inner] = best[(q - 1) * l.inner];
          at[q * l.inner] = at[(q - 1) * l.inner];
        }
        best[q * l.inner] = v;
        at[q * l.inner] = i;
      }
    }
  });
}

// Running sums. args: in, out; units: outer.
TEMPLATE(k_cumsum, CumSum, l) {
  using namespace k;
  with_type(l.dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) ROLL for (idx j = 0; j < l.inner; j++) {
      const idx first = u * l.len * l.inner + j + (l.reverse ? (l.len - 1) * l.inner : 0), step = l.reverse ? -l.inner : l.inner;
      const T* x = (const T*)args[0] + first;
      T* y = (T*)args[1] + first;
      T sum{};
      ROLL for (idx i = 0; i < l.len; i++) {
        const T v = x[i * step];
        if (l.exclusive) y[i * step] = sum;
        sum = (T)(sum + v);
        if (!l.exclusive) y[i * step] = sum;
      }
    }
  });
}
#endif
