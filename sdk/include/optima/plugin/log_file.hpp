// SPDX-License-Identifier: Apache-2.0
// optima/plugin/log_file.hpp: the file that takes all that a vendor's tools print. It outlives its object only where an error sent the user to
// it. Not included by plugin.hpp.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "optima/plugin/error.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// A new, empty file in the system's folder for temporary files: the host's own is gone when the user comes to read it. Throws IO.
class LogFile {
 public:
  /// `stem`: of its name, "snpe".
  explicit LogFile(std::string_view stem) {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    path_ = (error ? "/tmp" : folder.string()) + "/optima-" + std::string(stem) + "-XXXXXX.log";
    const int fd = ::mkostemps(path_.data(), 4, O_CLOEXEC);
    if (fd < 0) throw Error(OPTIMA_IO, "no log file '" + path_ + "' can be made");
    ::close(fd);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    if (!kept_) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  /// It stays if the text tells of it.
  void keep_if_named(const std::string& text) { kept_ = kept_ || text.find(path_) != text.npos; }

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace v0_1
}  // namespace optima::sdk
