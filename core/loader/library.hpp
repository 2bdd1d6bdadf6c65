// SPDX-License-Identifier: Apache-2.0
// core/loader: shared libraries in this process. Loaded once, never unloaded. Knows neither manifests nor tables.
#pragma once

#include <cstdint>
#include <string>

#include "core/loader/gate.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// Which file it is and that nobody changed it since: compared before and after loading.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  uint32_t mode = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
/// InvalidInput when the file is missing.
Result<FileStamp> stamp_of(const std::string& path);

/// One loaded plugin file. Lives until the process ends, shared by all that open the path.
struct Library {
  std::string path;
  FileStamp stamp;
  optima_query_fn query = nullptr;
  /// Rule T: every call passes it, [setup] calls one at a time.
  Gate gate;
  /// Instances alive, for plugins that allow one; guarded by the gate's Setup.
  int instances = 0;
};

/// Loads a file by its absolute path (immediate binding, local symbols). Plugin error naming the library or symbol that is
/// missing, or that the file is no longer the one that was looked at. Any thread.
Result<Library*> open_library(const std::string& path, const FileStamp& seen);

/// The dynamic loader's message as one of ours: which library or symbol of which file is missing, and where a library is looked for.
std::string readable_loader_error(std::string_view message, std::string_view path);

}  // namespace optima
