// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: types of operators that the library does not know, by the caller's answers. Private to the room.
#pragma once

#include "core/onnx_io/onnx_io.hpp"

namespace optima::onnx_io {

/// Asks about node `index` of the main graph, and refines its outputs; gives those of which another shape was declared, which is gone
/// then, with a warning. `uses` is of the main graph. InvalidInput, with the node's name, when the answer does not fit it otherwise.
Result<std::vector<uint32_t>> infer_foreign(Graph& graph, uint32_t index, const Uses& uses, const InferForeign& foreign);

/// The same for the nodes in bodies of a node of the main graph, to any depth; what a body captures gets the type it has outside.
/// True when something is known that was not: the library may then find more, and behind that there may be more to ask.
Result<bool> infer_in_bodies(Graph& graph, const image::Node& holder, const InferForeign& foreign);

}  // namespace optima::onnx_io
