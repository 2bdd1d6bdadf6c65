// SPDX-License-Identifier: Apache-2.0
// optima/plugin/spawn.hpp: runs a vendor's tool: own environment, own process group, bounded, cancellable, its output as lines.
// Linux. Plugins start programs through this and never fork. Not included by plugin.hpp.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>

#include "optima/plugin/error.hpp"

extern char** environ;

namespace optima::sdk {
inline namespace v0_1 {

/// A program to run.
struct Command {
  std::string program;                     ///< a path, or a name looked up on the PATH of `environment`
  std::vector<std::string> arguments{};    ///< without the program's own name
  std::vector<std::string> environment{};  ///< all of it, "NAME=value"; see inherited_environment()
  std::string folder{};                    ///< working folder; empty = ours
  std::chrono::milliseconds time_limit{0}; ///< 0 = none
  uint64_t memory_limit = 0;               ///< bytes of address space per process; 0 = none
  /// Called on the calling thread for each line, without its end; from_stderr tells the stream. Pieces over 64 KiB are split.
  std::function<void(std::string_view line, bool from_stderr)> on_line{};
  /// Asked some fifty times a second; true ends the program.
  std::function<bool()> cancelled{};
};

/// How it ended.
struct Ended {
  /// Lost: in a process that ignores SIGCHLD the system keeps no exit status; the program's output is whole all the same.
  enum class How { Exited, Signalled, TimedOut, Cancelled, Lost };
  How how = How::Exited;
  int code = 0;              ///< exit status, or the signal's number; -1 when lost
  std::string last_error{};  ///< last line on stderr that was not blank
  bool good() const { return how == How::Exited && code == 0; }
};

/// Our environment with some variables set or replaced. Reads, never writes it.
inline std::vector<std::string> inherited_environment(const std::vector<std::string>& changes = {}) {
  const auto name = [](std::string_view e) { return e.substr(0, e.find('=')); };
  std::vector<std::string> all = changes;
  for (char** e = environ; e && *e; ++e)
    if (std::none_of(changes.begin(), changes.end(), [&](const std::string& c) { return name(c) == name(*e); })) all.emplace_back(*e);
  return all;
}

/// Absolute path of an executable, looked up on the PATH among `environment`; empty when there is none.
inline std::string find_program(const std::string& name, const std::vector<std::string>& environment) {
  const auto runs = [](const std::string& path) {
    struct stat info;
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? name : std::string();
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& e : environment)
    if (e.rfind("PATH=", 0) == 0) path = std::string_view(e).substr(5);
  while (!path.empty()) {
    const size_t end = std::min(path.find(':'), path.size());
    const std::string candidate = std::string(path.substr(0, end)) + "/" + name;
    if (end > 0 && runs(candidate)) return candidate;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return {};
}

namespace detail {

/// A pipe's two ends, closed with it.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw Error(OPTIMA_IO, std::string("no pipe: ") + std::strerror(errno));
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    shut(0);
    shut(1);
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void shut(int end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

/// Cuts what a pipe brings into lines.
class Lines {
 public:
  Lines(const Command& command, bool from_stderr, std::string* last) : command_(command), from_stderr_(from_stderr), last_(last) {}

  /// Reads what is there. False at the end of the stream.
  bool drain(int fd) {
    char buffer[16384];
    for (;;) {
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      add({buffer, static_cast<size_t>(n)});
    }
  }
  void finish() {
    if (!pending_.empty()) emit();
  }

 private:
  static constexpr size_t kLongest = 65536;

  void add(std::string_view bytes) {
    for (char c : bytes) {
      if (c != '\n') pending_ += c;
      if (c == '\n' || pending_.size() >= kLongest) emit();
    }
  }
  void emit() {
    if (!pending_.empty() && pending_.back() == '\r') pending_.pop_back();
    if (from_stderr_ && pending_.find_first_not_of(" \t") != std::string::npos) *last_ = pending_;
    if (command_.on_line) command_.on_line(pending_, from_stderr_);
    pending_.clear();
  }

  const Command& command_;
  bool from_stderr_;
  std::string* last_;
  std::string pending_;
};

/// One running program, from start to end.
class Child {
 public:
  explicit Child(const Command& command) : command_(command), out_lines_(command, false, nullptr), err_lines_(command, true, &ended_.last_error) {
    const std::string program = find_program(command.program, command.environment);
    if (program.empty()) throw Error(OPTIMA_DEPENDENCY, "program '" + command.program + "' was not found");
    start(program);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) end_group();  // a callback threw
  }

  Ended wait() {
    const auto begin = std::chrono::steady_clock::now();
    bool out_open = true, err_open = true;
    while (!has_exited()) {
      wait_for_output(out_open, err_open);
      if (out_open) out_open = out_lines_.drain(out_.reader());
      if (err_open) err_open = err_lines_.drain(err_.reader());
      const auto now = std::chrono::steady_clock::now();
      if (command_.cancelled && command_.cancelled()) stop(Ended::How::Cancelled, now);
      if (command_.time_limit.count() > 0 && now - begin > command_.time_limit) stop(Ended::How::TimedOut, now);
    }
    if (out_open) out_lines_.drain(out_.reader());
    if (err_open) err_lines_.drain(err_.reader());
    out_lines_.finish();
    err_lines_.finish();
    const int status = end_group();
    if (!stopped_) ended_.how = status == kLost ? Ended::How::Lost : WIFEXITED(status) ? Ended::How::Exited : Ended::How::Signalled;
    ended_.code = status == kLost ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return ended_;
  }

 private:
  static constexpr int kLost = -1;

  void start(const std::string& program) {
    std::vector<std::string> words;
    // There is no spawn attribute for limits: the shell sets its own and becomes the program.
    if (command_.memory_limit > 0)
      words = {"/bin/sh", "-c", "ulimit -v " + std::to_string(command_.memory_limit / 1024) + " && exec \"$0\" \"$@\""};
    words.push_back(program);
    words.insert(words.end(), command_.arguments.begin(), command_.arguments.end());
    std::vector<std::string> environment = command_.environment;

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    if (!command_.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, command_.folder.c_str());
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out_.writer(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, err_.writer(), 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);  // files others opened without CLOEXEC
#endif
    sigset_t none, usual;
    sigemptyset(&none);
    sigfillset(&usual);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int failed = ::posix_spawn(&pid_, words[0].c_str(), &actions, &attributes, pointers(words).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (failed) {
      pid_ = 0;
      throw Error(OPTIMA_TOOL_FAILED, "program '" + program + "' cannot be started: " + std::strerror(failed));
    }
    out_.shut(1);
    err_.shut(1);
  }

  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& w : words) all.push_back(w.data());
    all.push_back(nullptr);
    return all;
  }

  /// Looks without reaping, so that the group's number stays ours until end_group().
  bool has_exited() const {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == pid_;
    return errno == ECHILD;
  }

  void wait_for_output(bool out_open, bool err_open) const {
    pollfd fds[2] = {{out_open ? out_.reader() : -1, POLLIN, 0}, {err_open ? err_.reader() : -1, POLLIN, 0}};
    ::poll(fds, 2, 20);
  }

  /// First asks, a second later insists.
  void stop(Ended::How why, std::chrono::steady_clock::time_point now) {
    if (!stopped_) {
      stopped_ = true;
      ended_.how = why;
      stopped_at_ = now;
      ::kill(-pid_, SIGTERM);
    } else if (now - stopped_at_ > std::chrono::seconds(1)) {
      ::kill(-pid_, SIGKILL);
    }
  }

  /// Ends whatever the program left running in its group, and takes its status; kLost when somebody else took it.
  int end_group() {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    pid_t ended;
    while ((ended = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {}
    pid_ = 0;
    return ended < 0 ? kLost : status;
  }

  const Command& command_;
  Ended ended_;
  Pipe out_, err_;
  Lines out_lines_, err_lines_;
  pid_t pid_ = 0;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point stopped_at_{};
};

}  // namespace detail

/// Runs the program to its end. Any thread. Throws DEPENDENCY when it is not found, TOOL_FAILED when it cannot be started, IO;
/// a failing program is no exception here.
inline Ended spawn(const Command& command) { return detail::Child(command).wait(); }

/// Turns a bad end into an Error: CANCELLED, TIMEOUT, IO when how is lost, or TOOL_FAILED with the exit status and the tool's last words.
inline void require_good(const Ended& ended, const std::string& tool) {
  if (ended.good()) return;
  if (ended.how == Ended::How::Cancelled) throw Error(OPTIMA_CANCELLED, "cancelled");
  if (ended.how == Ended::How::Lost) throw Error(OPTIMA_IO, "exit status of " + tool + " is lost: this process ignores SIGCHLD");
  if (ended.how == Ended::How::TimedOut) throw Error(OPTIMA_TIMEOUT, tool + " took longer than its time limit");
  std::string text = tool + (ended.how == Ended::How::Exited ? " failed with exit status " : " was ended by signal ") + std::to_string(ended.code);
  if (!ended.last_error.empty()) text += ": " + ended.last_error;
  Error error(OPTIMA_TOOL_FAILED, text);
  error.vendor_code = ended.code;
  throw error;
}

}  // namespace v0_1
}  // namespace optima::sdk
