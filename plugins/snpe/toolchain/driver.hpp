// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: driver/optima_snpe_driver.py in the wheels' Python, as a process that is asked things.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "optima/plugin/talk.hpp"
#include "optima/plugin/words.hpp"
#include "toolchain.hpp"

namespace snpe_plugin {

using sdk::Words;

/// How a driver is started.
struct Start {
  std::string python;  ///< the environment's program
  std::string script;
  uint64_t memory_limit = 0;
};

/// One process. One call at a time.
class Driver {
 public:
  /// `log` takes what is printed before the first question.
  Driver(const Start& start, const std::string& log);
  /// The words after "ok". Throws what the driver answers, naming bounds.log where the tools may have told more there, and what Talk::ask()
  /// does; a driver that answered goes on.
  Words ask(const Words& question, const Bounds& bounds);
  bool alive() const { return talk_.alive(); }

 private:
  uint64_t memory_limit_;
  optima::sdk::Talk talk_;
};

/// Drivers that have answered and wait for the next question. Any thread.
class Drivers {
 public:
  Drivers(std::string python, std::string script) : python_(std::move(python)), script_(std::move(script)) {}

  /// A driver of nobody else's: started anew, or one that waits.
  std::unique_ptr<Driver> fresh(const Bounds& bounds) const;
  /// Asks a waiting driver, or a fresh one, which waits afterwards for the next.
  Words ask(const Words& question, const Bounds& bounds);

 private:
  struct Idle {
    uint64_t memory_limit;
    std::unique_ptr<Driver> driver;
  };
  std::unique_ptr<Driver> take(uint64_t memory_limit);

  const std::string python_, script_;
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

}  // namespace snpe_plugin
