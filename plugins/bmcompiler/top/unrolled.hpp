// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/top: recurrent cells step by step, for what the tools have no cell of their own for: RNN, other activations, bounds,
// peepholes, sequences of several lengths, a reset before the product.
#pragma once

#include "lower.hpp"

namespace bmcompiler_plugin::top {

/// Empty, or the sentence that refuses. `why`: what the tools' own cell lacks.
std::string refuses_unrolled(const sdk::Node& node, const std::string& why);
void write_unrolled(Lowering& to, const sdk::Node& node);

}  // namespace bmcompiler_plugin::top
