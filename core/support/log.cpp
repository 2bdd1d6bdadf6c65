// SPDX-License-Identifier: Apache-2.0
#include "core/support/log.hpp"

#include <mutex>

namespace optima {
namespace {

struct Log {
  std::mutex mutex;
  LogSink sink;
  LogLevel least = LogLevel::Info;
};

// Never destroyed: plugins' threads may log while the process ends.
Log& the_log() {
  static Log* log = new Log;
  return *log;
}

}  // namespace

void set_log(LogSink sink, LogLevel least) {
  Log& l = the_log();
  const std::lock_guard lock(l.mutex);
  l.sink = std::move(sink);
  l.least = least;
}

bool log_takes(LogLevel level) {
  Log& l = the_log();
  const std::lock_guard lock(l.mutex);
  return l.sink && level >= l.least;
}

void log(LogLevel level, std::string_view component, std::string_view text) {
  Log& l = the_log();
  const std::lock_guard lock(l.mutex);
  if (l.sink && level >= l.least) l.sink(level, component, text);
}

std::string_view name_of(LogLevel level) {
  static constexpr std::string_view names[] = {"trace", "debug", "info", "warn", "error", "host-misbehaves", "plugin-misbehaves"};
  return names[static_cast<int>(level)];
}

}  // namespace optima
