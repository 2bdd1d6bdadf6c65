// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: numbers below the smallest normal float as zeros. Trained weights decay into them, and a product with one takes a processor many
// times as long: two such channels of 480 doubled the time of a depthwise and a 1x1 convolution.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace optima::llvm_cpu {

/// While it lives, this thread's arithmetic takes and gives them as 0.
class NoSubnormals {
 public:
  NoSubnormals() : before_(get()) { set(before_ | kZeros); }
  ~NoSubnormals() { set(before_); }
  NoSubnormals(const NoSubnormals&) = delete;
  NoSubnormals& operator=(const NoSubnormals&) = delete;

 private:
#if defined(__x86_64__)
  using Word = unsigned;
  static constexpr Word kZeros = 1u << 15 | 1u << 6;  // results, operands
  static Word get() { return _mm_getcsr(); }
  static void set(Word w) { _mm_setcsr(w); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word kZeros = uint64_t{1} << 24;
  static Word get() {
    Word w;
    asm volatile("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void set(Word w) { asm volatile("msr fpcr, %0" : : "r"(w)); }
#else
  using Word = unsigned;
  static constexpr Word kZeros = 0;
  static Word get() { return 0; }
  static void set(Word) {}
#endif
  Word before_;
};

/// Whether a kernel, by its file, which is named after its template, or by the template's name, computes sums of products with constants; all other arithmetic keeps the numbers.
inline bool sums_products(std::string_view file) {
  for (const std::string_view family : {"conv_", "pointwise_", "depthwise_", "grouped_", "winograd_", "matmul_", "pairs_"})
    if (file.substr(0, family.size()) == family || file == family.substr(0, family.size() - 1)) return true;
  return false;
}

}  // namespace optima::llvm_cpu
