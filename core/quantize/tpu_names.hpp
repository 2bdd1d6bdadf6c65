// SPDX-License-Identifier: Apache-2.0
// core/quantize: what tpu_mlir's calibration table calls weights.
#pragma once

#include <string>

#include "core/graph/graph.hpp"
#include "core/quantize/encodings.hpp"

namespace optima {

/// tpuc-opt (1.30) looks the scales of an operator's weights up by what the operator makes, with `_weight` behind it; a Relu that alone reads that is
/// one operator with it. Lines of other names it passes over, and takes max/127 of each channel. `node`: index in the main graph.
std::string tpu_weight_name(const Graph& graph, const Uses& uses, uint32_t node);

/// Encodings with their weights called so, of a graph that was quantized by them. Weights that no product of it reads keep their names.
Encodings with_tpu_names(Encodings encodings, const Graph& quantized);

}  // namespace optima
