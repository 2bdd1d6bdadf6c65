// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: which schema version a node is stated at, and the attributes that schema fills in. Private to the room.
#pragma once

#include <functional>
#include <vector>

#include "core/graph/graph.hpp"
#include "onnx/defs/schema.h"

namespace optima::onnx_io {

/// The k-th operand's value; null when absent or not known.
struct Operands {
  std::function<const image::Value*(int k)> input, output;
};

/// The schema under which the node counts: its opset-21 form when it is of ai.onnx, verifies under it, its types are allowed
/// there and defaults agree; else the one of the model's opset. Null for domains the library does not know.
const onnx::OpSchema* schema_of(const onnx::NodeProto& node, int64_t opset, const Operands& operands);

/// Whether this node of ai.onnx, as it is stated, is the same in both opsets. Types are not looked at.
bool means_the_same(const onnx::NodeProto& node, int64_t from, int64_t to);

/// The schema's defaults that the node does not set, by name.
std::vector<const onnx::AttributeProto*> missing_defaults(const onnx::OpSchema& schema, const onnx::NodeProto& node);

}  // namespace optima::onnx_io
