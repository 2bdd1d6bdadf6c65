// SPDX-License-Identifier: Apache-2.0
// core/support: the few things we do with files and folders. Errors name the path and the system's reason.
#pragma once

#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima {

/// "~" and "~/x" with the home folder in front; anything else as it is.
std::string expand_home(std::string_view path);

/// The whole file. InvalidInput when it cannot be opened or read, or is over `limit` bytes.
Result<std::string> read_file(const std::string& path, uint64_t limit = uint64_t{1} << 31);

/// Creates or replaces a file: written beside it, synced with the disk's answer checked, renamed. On failure (Io) the old
/// file is untouched and nothing new remains.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace optima
