// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: the functions of math.hpp under names that element-wise code generation calls (codegen/expression).
#include "plugins/llvm_cpu/kernels/math.hpp"

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
