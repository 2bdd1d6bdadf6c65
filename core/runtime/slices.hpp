// SPDX-License-Identifier: Apache-2.0
// core/runtime: tensors taken apart and put together along an axis. Private to the room.
#pragma once

#include "core/package/package.hpp"
#include "core/runtime/frame.hpp"

namespace optima {

/// A tensor as a row of slices along one axis, which may count from the end. Borrows the tensor.
class Slicer {
 public:
  /// InvalidInput when the tensor has no such axis or its elements are no whole bytes.
  static Result<Slicer> over(const TensorView& tensor, int32_t dtype, const FlowScan& scan);
  int64_t length() const { return length_; }
  /// Slice number `at`, its dims without the axis: in place where it is one piece of memory, else in `room`. Valid until the
  /// next call. Io when there is no memory.
  Result<TensorView> slice(int64_t at, Buffer& room) const;

 private:
  TensorView tensor_;
  std::vector<int64_t> dims_;
  int64_t length_ = 0;
  uint64_t outer_ = 1, inner_ = 0;  // how many pieces a slice has, bytes of each
};

struct Assembly {
  std::span<const std::byte> bytes;
  std::vector<int64_t> dims;
};
/// The inverse: `count` pieces of shape `dims`, one behind the other, along a new axis; in place where that is their order, else in `room`.
/// InvalidInput when there can be no such axis, Io when there is no memory.
Result<Assembly> assemble(std::span<const std::byte> pieces, std::span<const int64_t> dims, int64_t count, const FlowScan& scan, Buffer& room);

}  // namespace optima
