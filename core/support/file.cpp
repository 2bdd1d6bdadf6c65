// SPDX-License-Identifier: Apache-2.0
#include "core/support/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/support/text.hpp"

namespace optima {
namespace {

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(cat("cannot write ", quote(path), ": ", std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

std::string expand_home(std::string_view path) {
  if (path != "~" && path.substr(0, 2) != "~/") return std::string(path);
  const char* home = std::getenv("HOME");
  return cat(home ? home : "", path.substr(1));
}

Result<std::string> read_file(const std::string& path, uint64_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return invalid_input(cat("cannot open ", quote(path), ": ", std::strerror(errno)));
  std::string out;
  Status failure;
  for (char buffer[65536];;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) failure = invalid_input(cat("cannot read ", quote(path), ": ", std::strerror(errno)));
    if (n <= 0) break;
    out.append(buffer, static_cast<size_t>(n));
    if (out.size() > limit) {
      failure = invalid_input(cat(quote(path), " is larger than ", human_bytes(limit)));
      break;
    }
  }
  ::close(fd);
  if (!failure.ok()) return failure;
  return out;
}

Status write_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = cat(path, ".", ::getpid(), ".tmp");
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return io_error(cat("cannot create ", quote(path), ": ", std::strerror(errno)));
  Status status = write_all(fd, bytes, path);
  if (::close(fd) != 0 && status.ok()) status = io_error(cat("cannot write ", quote(path), ": ", std::strerror(errno)));
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    status = io_error(cat("cannot create ", quote(path), ": ", std::strerror(errno)));
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace optima
