// SPDX-License-Identifier: Apache-2.0
// optima/plugin/talk.hpp: a vendor's tool that stays and is asked things, one line each way: own environment, own process group, every
// question bounded and cancellable, its death an error with its last words. Linux. Not included by plugin.hpp.
#pragma once

#include <sys/socket.h>

#include <fstream>
#include <optional>

#include "optima/plugin/spawn.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// A running program that answers. It reads questions from and writes answers to descriptor 3 (Talk::kChannel, a stream socket), each a line
/// of at most kLongest bytes; descriptor 0 is /dev/null, and 1 and 2 are a log. The end of descriptor 3 means that it shall end: a program
/// that works long has a thread that waits for that, so that it does not outlive a host that dies.
/// One call at a time, any thread.
class Talk {
 public:
  static constexpr int kChannel = 3;
  static constexpr size_t kLongest = size_t{64} << 20;

  /// Of one question.
  struct Bounds {
    std::chrono::milliseconds time_limit{0};  ///< 0 = none
    std::function<bool()> cancelled{};        ///< asked some hundred times a second; true ends the program
    std::string log{};                        ///< a file that the program was told to write to from now on: its last words are there; empty = the first
  };

  /// `name`: what errors call it. Of `command` as spawn() without its time limit, cancel and lines. `log`: a file that takes all it prints, at
  /// its end; empty = nowhere. Throws DEPENDENCY when the program is not found, TOOL_FAILED when it cannot be started, IO.
  Talk(std::string name, const Command& command, std::string log = {}) : name_(std::move(name)), log_(std::move(log)) {
    const detail::Fd noise(::open(log_.empty() ? "/dev/null" : log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (noise.get() < 0) throw Error(OPTIMA_IO, "'" + log_ + "' cannot be written: " + std::strerror(errno));
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw Error(OPTIMA_IO, std::string("no socket: ") + std::strerror(errno));
    ours_ = detail::Fd(ends[0]);
    const detail::Fd theirs(ends[1]);
    process_.start(command, {{noise.get(), 1}, {noise.get(), 2}, {theirs.get(), kChannel}});
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  /// Tells it to end, gives it a second, and ends what is then left of its group.
  ~Talk() {
    ours_.close();
    for (int k = 0; k < 50 && process_.started() && !process_.has_exited(); ++k) ::poll(nullptr, 0, 20);
  }

  /// False when the next question would fail for want of a program.
  bool alive() const { return process_.started() && !process_.has_exited(); }

  /// The answer, without its end. Throws CANCELLED, TIMEOUT, and TOOL_FAILED with exit status or signal and the last line that it printed
  /// since the question; the program and its group are ended then.
  std::string ask(std::string_view question, const Bounds& bounds) {
    if (!process_.started()) throw Error(OPTIMA_TOOL_FAILED, name_ + " has ended");
    const std::string& log = bounds.log.empty() ? log_ : bounds.log;
    const std::streamoff before = size_of(log);
    if (std::optional<std::string> answer = answer_to(std::string(question) + '\n', bounds)) return std::move(*answer);
    fail(log, before);
  }

 private:
  /// Nothing when the program has to be given up.
  std::optional<std::string> answer_to(const std::string& out, const Bounds& bounds) {
    const auto begin = detail::Process::Clock::now();
    size_t sent = 0;
    for (;;) {
      const bool exited = process_.has_exited();  // before looking: what it said last is there then
      wait(sent < out.size());
      const bool open = send(out, sent) && receive();
      if (const size_t end = in_.find('\n'); end != std::string::npos && !process_.stopping()) return take(end);
      if (exited || in_.size() > kLongest || (!open && patience_over())) return std::nullopt;
      if (asks_to_stop(bounds)) process_.stop(Ended::How::Cancelled);
      if (bounds.time_limit.count() > 0 && detail::Process::Clock::now() - begin > bounds.time_limit) process_.stop(Ended::How::TimedOut);
    }
  }

  void wait(bool to_send) const {
    pollfd fd{ours_.get(), static_cast<short>(to_send ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&fd, 1, 10);
  }
  /// False when the program has closed its end; so does receive().
  bool send(const std::string& out, size_t& sent) {
    if (sent == out.size()) return true;
    const ssize_t n = ::send(ours_.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<size_t>(n);
    return n > 0 || errno == EINTR || errno == EAGAIN || receive();  // it may have answered and ended without hearing us out
  }
  bool receive() {
    char buffer[65536];
    while (in_.size() <= kLongest) {
      const ssize_t n = ::recv(ours_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (n <= 0) return n < 0 && (errno == EINTR || errno == EAGAIN);
      in_.append(buffer, static_cast<size_t>(n));
    }
    return true;
  }
  /// A throwing callback leaves no program behind that has yet to answer.
  bool asks_to_stop(const Bounds& bounds) {
    try {
      return bounds.cancelled && bounds.cancelled();
    } catch (...) {
      process_.end();
      throw;
    }
  }

  std::string take(size_t end) {
    std::string line = in_.substr(0, end);
    in_.erase(0, end + 1);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }

  /// A program that closed its end is about to end; after two seconds it is ended.
  bool patience_over() {
    ::poll(nullptr, 0, 20);
    return ++silent_ > 100;
  }

  static std::streamoff size_of(const std::string& path) {
    std::ifstream file(path, std::ios::ate | std::ios::binary);
    return file ? static_cast<std::streamoff>(file.tellg()) : std::streamoff{0};
  }

  /// The last line of a file's new part that is not blank.
  static std::string last_line(const std::string& path, std::streamoff from) {
    std::ifstream file(path, std::ios::binary);
    const std::streamoff size = size_of(path);
    file.seekg(std::max(size < from ? std::streamoff{0} : from, size - 65536));
    std::string last;
    for (std::string line; std::getline(file, line);)
      if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    return last;
  }

  [[noreturn]] void fail(const std::string& log, std::streamoff before) {
    const bool endless = in_.size() > kLongest;
    Ended ended = process_.end();
    ours_.close();
    ended.last_error = last_line(log, before);
    if (!endless) require_good(ended, name_);
    std::string text = name_ + (endless ? " gave an answer without end" : " ended without an answer");
    if (!ended.last_error.empty()) text += ": " + ended.last_error;
    throw Error(OPTIMA_TOOL_FAILED, text);
  }

  std::string name_, log_, in_;
  detail::Fd ours_;
  int silent_ = 0;
  detail::Process process_;
};

}  // namespace v0_1
}  // namespace optima::sdk
