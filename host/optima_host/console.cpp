// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/console.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/log.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

Result<LogLevel> parse_level(const std::string& text) {
  for (const LogLevel level : {LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error})
    if (text == name_of(level)) return level;
  return usage_error(cat("--log-level: found ", quote(text), ", wanted trace, debug, info, warn or error"));
}

}  // namespace

Console::Console(std::string program)
    : program_(std::move(program)), session_({"optima-host", OPTIMA_VERSION, own_path(), [this](const std::string& line) { note(line); }}), terminal_(::isatty(2) == 1) {}

Status Console::apply(const Arguments& arguments) {
  for (const std::string& folder : arguments.texts("plugins")) session_.add_plugin_folder(folder);
  json_ = json_ || arguments.has("json");
  if (arguments.has("allow-writable-plugins")) session_.allow_writable_plugins();
  if (arguments.has("config")) OPTIMA_RETURN_IF_ERROR(session_.load_config(arguments.text("config")));
  OPTIMA_RETURN_IF_ERROR(choose_progress(arguments));
  return start_log(arguments);
}

Status Console::choose_progress(const Arguments& arguments) {
  if (!arguments.has("progress")) return {};
  using Style = Progress::Style;
  const std::string text = arguments.text("progress");
  for (const auto& [name, style] : {std::pair("bar", Style::Bar), {"lines", Style::Lines}, {"json", Style::Json}, {"none", Style::Silent}})
    if (text == name) return progress_ = style, Status();
  return usage_error(cat("--progress: found ", quote(text), ", wanted bar, lines, json or none"));
}

Progress::Style Console::progress() const {
  if (progress_) return *progress_;
  if (json_) return Progress::Style::Silent;
  return terminal_ ? Progress::Style::Bar : Progress::Style::Lines;
}

Status Console::start_log(const Arguments& arguments) {
  const bool given = arguments.has("log-level") || arguments.has("log-json");
  if (log_started_ && !given) return {};  // what stood before the verb holds
  log_started_ = true;
  OPTIMA_ASSIGN(const LogLevel least, parse_level(arguments.text("log-level", "warn")));
  OPTIMA_ASSIGN(const std::string path, output_path(arguments, "log-json"));
  std::shared_ptr<std::ofstream> file;
  if (!path.empty() && path != kStdout) {
    file = std::make_shared<std::ofstream>(path);
    if (!*file) return io_error(cat("cannot create ", quote(path), ": ", std::strerror(errno)));
  }
  set_log(
      [file, path](LogLevel level, std::string_view component, std::string_view text) {
        std::cerr << "optima-host: " << name_of(level) << ": " << component << ": " << text << '\n';
        if (path.empty()) return;
        const std::string line = to_line(Json{{"level", name_of(level)}, {"component", component}, {"text", text}}) + "\n";
        if (!file) put_out(line);
        else if (!(*file << line << std::flush))
          lost_output(io_error(cat("cannot write ", quote(path), ": ", std::strerror(errno))));
      },
      least);
  return {};
}

void Console::print(std::string_view text) const {
  if (json_) return;
  if (text_to_stderr_) std::cerr << text;
  else put_out(text);
}

void Console::print_json(const Json& document) const {
  if (json_) put_out(to_text(document));
}

void Console::note(std::string_view line) const { std::cerr << "optima-host: " << line << '\n'; }

void Console::warn_once(const std::string& text) {
  if (warned_.insert(text).second) note(cat("warning: ", text));
}

Result<std::string> Console::output_path(const Arguments& arguments, const std::string& option) {
  const std::string path = expand_home(arguments.text(option));
  if (!names_stdout(path)) return path;
  const std::string shown = cat(option.size() == 1 ? "-" : "--", option, " ", path);
  if (json_) return usage_error(cat(shown, " and --json both want stdout, wanted one of them"));
  if (text_to_stderr_) return usage_error(cat(shown, ": stdout is taken by another option already"));
  text_to_stderr_ = true;
  return std::string(kStdout);
}

Result<bool> start(Console& console, Arguments& arguments, const std::vector<std::string>& words) {
  arguments.with_globals();
  OPTIMA_RETURN_IF_ERROR(arguments.parse(words));
  if (arguments.has("help")) {
    put_out(arguments.help());
    return false;
  }
  OPTIMA_RETURN_IF_ERROR(console.apply(arguments));
  return true;
}

}  // namespace optima::host
