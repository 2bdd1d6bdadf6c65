// SPDX-License-Identifier: Apache-2.0
#include "toolchain/sdk_tools.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "optima/plugin/spawn.hpp"

namespace snpe_plugin {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLines = 4096;
// Document 80-63442-2, "Setup": programs and libraries of a Linux host.
constexpr std::string_view kHost = "x86_64-linux-clang";
constexpr std::chrono::seconds kVersionLimit{60};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Empty, with `why`, unless all the programs are there and can be executed.
std::vector<std::string> programs_in(const std::string& bin, const std::vector<std::string>& names, std::string& why) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string path = bin + "/" + name;
    std::error_code ignored;
    const bool there = fs::is_regular_file(path, ignored);
    if (!there || ::access(path.c_str(), X_OK) != 0) {
      why = there ? "'" + path + "' cannot be executed" : "'" + bin + "' holds no " + name;
      return {};
    }
    out.push_back(path);
  }
  return out;
}

std::string in_front(const std::string& path, const char* variable) {
  const char* old = std::getenv(variable);
  return std::string(variable) + "=" + path + (old && *old ? ":" + std::string(old) : "");
}

/// What sourcing bin/envsetup.sh sets (80-63442-2, "Setup"); it is never sourced, as it is code of somebody else's in our shell.
std::vector<std::string> environment_of(const std::string& root, const std::string& bin, const std::string& lib) {
  return sdk::inherited_environment({"SNPE_ROOT=" + root, "QAIRT_SDK_ROOT=" + root, in_front(bin, "PATH"), in_front(root + "/lib/python", "PYTHONPATH"),
                                     in_front(lib, "LD_LIBRARY_PATH"), "PYTHONDONTWRITEBYTECODE=1"});
}

/// `snpe-net-run --version` prints a word v<version> behind SNPE (microsoft/Olive, olive/platform_sdk/qualcomm, reads the same).
std::string version_of(const std::string& net_run, const std::vector<std::string>& environment, std::string& why) {
  std::string version;
  sdk::Command command;
  command.program = net_run, command.arguments = {"--version"}, command.environment = environment, command.time_limit = kVersionLimit;
  command.on_line = [&](std::string_view line, bool) {
    const size_t at = line.find("SNPE v");
    if (!version.empty() || at == std::string_view::npos) return;
    line.remove_prefix(at + 5);
    version = line.substr(0, line.find_first_of(" \t"));
  };
  const sdk::Ended end = sdk::spawn(command);
  if (!version.empty() && end.good()) return version;
  why = "'" + net_run + " --version' " + (end.good() ? "says no version, wanted \"SNPE v...\"" : end.how == sdk::Ended::How::TimedOut ? "gives no answer" : "fails");
  if (!end.last_error.empty()) why += ": " + end.last_error;
  return {};
}

bool take_programs(const std::string& bin, SdkTools& out, std::string& why) {
  std::string why_not_qairt;
  std::vector<std::string> found = programs_in(bin, {"qairt-converter", "qairt-quantizer"}, why_not_qairt);
  out.qairt = !found.empty();
  if (found.empty()) found = programs_in(bin, {"snpe-onnx-to-dlc", "snpe-dlc-quant"}, why);
  std::string why_not_old;
  if (found.empty()) found = programs_in(bin, {"snpe-onnx-to-dlc", "snpe-dlc-quantize"}, why_not_old);
  const std::vector<std::string> others = programs_in(bin, {"snpe-dlc-graph-prepare", "snpe-dlc-info", "snpe-net-run"}, why);
  if (found.empty() || others.empty()) return false;
  out.converter = found[0], out.quantizer = found[1], out.preparer = others[0], out.info = others[1];
  why.clear();
  return true;
}

std::vector<std::string> with_temp_folder(std::vector<std::string> environment, const std::string& folder) {
  std::erase_if(environment, [](const std::string& e) { return e.rfind("TMPDIR=", 0) == 0; });
  environment.push_back("TMPDIR=" + folder);
  return environment;
}

std::string command_line(const ToolCall& call) {
  std::string out = call.program;
  for (const std::string& a : call.arguments) out += " " + a;
  return out;
}

bool has_said(const ToolCall& call, std::string_view line) {
  return std::any_of(call.sentences.begin(), call.sentences.end(), [&](std::string_view s) { return line.find(s) != std::string_view::npos; });
}

}  // namespace

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<SdkTools> look_for_sdk(const std::string& root, std::string& why) {
  SdkTools out;
  std::error_code ignored;
  out.root = fs::absolute(root, ignored).lexically_normal();
  const std::string bin = out.root + "/bin/" + std::string(kHost), lib = out.root + "/lib/" + std::string(kHost);
  why.clear();
  for (const std::string& folder : {out.root, bin, lib})
    if (!is_folder(folder)) {
      why = "there is no folder '" + folder + "'";
      return std::nullopt;
    }
  if (!take_programs(bin, out, why)) return std::nullopt;
  out.library = lib + "/libSNPE.so";
  out.environment = environment_of(out.root, bin, lib);
  out.version = version_of(bin + "/snpe-net-run", out.environment, why);
  if (out.version.empty()) return std::nullopt;
  return out;
}

ToolEnd call_tool(const SdkTools& tools, const ToolCall& call, const Bounds& bounds) {
  ToolEnd out;
  std::error_code ignored;
  if (!call.product.empty()) fs::remove(call.product, ignored);
  std::ofstream log(bounds.log, std::ios::app);
  log << "$ " << command_line(call) << std::endl;
  bool said = call.sentences.empty();
  sdk::Command command;
  command.program = call.program, command.arguments = call.arguments, command.folder = bounds.work;
  command.environment = with_temp_folder(tools.environment, bounds.work);
  command.time_limit = bounds.time_limit, command.memory_limit = bounds.memory_limit, command.cancelled = bounds.cancelled;
  command.on_line = [&](std::string_view line, bool) {
    log << line << '\n';
    said = said || has_said(call, line);
    if (out.lines.size() < kMostLines) out.lines.emplace_back(line);
  };
  const sdk::Ended end = sdk::spawn(command);
  log.flush();
  const std::string tool = base_name(call.program);
  const std::string where = " (command: " + command_line(call) + "; log: " + bounds.log + ")";
  try {
    sdk::require_good(end, tool);
  } catch (sdk::Error& e) {
    if (e.code == OPTIMA_CANCELLED) throw;
    e.text += where;
    if (e.code != OPTIMA_TOOL_FAILED) throw;
    out.why = e.text;
    return out;
  }
  const bool there = call.product.empty() || fs::is_regular_file(call.product, ignored);
  if (!there || (!call.product.empty() && fs::file_size(call.product, ignored) == 0))
    out.why = tool + " ended well, but '" + call.product + "' is " + (there ? "empty" : "not there") + where;
  else if (!said) out.why = tool + " ended well, but never said \"" + std::string(call.sentences[0]) + "\"" + where;
  out.good = out.why.empty();
  return out;
}

}  // namespace snpe_plugin
