// SPDX-License-Identifier: Apache-2.0
#include "core/session/session.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"
#include "core/runtime/fence.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

std::string cache_folder() {
  const char* set = std::getenv("XDG_CACHE_HOME");
  if (set && *set) return cat(set, "/optima");
  const char* home = std::getenv("HOME");
  return home && *home ? cat(home, "/.cache/optima") : std::string();
}

}  // namespace

void Session::add_plugin_folder(const std::string& folder) { folders_.push_back(expand_home(folder)); }

Status Session::load_config(const std::string& path) {
  OPTIMA_ASSIGN(config_, read_config(expand_home(path)));
  options_ = config_.plugin_options;
  return {};
}

std::vector<std::string> Session::default_folders() const {
  if (const char* set = ::secure_getenv("OPTIMA_PLUGINS"); set && *set) return {expand_home(set)};
  const std::string installed = std::filesystem::path(host_.executable).parent_path().parent_path().string() + "/lib/optima/plugins";
  std::error_code ignored;
  if (!host_.executable.empty() && std::filesystem::is_directory(installed, ignored)) return {installed};
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
  scan.probe_program = host_.executable;
  HostServices services;
  services.name = host_.name;
  services.version = host_.version;
  services.cache_folder = cache_folder();
  services.extension = host_extension;
  services.graph_to_onnx = [](const optima_graph& graph, const std::string& folder) { return onnx_io::write_onnx(graph, folder); };
  OPTIMA_ASSIGN(Registry scanned, Registry::scan(scan, std::move(services)));
  if (host_.note)
    for (const std::string& line : scanned.notes()) host_.note(line);
  scanned.set_order(config_.plugin_order);
  OPTIMA_RETURN_IF_ERROR(scanned.set_options(options_));
  return &registry_.emplace(std::move(scanned));
}

Status Session::set_options(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const size_t at = setting.find('=');
    if (at == std::string::npos || at == 0) return usage_error(cat("--option: found ", quote(setting.substr(0, at)), ", wanted PLUGIN.KEY=VALUE"));
    options_[setting.substr(0, at)] = setting.substr(at + 1);
  }
  return registry_ ? registry_->set_options(options_) : Status();
}

PlanRequest Session::plan_request() const {
  PlanRequest out;
  out.config = config_;
  return out;
}

CompileRequest Session::compile_request(PlanRequest plan) const {
  CompileRequest out;
  out.plan = std::move(plan);
  out.options = options_;
  return out;
}

}  // namespace optima
