// SPDX-License-Identifier: Apache-2.0
// How kernel templates are tested: random shapes, memory that ends at a forbidden page, and every split of the work.
#pragma once
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "plugins/llvm_cpu/kernels/parts/literals.hpp"
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace kernel_test {

inline std::mt19937& generator() {
  static std::mt19937 g(20261120);
  return g;
}
/// How often to repeat: less under emulation.
#ifdef __aarch64__
inline int rounds(int n) { return n / 10 + 1; }
#else
inline int rounds(int n) { return n; }
#endif
inline int64_t pick(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(generator()); }
inline float real(float lo = -2, float hi = 2) { return std::uniform_real_distribution<float>(lo, hi)(generator()); }
inline bool coin() { return pick(0, 1) == 1; }

/// `count` elements of T that end where memory ends: reading or writing past them is a fault. Filled with 0xFF, which is NaN.
template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t count) : count_(count) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t used = (static_cast<size_t>(count) * sizeof(T) + page - 1) / page * page;
    size_ = used + page;
    base_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    std::memset(base_, 0xFF, used);
    mprotect(base_ + used, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + used) - count;
  }
  Guarded(Guarded&& o) noexcept : base_(o.base_), size_(o.size_), data_(o.data_), count_(o.count_) { o.base_ = nullptr; }
  Guarded(const Guarded&) = delete;
  ~Guarded() {
    if (base_) munmap(base_, size_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  int64_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }

 private:
  char* base_;
  size_t size_;
  T* data_;
  int64_t count_;
};

inline Guarded<float> reals(int64_t n, float lo = -2, float hi = 2) {
  Guarded<float> out(n);
  for (float& x : out) x = real(lo, hi);
  return out;
}
template <class T>
Guarded<T> integers(int64_t n, int64_t lo, int64_t hi) {
  Guarded<T> out(n);
  for (T& x : out) x = static_cast<T>(pick(lo, hi));
  return out;
}

/// Runs call(out, u0, u1, scratch) over [0, units) at once, then in random pieces in random order; the bytes must agree.
template <class T, class F>
Guarded<T> run(int64_t elements, int64_t units, int64_t scratch_bytes, F call, const T* before = nullptr) {
  Guarded<T> whole(elements), pieces(elements);
  if (before) std::copy_n(before, elements, whole.data()), std::copy_n(before, elements, pieces.data());
  Guarded<char> scratch(scratch_bytes / 64 * 64 + 64);
  call(whole.data(), 0, units, scratch.data());
  std::vector<int64_t> cuts{0, units};
  for (int64_t n = pick(0, 4); n > 0; --n) cuts.push_back(pick(0, units));
  std::sort(cuts.begin(), cuts.end());
  std::vector<size_t> order(cuts.size() - 1);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), generator());
  for (size_t i : order) {
    std::memset(scratch.data(), 0xFF, static_cast<size_t>(scratch.size()));
    call(pieces.data(), cuts[i], cuts[i + 1], scratch.data());
  }
  REQUIRE(std::memcmp(whole.data(), pieces.data(), static_cast<size_t>(elements) * sizeof(T)) == 0);
  return whole;
}

/// Largest difference over the largest wanted value (at least `least`); NaN where only one side is NaN.
template <class T>
double error_of(const Guarded<T>& got, const std::vector<double>& want, double least = 1e-3) {
  REQUIRE(static_cast<size_t>(got.size()) == want.size());
  double worst = 0, scale = least;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = static_cast<double>(got[static_cast<int64_t>(i)]);
    if (g == want[i] || (std::isnan(g) && std::isnan(want[i]))) continue;
    const double d = std::fabs(g - want[i]);
    if (!(d <= worst)) worst = d;
    if (std::isnan(d)) return d;
  }
  return worst / scale;
}

using Dims = std::vector<int64_t>;
template <size_t N>
k::List<N> literal(const Dims& d) {
  k::List<N> out;
  std::copy_n(d.begin(), N, out.at);
  return out;
}
/// One of the values of an enum that counts from 0.
template <class E>
E pick_up_to(E last) { return E(pick(0, int64_t(last))); }
inline int64_t product(const Dims& d) {
  int64_t n = 1;
  for (int64_t x : d) n *= x;
  return n;
}
inline Dims strides(const Dims& d) {
  Dims s(d.size(), 1);
  for (size_t i = d.size(); i-- > 1;) s[i - 1] = s[i] * d[i];
  return s;
}
/// Next coordinates in row-major order; false after the last.
inline bool next(Dims& at, const Dims& dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++at[i] < dims[i]) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace kernel_test
