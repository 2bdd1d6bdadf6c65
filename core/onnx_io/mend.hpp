// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what onnx 1.23.2's version converter gets wrong, put right around it. Each item may go once a release of the
// library converts it exactly (tests/unit/onnx_io/mend_test.cpp says how to see that). Private to the room.
#pragma once

#include <string>
#include <unordered_set>

#include "core/support/status.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// What the converter must be told about afterwards.
struct Mending {
  std::unordered_set<std::string> asymmetric;  ///< outputs of Resize and Upsample nodes of opset <= 10
};

/// Before the conversion of a model of this opset, types inferred. Restates, in the same opset:
/// Hardmax <= 12 (flattens its input: Flatten, Hardmax, Reshape), masks of Dropout <= 11 (zeros), BatchNormalization <= 8 with spatial=0 (arithmetic),
/// Resize 11-12 with tf_half_pixel_for_nn (half_pixel with the rounding that gives the same index; InvalidInput where there
/// is none; Scan 8 likewise). Remembers Resize and Upsample <= 10.
Status mend_before(onnx::GraphProto& graph, int64_t opset, Mending& mending);

/// After it: sets asymmetric coordinates and floor on the remembered nodes.
void mend_after(onnx::GraphProto& graph, const Mending& mending);

/// Before any inference, in bodies too: MeanVarianceNormalization states its default axes, without which 1.23.2 cannot infer it; SplitToSequence without
/// keepdims and with the one size 1, a constant, is that without a size, whose pieces lack the axis, as exporters and ONNX Runtime have it.
void mend_inference(onnx::GraphProto& graph);

}  // namespace optima::onnx_io
