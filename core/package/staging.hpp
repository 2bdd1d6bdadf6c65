// SPDX-License-Identifier: Apache-2.0
// core/package: a folder that appears under its final name whole or not at all. Knows nothing of what is in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/owned_folder.hpp"
#include "core/support/status.hpp"

namespace optima {

/// What a published folder is: --force replaces only folders of the same kind. Literals.
struct FolderKind {
  std::string_view name;    ///< for messages: "package"
  std::string_view marker;  ///< the file that every folder of the kind has: "model.meta"
};

/// Where a folder goes.
struct FolderTarget {
  std::string out;       ///< OUT, made when missing, with its parents; "~" is expanded
  std::string name;      ///< one path part
  bool replace = false;  ///< --force: an existing folder of the same kind is exchanged for the new one
};

/// OUT/.<name>.<pid>, an OwnedFolder. Move-only; the destructor removes what is not published.
class Staging {
 public:
  /// Makes `out` if need be, removes leftovers of dead runs (owned_folder.hpp says what proves them), makes the folder. InvalidInput when something of that name exists
  /// and `replace` is off or it is of no such kind, or the name is no path part; Io when folders cannot be made.
  static Result<Staging> create(FolderTarget target, FolderKind kind);
  Staging(Staging&& other) noexcept { *this = std::move(other); }
  Staging& operator=(Staging&& other) noexcept;
  ~Staging() { discard(); }

  const std::string& folder() const;  ///< empty once it is published
  const std::string& target() const { return target_; }
  /// Syncs everything below and renames the folder to the target; with `replace` an existing target is exchanged and removed.
  Status publish();

 private:
  Staging() = default;
  Status make_parents();
  Status make_folder(const std::string& name);
  Status rename_into_place();
  Status move_aside_and_rename();
  void discard();

  FolderKind kind_;
  bool replace_ = false;
  std::string out_, target_;
  std::optional<OwnedFolder> folder_;
  struct MadeFolder {
    std::string path;
    Leftover left;
  };
  std::vector<MadeFolder> made_;  // folders that were not there before: OUT and its parents
};

}  // namespace optima
