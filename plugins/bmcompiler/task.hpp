// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: one compile's private folder and log, and its target. Gone with it, but for a log that an error names.
#pragma once

#include "optima/plugin/folder.hpp"
#include "optima/plugin/log_file.hpp"
#include "toolchain/stages.hpp"

namespace bmcompiler_plugin {

/// The chip of the device's attribute `chip`, else of option bmcompiler.chip. Throws as parse_chip().
inline const Chip& chip_of(const sdk::Device& device, const sdk::Options& options) {
  const std::string_view own = device.attributes().string("chip", "");
  return parse_chip(own.empty() ? options.string("bmcompiler.chip", "bm1684x") : own);
}

/// What floats are computed in, by option bmcompiler.precision: "F32", "F16", "BF16". Throws INVALID_ARGUMENT for what the chip has not.
std::string float_mode(const Chip& chip, const sdk::Options& options);

class Task {
 public:
  Task(const sdk::Host& host, const sdk::Options& options, std::function<bool()> cancelled) : work_(host.temp_dir(), "bmcompiler") {
    bounds_.time_limit = std::chrono::seconds(options.integer("bmcompiler.time_limit", 900));
    bounds_.memory_limit = static_cast<uint64_t>(options.integer("bmcompiler.memory_limit", 0)) << 20;
    bounds_.work = work_.path();
    bounds_.log = log_.path();
    bounds_.cancelled = std::move(cancelled);
  }
  const Bounds& bounds() const { return bounds_; }
  std::string path(std::string_view name) const { return bounds_.work + "/" + std::string(name); }
  /// Runs `f`; an error that names the log keeps it.
  template <class F>
  auto guarded(F&& f) {
    try {
      return f();
    } catch (const sdk::Error& e) {
      log_.keep_if_named(e.text);
      throw;
    }
  }

 private:
  sdk::Folder work_;
  sdk::LogFile log_{"bmcompiler"};
  Bounds bounds_;
};

}  // namespace bmcompiler_plugin
