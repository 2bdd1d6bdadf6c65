// SPDX-License-Identifier: Apache-2.0
// Counts what this test program allocates. Sanitizers bring their own operator new; under them nothing is counted.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> count = 0;
std::atomic<int64_t> live = 0;
}

namespace optima::test {
uint64_t allocations();
uint64_t allocations() { return count; }
/// Those that were not given back.
int64_t live_allocations();
int64_t live_allocations() { return live; }
}  // namespace optima::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  void* p = std::malloc(size ? size : 1);
  if (!p) throw std::bad_alloc();
  live.fetch_add(1, std::memory_order_relaxed);
  return p;
}
void operator delete(void* p) noexcept {
  if (p) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
#endif
