// SPDX-License-Identifier: Apache-2.0
// optima/plugin/task.hpp: the private folder, log and limits of one check or compile by a vendor's tools. Not included by plugin.hpp.
#pragma once

#include "optima/plugin/bounds.hpp"
#include "optima/plugin/folder.hpp"
#include "optima/plugin/host.hpp"
#include "optima/plugin/log_file.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// A private folder in the host's and a log, gone with their object but for a log that an error names. One thread at a time.
class Task {
 public:
  /// `plugin`: its id. Limits are those of its options ID.time_limit (seconds; 900) and ID.memory_limit (MiB; 0 = none). Throws IO.
  Task(const Host& host, const Options& options, const std::string& plugin, std::function<bool()> cancelled) : work_(host.temp_dir(), plugin), log_(plugin) {
    bounds_.time_limit = std::chrono::seconds(options.integer(plugin + ".time_limit", 900));
    bounds_.memory_limit = static_cast<uint64_t>(options.integer(plugin + ".memory_limit", 0)) << 20;
    bounds_.work = work_.path();
    bounds_.log = log_.path();
    bounds_.cancelled = std::move(cancelled);
  }
  const ToolBounds& bounds() const { return bounds_; }
  /// Of a file in the private folder.
  std::string path(std::string_view name) const { return work_.path() + "/" + std::string(name); }
  /// A new folder in the private one: its path. Throws IO.
  std::string folder(std::string_view name) const {
    std::error_code error;
    std::filesystem::create_directory(path(name), error);
    if (error) throw Error(OPTIMA_IO, "folder '" + path(name) + "' cannot be made: " + error.message());
    return path(name);
  }
  /// Runs `f`; an error that names the log keeps it.
  template <class F>
  auto guarded(F&& f) {
    try {
      return f();
    } catch (const Error& e) {
      log_.keep_if_named(e.text);
      throw;
    }
  }

 private:
  Folder work_;
  LogFile log_;

 protected:
  ToolBounds bounds_;
};

}  // namespace v0_1
}  // namespace optima::sdk
