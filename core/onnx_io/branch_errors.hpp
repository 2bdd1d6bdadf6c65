// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: errors of the library's inference that a run may never meet. Private to the room.
#pragma once

#include <string_view>

#include "core/graph/graph.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// Whether everything that inference complains of is in a branch of an If, to any depth: the run may take the other one. `message` is
/// what the library threw about the model; nodes have the names of `graph`, all different.
bool only_in_branches(std::string_view message, const onnx::GraphProto& graph);
/// The same of a message about one node.
bool only_in_branches(std::string_view message, const Graph& graph, const image::Node& node);

}  // namespace optima::onnx_io
