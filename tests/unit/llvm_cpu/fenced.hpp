// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: memory behind which lies a page that nobody may touch.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace llvm_cpu_test {

/// So many bytes, the last of which is the last before the forbidden page: a kernel that reads or writes on crashes.
class Fenced {
 public:
  explicit Fenced(uint64_t bytes) : size_((bytes + kPage - 1) / kPage * kPage + kPage) {
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(base);
    mprotect(base_ + size_ - kPage, kPage, PROT_NONE);
    data_ = base_ + (size_ - kPage - bytes);
  }
  ~Fenced() { munmap(base_, size_); }
  Fenced(const Fenced&) = delete;
  char* data() const { return data_; }

 private:
  static constexpr uint64_t kPage = 4096;
  uint64_t size_;
  char *base_, *data_;
};

}  // namespace llvm_cpu_test
