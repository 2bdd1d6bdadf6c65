// SPDX-License-Identifier: Apache-2.0
// optima_bmcompiler_runner KIND FOLDER DEVICE: runs models with the runtime in FOLDER (KIND: bmrt, tpuv7, cvi; DEVICE: its number, or
// "emulator") and answers on descriptor 3 (words.hpp). Needs nothing but libdl, so that it runs wherever the runtime does. It prints what the runtime prints.
//   optima_bmcompiler_runner --emulator CHIP FOLDER      what optima.tpu_emulator starts it with for a chip as files name it: lines "kind", KIND;
//   "library", FILE, NAME (to be found in FOLDER); "environment", NAME=VALUE; with a tab between. Exit code 1 and a sentence where there is no emulator.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>

#include "emulator.hpp"
#include "engine.hpp"
#include "pause.hpp"
#include "rest.hpp"
#include "words.hpp"

namespace {

using bmcompiler_plugin::Words;
using runner::Failure;
using runner::Plane;

constexpr int kChannel = 3;

/// Ends the process when the host is gone, also in the middle of a run. The thread that waits for that.
pid_t end_with_host() {
  std::atomic<pid_t> thread{0};
  std::thread([&thread] {
    thread = static_cast<pid_t>(::syscall(SYS_gettid));
    thread.notify_one();
    for (;;) {
      pollfd channel{kChannel, POLLRDHUP, 0};
      if (::poll(&channel, 1, -1) > 0 && (channel.revents & (POLLRDHUP | POLLHUP | POLLERR))) ::_exit(0);
    }
  }).detach();
  thread.wait(0);
  return thread;
}

/// Until there is a question.
void wait_for_question(bool is_emulator, pid_t watcher) {
  pollfd channel{kChannel, POLLIN, 0};
  if (::poll(&channel, 1, 0) != 0 || !is_emulator) return;
  const runner::Pause pause(watcher);
  ::poll(&channel, 1, -1);
}

bool read_line(std::string& line) {
  static std::string pending;
  for (;;) {
    if (const size_t end = pending.find('\n'); end != std::string::npos) {
      line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return true;
    }
    char buffer[65536];
    const ssize_t n = ::read(kChannel, buffer, sizeof buffer);
    if (n <= 0) return false;
    pending.append(buffer, static_cast<size_t>(n));
  }
}

void write_line(const Words& words) {
  std::fflush(nullptr);
  const std::string line = bmcompiler_plugin::line_of(words) + '\n';
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = ::write(kChannel, line.data() + sent, line.size() - sent);
    if (n <= 0) ::_exit(0);
    sent += static_cast<size_t>(n);
  }
}

/// Takes words off a question.
class Reader {
 public:
  explicit Reader(const Words& words) : words_(words) {}
  const std::string& word() {
    if (at_ == words_.size()) throw Failure{"failed", "question ends too early"};
    return words_[at_++];
  }
  int64_t number() {
    const std::string& w = word();
    int64_t n = 0;
    if (std::from_chars(w.data(), w.data() + w.size(), n).ec != std::errc()) throw Failure{"failed", "question has '" + w + "', wanted a number"};
    return n;
  }

 private:
  const Words& words_;
  size_t at_ = 0;
};

/// The file that both processes see.
class Shared {
 public:
  explicit Shared(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) fail();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::close(fd_); }
  void read(std::string& bytes, int64_t offset) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::pread(fd_, bytes.data() + done, bytes.size() - done, offset + static_cast<int64_t>(done));
      if (n <= 0) fail();
      done += static_cast<size_t>(n);
    }
  }
  void write(const std::string& bytes, int64_t offset) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, offset + static_cast<int64_t>(done));
      if (n <= 0) fail();
      done += static_cast<size_t>(n);
    }
  }

 private:
  [[noreturn]] void fail() const { throw Failure{"failed", "file '" + path_ + "' cannot be read or written"}; }
  std::string path_;
  int fd_;
};

struct Placed {
  std::vector<Plane> planes;
  std::vector<int64_t> offsets;
};

Placed planes_of(Reader& question) {
  Placed p;
  for (int64_t count = question.number(); count > 0; --count) {
    Plane& plane = p.planes.emplace_back();
    plane.name = question.word();
    plane.type = static_cast<int>(question.number());
    p.offsets.push_back(question.number());
    for (int64_t rank = question.number(); rank > 0; --rank) plane.dims.push_back(question.number());
    plane.bytes.resize(plane.size());
  }
  return p;
}

