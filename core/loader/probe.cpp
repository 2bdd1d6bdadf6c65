// SPDX-License-Identifier: Apache-2.0
// core/loader: the probe, both sides.
#include "core/loader/probe.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/loader/instance.hpp"
#include "core/loader/plugin_file.hpp"
#include "core/loader/seam.hpp"
#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/owned_folder.hpp"
#include "core/support/sha256.hpp"
#include "core/support/text.hpp"
#include "optima/plugin/spawn.hpp"

namespace optima {

namespace fs = std::filesystem;
namespace {

// ---- the child

// The parent wants to see the signal itself, not a sanitizer's or a vendor's report of it; no core files; and an end with the
// parent, because a child in its own process group does not hear the user's Ctrl-C.
void die_plainly() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int sig : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP}) std::signal(sig, SIG_DFL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void say(int fd, const std::string& line) {
  if (::write(fd, (line + "\n").c_str(), line.size() + 1) < 0) _exit(1);
}

Status meet(const std::string& path, int out) {
  OPTIMA_ASSIGN(const FileStamp stamp, stamp_of(path));
  Manifest manifest;
  OPTIMA_RETURN_IF_ERROR(read_plugin_file(path, manifest));
  auto services = std::make_shared<HostServices>();
  services->name = "optima probe";
  services->version = "0";
  const auto step = [out](const char* name) { say(out, cat("step ", name)); };
  const OptionValues defaults;
  OPTIMA_ASSIGN(auto instance, Instance::make({&manifest, path, stamp, options_for(manifest, "init", defaults, -1), services, std::make_shared<BlobStore>()}, step));
  step("devices");
  // A device that cannot be listed today (driver, SDK) is no fault of the file.
  const auto devices = instance->devices(nullptr);
  if (!devices.ok() && devices.status().message().find("across the seam") != std::string::npos) return devices.status();
  step("deinit");
  instance.reset();
  return {};
}

// ---- the parent

std::string signal_text(int signal) {
  static constexpr std::pair<int, const char*> names[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                                                          {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}};
  for (const auto& [number, name] : names)
    if (number == signal) return name;
  return cat("signal ", signal);
}

// What the child said and how it ended.
struct Outcome {
  sdk::Ended ended;
  std::string step = "being loaded", json;
};

Result<Outcome> run_child(const std::string& path, const ProbeSettings& settings) {
  OPTIMA_ASSIGN(const ScratchFolder temp, ScratchFolder::make("probe"));  // a crash leaves nothing behind
  Outcome out;
  sdk::Command command;
  command.program = settings.program;
  command.arguments = {"__probe", path};
  command.environment = sdk::inherited_environment({"TMPDIR=" + temp.path()});
  command.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(settings.seconds));
  command.on_line = [&](std::string_view line, bool from_stderr) {
    if (!from_stderr && line.starts_with("step ")) out.step = line.substr(5);
    if (!from_stderr && line.starts_with("{")) out.json = line;
  };
  try {
    out.ended = sdk::spawn(command);
  } catch (const sdk::Error& error) {
    return io_error(cat("cannot start the probe: ", error.what()));
  }
  return out;
}

// `lasting`: holds for the file, whatever is installed beside it.
Status judge(const Outcome& o, double seconds, bool* lasting) {
  using How = sdk::Ended::How;
  const std::string where = o.step == "being loaded" ? "while being loaded" : cat("in ", o.step);
  *lasting = o.ended.how != How::Lost;
  const std::string last = seam::text(seam::str(o.ended.last_error), 300);
  const std::string words = last.empty() ? "" : cat("; the last it wrote: ", quote(last));
  if (o.ended.how == How::TimedOut) return plugin_error(cat("hangs ", where, " (no answer within ", seconds, " s)", words));
  if (o.ended.how == How::Signalled) return plugin_error(cat("crashes ", where, " (", signal_text(o.ended.code), ")", words));
  const auto json = o.json.empty() ? Result<Json>(plugin_error("")) : parse_json(o.json, "probe");
  if (!json.ok() && o.ended.how == How::Lost) return plugin_error(cat("ends the process ", where, " (how is lost: this process ignores SIGCHLD)", words));
  if (!json.ok()) return plugin_error(cat("ends the process ", where, " (exit status ", o.ended.code, ")", words));
  const JsonReader answer(*json, "probe");
  OPTIMA_ASSIGN(const bool ok, answer.boolean("ok"));
  if (ok) return {};
  *lasting = false;
  OPTIMA_ASSIGN(const std::string message, answer.string("message"));
  return plugin_error(message);
}

// ---- what is remembered: verdicts by hash and environment, and hashes by stamp so that big files are read once

