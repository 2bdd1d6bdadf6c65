// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from an object file to a shared object, in this process or by a program that the user names.
#pragma once

#include <string>
#include <string_view>

namespace optima::llvm_cpu {

/// What links: nobody but shared_object() when the path is empty, else that program, with ld.lld's options. `version` is part of the cache key.
struct Linker {
  std::string path, version;

  /// By the option's value: empty, a path or a name on PATH. Throws sdk::Error(OPTIMA_DEPENDENCY) when that program does not run.
  static Linker find(std::string_view option, const std::string& temp_dir);

  /// The shared object, without DT_NEEDED. `stem` names the files in temp_dir of a program, removed before return; unique per call.
  /// Throws sdk::Error: OPTIMA_TOOL_FAILED with the program's own words, what shared_object() throws.
  std::string link(std::string_view object, const std::string& temp_dir, const std::string& stem) const;
};

}  // namespace optima::llvm_cpu
