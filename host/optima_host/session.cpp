// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/session.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/onnx_io/onnx_io.hpp"
#include "core/runtime/fence.hpp"
#include "core/support/file.hpp"
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

std::string cache_folder() {
  const char* set = std::getenv("XDG_CACHE_HOME");
  if (set && *set) return cat(set, "/optima");
  const char* home = std::getenv("HOME");
  return home && *home ? cat(home, "/.cache/optima") : std::string();
}

Result<LogLevel> parse_level(const std::string& text) {
  for (const LogLevel level : {LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error})
    if (text == name_of(level)) return level;
  return usage_error(cat("--log-level: found ", quote(text), ", wanted trace, debug, info, warn or error"));
}

}  // namespace

Session::Session(std::string program) : program_(std::move(program)), terminal_(::isatty(2) == 1) {}

Status Session::apply(const Arguments& arguments) {
  for (const std::string& folder : arguments.texts("plugins")) folders_.push_back(expand_home(folder));
  json_ = json_ || arguments.has("json");
  allow_writable_ = allow_writable_ || arguments.has("allow-writable-plugins");
  if (arguments.has("config")) {
    OPTIMA_ASSIGN(config_, read_config(expand_home(arguments.text("config"))));
    options_ = config_.plugin_options;
  }
  return start_log(arguments);
}

Status Session::start_log(const Arguments& arguments) {
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

std::vector<std::string> Session::default_folders() const {
  if (const char* set = ::secure_getenv("OPTIMA_PLUGINS"); set && *set) return {expand_home(set)};
  const std::string installed = std::filesystem::path(own_path()).parent_path().parent_path().string() + "/lib/optima/plugins";
  std::error_code ignored;
  if (std::filesystem::is_directory(installed, ignored)) return {installed};
  return {};
}

Result<Registry*> Session::registry() {
  if (registry_) return &*registry_;
  ScanOptions scan;
  scan.folders = folders_.empty() ? default_folders() : folders_;
  if (scan.folders.empty()) return invalid_input("no plugin folder: give --plugins DIR or set OPTIMA_PLUGINS");
  scan.allow = config_.plugin_allow;
  scan.allow_writable_by_others = allow_writable_;
  scan.cache_folder = cache_folder();
  scan.probe_program = own_path();
  HostServices services;
  services.name = "optima-host";
  services.version = OPTIMA_VERSION;
  services.cache_folder = cache_folder();
  services.extension = host_extension;
  services.graph_to_onnx = [](const optima_graph& graph, const std::string& folder) { return onnx_io::write_onnx(graph, folder); };
  OPTIMA_ASSIGN(registry_, Registry::scan(scan, std::move(services)));
  for (const std::string& line : registry_->notes()) note(line);
  registry_->set_order(config_.plugin_order);
  OPTIMA_RETURN_IF_ERROR(registry_->set_options(options_));
  return &*registry_;
}

Status Session::set_options(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const size_t at = setting.find('=');
    if (at == std::string::npos || at == 0) return usage_error(cat("--option: found ", quote(setting.substr(0, at)), ", wanted PLUGIN.KEY=VALUE"));
    options_[setting.substr(0, at)] = setting.substr(at + 1);
  }
  if (registry_) return registry_->set_options(options_);
  return {};
}

void Session::print(std::string_view text) const {
  if (json_) return;
  if (text_to_stderr_) std::cerr << text;
  else put_out(text);
}

void Session::print_json(const Json& document) const {
  if (json_) put_out(to_text(document));
}

void Session::note(std::string_view line) const { std::cerr << "optima-host: " << line << '\n'; }

void Session::warn_once(const std::string& text) {
  if (warned_.insert(text).second) note(cat("warning: ", text));
}

Result<std::string> Session::output_path(const Arguments& arguments, const std::string& option) {
  const std::string path = expand_home(arguments.text(option));
  if (!names_stdout(path)) return path;
  const std::string shown = cat(option.size() == 1 ? "-" : "--", option, " ", path);
  if (json_) return usage_error(cat(shown, " and --json both want stdout, wanted one of them"));
  if (text_to_stderr_) return usage_error(cat(shown, ": stdout is taken by another option already"));
  text_to_stderr_ = true;
  return std::string(kStdout);
}

Result<bool> start(Session& session, Arguments& arguments, const std::vector<std::string>& words) {
  arguments.with_globals();
  OPTIMA_RETURN_IF_ERROR(arguments.parse(words));
  if (arguments.has("help")) {
    put_out(arguments.help());
    return false;
  }
  OPTIMA_RETURN_IF_ERROR(session.apply(arguments));
  return true;
}

}  // namespace optima::host
