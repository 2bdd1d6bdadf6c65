// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: inputs of the model that are sequences or optionals become inputs that are tensors. Private to the room.
#pragma once

#include "core/onnx_io/onnx_io.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// A sequence "x" of N tensors, where options.dims says N of "x", becomes the inputs "x[0]" to "x[N-1]" and a SequenceConstruct of them. An optional
/// tensor "x" is an input of that name, given in every run, or nothing where options.dims says 0; an optional sequence is a sequence, or nothing
/// where it says 0. Gives the options without what was said of these; one warning for a sequence of which nothing is said. InvalidInput for a number
/// below 0 or above 1024, and for more than one tensor in an optional.
Result<ImportOptions> list_inputs(onnx::GraphProto& graph, ImportOptions options);

}  // namespace optima::onnx_io
