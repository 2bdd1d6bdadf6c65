// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: an artifact that the tools took in, as a program of the seam.
#pragma once

#include "artifact.hpp"
#include "plugins/snpe/toolchain/toolchain.hpp"

namespace snpe_plugin {

/// Of an artifact that verify() accepted, for the SoC of the device's attribute `soc`, else of option snpe.run_soc, else the first that the
/// artifact has. The tools take the files in before this returns; further contexts open sessions of their own, contexts that are gone leave
/// theirs to the next. `tools` outlives the program. Throws DEPENDENCY where these tools cannot run it here (with snpe.fallback a SDK's CPU
/// runtime does, and the log says so), WRONG_DEVICE, CORRUPT, INVALID_ARGUMENT (no such SoC) and what Toolchain::open() throws.
std::unique_ptr<sdk::Program> load_program(Toolchain& tools, const sdk::Host& host, const sdk::Artifact& artifact, const Record& record,
                                           const sdk::Device& device, const sdk::Options& options);

}  // namespace snpe_plugin
