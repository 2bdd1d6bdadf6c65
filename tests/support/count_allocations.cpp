// SPDX-License-Identifier: Apache-2.0
// Counts what this test program allocates. Sanitizers bring their own operator new; under them nothing is counted.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> count = 0;
}

namespace optima::test {
uint64_t allocations();
uint64_t allocations() { return count; }
}  // namespace optima::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
