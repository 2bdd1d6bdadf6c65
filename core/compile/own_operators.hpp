// SPDX-License-Identifier: Apache-2.0
// core/compile: the operators that plugins bring (optima.schema/1), as import, passes and reference ask about them. The registry
// must outlive what is given out here. Any thread.
#pragma once

#include "core/loader/registry.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/own_operators.hpp"
#include "reference/reference.hpp"

namespace optima {

/// Types: of the first compiler that claims the node's domain and offers optima.schema/1.
onnx_io::InferForeign infer_by_plugins(const Registry& registry);

/// What a node computes: by the first of the compilers that claim its domain that has an evaluator, else a function body, for it.
/// A body runs on the reference, and operators of plugins inside it likewise. Throws reference::ForeignError with the plugin and
/// its sentence; UNSUPPORTED when no plugin computes the node.
reference::Foreign evaluate_by_plugins(const Registry& registry);

/// Both for the passes, which must not fold what the manifest flags as stateful.
passes::OwnOperators own_operators(const Registry& registry);

}  // namespace optima
