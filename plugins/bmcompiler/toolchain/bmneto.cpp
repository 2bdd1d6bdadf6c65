// SPDX-License-Identifier: Apache-2.0
#include "toolchain/bmneto.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "optima/plugin/spawn.hpp"
#include "toolchain/call.hpp"
#include "toolchain/last_words.hpp"

namespace bmcompiler_plugin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "bmneto";
constexpr const char* kResult = "compilation.bmodel";
constexpr const char* kWanted = "wanted SOPHON's SDK for BM1682, whose folder bmcompiler.bmnet or REL_TOP names";
constexpr std::chrono::seconds kImportLimit{120};

std::string in_front(const std::string& paths, const char* variable) {
  const char* old = std::getenv(variable);
  return std::string(variable) + "=" + paths + (old && *old ? ":" + std::string(old) : "");
}

/// [U] the library folders are those that the SDK's envsetup_cmodel.sh is said to set; a folder that is not there does no harm.
std::vector<std::string> environment_of_sdk(const Bmneto& tools) {
  const std::string lib = tools.root + "/lib";
  return sdk::inherited_environment({"REL_TOP=" + tools.root, "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", in_front(tools.root, "PYTHONPATH"),
                                     in_front(lib + "/bmcompiler:" + lib + "/bmlang:" + lib + "/bmnn/cmodel:" + lib + "/thirdparty/x86", "LD_LIBRARY_PATH")});
}

/// The SDK's own Python environment where it has one, else the system's.
std::string python_of(const std::string& root) {
  const std::string own = root + "/bin/python3";
  return ::access(own.c_str(), X_OK) == 0 ? own : sdk::find_program("python3", sdk::inherited_environment());
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) {
    if (n.find(',') != n.npos) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "name '" + n + "' holds a comma, which the flags of bmneto cannot say");
    out += (out.empty() ? "" : ",") + n;
  }
  return out;
}

std::string shapes(const std::vector<BmnetoJob::Input>& inputs) {
  std::string out = "[";
  for (const BmnetoJob::Input& in : inputs) {
    out += out.size() > 1 ? ",[" : "[";
    for (size_t k = 0; k < in.dims.size(); ++k) out += (k ? "," : "") + std::to_string(in.dims[k]);
    out += "]";
  }
  return out + "]";
}

/// [U] how it words a refusal.
bool refuses(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find("not support") != text.npos || text.find("unsupported") != text.npos;
}

}  // namespace

std::optional<Bmneto> find_bmneto(const std::string& named, std::string& why) {
  const char* variable = std::getenv("REL_TOP");
  const std::string folder = !named.empty() ? named : variable ? variable : "";
  std::error_code ignored;
  Bmneto tools{folder.empty() ? "" : fs::absolute(folder, ignored).lexically_normal().string(), ""};
  why.clear();
  if (folder.empty()) why = std::string("no SDK with bmneto is named: ") + kWanted;
  else if (!fs::is_directory(folder, ignored)) why = "there is no folder '" + folder + "': " + kWanted;
  else if ((tools.python = python_of(tools.root)).empty()) why = std::string("there is no python3 that bmneto runs in");
  if (!why.empty()) return std::nullopt;
  Listener listener;
  sdk::Command command;
  command.program = tools.python, command.arguments = {"-c", "import bmneto"}, command.environment = environment_of_sdk(tools), command.folder = "/";
  command.time_limit = kImportLimit;
  command.on_line = [&](std::string_view line, bool from_stderr) { listener.hear(line, from_stderr); };
  if (sdk::spawn(command).good()) return tools;
  why = "'" + tools.python + "' loads no module bmneto with the SDK in '" + folder + "': " + listener.last_words().sentence + ": " + kWanted;
  return std::nullopt;
}

std::vector<std::string> words_of(const BmnetoJob& job) {
  std::vector<std::string> names;
  for (const BmnetoJob::Input& in : job.inputs) names.push_back(in.name);
  return {"-m", kProgram, "--model=" + job.model, "--input_names=" + joined(names), "--output_names=" + joined(job.outputs), "--shapes=" + shapes(job.inputs),
          "--outdir=.", "--net_name=" + job.net_name, "--target=" + job.target, "--opt=1", std::string("--dyn=") + (job.dynamic ? "True" : "False"),
          std::string("--cmp=") + (job.compare ? "True" : "False"), "--mode=compile"};
}

void compile_bmneto(const Bmneto& tools, const BmnetoJob& job, const Bounds& bounds) {
  const std::string product = bounds.work + "/" + kResult;
  std::error_code ignored;
  fs::remove(product, ignored);
  try {
    call_tool({kProgram, tools.python, words_of(job), environment_of_sdk(tools)}, bounds);
  } catch (sdk::Error& e) {
    if (e.code == OPTIMA_TOOL_FAILED && refuses(e.text)) e.code = OPTIMA_UNSUPPORTED;
    throw;
  }
  if (!fs::is_regular_file(product, ignored) || fs::file_size(product, ignored) == 0)
    throw sdk::Error(OPTIMA_TOOL_FAILED, std::string(kProgram) + " ended well, but wrote no " + kResult + "; what it printed is in " + bounds.log);
}

}  // namespace bmcompiler_plugin
