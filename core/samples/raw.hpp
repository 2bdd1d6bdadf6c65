// SPDX-License-Identifier: Apache-2.0
// core/samples: float32 values without a header become tensors of the type that an input wants. Private to the room.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima::samples {

/// The input's shape for that many bytes: one size that the model leaves open follows from them. InvalidInput naming `what` when they do not fit.
Result<std::vector<int64_t>> shape_of_floats(uint64_t bytes, const TensorInfo& wanted, std::string_view what);

/// Little-endian float32 as the type wanted: floats rounded to nearest; whole numbers and truth values have to be such. The bytes
/// have to be as many as the shape says. InvalidInput naming `what` and the first value that the type does not hold.
Result<Tensor> from_floats(std::span<const std::byte> bytes, const TensorInfo& wanted, std::vector<int64_t> shape, std::string_view what);

}  // namespace optima::samples
