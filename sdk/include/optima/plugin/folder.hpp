// SPDX-License-Identifier: Apache-2.0
// optima/plugin/folder.hpp: a private folder for what a vendor's tools read and write, gone with its object. Not included by plugin.hpp.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "optima/plugin/error.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// `parent`/`stem`.XXXXXX, readable by this user only. Throws IO.
class Folder {
 public:
  explicit Folder(std::string_view parent, std::string_view stem = "work")
      : path_(std::string(parent) + "/" + std::string(stem) + ".XXXXXX") {
    if (!::mkdtemp(path_.data())) throw Error(OPTIMA_IO, "no folder can be made in " + std::string(parent));
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace v0_1
}  // namespace optima::sdk
