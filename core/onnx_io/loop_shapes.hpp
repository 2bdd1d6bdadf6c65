// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: shapes that the carried values of a Loop keep. Private to the room.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/graph/graph.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// The library takes every carried value of a Loop to change its shape from trip to trip. What does not change is found by induction:
/// the shapes that the Loop starts with are assumed of the body's inputs, and what the body then gives must be of those shapes again;
/// a dim that is not is unknown from then on, until nothing changes. (Greatest fixed point over the dims, as in abstract
/// interpretation: Cousot and Cousot, POPL 1977.)
///
/// `loop` is the node as a message, `initial` the types of its inputs, by input; `infer` lets the library infer a node's bodies in place
/// and may throw. Gives dims by carried value; nullopt where the rank changes or is not known.
std::vector<std::optional<std::vector<image::Dim>>> kept_shapes(const onnx::NodeProto& loop, const std::vector<onnx::TypeProto>& initial,
                                                                const std::function<void(onnx::NodeProto&)>& infer);

}  // namespace optima::onnx_io
