// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from an object file to a shared object, by the program ld.lld.
#pragma once

#include <string>
#include <string_view>

namespace optima::llvm_cpu {

/// An ld.lld that was found, and what it says about itself (part of the cache key).
struct Linker {
  std::string path, version;

  /// The option's value when not empty, else ld.lld-19, else ld.lld on PATH. Throws sdk::Error(OPTIMA_DEPENDENCY) that
  /// says what was looked for and how to get it.
  static Linker find(std::string_view option, const std::string& temp_dir);

  /// The shared object, without DT_NEEDED. `stem` names the files in temp_dir, removed before return; unique per call.
  /// Throws sdk::Error(OPTIMA_TOOL_FAILED) with the linker's own words.
  std::string link(std::string_view object, const std::string& temp_dir, const std::string& stem) const;
};

}  // namespace optima::llvm_cpu
