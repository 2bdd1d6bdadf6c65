// SPDX-License-Identifier: Apache-2.0
// core/quantize: tpu_mlir's quantize table (`qtable`): which operators are not computed in the model's own precision.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/quantize/encodings.hpp"
#include "core/support/status.hpp"

namespace optima {

/// A node and what it is computed in, named as precision_named() reads it: "f32", "f16", "bf16", "int8", "w8", "w4".
struct NodePrecision {
  std::string node, precision;
  bool operator==(const NodePrecision&) const = default;
};

/// Form: tpu-mlir's guide, "Mixed precision" (`# op_name   quantize_mode`, then lines `NAME MODE`): F32, F16, BF16, INT8; UINT8 counts as int8, W8F16 and
/// W8BF16 as w8, W4F16 and W4BF16 as w4. In the order of the lines. InvalidInput naming the line, for another mode and for a node that comes twice.
Result<std::vector<NodePrecision>> parse_precision_table(const std::string& text, const std::string& path);
/// InvalidInput for a precision that the table cannot state (which one), and for names with blanks.
Result<std::string> write_precision_table(std::span<const NodePrecision> nodes);
/// Those computed in floats; `why` of each.
std::vector<LeftFloat> left_float(std::span<const NodePrecision> nodes, const std::string& why);

}  // namespace optima
