// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see link.hpp.
#include "plugins/llvm_cpu/codegen/link.hpp"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/shared_object.hpp"

namespace optima::llvm_cpu {
namespace {

std::string read(const std::string& path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) throw sdk::Error(OPTIMA_IO, path + ": " + file.getError().message());
  return (*file)->getBuffer().str();
}

void write(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw sdk::Error(OPTIMA_IO, path + " cannot be written");
}

/// Removes files when the scope is left.
struct Removed {
  std::string path;
  ~Removed() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

struct Outcome {
  int status;
  std::string text;  // both streams
};

Outcome run(const std::vector<llvm::StringRef>& argv, const std::string& log) {
  const Removed removed{log};
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)};
  std::string why;
  const int status = llvm::sys::ExecuteAndWait(argv[0], argv, std::nullopt, redirects, 60, 0, &why);
  std::error_code ignored;
  std::string text = std::filesystem::exists(log, ignored) ? read(log) : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return {status, text.empty() ? why : text};
}

/// What the program says about itself, asked once in a process for as long as the file stays the same: asking takes as long as linking.
Outcome version_of(const std::string& path, const std::string& temp_dir) {
  struct Known {
    llvm::sys::TimePoint<> changed;
    uint64_t size;
    Outcome version;
  };
  static std::mutex mutex;
  static std::map<std::string, Known> known;
  const std::lock_guard lock(mutex);
  llvm::sys::fs::file_status now;
  const bool there = !llvm::sys::fs::status(path, now);
  if (const auto at = known.find(path); there && at != known.end() && at->second.changed == now.getLastModificationTime() && at->second.size == now.getSize())
    return at->second.version;
  Outcome version = run({path, "--version"}, temp_dir + "/linker_version.txt");
  if (there && version.status == 0) known.insert_or_assign(path, Known{now.getLastModificationTime(), now.getSize(), version});
  return version;
}

}  // namespace

Linker Linker::find(std::string_view option, const std::string& temp_dir) {
  if (option.empty()) return {"", kSharedObjectVersion};
  std::string path(option);
  if (path.find('/') == std::string::npos)
    if (auto found = llvm::sys::findProgramByName(path)) path = *found;
  const Outcome v = version_of(path, temp_dir);
  if (v.status != 0)
    throw sdk::Error(OPTIMA_DEPENDENCY, "linker \"" + path + "\" does not run: " + v.text + "; install the package lld-19 or leave the option llvm_cpu.linker away");
  return {path, v.text};
}

std::string Linker::link(std::string_view object, const std::string& temp_dir, const std::string& stem) const {
  if (path.empty()) return shared_object(object);
  const std::string in = temp_dir + "/" + stem + ".o", out = temp_dir + "/" + stem + ".so";
  const Removed removed_in{in}, removed_out{out};
  write(in, object);
  // one thread: a kernel is linked before a second one has started
  const Outcome r = run({path, "--threads=1", "-shared", "-s", "--hash-style=gnu", "--build-id=none", "-z", "noexecstack", "-z", "now",
                         "-o", out, in}, temp_dir + "/" + stem + ".log");
  if (r.status != 0) throw sdk::Error(OPTIMA_TOOL_FAILED, path + ": " + r.text);
  return read(out);
}

}  // namespace optima::llvm_cpu
