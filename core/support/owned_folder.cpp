// SPDX-License-Identifier: Apache-2.0
#include "core/support/owned_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "core/support/text.hpp"

namespace optima {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".lock";
constexpr std::string_view kMark = "optima made the folder beside this file and removes it\n";
constexpr int kMostNames = 100;

std::string lock_of(const std::string& folder) { return folder + std::string(kEnding); }

Status system_error(std::string_view what, const std::string& path) {
  return io_error(cat(what, " ", quote(path), ": ", std::strerror(errno)));
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// With what is said of the failure in errno.
void drop_lock(int fd, const std::string& lock) {
  const int error = errno;
  ::unlink(lock.c_str());
  ::close(fd);
  errno = error;
}

bool same_file(int fd, const std::string& path) {
  struct stat held {}, there {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

bool is_marked(int fd) {
  struct stat info {};
  char text[kMark.size() + 1];
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return false;
  const ssize_t size = ::pread(fd, text, sizeof text, 0);
  return size == static_cast<ssize_t>(kMark.size()) && std::memcmp(text, kMark.data(), kMark.size()) == 0;
}

// The lock, now held, of a folder whose owner is dead; -1 for everything else. Never makes a file.
int take_left_lock(const std::string& folder) {
  struct stat there {};
  if (::lstat(folder.c_str(), &there) == 0 && (!S_ISDIR(there.st_mode) || there.st_uid != ::geteuid())) return -1;
  const std::string lock = lock_of(folder);
  const int fd = ::open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return -1;
  if (is_marked(fd) && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && same_file(fd, lock)) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

// The mark comes last: a lock with it stands beside a folder that we made.
Result<std::optional<OwnedFolder>> OwnedFolder::make(std::string path, unsigned mode) {
  if (struct stat there {}; ::lstat(path.c_str(), &there) == 0) return std::optional<OwnedFolder>();
  const std::string lock = lock_of(path);
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) return std::optional<OwnedFolder>();
  if (fd < 0) return system_error("cannot create", lock);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    drop_lock(fd, lock);
    return system_error("cannot lock", lock);
  }
  if (::mkdir(path.c_str(), mode) != 0) {
    drop_lock(fd, lock);
    if (errno == EEXIST) return std::optional<OwnedFolder>();
    return system_error("cannot create folder", path);
  }
  if (::pwrite(fd, kMark.data(), kMark.size(), 0) != static_cast<ssize_t>(kMark.size())) {
    const Status failure = system_error("cannot write", lock);
    ::rmdir(path.c_str());
    drop_lock(fd, lock);
    return failure;
  }
  return std::optional(OwnedFolder(std::move(path), fd));
}

OwnedFolder::OwnedFolder(std::string path, int lock)
    : path_(std::move(path)), lock_(lock), left_lock_(Leftover::Kind::File, lock_of(path_)), left_(Leftover::Kind::Tree, path_) {}

OwnedFolder::OwnedFolder(OwnedFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_(std::exchange(other.lock_, -1)),
      left_lock_(std::move(other.left_lock_)),
      left_(std::move(other.left_)) {}

OwnedFolder& OwnedFolder::operator=(OwnedFolder&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::exchange(other.path_, {});
  lock_ = std::exchange(other.lock_, -1);
  left_lock_ = std::move(other.left_lock_);
  left_ = std::move(other.left_);
  return *this;
}

void OwnedFolder::discard() {
  if (lock_ < 0) return;
  remove_tree(path_);
  drop_lock(std::exchange(lock_, -1), lock_of(path_));
  left_.forget();
  left_lock_.forget();
  path_.clear();
}

void remove_left_folders(const std::string& parent, const std::function<bool(std::string_view)>& wanted,
                         const std::function<void(const std::string&)>& before) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    name.resize(name.size() - kEnding.size());
    if (wanted(name)) names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    const std::string folder = cat(parent, "/", name);
    const int fd = take_left_lock(folder);
    if (fd < 0) continue;
    if (before) before(folder);
    remove_tree(folder);
    drop_lock(fd, lock_of(folder));
  }
}

Result<ScratchFolder> ScratchFolder::make(std::string_view what) {
  constexpr std::string_view kPrefix = "optima-";
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  const std::string parent = fs::absolute(base, error).string();
  static std::once_flag tidied;
  std::call_once(tidied, [&] { remove_left_folders(parent, [&](std::string_view name) { return name.starts_with(kPrefix); }); });
  std::random_device random;
  for (int i = 0; i < kMostNames; ++i) {
    Result<std::optional<OwnedFolder>> made = OwnedFolder::make(cat(parent, "/", kPrefix, what, "-", random()), 0700);
    if (!made.ok()) return made.status().within("cannot make a temporary folder");
    if (*made) return ScratchFolder(std::move(**made));
  }
  return io_error(cat("cannot make a temporary folder in ", quote(parent), ": ", kMostNames, " names are taken"));
}

}  // namespace optima
