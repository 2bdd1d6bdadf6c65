// SPDX-License-Identifier: Apache-2.0
// core/package: remembers which weight files were hashed, by their stamps. Private to the room.
#pragma once

#include <map>
#include <string>

namespace optima {

/// One file per package hash in the cache folder. A missing, old or damaged record only costs a full check; failing to
/// write it is no error. One thread.
class SeenWeights {
 public:
  /// `folder` empty = $XDG_CACHE_HOME/optima, else ~/.cache/optima, else nothing is remembered.
  SeenWeights(const std::string& folder, const std::string& package_hash);
  bool has(const std::string& sha256, const std::string& stamp) const;
  void add(const std::string& sha256, const std::string& stamp);
  void save() const;

 private:
  std::string path_;  // empty = no memory
  std::map<std::string, std::string> stamps_;  // by sha256
  bool changed_ = false;
};

}  // namespace optima
