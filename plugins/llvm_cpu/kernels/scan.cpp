// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: ArgMax, ArgMin, TopK and CumSum along one axis of [outer][len][inner].
#include "plugins/llvm_cpu/kernels/lanes.hpp"

// Index of the largest (smallest) element, NaN being the largest; of equal ones the first, or the last when `last`. args: in, out (int64); units: outer.
TEMPLATE(k_arg, int64_t dtype, int64_t smallest, int64_t last, int64_t len, int64_t inner) {
  using namespace k;
  with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) ROLL for (idx j = 0; j < inner; j++) {
      const T* x = (const T*)args[0] + u * len * inner + j;
      T best = *x;
      idx at = 0;
      ROLL for (idx i = 1; i < len; i++) {
        const T v = x[i * inner];
        const bool better = smallest ? larger(best, v) : larger(v, best), worse = smallest ? larger(v, best) : larger(best, v);
        if (better || (last && !worse)) best = v, at = i;
      }
      ((int64_t*)args[1])[u * inner + j] = at;
    }
  });
}

// The `count` largest (smallest) elements in order, NaN being the largest; of equal ones the lower index first. args: in, values, indices (int64);
// units: outer * inner.
TEMPLATE(k_top, int64_t dtype, int64_t smallest, int64_t count, int64_t len, int64_t inner) {
  using namespace k;
  with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) {
      const T* x = (const T*)args[0] + u / inner * len * inner + u % inner;
      T* best = (T*)args[1] + u / inner * count * inner + u % inner;
      int64_t* at = (int64_t*)args[2] + u / inner * count * inner + u % inner;
      idx n = 0;
      ROLL for (idx i = 0; i < len; i++) {
        const T v = x[i * inner];
        const auto before = [&](T b) __attribute__((always_inline)) { return smallest ? larger(b, v) : larger(v, b); };
        if (n == count && !before(best[(count - 1) * inner])) continue;
        idx q = n < count ? n++ : count - 1;
        ROLL for (; q > 0 && before(best[(q - 1) * inner]); q--) {
          best[q * inner] = best[(q - 1) * inner];
          at[q * inner] = at[(q - 1) * inner];
        }
        best[q * inner] = v;
        at[q * inner] = i;
      }
    }
  });
}

// Running sums. args: in, out; units: outer.
TEMPLATE(k_cumsum, int64_t dtype, int64_t exclusive, int64_t reverse, int64_t len, int64_t inner) {
  using namespace k;
  with_type(dtype, [&]<class T>(T*) __attribute__((always_inline)) {
    ROLL for (idx u = u0; u < u1; u++) ROLL for (idx j = 0; j < inner; j++) {
      const idx first = u * len * inner + j + (reverse ? (len - 1) * inner : 0), step = reverse ? -inner : inner;
      const T* x = (const T*)args[0] + first;
      T* y = (T*)args[1] + first;
      T sum{};
      ROLL for (idx i = 0; i < len; i++) {
        const T v = x[i * step];
        if (exclusive) y[i * step] = sum;
        sum = (T)(sum + v);
        if (!exclusive) y[i * step] = sum;
      }
    }
  });
}
