// SPDX-License-Identifier: Apache-2.0
#include "toolchain/call.hpp"

#include <dlfcn.h>
#include <sys/personality.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "optima/plugin/spawn.hpp"
#include "toolchain/last_words.hpp"

namespace bmcompiler_plugin {
namespace {

namespace fs = std::filesystem;

// What the tools do not notice: weights that found no room are cut short without a word.
constexpr uint64_t kFullBelow = 64 << 10;

std::string command_line(const Call& call) {
  std::string out = call.name;
  for (const std::string& w : call.words) out += w.find(' ') == w.npos ? " " + w : " '" + w + "'";
  return out;
}

void require_room(const std::string& name, const std::string& folder) {
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) == 0 && static_cast<uint64_t>(info.f_bavail) * info.f_frsize < kFullBelow)
    throw sdk::Error(OPTIMA_IO, name + " has no space left in '" + folder + "'");
}

bool aborted(const sdk::Ended& end) {
  using How = sdk::Ended::How;
  return (end.how == How::Signalled && end.code == SIGABRT) || (end.how == How::Exited && (end.code == 134 || end.code == 233 || end.code == 255));
}

/// While it lives, programs that this thread starts have no random addresses, where the system allows that: the tools write some memory that they
/// leave unset, of 12 compiles of ResNet-18 for bm1684 10 differed so, and none with fixed addresses.
class SameAddresses {
 public:
  SameAddresses() : before_(::personality(0xffffffff)) {
    if (before_ != -1) ::personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE);
  }
  SameAddresses(const SameAddresses&) = delete;
  SameAddresses& operator=(const SameAddresses&) = delete;
  ~SameAddresses() {
    if (before_ != -1) ::personality(static_cast<unsigned long>(before_));
  }

 private:
  int before_;
};

/// Its own fault on this module, as an abort is; what somebody else ended is none.
bool crashed(const sdk::Ended& end) {
  return end.how == sdk::Ended::How::Signalled && (end.code == SIGSEGV || end.code == SIGBUS || end.code == SIGFPE || end.code == SIGILL);
}

/// "tpuc-opt was ended by signal 11: …", without the log, which goes when another device takes the node.
[[noreturn]] void refuse_crash(const std::string& name, const sdk::Ended& end, const LastWords& words) {
  sdk::Error error(OPTIMA_UNSUPPORTED, name + " was ended by signal " + std::to_string(end.code));
  if (!words.name.empty()) error.text += ": " + words.text(name);
  else if (!words.sentence.empty()) error.text += ": " + words.sentence;
  error.vendor_code = end.code;
  throw error;
}

[[noreturn]] void fail(const Call& call, const sdk::Ended& end, const LastWords& words, const Bounds& bounds) {
  const std::string& name = call.name;
  require_room(name, bounds.work);
  if (words.out_of_memory && bounds.memory_limit > 0)
    throw sdk::Error(OPTIMA_TOOL_FAILED, name + " ran out of memory within its limit of " + std::to_string(bounds.memory_limit >> 20) +
                                             " MiB; what it printed is in " + bounds.log);
  if (aborted(end) && !words.out_of_memory) throw sdk::Error(OPTIMA_UNSUPPORTED, words.text(name));
  if (call.crash_refuses && crashed(end) && bounds.memory_limit == 0) refuse_crash(name, end, words);
  sdk::Ended told = end;
  told.last_error = words.name.empty() ? words.sentence : words.text(name);
  try {
    sdk::require_good(told, name);
    throw sdk::Error(OPTIMA_INTERNAL, "a good end was taken for a bad one");
  } catch (sdk::Error& e) {
    if (e.code == OPTIMA_TIMEOUT) {  // the user's limit of the tools: the host asked for none
      e.code = OPTIMA_TOOL_FAILED;
      e.text += " of " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(bounds.time_limit).count()) + " s";
    }
    if (end.how == sdk::Ended::How::Signalled && bounds.memory_limit > 0)
      e.text += "; its memory limit of " + std::to_string(bounds.memory_limit >> 20) + " MiB may be too small";
    if (e.code == OPTIMA_TOOL_FAILED) e.text += "; what it printed is in " + bounds.log;
    throw;
  }
}

}  // namespace

std::string libc_folder() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<void*>(&::getpid), &info) || !info.dli_fname) return "/lib/x86_64-linux-gnu";
  return fs::path(info.dli_fname).parent_path().string();
}

std::vector<std::string> environment_of(const std::string& root, const std::string& work) {
  std::vector<std::string> all{"TPUC_ROOT=" + root, "PATH=/usr/bin:/bin", "HOME=" + work, "TMPDIR=" + work, "LC_ALL=C", "TZ=UTC", "OMP_NUM_THREADS=4"};
  // The wheel brings the C library of another system, with which nothing of it starts on this one; its programs look there first.
  std::error_code ignored;
  if (fs::exists(root + "/lib/third_party/libc.so.6", ignored)) all.push_back("LD_LIBRARY_PATH=" + libc_folder());
  return all;
}

void call_tool(const Call& call, const Bounds& bounds) {
  std::ofstream log(bounds.log, std::ios::app);
  log << "$ " << command_line(call) << std::endl;
  Listener listener;
  sdk::Command command;
  command.program = call.program, command.arguments = call.words, command.folder = bounds.work, command.environment = call.environment;
  command.time_limit = bounds.time_limit, command.memory_limit = bounds.memory_limit, command.cancelled = bounds.cancelled;
  command.on_line = [&](std::string_view line, bool from_stderr) {
    log << line << '\n';
    listener.hear(line, from_stderr);
  };
  const SameAddresses same;
  const sdk::Ended end = sdk::spawn(command);
  log.flush();
  if (!end.good()) fail(call, end, listener.last_words(), bounds);
  require_room(call.name, bounds.work);
}

void tpuc_opt(const Facts& tools, const std::vector<std::string>& words, const Bounds& bounds) {
  call_tool({"tpuc-opt", tools.root + "/bin/tpuc-opt", words, environment_of(tools.root, bounds.work)}, bounds);
}

}  // namespace bmcompiler_plugin
