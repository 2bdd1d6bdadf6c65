// SPDX-License-Identifier: Apache-2.0
// bench/llvm_cpu: what one core can do at most: independent multiply-adds in registers.
#pragma once

#include <algorithm>
#include <chrono>

namespace llvm_cpu_bench {

template <int kWidth>
struct Vector {
  typedef float type __attribute__((vector_size(kWidth * 4)));
};

/// 16 chains of multiply-adds; GFLOP/s of the best of several tries. Inlined into a function built for the instruction set.
template <int kWidth>
[[gnu::always_inline]] inline double measure_peak() {
  using V = typename Vector<kWidth>::type;
  double best = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    V a[16], m = V{} + 0.999f, c = V{} + 0.001f;
    for (int i = 0; i < 16; ++i) a[i] = V{} + static_cast<float>(i);
    const auto start = std::chrono::steady_clock::now();
    constexpr int kRounds = 400000;
    for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) a[i] = a[i] * m + c;
      asm volatile("" : "+x"(a[0]), "+x"(a[15]));
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    V sum = a[0];
    for (int i = 1; i < 16; ++i) sum += a[i];
    asm volatile("" : : "x"(sum));
    best = std::max(best, 2.0 * 16 * kWidth * kRounds / seconds / 1e9);
  }
  return best;
}

[[gnu::target("avx512f,fma")]] inline double peak_512() { return measure_peak<16>(); }
[[gnu::target("avx2,fma")]] inline double peak_256() { return measure_peak<8>(); }

inline double peak_gflops() { return __builtin_cpu_supports("avx512f") ? peak_512() : peak_256(); }

}  // namespace llvm_cpu_bench
