// SPDX-License-Identifier: Apache-2.0
#include "core/support/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

struct Output {
  std::mutex mutex;
  Status lost;               // of stdout: the first failure
  bool reader_left = false;  // it was EPIPE
  Status elsewhere;          // the first that lost_output() was told
  Status unheard;            // the first that fail_at_end() was told
  int file = STDOUT_FILENO;
};

Output& output() {
  static Output one;
  return one;
}

// All of the bytes, however few the file takes at a time; on failure errno is the reason.
Status write_all(int fd, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // somebody made the terminal or pipe non-blocking
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
      continue;
    }
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return io_error(cat("cannot write ", what, ": ", std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Follows symbolic links, also to a file that is not there yet.
Result<std::string> followed(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux' own
  std::filesystem::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(at, error);
    if (error) return at.string();
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return io_error(cat("cannot create ", quote(path), ": ", std::strerror(ELOOP)));
}

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

Status write_through(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return io_error(cat("cannot open ", quote(path), " for writing: ", std::strerror(errno)));
  Status status = write_all(fd, bytes, quote(path));
  if (::close(fd) != 0 && status.ok()) status = io_error(cat("cannot write ", quote(path), ": ", std::strerror(errno)));
  return status;
}

}  // namespace

bool names_stdout(std::string_view path) {
  return path == kStdout || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

void put_out(std::string_view text) {
  Output& o = output();
  const std::lock_guard lock(o.mutex);
  if (!o.lost.ok()) return;
  o.lost = write_all(o.file, text, "to stdout");
  o.reader_left = !o.lost.ok() && errno == EPIPE;
}

void lost_output(const Status& why) {
  Output& o = output();
  const std::lock_guard lock(o.mutex);
  if (o.elsewhere.ok()) o.elsewhere = why;
}

void fail_at_end(const Status& why) {
  Output& o = output();
  const std::lock_guard lock(o.mutex);
  if (o.unheard.ok()) o.unheard = why;
}

Status out_status() {
  Output& o = output();
  const std::lock_guard lock(o.mutex);
  return o.lost.ok() ? o.elsewhere : o.lost;
}

void hold_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free: this one
}

void keep_stdout() {
  const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0) return;  // no file to be had: then they share it
  output().file = kept;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int finish_program(Status status, void (*tell)(const Status& status)) {
  const Output& o = output();
  if (o.reader_left && (status.ok() || status.message() == o.lost.message())) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  if (status.ok()) status = out_status();
  if (status.ok()) status = o.unheard;
  if (!status.ok()) tell(status);
  return exit_code(status.kind());
}

Status write_output(const std::string& path, std::string_view bytes) {
  if (names_stdout(path)) return put_out(bytes), out_status();
  const std::string expanded = expand_home(path);
  struct stat file, open_file;
  if (::stat(expanded.c_str(), &file) == 0) {
    if (::fstat(output().file, &open_file) == 0 && same_file(file, open_file)) return put_out(bytes), out_status();
    if (::fstat(STDERR_FILENO, &open_file) == 0 && same_file(file, open_file)) return write_all(STDERR_FILENO, bytes, quote(path));
    if (!S_ISREG(file.st_mode)) return write_through(expanded, bytes);
  }
  OPTIMA_ASSIGN(const std::string target, followed(expanded));
  return write_file(target, bytes);
}

}  // namespace optima
