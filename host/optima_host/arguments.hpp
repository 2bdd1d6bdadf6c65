// SPDX-License-Identifier: Apache-2.0
// host: one verb's command line, declared and parsed. The only place that includes Boost.Program_options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/support/status.hpp"

namespace optima::host {

/// Declares what a verb takes, then parses it. Unknown options, missing values and surplus words are Usage errors with the
/// nearest names.
class Arguments {
 public:
  Arguments(std::string verb, std::string summary);
  ~Arguments();

  Arguments& flag(const std::string& name, const std::string& doc);
  /// An option with one value; `value` names it in the help text.
  Arguments& option(const std::string& name, const std::string& value, const std::string& doc);
  /// An option that may be repeated.
  Arguments& list(const std::string& name, const std::string& value, const std::string& doc);
  Arguments& positional(const std::string& name, bool required, const std::string& doc);
  /// Declares --plugins, --config, --log-level, --log-json and --json.
  Arguments& with_globals();

  Status parse(const std::vector<std::string>& words);
  std::string help() const;
  /// "--name" of every option declared, in order. For shell completion and for tests.
  std::vector<std::string> option_names() const;

  bool has(const std::string& name) const;
  std::string text(const std::string& name, const std::string& otherwise = {}) const;
  std::vector<std::string> texts(const std::string& name) const;
  /// Every element of a repeated option split at commas.
  std::vector<std::string> comma_list(const std::string& name) const;
  Result<int64_t> integer(const std::string& name, int64_t otherwise, int64_t least, int64_t most) const;
  Result<double> number(const std::string& name, double otherwise) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace optima::host
