// SPDX-License-Identifier: Apache-2.0
// core/loader: what can be said of a plugin file without loading it.
#pragma once

#include <string>

#include "core/loader/library.hpp"
#include "core/loader/registry.hpp"

namespace optima {

/// Anything but a regular file is refused before it is opened: opening a FIFO or a device may wait for ever.
Status is_regular_file(const FileStamp& stamp);

/// The file's note, parsed, and all refusals that need no vendor code: no ELF file, truncated, other machine, 32-bit, no
/// note, bad manifest, ABI pair, sanitizer. On InvalidInput the manifest may still be filled in (for the list).
Status read_plugin_file(const std::string& path, Manifest& manifest);

}  // namespace optima
