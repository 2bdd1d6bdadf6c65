// SPDX-License-Identifier: Apache-2.0
#include "toolchain/tools.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "optima/plugin/spawn.hpp"
#include "toolchain/last_words.hpp"

namespace bmcompiler_plugin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall = "scripts/setup --with sophon installs the tools";
constexpr std::chrono::seconds kVersionLimit{60};

/// A folder to look in, and who named it.
struct Root {
  std::string folder, from;
};

Root root_of(const std::string& option) {
  if (!option.empty()) return {option, "bmcompiler.root"};
  for (const char* variable : {"TPUC_ROOT", "OPTIMA_SOPHON"})
    if (const char* value = std::getenv(variable); value && *value) return {value, variable};
#ifdef OPTIMA_SOPHON_DEFAULT
  std::error_code ignored;
  if (fs::exists(OPTIMA_SOPHON_DEFAULT, ignored)) return {OPTIMA_SOPHON_DEFAULT, ""};
#endif
  return {};
}

/// The tools' own folder: `folder`, or what it has of a wheel.
std::string root_in(const std::string& folder) {
  std::error_code ignored;
  std::string path = fs::absolute(folder, ignored).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return !fs::exists(path + "/bin/tpuc-opt", ignored) && fs::is_directory(path + "/tpu_mlir", ignored) ? path + "/tpu_mlir" : path;
}

/// "tpu_mlir 1.30.2", from the name of the folder that pip puts beside a wheel's own, and setup into it; empty where there is none.
std::string wheel_version(const std::string& folder) {
  constexpr std::string_view kBegin = "tpu_mlir-", kEnd = ".dist-info";
  std::error_code ignored;
  std::string version;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, ignored)) {
    const std::string name = e.path().filename().string();
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    version = std::max(version, name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
  }
  return version.empty() ? "" : "tpu_mlir " + version;
}

/// What tpuc-opt --version says of itself; empty, with `why`, when it does not start.
std::string asked_version(const std::string& root, std::string& why) {
  Listener listener;
  std::string version;
  sdk::Command command;
  command.program = root + "/bin/tpuc-opt", command.arguments = {"--version"}, command.folder = "/";
  command.environment = environment_of(root, "/tmp"), command.time_limit = kVersionLimit;
  command.on_line = [&](std::string_view line, bool from_stderr) {
    listener.hear(line, from_stderr);
    if (const size_t at = line.find("LLVM version "); at != line.npos) version = "tpuc-opt of " + std::string(line.substr(at));
  };
  const sdk::Ended end = sdk::spawn(command);
  if (end.good() && !version.empty()) return version;
  const std::string said = listener.last_words().sentence;
  why = "'" + command.program + " --version' " + (end.good() ? "tells no version" : end.how == sdk::Ended::How::TimedOut ? "gives no answer" : "fails") +
        (said.empty() ? "" : ": " + said);
  return {};
}

/// Empty, or the first thing that is missing.
std::string lacks(const std::string& root) {
  std::error_code ignored;
  const std::string program = root + "/bin/tpuc-opt";
  if (!fs::is_directory(root, ignored)) return "there is no folder '" + root + "'";
  if (!fs::is_regular_file(program, ignored)) return "folder '" + root + "' holds no bin/tpuc-opt";
  if (::access(program.c_str(), X_OK) != 0) return "'" + program + "' cannot be executed";
  if (!fs::is_directory(root + "/lib", ignored)) return "folder '" + root + "' holds no lib";
  return {};
}

}  // namespace

Tools::Tools(const sdk::Init& init) : named_(init.options.string("bmcompiler.root", "")) {}

std::optional<Facts> Tools::look(std::string& why) const {
  const Root root = root_of(named_);
  if (root.folder.empty()) {
    why = std::string("no tpu_mlir is named: ") + kInstall + ", bmcompiler.root, TPUC_ROOT or OPTIMA_SOPHON names others";
    return std::nullopt;
  }
  Facts facts;
  facts.root = root_in(root.folder);
  why = lacks(facts.root);
  const std::string asked = why.empty() ? asked_version(facts.root, why) : "";
  if (why.empty()) {
    facts.version = wheel_version(facts.root);
    if (facts.version.empty()) facts.version = wheel_version(fs::path(facts.root).parent_path());
    if (facts.version.empty()) facts.version = asked;
    return facts;
  }
  why += (root.from.empty() ? "" : " (of " + root.from + ")") + std::string(": ") + kInstall;
  return std::nullopt;
}

const Facts* Tools::find(std::string& why) const {
  const std::lock_guard lock(mutex_);
  if (!looked_) found_ = look(why_);
  looked_ = true;
  why = why_;
  return found_ ? &*found_ : nullptr;
}

const Facts& Tools::get() const {
  std::string why;
  if (const Facts* facts = find(why)) return *facts;
  throw sdk::Error(OPTIMA_DEPENDENCY, why);
}

}  // namespace bmcompiler_plugin
