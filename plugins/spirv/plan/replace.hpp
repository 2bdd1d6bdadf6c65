// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: files of caches, which several threads and processes write and read.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "optima/plugin/folder.hpp"

namespace spirv_plugin {

/// Puts the bytes in place of the file at once: readers see the old or the new one, and who else writes it writes beside it. Fails in silence: a cache that
/// is not written is none. Any thread.
inline void replace_file(const std::string& path, std::string_view bytes) {
  const std::string beside = path + "." + std::to_string(::getpid()) + "." + std::to_string(::gettid());
  std::error_code ignored;
  try {
    optima::sdk::write_file(beside, bytes);
    std::filesystem::rename(beside, path, ignored);
  } catch (const optima::sdk::Error&) {
  }
  std::filesystem::remove(beside, ignored);
}

/// Empty where there is no such file, or it cannot be read.
inline std::string cached_bytes(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return "";
  try {
    return optima::sdk::bytes_of(path);
  } catch (const optima::sdk::Error&) {
    return "";
  }
}

}  // namespace spirv_plugin
