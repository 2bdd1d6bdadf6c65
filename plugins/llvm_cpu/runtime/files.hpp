// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: the files that an artifact has for itself, by name in every complaint.
#pragma once

#include <string>

#include "optima/plugin/plugin.hpp"

namespace optima::llvm_cpu {

/// What `read` makes of the file `<stem><ending>`. Throws sdk::Error(OPTIMA_CORRUPT) when it is missing; before what `read` throws comes the file's name.
template <class F>
auto read_file(const sdk::Artifact& artifact, const char* ending, F&& read) {
  const std::string name = std::string(artifact.stem()) + ending;
  const optima_blob* file = artifact.file(name);
  if (!file) throw sdk::Error(OPTIMA_CORRUPT, "file " + name + " is missing");
  try {
    return read(*file);
  } catch (const sdk::Error& e) {
    throw sdk::Error(e.code, "file " + name + ": " + e.text, e.node);
  }
}

}  // namespace optima::llvm_cpu
