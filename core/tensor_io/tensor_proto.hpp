// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: a serialized ONNX TensorProto, read from its wire format without protobuf.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"
#include "core/tensor_io/text_array.hpp"

namespace optima {

/// The tensor, its name included. InvalidInput naming `what` when the bytes are no TensorProto, are cut off, keep their data in another file,
/// or hold strings.
Result<Tensor> read_tensor_proto(std::span<const std::byte> bytes, std::string_view what);

/// One of strings. InvalidInput naming `what` for any other.
Result<TextArray> read_text_proto(std::span<const std::byte> bytes, std::string_view what);

}  // namespace optima
