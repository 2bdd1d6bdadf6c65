// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: the files that the tools are given.
#pragma once

#include "optima/plugin/folder.hpp"
#include "top/module.hpp"

namespace bmcompiler_plugin {

using optima::sdk::bytes_of;
using optima::sdk::write_file;

inline constexpr std::string_view kModuleFile = "top.mlir", kWeightFile = "weights.npz";

/// A module and its weights under the names above in `folder`. Throws IO.
inline void write_module(const top::Module& module, const std::string& folder) {
  write_file(folder + "/" + std::string(kModuleFile), module.text(kWeightFile));
  write_file(folder + "/" + std::string(kWeightFile), top::npz(module.weights()));
}

}  // namespace bmcompiler_plugin
