// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see memory.hpp.
#include "plugins/llvm_cpu/runtime/memory.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace optima::llvm_cpu {
namespace {
constexpr uint64_t kHuge = uint64_t{2} << 20, kPage = 4096;
}

Memory::Memory(uint64_t bytes) {
  // A mapping that starts on a huge page: take one more and give back both ends.
  const uint64_t unit = bytes >= kHuge ? kHuge : kPage, size = (bytes + unit - 1) / unit * unit;
  if (!bytes) return;
  void* p = mmap(nullptr, size + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  char* raw = static_cast<char*>(p);
  const uint64_t skip = (unit - reinterpret_cast<uintptr_t>(raw) % unit) % unit;
  if (skip) munmap(raw, skip);
  if (unit - skip) munmap(raw + skip + size, unit - skip);
  data_ = raw + skip;
  size_ = size;
  madvise(data_, size_, MADV_HUGEPAGE);
}

Memory::~Memory() {
  if (data_) munmap(data_, size_);
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace optima::llvm_cpu
