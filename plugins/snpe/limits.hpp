// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: what the processors do not compute of the operators in the table, or compute otherwise than ONNX says. Knows no tools.
#pragma once

#include <string>

#include "toolchain/toolchain.hpp"

namespace snpe_plugin {

/// Empty, or the sentence that refuses the node. Restrictions are those of Qualcomm's document 80-63442-2 ("Supported ONNX Ops"); what
/// HEXAGON computes otherwise was found by running the ONNX node tests on the emulator (tests/unit/snpe_ops).
std::string not_computed(const sdk::Node& node, const Target& target);

}  // namespace snpe_plugin
