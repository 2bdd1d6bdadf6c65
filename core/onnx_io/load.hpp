// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the import's story from a parsed model on. Private to the room.
#pragma once

#include "core/onnx_io/onnx_io.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// What load_text() does behind parsing. InvalidInput as load_model().
Result<Graph> import_model(onnx::ModelProto model, const ImportOptions& options);

}  // namespace optima::onnx_io
