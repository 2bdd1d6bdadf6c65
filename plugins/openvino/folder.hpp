// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: a folder for the ONNX files that OpenVINO reads, gone with its object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "optima/plugin/error.hpp"

namespace openvino_plugin {

class Folder {
 public:
  explicit Folder(std::string_view parent) : path_(std::string(parent) + "/onnx.XXXXXX") {
    if (!::mkdtemp(path_.data())) throw optima::sdk::Error(OPTIMA_IO, "no folder can be made in " + std::string(parent));
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace openvino_plugin
