// SPDX-License-Identifier: Apache-2.0
// host: what all verbs share: a session by the global options, the log, how results are printed.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/loader/guard.hpp"
#include "core/session/session.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"
#include "host/optima_host/arguments.hpp"
#include "host/optima_host/progress.hpp"

namespace optima::host {

/// One run of optima-host. Used by one thread; cancelled() may be read by any.
class Console {
 public:
  explicit Console(std::string program);

  /// Takes the global options out of parsed arguments; given before and after the verb, they add up.
  Status apply(const Arguments& arguments);

  /// Config, plugins and their options, as the options say.
  Session& session() { return session_; }
  const Session& session() const { return session_; }

  bool json() const { return json_; }
  /// How progress is shown: as --progress says, else a bar where stderr is a terminal, lines elsewhere, nothing with --json.
  Progress::Style progress() const;
  /// Text for people on stdout, or on stderr where an option has taken stdout; dropped with --json.
  void print(std::string_view text) const;
  /// The one JSON document of --json; dropped without it.
  void print_json(const Json& document) const;
  /// The file that an option names, for write_output(); empty when it was not given. Where that is stdout, print() goes to stderr from now
  /// on. Usage when --json or another option has stdout already.
  Result<std::string> output_path(const Arguments& arguments, const std::string& option);
  /// A line on stderr that the user should see whatever the mode.
  void note(std::string_view line) const;
  /// The same with "warning: " in front, a text only once.
  void warn_once(const std::string& text);

  /// Set by SIGINT and SIGTERM.
  static const std::atomic<bool>& cancelled() { return ProcessGuard::interrupted(); }

 private:
  Status start_log(const Arguments& arguments);
  Status choose_progress(const Arguments& arguments);

  std::string program_;
  Session session_;
  bool json_ = false, text_to_stderr_ = false, terminal_ = false, log_started_ = false;
  std::optional<Progress::Style> progress_;
  std::set<std::string> warned_;
};

}  // namespace optima::host
