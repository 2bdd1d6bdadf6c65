// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: whole files.
#pragma once

#include <fstream>

#include "top/module.hpp"
#include "optima/plugin/error.hpp"

namespace bmcompiler_plugin {

/// Throws IO.
inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw optima::sdk::Error(OPTIMA_IO, "file '" + path + "' cannot be read");
  return bytes;
}

/// Throws IO.
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw optima::sdk::Error(OPTIMA_IO, "file '" + path + "' cannot be written");
}

inline constexpr std::string_view kModuleFile = "top.mlir", kWeightFile = "weights.npz";

/// A module and its weights under the names above in `folder`. Throws IO.
inline void write_module(const top::Module& module, const std::string& folder) {
  write_file(folder + "/" + std::string(kModuleFile), module.text(kWeightFile));
  write_file(folder + "/" + std::string(kWeightFile), top::npz(module.weights()));
}

}  // namespace bmcompiler_plugin
