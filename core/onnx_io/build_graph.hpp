// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the library's model, converted and inferred -> Graph. Private to the room.
#pragma once

#include "core/onnx_io/structure.hpp"
#include "core/support/blob.hpp"

namespace optima::onnx_io {

/// Constant nodes become constants of the graph and go to `folded`. Every node of ai.onnx is stated at opset 21 when it
/// verifies there, else at the model's. Default attributes are filled in. Fails with InvalidInput for tensors whose bytes do
/// not fit their shape.
Result<Graph> build_graph(const onnx::ModelProto& model, std::span<const Blob> moved, const SourceNames& names);

}  // namespace optima::onnx_io
