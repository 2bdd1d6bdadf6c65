// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from the expression of a KernelSpec to a function in the kernel's module.
//
// An expression is text, so that equal kernels are equal text. Statements are joined by "; ":
//   loop SPLIT CHUNK D0,D1,..     first; the index space, outermost first. A unit of work is one combination of the first SPLIT
//                                 dims, and, when CHUNK is not 0 (then SPLIT is all dims but the last), CHUNK elements of the
//                                 last dim. units = D0 * .. * D(SPLIT-1) * ceil(last / CHUNK or 1)
//   strict SPLIT CHUNK D0,D1,..   the same, but a product is rounded before something is added to it
//   load ARG TYPE S0,S1,..        element of operand ARG at the sum of index * step (in elements)
//   const TYPE NUMBER             C notation, hexadecimal floats welcome
//   cast TYPE A                   as ONNX Cast; to integers with saturation
//   NAME A [B [C]]                an operation of compiler/operation.hpp
//   store ARG A S0,S1,..          gives no value
// Statements that give a value are numbered from 0; A, B, C are such numbers. TYPE is f32, i64, ... or bool. f16 and bf16 are
// computed in f32. SPLIT, CHUNK, dims and steps may be $k, which is literal k of the spec. In a general kernel such a number may be one of the
// run: then SPLIT and CHUNK stand for any cut. A step of the last dim that is 0 or 1 stands in the text itself: code depends on it.
#pragma once

#include "plugins/llvm_cpu/compiler/op.hpp"

namespace llvm {
class Module;
}

namespace optima::llvm_cpu {

/// Gives the function `k_expression`, which kernels/elementwise.hpp declares and calls, a body that computes spec.expression.
/// Called before anything is optimised. Throws sdk::Error(OPTIMA_INTERNAL) when the text is not an expression.
void define_expression(llvm::Module& module, const KernelSpec& spec);

}  // namespace optima::llvm_cpu
