// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what the user may change about a model's ends: shapes, symbols, inputs, outputs. Private to the room.
#pragma once

#include "core/onnx_io/onnx_io.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// Initializers are constants here, also where an old-style model lists them among its inputs; of another shape there is a warning.
void drop_initializer_inputs(onnx::GraphProto& graph);

/// options.inputs/outputs: makes inner values inputs and outputs (types from value_info, so infer first) and drops the nodes
/// that are not needed any more, which are added to `folded`. Unknown names are InvalidInput with the nearest ones.
Status cut_model(onnx::GraphProto& graph, const ImportOptions& options, std::vector<Folded>& folded);

/// What the user says of the inputs' sizes, on the way from the model's names of dims to the graph's.
struct GivenSizes {
  bool any = false;   ///< shapes that the file declares of other values are then worth nothing
  SizeRanges ranges;  ///< by the name that the dim has in the graph
};

/// options.shapes, options.dims and options.ranges on the graph's inputs. A dim without a name of its own goes by its place, "x.3" (is_anonymous); all
/// that the file spells alike ("?") may also be set at once. Open dims that have no name then have that of their place, so that what is
/// inferred from them can be told apart; where another dim has that name already, a mark is added.
Result<GivenSizes> set_shapes(onnx::GraphProto& graph, const ImportOptions& options);

}  // namespace optima::onnx_io
