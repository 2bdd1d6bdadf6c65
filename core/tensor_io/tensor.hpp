// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: a dense tensor in host memory, owned or borrowed. Knows no file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/support/status.hpp"
#include "core/texts/texts.hpp"
#include "optima/abi.h"

namespace optima {

/// A tensor as a model wants or gives it.
struct TensorInfo {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;        ///< -1 = dynamic
  std::vector<std::string> symbols;  ///< per dim, empty = none; may be empty as a whole
  bool unranked = false;
  std::vector<int64_t> usual = {};   ///< per dim, where it is open: the size that matters most, -1 = nobody said; may be empty as a whole
  const TextTable* texts = nullptr;  ///< where the elements are codes of texts; whoever gave this keeps it
};

/// Dense, row-major, host memory. Copying shares the bytes. Not synchronised: one writer or many readers.
/// (shared_ptr: docs/decisions/0002-blobs-share-their-bytes.md)
struct Tensor {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;
  std::byte* data = nullptr;   ///< null only when size is 0
  uint64_t size = 0;           ///< bytes
  std::shared_ptr<void> keeper;  ///< empty when the bytes are borrowed

  /// Owned, 64-byte aligned, zeroed. InvalidInput when type or shape give no size, Io when there is no memory for it.
  static Result<Tensor> make(int32_t dtype, std::vector<int64_t> shape);
  /// Over the caller's bytes, which must outlive every copy. InvalidInput when `size` is not what type and shape say.
  static Result<Tensor> borrow(int32_t dtype, std::vector<int64_t> shape, void* data, uint64_t size);

  template <class T>
  std::span<T> as() { return {reinterpret_cast<T*>(data), size / sizeof(T)}; }
  template <class T>
  std::span<const T> as() const { return {reinterpret_cast<const T*>(data), size / sizeof(T)}; }
  std::span<const std::byte> bytes() const { return {data, size}; }
};

/// Element `i` of any numeric type as double (complex: its real part). Requires i < element count.
double element_as_double(const Tensor& tensor, uint64_t i);

}  // namespace optima
