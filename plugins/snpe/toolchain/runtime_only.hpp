// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: a machine that has SNPE's runtime and no tools: a device.
#pragma once

#include "toolchain.hpp"

namespace snpe_plugin {

/// Over the libSNPE.so below `wanted.sdk_root` (its lib/* folders, those of another processor passed over), or, where none is named, the one
/// that the loader finds by itself. Makes no files: cannot_compile() says so, with `lacks`, the sentence on what a whole SDK lacks here. Null, with `why`,
/// when there is none. Starts no process. Any thread.
std::unique_ptr<Toolchain> find_snpe_runtime(const Wanted& wanted, const std::string& lacks, std::string& why);

}  // namespace snpe_plugin