Result<std::string> hash_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error(cat("cannot read ", quote(path), ": ", std::strerror(errno)));
  Sha256Hasher hasher;
  std::vector<char> buffer(1 << 18);
  ssize_t n = 0;
  while ((n = ::read(fd, buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR))
    if (n > 0) hasher.update(buffer.data(), static_cast<size_t>(n));
  ::close(fd);
  if (n < 0) return io_error(cat("cannot read ", quote(path), ": ", std::strerror(errno)));
  return to_hex(hasher.finish());
}

// What decides which libraries, drivers and tools a plugin finds: the loader's and our own variables, and those that name places.
bool is_relevant(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  return name.starts_with("LD_") || name.starts_with("OPTIMA_") || name == "PATH" || name == "HOME" || ends("_PATH") || ends("_DIR") || ends("_HOME") ||
         ends("_ROOT");
}

std::string environment_digest() {
  std::vector<std::string> relevant = sdk::inherited_environment();
  std::erase_if(relevant, [](const std::string& variable) { return !is_relevant(variable); });
  std::sort(relevant.begin(), relevant.end());
  const std::string all = join(relevant, "\n");
  return to_hex(sha256(all.data(), all.size())).substr(0, 16);
}

class Memory {
 public:
  Memory(const std::string& cache, const std::string& path, const FileStamp& s) {
    if (cache.empty()) return;
    folder_ = (fs::path(cache) / "plugins").string();
    const std::string key = cat(path, "|", s.device, "|", s.inode, "|", s.size, "|", s.modified_ns, "|", s.changed_ns);
    stamp_file_ = cat(folder_, "/stamp-", to_hex(sha256(key.data(), key.size())));
    environment_ = environment_digest();
  }

  Result<std::string> hash(const std::string& path) {
    if (!folder_.empty())
      if (auto known = read_file(stamp_file_, 64); known.ok() && known->size() == 64) return *known;
    OPTIMA_ASSIGN(const std::string hex, hash_of(path));
    save(stamp_file_, hex);
    return hex;
  }

  /// True when a verdict of this host's ABI and environment is remembered.
  bool recall(const std::string& hash, Status* verdict) const {
    if (folder_.empty()) return false;
    const auto json = read_json(verdict_file(hash));
    if (!json.ok()) return false;
    const JsonReader r(*json, "probe");
    const auto ok = r.boolean("ok");
    const auto message = r.string("message");
    if (!ok.ok() || !message.ok()) return false;
    if (!*ok && !recent(verdict_file(hash))) return false;
    *verdict = *ok ? Status() : plugin_error(cat(*message, " (seen in the last hour; delete ", verdict_file(hash), " to try again)"));
    return true;
  }

  void keep(const std::string& hash, const Status& verdict) {
    if (!folder_.empty()) save(verdict_file(hash), to_line(Json{{"ok", verdict.ok()}, {"message", verdict.message()}}));
  }

 private:
  std::string verdict_file(const std::string& hash) const {
    return cat(folder_, "/probe-", OPTIMA_ABI_MAJOR, ".", OPTIMA_ABI_MINOR, "-", hash, "-", environment_, ".json");
  }
  // A crash or a hang may have been the day's fault, of a driver or of a busy machine: good verdicts last, bad ones an hour.
  static bool recent(const std::string& file) {
    const auto stamp = stamp_of(file);
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return stamp.ok() && now - stamp->modified_ns < int64_t{3600} * 1'000'000'000;
  }
  // A cache that cannot be written is a slower start, nothing else.
  void save(const std::string& path, const std::string& text) {
    if (folder_.empty()) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    (void)write_file(path, text);
  }

  std::string folder_, stamp_file_, environment_;
};

}  // namespace

int probe_plugin(const char* file) {
  die_plainly();
  const int out = fcntl(1, F_DUPFD_CLOEXEC, 3);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (out < 0 || null < 0 || dup2(null, 1) < 0) return 1;  // from here on stdout belongs to the plugin, and is dropped
  std::error_code error;
  const Status met = meet(fs::absolute(file, error).string(), out);
  say(out, to_line(met.ok() ? Json{{"ok", true}} : Json{{"ok", false}, {"message", met.message()}}));
  _exit(0);  // destructors of vendor libraries are not what is asked about
}

Status probe(const std::string& path, const FileStamp& stamp, const ProbeSettings& settings) {
  Memory memory(settings.cache_folder, path, stamp);
  OPTIMA_ASSIGN(const std::string hash, memory.hash(path));
  Status verdict;
  if (memory.recall(hash, &verdict)) return verdict;
  const seam::InCall inside(fs::path(path).filename().string(), "probe");
  const auto outcome = run_child(path, settings);
  if (!outcome.ok()) return outcome.status();
  bool lasting = false;
  verdict = judge(*outcome, settings.seconds, &lasting);
  if (lasting) memory.keep(hash, verdict);
  return verdict;
}

}  // namespace optima
