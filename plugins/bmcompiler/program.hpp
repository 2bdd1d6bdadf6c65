// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: an artifact that a runtime took in, as a program of the seam, and the devices there are for one.
#pragma once

#include "artifact.hpp"
#include "toolchain/tools.hpp"

namespace bmcompiler_plugin {

/// What the driver's runtime finds (OPTIMA_SOPHON_RUNTIME, else where SOPHON's packages put it), each with its attribute `chip` where that is
/// known; without one, the tools' emulator. With neither, `why_none` says what is missing. The runner lies in `plugin_folder`.
std::vector<sdk::PresentDevice> present_devices(const Tools& tools, const std::string& plugin_folder, std::string& why_none);
/// The same; the runner lies beside the library that this is in.
std::vector<sdk::PresentDevice> present_devices(const Tools& tools, std::string& why_none);

/// Of an artifact that verify() accepted. The driver's runtime runs it where option bmcompiler.runtime or the device says so, else the
/// emulator. A process takes the model in before this returns; further contexts have one each, contexts that are gone leave theirs to the
/// next. Throws DEPENDENCY for a runtime that is not there, and as open_model().
std::unique_ptr<sdk::Program> load_program(const Tools& tools, const std::string& plugin_folder, const sdk::Host& host, const sdk::Artifact& artifact,
                                           const Record& record, const sdk::Device& device, const sdk::Options& options);

}  // namespace bmcompiler_plugin
