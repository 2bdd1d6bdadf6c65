// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: a strided copy as a step. Most movers are one or several of these.
#pragma once

#include <string>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// target[sum of i*to] = source[sum of i*from] over dims; steps in elements, 0 and negative ones are fine in `from`.
struct Copy {
  Dims dims, from, to;
};

/// Dims of size 1 gone, neighbours that both sides walk as one merged.
Copy simplified(const Copy& copy);
/// True when simplified() leaves at most eight dims.
bool can_copy(const Copy& copy);

/// The step. Operands point at element 0 of the copy. Nothing is emitted when there is nothing to move.
void emit_copy(const Copy& copy, int64_t element_bytes, const Operand& from, const Operand& to, const std::string& label, LowerContext& context);

/// A step that copies so many bytes as they lie, and does nothing where both operands are one place.
void emit_copy_bytes(int64_t bytes, const Operand& from, const Operand& to, const std::string& label, LowerContext& context);

/// An operand some elements further on.
Operand moved_by(Operand operand, int64_t elements, int64_t element_bytes);

}  // namespace optima::llvm_cpu
