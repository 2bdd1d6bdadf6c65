// SPDX-License-Identifier: Apache-2.0
// core/package: where a package's files come from. Private to the room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/support/blob.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Identity of a file's content as far as the file system knows it; empty when it cannot tell (memory).
struct SourceFile {
  Blob bytes;
  std::string stamp;  ///< "device inode size mtime ctime"
};

class PackageSource {
 public:
  virtual ~PackageSource() = default;
  /// InvalidInput when there is no regular file of that name. Requires check_file_name(name).ok(). Any thread.
  virtual Result<SourceFile> open(const std::string& name) const = 0;
  /// How messages call a file: its path, or its name.
  virtual std::string place(const std::string& name) const = 0;
  virtual std::string folder() const { return {}; }
};

/// Takes the descriptor over. `path`: absolute when known, for blobs and messages.
std::unique_ptr<PackageSource> folder_source(int fd, std::string path);
std::unique_ptr<PackageSource> memory_source(std::vector<std::pair<std::string, Blob>> files);

}  // namespace optima
