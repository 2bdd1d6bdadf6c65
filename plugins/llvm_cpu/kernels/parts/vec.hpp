// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: vectors, loops and small arithmetic that all kernel templates share. Clang vector extensions only.
//
// Compiled by clang-19 to bitcode, once per (architecture, VW); tests compile it natively. Every kernels/*.hpp is included
// into one translation unit, so each wraps its internals in a namespace of its own. Literals are constants
// when a kernel is specialised: loops marked UNROLL then vanish, branches on them fold.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifndef VW
#error "VW, the number of floats per vector, must be given"
#endif
/// 1: for kernels of many sizes, whose slots (compiler/general.hpp) are numbers of the run. 0: every literal is a constant.
#ifndef GENERAL
#define GENERAL 0
#endif
#define INL static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLL _Pragma("clang loop unroll(disable) vectorize(disable)")
/// One entry point: TEMPLATE(k_family, Family, l) { ...uses literals l, args, u0, u1, scratch... }. Family: see literals.hpp.
#define TEMPLATE(name, Literals, l)                                                                                      \
  static_assert(__builtin_strcmp(k::Literals::entry, #name) == 0, "the literals are those of another template");         \
  extern "C" __attribute__((always_inline)) void name([[maybe_unused]] const k::Literals& l, [[maybe_unused]] void* const* args, \
                                                      [[maybe_unused]] int64_t u0, [[maybe_unused]] int64_t u1,          \
                                                      [[maybe_unused]] char* scratch)
/// HINT(l, WT): the number that the kernel was made for. IS_SLOT(l, N): that literal is read in the run; known before anything is optimised.
#if GENERAL
extern "C" const int64_t k_made_for[], k_is_slot[];
#define WORD(l, field) (__builtin_offsetof(__remove_cvref(decltype(l)), field) / sizeof(int64_t))
#define HINT(l, field) (k_made_for[WORD(l, field)])
#define IS_SLOT(l, field) (k_is_slot[WORD(l, field)] != 0)
#else
#define HINT(l, field) ((l).field)
#define IS_SLOT(l, field) false
#endif
/// Keeps LLVM from sharing loads across it. See dense.hpp.
#define BARRIER asm volatile("" ::: "memory")
/// The constraint of a vector register in assembly.
#if VW == 16
#define VREG "v"
#else
#define VREG "x"
#endif
#pragma clang diagnostic ignored "-Wpass-failed"  // run-time trip counts under UNROLL are fine

namespace k {

constexpr int64_t VL = VW;
typedef float vec __attribute__((vector_size(VW * 4)));
typedef int32_t ivec __attribute__((vector_size(VW * 4)));
typedef float vecu __attribute__((vector_size(VW * 4), aligned(4), may_alias));
typedef int32_t ivecu __attribute__((vector_size(VW * 4), aligned(4), may_alias));
typedef int64_t idx;

INL vec ld(const float* p) { return *(const vecu*)p; }
INL void st(float* p, vec v) { *(vecu*)p = v; }
INL vec splat(float s) { return s - vec{}; }
INL vec vmax(vec a, vec b) { return a > b ? a : b; }  // gives b when either is NaN: one instruction
INL vec vmin(vec a, vec b) { return a < b ? a : b; }
constexpr INL idx imin(idx a, idx b) { return a < b ? a : b; }
constexpr INL idx imax(idx a, idx b) { return a > b ? a : b; }
constexpr INL idx cdiv(idx a, idx b) { return (a + b - 1) / b; }

}  // namespace k
