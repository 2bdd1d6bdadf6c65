// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: DLCs run by Qualcomm's SNPE runtime in this process, through its C API (libSNPE.so, opened by name).
#pragma once

#include "toolchain.hpp"

namespace snpe_plugin {

/// A session over `library` (a path of libSNPE.so, or its bare name for the loader's own search). What is run is what.context where it has no
/// wrapper (a DLC that a SDK prepared for the SoC), else all of what.dlcs in order; tensors between them are matched by name, those at the border by Port::file_name, and Port::layout says how they lie.
/// The runtime is the one of what.kind: the DSP of HEXAGON (never another unless what.fallback), the GPU, the CPU.
/// Buffers: f32, f16 and integers as they are; u8 and u16 codes with the network's own encoding where it has one there.
/// The API cannot end a run: cancelled and late ones are thrown after the run's end, and their outputs are not to be used.
/// Throws DEPENDENCY (no library, a function missing in it: by name), WRONG_DEVICE (the runtime is not available here), CORRUPT (no DLC,
/// tensors that differ from the ports), DEVICE; errors bring the library's own last sentence.
std::unique_ptr<Session> open_snpe(const std::string& library, const Loadable& what, const Bounds& bounds);

/// What the library says of itself, "2.22.6.240515"; throws DEPENDENCY as open_snpe() does.
std::string snpe_version(const std::string& library);

/// Whether the runtime of this kind answers here ("HEXAGON", "ADRENO", "SNPE_CPU"); throws DEPENDENCY.
bool snpe_has(const std::string& library, const std::string& kind);

}  // namespace snpe_plugin
