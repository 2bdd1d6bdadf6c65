// SPDX-License-Identifier: Apache-2.0
// core/support: the one log. Lines go to a sink the program chooses; without one, to nobody.
#pragma once

#include <functional>
#include <string_view>

namespace optima {

/// The first five are the seam's levels 0-4; the last two say who broke the seam's contract.
enum class LogLevel { Trace, Debug, Info, Warn, Error, HostMisbehaves, PluginMisbehaves };

/// Called with one finished line, from any thread, one call at a time.
using LogSink = std::function<void(LogLevel level, std::string_view component, std::string_view text)>;

/// Replaces the process's sink; lines below `least` are dropped. Any thread.
void set_log(LogSink sink, LogLevel least = LogLevel::Info);
/// Whether a line of this level goes anywhere.
bool log_takes(LogLevel level);
void log(LogLevel level, std::string_view component, std::string_view text);

/// "trace", "debug", "info", "warn", "error", "host-misbehaves", "plugin-misbehaves".
std::string_view name_of(LogLevel level);

}  // namespace optima
