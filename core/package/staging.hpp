// SPDX-License-Identifier: Apache-2.0
// core/package: a folder that appears under its final name whole or not at all. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/support/status.hpp"

namespace optima {

/// OUT/.<name>.<pid> under an flock on OUT/.<name>.<pid>.lock. Move-only; the destructor removes what is not published.
class Staging {
 public:
  /// Makes `out` if need be, removes leftovers of dead runs, makes the folder.
  static Result<Staging> create(const std::string& out, const std::string& name);
  Staging(Staging&& other) noexcept { *this = std::move(other); }
  Staging& operator=(Staging&& other) noexcept;
  ~Staging() { discard(); }

  const std::string& folder() const { return folder_; }
  const std::string& target() const { return target_; }
  /// Syncs everything below and renames the folder to the target; with `replace` an existing target is exchanged and removed.
  Status publish(bool replace);

 private:
  Staging() = default;
  Status lock(const std::string& name);
  Status rename_into_place(bool replace);
  Status move_aside_and_rename();
  void discard();

  std::string out_, folder_, lock_path_, target_;
  int lock_fd_ = -1;
  std::vector<std::string> made_;  // folders that were not there before: OUT and its parents
};

}  // namespace optima
