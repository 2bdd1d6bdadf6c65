// SPDX-License-Identifier: Apache-2.0
// optima/plugin/spawn.hpp: runs a vendor's tool: own environment, own process group, bounded, cancellable, its output as lines.
// Linux. Plugins start programs through this (talk.hpp: programs that stay) and never fork. Not included by plugin.hpp.
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

/// A descriptor, closed with it.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    other.close();
    return *this;
  }
  ~Fd() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A pipe whose reader does not wait.
struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(OPTIMA_IO, std::string("no pipe: ") + std::strerror(errno));
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  Fd reader, writer;
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

/// A running program in a process group of its own, from start to reaping.
class Process {
 public:
  using Clock = std::chrono::steady_clock;
  /// A descriptor of ours and its number in the program.
  struct File {
    int ours, theirs;
  };

  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }

  /// Of `command`: program, arguments, environment, folder and memory_limit. The program has the given files and no others, and /dev/null as 0.
  void start(const Command& command, const std::vector<File>& files) {
    const std::string program = find_program(command.program, command.environment);
    if (program.empty()) throw Error(OPTIMA_DEPENDENCY, "program '" + command.program + "' was not found");
    std::vector<std::string> words;
    // There is no spawn attribute for limits: the shell sets its own and becomes the program.
    if (command.memory_limit > 0)
      words = {"/bin/sh", "-c", "ulimit -v " + std::to_string(command.memory_limit / 1024) + " && exec \"$0\" \"$@\""};
    words.push_back(program);
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    std::vector<std::string> environment = command.environment;

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    if (!command.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    // By way of high numbers: one of ours may have the number that another gets.
    int highest = 2;
    std::vector<int> high;
    for (const File& f : files) {
      highest = std::max(highest, f.theirs);
      high.push_back(::fcntl(f.ours, F_DUPFD_CLOEXEC, 64));
      ::posix_spawn_file_actions_adddup2(&actions, high.back() < 0 ? f.ours : high.back(), f.theirs);
    }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, highest + 1);  // files others opened without CLOEXEC
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
    for (const int fd : high)
      if (fd >= 0) ::close(fd);
    if (failed) {
      pid_ = 0;
      throw Error(OPTIMA_TOOL_FAILED, "program '" + program + "' cannot be started: " + std::strerror(failed));
    }
  }

  bool started() const { return pid_ > 0; }
  bool stopping() const { return stopped_; }

  /// Looks without reaping, so that the group's number stays ours until end().
  bool has_exited() const {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == pid_;
    return errno == ECHILD;
  }

  /// To be called again until it has exited: first asks, a second later insists. The first reason stays.
  void stop(Ended::How why) {
    const Clock::time_point now = Clock::now();
    if (!stopped_) {
      stopped_ = true;
      ended_.how = why;
      stopped_at_ = now;
      ::kill(-pid_, SIGTERM);
    } else if (now - stopped_at_ > std::chrono::seconds(1)) {
      ::kill(-pid_, SIGKILL);
    }
  }

  /// Ends whatever the program left running in its group and itself, and tells how it ended, without last words.
  Ended end() {
    if (pid_ <= 0) return ended_;
    ::kill(-pid_, SIGKILL);
    int status = 0;
    pid_t ended;
    while ((ended = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {}
    pid_ = 0;
    const bool lost = ended < 0;  // somebody else took it
    if (!stopped_) ended_.how = lost ? Ended::How::Lost : WIFEXITED(status) ? Ended::How::Exited : Ended::How::Signalled;
    ended_.code = lost ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return ended_;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& w : words) all.push_back(w.data());
    all.push_back(nullptr);
    return all;
  }

  Ended ended_;
  pid_t pid_ = 0;
  bool stopped_ = false;
  Clock::time_point stopped_at_{};
};

/// A program whose output is read until it ends.
class Child {
 public:
  explicit Child(const Command& command) : command_(command), out_lines_(command, false, nullptr), err_lines_(command, true, &last_error_) {
    process_.start(command, {{out_.writer.get(), 1}, {err_.writer.get(), 2}});
    out_.writer.close();
    err_.writer.close();
  }

  Ended wait() {
    const auto begin = Process::Clock::now();
    bool out_open = true, err_open = true;
    while (!process_.has_exited()) {
      wait_for_output(out_open, err_open);
      if (out_open) out_open = out_lines_.drain(out_.reader.get());
      if (err_open) err_open = err_lines_.drain(err_.reader.get());
      if (command_.cancelled && command_.cancelled()) process_.stop(Ended::How::Cancelled);
      if (command_.time_limit.count() > 0 && Process::Clock::now() - begin > command_.time_limit) process_.stop(Ended::How::TimedOut);
    }
    if (out_open) out_lines_.drain(out_.reader.get());
    if (err_open) err_lines_.drain(err_.reader.get());
    out_lines_.finish();
    err_lines_.finish();
    Ended ended = process_.end();
    ended.last_error = last_error_;
    return ended;
  }

 private:
  void wait_for_output(bool out_open, bool err_open) const {
    pollfd fds[2] = {{out_open ? out_.reader.get() : -1, POLLIN, 0}, {err_open ? err_.reader.get() : -1, POLLIN, 0}};
    ::poll(fds, 2, 20);
  }

  const Command& command_;
  std::string last_error_;
  Pipe out_, err_;
  Lines out_lines_, err_lines_;
  Process process_;  // last: ended before the pipes are gone, also when a callback threw
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
