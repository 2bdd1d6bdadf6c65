// SPDX-License-Identifier: Apache-2.0
// plugins/reference: a loaded graph as a program of the seam.
#pragma once

#include "optima/plugin/plugin.hpp"
#include "reference/graph_file.hpp"

namespace reference_plugin {

namespace sdk = optima::sdk;

/// The one file of an artifact. Throws what read_graph_file() throws, RECOMPILE for another format.
std::unique_ptr<optima::reference::GraphFile> read_artifact(const sdk::Artifact& artifact, const sdk::Host* host);

/// Throws CORRUPT when the graph holds what compile() would not have taken.
std::unique_ptr<sdk::Program> make_program(std::unique_ptr<optima::reference::GraphFile> loaded);

/// Why a node cannot be taken, as a verdict. The manifest's row first, then what only the library knows.
sdk::Verdict verdict_of(const sdk::Node& node);

}  // namespace reference_plugin
