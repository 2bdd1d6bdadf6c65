// SPDX-License-Identifier: Apache-2.0
// optima/plugin/folder.hpp: a private folder for what a vendor's tools read and write, gone with its object, and whole files. Not included
// by plugin.hpp.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// A whole file. Throws IO.
inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(OPTIMA_IO, "file '" + path + "' cannot be read");
  return bytes;
}

/// In place of what is there. Throws IO.
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error(OPTIMA_IO, "file '" + path + "' cannot be written");
}

}  // namespace v0_1
}  // namespace optima::sdk
