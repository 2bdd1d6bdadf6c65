// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the opsets of local functions, which need not be their model's. Private to the room.
#pragma once

#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// A function whose nodes mean the same in the model's opset is said to be of that: the inliner then copies them as they are. Others it converts, for which it wants
/// the type of every operand of a call among the main graph's values; those of the initializers and of what is inside of bodies are written there. Of other domains all
/// functions are said to import the model's versions.
void settle_function_opsets(onnx::ModelProto& model);

}  // namespace optima::onnx_io