Words run(runner::Engine& engine, Reader& question) {
  const std::string net = question.word();
  const Shared file(question.word());
  Placed in = planes_of(question), out = planes_of(question);
  for (size_t k = 0; k < in.planes.size(); ++k) file.read(in.planes[k].bytes, in.offsets[k]);
  engine.run(net, in.planes, out.planes);
  for (size_t k = 0; k < out.planes.size(); ++k) file.write(out.planes[k].bytes, out.offsets[k]);
  return {"ok"};
}

std::unique_ptr<runner::Engine> engine_of(const std::string& kind, const std::string& folder, int device) {
  if (kind == "bmrt") return runner::make_bmrt(folder, device);
  if (kind == "tpuv7") return runner::make_tpuv7(folder, device);
  if (kind == "cvi") return runner::make_cvi(folder);
  throw Failure{"failed", "runtime '" + kind + "' is not known, wanted bmrt, tpuv7 or cvi"};
}

/// The libraries are opened with the first question, so that what fails there is an answer.
class Answers {
 public:
  Answers(std::string kind, std::string folder, int device) : kind_(std::move(kind)), folder_(std::move(folder)), device_(device) {}

  Words operator()(const Words& words) {
    try {
      if (!engine_) engine_ = engine_of(kind_, folder_, device_);
      return answer(words);
    } catch (const Failure& f) {
      return {"fail", f.code, f.text};
    } catch (const std::bad_alloc&) {
      return {"fail", "memory", "out of memory"};
    } catch (const std::exception& e) {
      return {"fail", "failed", e.what()};
    } catch (...) {
      return {"fail", "failed", "the runtime threw what tells nothing"};
    }
  }

 private:
  Words answer(const Words& words) {
    Reader question(words);
    const std::string& verb = question.word();
    if (verb == "run") return run(*engine_, question);
    if (verb == "open") return engine_->open(question.word()), Words{"ok"};
    if (verb != "devices") throw Failure{"failed", "question '" + verb + "' is not known"};
    Words out{"ok"};
    const std::vector<std::string> chips = engine_->devices();
    out.push_back(std::to_string(chips.size()));
    out.insert(out.end(), chips.begin(), chips.end());
    return out;
  }

  std::string kind_, folder_;
  int device_;
  std::unique_ptr<runner::Engine> engine_;
};

/// Of chips whose files are bmodels: those are what optima.tpu_emulator reads.
int print_emulator(std::string_view in_files, const std::string& folder) {
  const bmcompiler_plugin::Chip* chip = bmcompiler_plugin::find_emulated(in_files);
  if (!chip) {
    std::fprintf(stderr, "chip %s has no emulator here, wanted one of %s\n", std::string(in_files).c_str(), bmcompiler_plugin::emulated_names().c_str());
    return 1;
  }
  const auto print = [](const Words& line) { std::printf("%s\n", bmcompiler_plugin::line_of(line).c_str()); };
  print({"kind", std::string(kind_of(chip->runner))});
  for (const auto& [file, name] : libraries_of(*chip)) print({"library", file, name});
  for (const std::string& variable : environment_of(*chip, folder, true)) print({"environment", variable});
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 4 && std::string_view(words[1]) == "--emulator") return print_emulator(words[2], words[3]);
  if (count != 4 || ::fcntl(kChannel, F_GETFD) < 0) {
    std::fputs("optima_bmcompiler_runner is started by plugin bmcompiler: KIND FOLDER DEVICE, with a socket as descriptor 3\n", stderr);
    return 2;
  }
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the emulators abort on faults
  ::fcntl(kChannel, F_SETFD, FD_CLOEXEC);
  const pid_t watcher = end_with_host();
  const bool is_emulator = std::string_view(words[3]) == "emulator";
  if (is_emulator) runner::let_pollers_rest();
  Answers answers(words[1], words[2], std::atoi(words[3]));
  for (std::string line; wait_for_question(is_emulator, watcher), read_line(line);) write_line(answers(bmcompiler_plugin::words_of(line)));
  ::_exit(0);  // the runtimes' own ends crash when memory is short
}
