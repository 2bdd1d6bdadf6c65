// SPDX-License-Identifier: Apache-2.0
// core/registry: the probe, both sides.
#include "core/registry/probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>
#include <nlohmann/json.hpp>

#include "core/registry/instance.hpp"
#include "core/registry/plugin_file.hpp"
#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/sha256.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostOutput = 64 << 10;

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

struct Outcome {
  bool hung = false;
  int wait_status = 0;
  std::string output;
};

struct Pipe {
  int read = -1, write = -1;
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
};

// The environment with TMPDIR replaced, so that a crash leaves nothing behind.
std::vector<std::string> environment(const std::string& temp) {
  std::vector<std::string> out;
  for (char** e = environ; *e; ++e)
    if (std::strncmp(*e, "TMPDIR=", 7) != 0) out.emplace_back(*e);
  out.push_back("TMPDIR=" + temp);
  return out;
}

Result<pid_t> spawn(const std::string& program, const std::string& file, const std::string& temp, int out) {
  std::vector<std::string> args{program, "__probe", file}, env = environment(temp);
  std::vector<char*> argv, envp;
  for (std::string& a : args) argv.push_back(a.data());
  for (std::string& e : env) envp.push_back(e.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // its own group, so that a hanging one goes with its children
  pid_t child = -1;
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return io_error(cat("cannot start the probe ", quote(program), ": ", std::strerror(error)));
  return child;
}

// True once the child has ended; it stays a zombie, so that its process group cannot become somebody else's.
bool ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

// Appends what there is; false at end of file.
bool drain(int in, std::string& output) {
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::read(in, buffer, sizeof buffer)) > 0)
    if (output.size() < kMostOutput) output.append(buffer, static_cast<size_t>(n));
  return n != 0;
}

// Waits until the child has ended or time is up; a grandchild that keeps the pipe open does not matter, and goes with it.
Outcome watch(pid_t child, int in, double seconds) {
  Outcome o;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (bool open = true; !ended(child);) {
    o.hung = Clock::now() >= deadline;
    if (o.hung) break;
    pollfd p{in, POLLIN, 0};
    if (open) (void)::poll(&p, 1, 5);
    else std::this_thread::sleep_for(std::chrono::milliseconds(1));
    open = open && drain(in, o.output);
  }
  (void)drain(in, o.output);
  kill(-child, SIGKILL);
  waitpid(child, &o.wait_status, 0);
  return o;
}

Result<Outcome> run_child(const std::string& path, const ProbeSettings& settings) {
  Pipe pipe;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return io_error(cat("cannot make a pipe: ", std::strerror(errno)));
  pipe.read = ends[0], pipe.write = ends[1];
  fcntl(pipe.read, F_SETFL, O_NONBLOCK);
  std::string temp = (fs::temp_directory_path() / "optima-probe-XXXXXX").string();
  if (!mkdtemp(temp.data())) return io_error(cat("cannot make a temporary folder ", quote(temp), ": ", std::strerror(errno)));
  const auto child = spawn(settings.program, path, temp, pipe.write);
  ::close(std::exchange(pipe.write, -1));
  Result<Outcome> outcome = child.status();
  if (child.ok()) outcome = watch(*child, pipe.read, settings.seconds);
  std::error_code ignored;
  fs::remove_all(temp, ignored);
  return outcome;
}

struct Report {
  std::string step = "being loaded";
  std::string json;
};

Report parse(const std::string& output) {
  Report r;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    if (line.starts_with("step ")) r.step = line.substr(5);
    if (line.starts_with("{")) r.json = line;
    at = end + 1;
  }
  return r;
}

// `lasting`: holds for the file, whatever is installed beside it.
Status judge(const Outcome& o, double seconds, bool* lasting) {
  const Report report = parse(o.output);
  const std::string where = report.step == "being loaded" ? "while being loaded" : cat("in ", report.step);
  *lasting = true;
  if (o.hung) return plugin_error(cat("hangs ", where, " (no answer within ", seconds, " s)"));
  if (WIFSIGNALED(o.wait_status)) return plugin_error(cat("crashes ", where, " (", signal_text(WTERMSIG(o.wait_status)), ")"));
  const auto json = report.json.empty() ? Result<Json>(plugin_error("")) : parse_json(report.json, "probe");
  if (!json.ok()) return plugin_error(cat("ends the process ", where, " (exit status ", WEXITSTATUS(o.wait_status), ")"));
  const JsonReader answer(*json, "probe");
  OPTIMA_ASSIGN(const bool ok, answer.boolean("ok"));
  if (ok) return {};
  *lasting = false;
  OPTIMA_ASSIGN(const std::string message, answer.string("message"));
  return plugin_error(message);
}

// ---- what is remembered: verdicts by hash, and hashes by stamp so that big files are read once

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

class Memory {
 public:
  Memory(const std::string& cache, const std::string& path, const FileStamp& s) {
    if (cache.empty()) return;
    folder_ = (fs::path(cache) / "plugins").string();
    const std::string key = cat(path, "|", s.device, "|", s.inode, "|", s.size, "|", s.modified_ns, "|", s.changed_ns);
    stamp_file_ = cat(folder_, "/stamp-", to_hex(sha256(key.data(), key.size())));
  }

  Result<std::string> hash(const std::string& path) {
    if (!folder_.empty())
      if (auto known = read_file(stamp_file_, 64); known.ok() && known->size() == 64) return *known;
    OPTIMA_ASSIGN(const std::string hex, hash_of(path));
    save(stamp_file_, hex);
    return hex;
  }

  /// True when a verdict of this host's ABI is remembered.
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
    return cat(folder_, "/probe-", OPTIMA_ABI_MAJOR, ".", OPTIMA_ABI_MINOR, "-", hash, ".json");
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

  std::string folder_, stamp_file_;
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
  const auto outcome = run_child(path, settings);
  if (!outcome.ok()) return outcome.status();
  bool lasting = false;
  verdict = judge(*outcome, settings.seconds, &lasting);
  if (lasting) memory.keep(hash, verdict);
  return verdict;
}

}  // namespace optima
