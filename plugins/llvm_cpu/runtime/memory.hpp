// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: large zeroed memory, in huge pages where the system gives them (6-8 % of a whole network).
#pragma once

#include <cstddef>
#include <cstdint>

namespace optima::llvm_cpu {

/// Of a caller's memory, in bytes: what malloc and numpy give. Kernels load and store at any address of an element.
constexpr uint32_t kCallerAlignment = 16;

class Memory {
 public:
  Memory() = default;
  /// Throws std::bad_alloc.
  explicit Memory(uint64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  Memory& operator=(Memory&& other) noexcept;
  char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  uint64_t size_ = 0;  // of the mapping
};

}  // namespace optima::llvm_cpu
