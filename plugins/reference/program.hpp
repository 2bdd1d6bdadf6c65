// SPDX-License-Identifier: Apache-2.0
// plugins/reference: a loaded graph as a program of the seam.
#pragma once

#include "artifact.hpp"

namespace reference_plugin {

/// Throws CORRUPT when the graph holds what compile() would not have taken.
std::unique_ptr<sdk::Program> make_program(std::unique_ptr<Loaded> loaded);

/// Why a node cannot be taken, as a verdict. The manifest's row first, then what only the library knows.
sdk::Verdict verdict_of(const sdk::Node& node);

}  // namespace reference_plugin
