// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: finished modules, kept on disk between compilations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spirv_plugin {

/// A folder of files, one for each module. A file holds what it was made from, and a module is found only by exactly that, so that no two are mistaken
/// for each other; a file that is damaged is one that is not there. All is best effort: a folder that cannot be written costs time only. Any thread,
/// any number of processes.
class KernelCache {
 public:
  /// `folder` is made when first wanted; empty: nothing is kept.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  /// The words that keep() had for this.
  std::optional<std::vector<uint32_t>> find(std::string_view made_from) const;
  void keep(std::string_view made_from, const std::vector<uint32_t>& words) const;
  /// Removes those that were not found for longest where all are more than `most` bytes, down to half of it.
  void trim(uint64_t most) const;

 private:
  std::string file_of(std::string_view made_from) const;
  std::string folder_;
};

}  // namespace spirv_plugin
