// SPDX-License-Identifier: Apache-2.0
// tests/support: whether tpu-mlir's tools are here, said where they are not.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace optima::test {

inline const std::string kSophonTools = OPTIMA_SOURCE_DIR "/.deps/sophon";

inline bool has_sophon_tools() {
  if (std::filesystem::exists(kSophonTools + "/bin/tpuc-opt")) return true;
  MESSAGE("SKIP: the tools of tpu-mlir are not in .deps/sophon; scripts/setup --with sophon puts them there");
  return false;
}

}  // namespace optima::test
