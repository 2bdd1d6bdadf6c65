// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: tensors that lie as a door says, and doors in JSON.
#pragma once

#include "core/backend/door.hpp"
#include "core/support/json.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// "int8[1x3x8x8]", "NCHW16c float32[1x4x56x56x16]".
std::string door_text(const Door& door);

/// {dtype, shape}, and where there is something to say layout, scales, zero_points, scale_axis. Not of the usual door.
Json door_to_json(const Door& door);
/// The other way; checked by wrong_with() as far as that goes without the tensor. InvalidInput with the place.
Result<Door> door_from_json(const JsonReader& at);

/// The tensor itself, of this type and known shape, out of bytes that lie as the door says: name kept, bytes owned. Layouts that are read: "",
/// dims in another order ("NHWC"), and dims in blocks with the lanes last ("NCHW16c", "NCHW16c*"; what is past the end is left out); dims are called
/// N, NC, NCW, NCHW or NCDHW. Scales and other types are turned into float32 and float64. InvalidInput where it cannot be read, naming the layout or the types.
Result<Tensor> read_through(const Tensor& stored, const Door& door, int32_t dtype, std::vector<int64_t> shape);

}  // namespace optima
