// SPDX-License-Identifier: Apache-2.0
#include "core/package/staging.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/package/package.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kNoReplace = 1, kExchange = 2;  // RENAME_NOREPLACE, RENAME_EXCHANGE of linux/fs.h

Status check_name(const std::string& name, FolderKind kind) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos || name.size() > 200)
    return invalid_input(cat(kind.name, " name ", quote(name), " is no folder name, wanted 1 to 200 bytes without '/' and not starting with '.'"));
  return check_file_name(name);
}

Status exists(const std::string& target, FolderKind kind) {
  return invalid_input(cat(kind.name, " ", quote(target), " exists, wanted a free name or --force"));
}

// --force must never cost somebody a folder that is not ours; an empty one holds nothing.
Status check_existing(const std::string& target, bool replace, FolderKind kind) {
  struct stat there {};
  if (::lstat(target.c_str(), &there) != 0) return {};
  if (!replace) return exists(target, kind);
  std::error_code failed;
  const bool empty = S_ISDIR(there.st_mode) && fs::is_empty(target, failed);
  if (!S_ISDIR(there.st_mode) || (!empty && ::access(cat(target, "/", kind.marker).c_str(), F_OK) != 0))
    return invalid_input(cat(quote(target), " exists and is not a ", kind.name, ", wanted a ", kind.name, " or a free name"));
  return {};
}

// The system call and not glibc's function: the target's libc may be older than 2.28.
int rename2(const std::string& from, const std::string& to, unsigned flags) {
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags));
}

bool exchange_is_unknown() { return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP; }

Status system_error(std::string_view what, const std::string& path) {
  return io_error(cat(what, " ", quote(path), ": ", std::strerror(errno)));
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// "123" or "123-1": the number of a run.
bool is_run_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789-") == std::string_view::npos;
}

std::string old_of(const std::string& folder) { return folder + ".old"; }

void remove_leftovers(const std::string& out, const std::string& name) {
  const std::string prefix = cat(".", name, "."), target = cat(out, "/", name);
  const auto ours = [&](std::string_view file) { return file.starts_with(prefix) && is_run_number(file.substr(prefix.size())); };
  remove_left_folders(out, ours, [&](const std::string& folder) {
    // An old package that was moved aside by a run that died before its new one arrived goes back to its place.
    std::error_code error;
    if (fs::exists(old_of(folder), error) && !fs::exists(target, error)) ::rename(old_of(folder).c_str(), target.c_str());
    remove_tree(old_of(folder));
  });
}

Status sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open", path);
  const int rc = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  // Some file systems cannot sync a folder; that is no failure of the write.
  if (rc != 0 && error != EINVAL && error != EROFS) return system_error("cannot write", path);
  return {};
}

// Delayed write errors (quota, network disks) show here, before the package gets its name.
Status sync_tree(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> folders = {folder};
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error)) folders.push_back(it->path().string());
    else OPTIMA_RETURN_IF_ERROR(sync_path(it->path().string(), 0));
  }
  if (error) return io_error(cat("cannot read ", quote(folder), ": ", error.message()));
  for (auto f = folders.rbegin(); f != folders.rend(); ++f) OPTIMA_RETURN_IF_ERROR(sync_path(*f, O_DIRECTORY));
  return {};
}

}  // namespace

Staging& Staging::operator=(Staging&& other) noexcept {
  if (this == &other) return *this;
  discard();
  kind_ = other.kind_;
  replace_ = other.replace_;
  out_ = std::move(other.out_);
  folder_ = std::exchange(other.folder_, std::nullopt);
  target_ = std::move(other.target_);
  made_ = std::exchange(other.made_, {});
  return *this;
}

Result<Staging> Staging::create(FolderTarget target, FolderKind kind) {
  OPTIMA_RETURN_IF_ERROR(check_name(target.name, kind));
  const std::string out = expand_home(target.out);
  if (out.empty()) return invalid_input("the output folder has no name");
  Staging s;
  s.kind_ = kind;
  s.replace_ = target.replace;
  s.out_ = fs::absolute(out).lexically_normal().string();
  while (s.out_.size() > 1 && s.out_.back() == '/') s.out_.pop_back();
  s.target_ = cat(s.out_, "/", target.name);
  OPTIMA_RETURN_IF_ERROR(check_existing(s.target_, s.replace_, kind));
  OPTIMA_RETURN_IF_ERROR(s.make_parents());
  remove_leftovers(s.out_, target.name);
  // Again: tidying up may have brought an old folder back.
  OPTIMA_RETURN_IF_ERROR(check_existing(s.target_, s.replace_, kind));
  OPTIMA_RETURN_IF_ERROR(s.make_folder(target.name));
  return s;
}

const std::string& Staging::folder() const {
  static const std::string none;
  return folder_ ? folder_->path() : none;
}

// OUT and its parents, outermost first.
Status Staging::make_parents() {
  for (size_t at = 0; at != std::string::npos;) {
    at = out_.find('/', at + 1);
    const std::string part = out_.substr(0, at);
    if (::mkdir(part.c_str(), 0777) == 0) made_.push_back({part, Leftover(Leftover::Kind::EmptyFolder, part)});
    else if (errno != EEXIST && errno != EISDIR) return system_error("cannot create folder", part);
  }
  return {};
}

Status Staging::make_folder(const std::string& name) {
  constexpr int kMostRuns = 100;  // of one process, of processes that share a number across containers, or names of the user's
  for (int i = 0; i < kMostRuns && !folder_; ++i) {
    const std::string folder = cat(out_, "/.", name, ".", ::getpid(), i ? cat("-", i) : std::string());
    if (struct stat there {}; ::lstat(old_of(folder).c_str(), &there) == 0) continue;
    OPTIMA_ASSIGN(folder_, OwnedFolder::make(folder, 0777));
  }
  return folder_ ? Status() : io_error(cat("no name is free for a folder to write ", quote(target_), " in, wanted one of ", kMostRuns));
}

Status Staging::move_aside_and_rename() {
  const std::string aside = old_of(folder());
  if (::rename(target_.c_str(), aside.c_str()) != 0) return system_error("cannot move aside", target_);
  if (::rename(folder().c_str(), target_.c_str()) != 0) {
    const Status failure = system_error("cannot create", target_);
    ::rename(aside.c_str(), target_.c_str());
    return failure;
  }
  remove_tree(aside);
  return {};
}

Status Staging::rename_into_place() {
  if (rename2(folder(), target_, kNoReplace) == 0) return {};
  // Without the flag, rename still refuses a target folder that is not empty.
  if (exchange_is_unknown() && ::rename(folder().c_str(), target_.c_str()) == 0) return {};
  if (errno != EEXIST && errno != ENOTEMPTY) return system_error("cannot create", target_);
  if (!replace_) return exists(target_, kind_);
  if (rename2(folder(), target_, kExchange) == 0) {
    remove_tree(folder());
    return {};
  }
  return exchange_is_unknown() ? move_aside_and_rename() : system_error("cannot replace", target_);
}

Status Staging::publish() {
  OPTIMA_RETURN_IF_ERROR(sync_tree(folder()));
  OPTIMA_RETURN_IF_ERROR(rename_into_place());
  made_.clear();
  OPTIMA_RETURN_IF_ERROR(sync_path(out_, O_DIRECTORY));
  discard();
  return {};
}

void Staging::discard() {
  folder_.reset();
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) ::rmdir(made->path.c_str());
  made_.clear();
}

}  // namespace optima
