// SPDX-License-Identifier: Apache-2.0
// sdk: counts every operator new of a test program. A file of its own, so that the compiler cannot pair it with a free().
#include <cstdlib>
#include <new>

int allocations = 0;

void* operator new(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
