// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: takes the large tensors out of a serialized model before the protobuf library sees it. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/onnx_io/external_data.hpp"
#include "core/support/blob.hpp"

namespace optima::onnx_io {

/// A model without its large tensors: each names, as external data with the location "#<index>", the blob that has its bytes.
struct SlimModel {
  std::string bytes;
  std::vector<Blob> moved;  ///< ranges of the model file and of external files; large typed fields decoded
};

/// One pass over the wire format, which protobuf would copy whole (and cannot hold over 2 GB). Tensors with over 1 KiB of data
/// are moved, external ones up to 1 KiB are read in. InvalidInput when the bytes are no ONNX model or end too early.
Result<SlimModel> slim_down(const Blob& model, ExternalData& external);

}  // namespace optima::onnx_io
