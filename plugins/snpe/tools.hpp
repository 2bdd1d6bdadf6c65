// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: the tools of this plugin instance, looked for once, and what a call of them is given.
#pragma once

#include <mutex>
#include <optional>

#include "optima/plugin/task.hpp"
#include "toolchain/toolchain.hpp"

namespace snpe_plugin {

/// Any thread.
class Tools {
 public:
  explicit Tools(const sdk::Init& init);
  /// Null when there are none; `why` then says what is missing and the command that installs it.
  Toolchain* find(std::string& why) const;
  /// Throws DEPENDENCY with that sentence.
  Toolchain& get() const;

 private:
  sdk::Host host_;
  Wanted wanted_;
  mutable std::mutex mutex_;
  mutable bool looked_ = false;
  mutable std::string why_;
  mutable std::unique_ptr<Toolchain> found_;
};

/// Of a check's or compile's device and options: the device's attribute `soc` goes before option snpe.soc. Throws INVALID_ARGUMENT.
Target target_of(const sdk::Device& device, const sdk::Options& options);

/// Its tools work in a folder of their own, beside those that are made for them.
class Task : public sdk::Task {
 public:
  Task(const sdk::Host& host, const sdk::Options& options, std::function<bool()> cancelled) : sdk::Task(host, options, "snpe", std::move(cancelled)) {
    bounds_.work = folder("tools");
  }
};

}  // namespace snpe_plugin
