// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: tensors of the ONNX library -> dense bytes. Private to the room.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// Tensors whose bytes were taken out by the wire scan say so in this form: external data with the location "#<index>".
inline constexpr char kMovedMark = '#';
/// Bytes; larger tensors are moved. Shape inference must still see small shape tensors.
inline constexpr uint64_t kLargeTensor = 1024;

struct Tensor {
  image::Constant constant;  ///< blob index not set
  Blob bytes;
};

/// Elements of a shape; -1 when a dim is negative or the product is absurd (over 2^56).
int64_t element_count(std::span<const int64_t> dims);
/// Bytes a dense tensor has; -1 for strings, unknown types and absurd shapes.
int64_t byte_count(int32_t dtype, std::span<const int64_t> dims);

/// Dense little-endian bytes of a tensor, whichever field they are in. `moved`: the blobs of the wire scan. A large value in
/// raw_data or a typed field is copied. InvalidInput when amount and shape differ or the element type is unknown.
Result<Tensor> decode(const onnx::TensorProto& tensor, std::span<const Blob> moved);
/// The same for a sparse tensor, made dense (at most 1 GiB).
Result<Tensor> decode(const onnx::SparseTensorProto& sparse, std::span<const Blob> moved);

/// Sparse initializers and constants of a graph and its bodies become dense ones (the version converter knows no others).
/// Large ones are moved.
Status make_dense(onnx::GraphProto& graph, std::vector<Blob>& moved);

/// A string tensor's bytes in the seam's form: uint64_t end[n], then the text.
Blob string_bytes(const std::vector<std::string>& strings);

}  // namespace optima::onnx_io
