// SPDX-License-Identifier: Apache-2.0
// core/passes: what the passes are told about operators that neither ONNX nor the reference knows.
#pragma once

#include "core/onnx_io/onnx_io.hpp"
#include "reference/reference.hpp"

namespace optima::passes {

/// Operators of plugins. What is left empty is not known: such a node then keeps its types, and is not folded.
struct OwnOperators {
  onnx_io::InferForeign infer;
  reference::Foreign evaluate;  ///< throws UNSUPPORTED for what must not be folded
};

}  // namespace optima::passes
