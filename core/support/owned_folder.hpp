// SPDX-License-Identifier: Apache-2.0
// core/support: folders that are gone when their owner is: with its object, with a process that crashes (leftovers.hpp), and after a killed one
// with the next. Beside each lies a lock file, "<folder>.lock", which proves whose it is: it was made together with the folder, is of the same
// user, says so, and is held while the owner lives. Whatever has no such lock is somebody else's and is left alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/support/leftovers.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Move-only; the destructor removes what is in the folder's place, and the lock.
class OwnedFolder {
 public:
  /// Makes the folder (mode as mkdir takes it) and its lock in a parent that exists. Nothing when the name of either is taken. Io.
  static Result<std::optional<OwnedFolder>> make(std::string path, unsigned mode);
  OwnedFolder(OwnedFolder&& other) noexcept;
  OwnedFolder& operator=(OwnedFolder&& other) noexcept;
  ~OwnedFolder() { discard(); }

  const std::string& path() const { return path_; }
  /// As the destructor.
  void discard();

 private:
  OwnedFolder(std::string path, int lock);
  std::string path_;
  int lock_ = -1;
  Leftover left_lock_, left_;
};

/// Removes folders in `parent` that dead owners left, of the names that `wanted` takes (the folder's, without its lock's ending), each
/// after calling `before` with its path if given. Errors are somebody else's to meet.
void remove_left_folders(const std::string& parent, const std::function<bool(std::string_view name)>& wanted,
                         const std::function<void(const std::string& path)>& before = {});

/// A folder among the temporary files, only for this user: "optima-<what>-<number>". The first of a process removes those of dead ones.
/// Errors of make(): Io. Any thread.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make(std::string_view what);
  const std::string& path() const { return folder_.path(); }

 private:
  explicit ScratchFolder(OwnedFolder folder) : folder_(std::move(folder)) {}
  OwnedFolder folder_;
};

}  // namespace optima
