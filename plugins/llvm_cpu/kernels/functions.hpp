// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the functions of math.hpp under names that element-wise code generation calls (codegen/expression).
#pragma once
#include "plugins/llvm_cpu/kernels/parts/math.hpp"

#define UNARY(name) \
  extern "C" __attribute__((always_inline)) k::vec e_##name(k::vec x) { return k::v##name(x); }
UNARY(exp)
UNARY(log)
UNARY(sigmoid)
UNARY(tanh)
UNARY(erf)
UNARY(softplus)
UNARY(gelu)
UNARY(gelu_tanh)
UNARY(mish)
UNARY(silu)
UNARY(expm1)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(atan)
UNARY(asin)
UNARY(acos)
UNARY(sinh)
UNARY(cosh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
#undef UNARY
extern "C" __attribute__((always_inline)) k::vec e_pow(k::vec x, k::vec y) { return k::vpow(x, y); }
extern "C" __attribute__((always_inline)) k::vec e_mod(k::vec x, k::vec y) { return k::vmod(x, y); }

// Powers of whole vectors in memory, x = x ^ y, for types that no register of the vector's lanes holds.

// Modulo 2^64. Below an exponent of 0 only 1 and -1 are not 0 (nor infinite: 0 stays 0).
extern "C" __attribute__((always_inline)) void e_power_whole(int64_t* x, const int64_t* y, int64_t with_sign) {
  ROLL for (k::idx l = 0; l < k::VL; l++) {
    uint64_t base = (uint64_t)x[l], rest = (uint64_t)y[l], out = 1;
    if (with_sign && y[l] < 0) out = base == 1 ? 1 : base != ~0ull ? 0 : rest & 1 ? ~0ull : 1;
    else ROLL for (; rest; rest >>= 1, base *= base) if (rest & 1) out *= base;
    x[l] = (int64_t)out;
  }
}
// For results that become integers: exact for whole exponents up to 2^53; else 10 digits, and a whole number when it is that near.
extern "C" __attribute__((always_inline)) void e_power_real(double* x, const double* y, int64_t) {
  ROLL for (k::idx l = 0; l < k::VL; l++) {
    const double b = x[l], e = y[l];
    double out = 1;
    if (e == __builtin_elementwise_rint(e) && e > -1e9 && e < 1e9) {
      double base = b;
      ROLL for (uint64_t rest = (uint64_t)(e < 0 ? -e : e); rest; rest >>= 1, base *= base) if (rest & 1) out *= base;
      out = e < 0 ? 1 / out : out;
    } else {
      const double power = b == 0 ? (e > 0 ? -700 : 700) : e * k::dlog(k::dvec{} + b)[0], v = k::dexp(k::dvec{} + power)[0];
      const double near = __builtin_elementwise_rint(v), off = v - near, most = 1e-9 * (1 + near) * (1 + (power < 0 ? -power : power));
      out = off < most && -off < most ? near : v;
    }
    x[l] = out;
  }
}
