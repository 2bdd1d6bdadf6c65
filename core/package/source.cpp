// SPDX-License-Identifier: Apache-2.0
#include "core/package/source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/support/text.hpp"

namespace optima {
namespace {

std::string stamp_of(const struct stat& st) {
  return cat(st.st_dev, " ", st.st_ino, " ", st.st_size, " ", st.st_mtim.tv_sec, ".", st.st_mtim.tv_nsec, " ", st.st_ctim.tv_sec, ".",
             st.st_ctim.tv_nsec);
}

class FolderSource : public PackageSource {
 public:
  FolderSource(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~FolderSource() override { ::close(fd_); }

  // Mapped and closed at once: an artifact may have hundreds of files, and descriptors are few.
  Result<SourceFile> open(const std::string& name) const override {
    const int fd = open_below(name);
    if (fd < 0 && errno == ELOOP) return invalid_input(cat(quote(place(name)), " is a symbolic link, wanted a regular file"));
    if (fd < 0) return invalid_input(cat("cannot open ", quote(place(name)), ": ", std::strerror(errno)));
    Result<SourceFile> out = map(fd, name);
    ::close(fd);
    return out;
  }
  std::string place(const std::string& name) const override { return path_.empty() ? name : cat(path_, "/", name); }
  std::string folder() const override { return path_; }

 private:
  // One part at a time, so that no symbolic link on the way leads out of the package.
  int open_below(const std::string& name) const {
    int at = ::dup(fd_);
    for (size_t start = 0; at >= 0;) {
      const size_t end = name.find('/', start);
      const bool last = end == std::string::npos;
      const std::string part = name.substr(start, last ? end : end - start);
      const int next = ::openat(at, part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY));
      const int error = errno;
      ::close(at);
      errno = error;
      at = next;
      if (last) break;
      start = end + 1;
    }
    return at;
  }

  Result<SourceFile> map(int fd, const std::string& name) const {
    struct stat st {};
    if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return invalid_input(cat(quote(place(name)), " is not a regular file"));
    SourceFile out;
    out.stamp = stamp_of(st);
    out.bytes.size = static_cast<uint64_t>(st.st_size);
    if (!path_.empty()) out.bytes.path = place(name);
    if (out.bytes.size == 0) return out;
    void* data = ::mmap(nullptr, out.bytes.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return io_error(cat("cannot map ", quote(place(name)), ": ", std::strerror(errno)));
    out.bytes.data = static_cast<const std::byte*>(data);
    out.bytes.keeper = std::shared_ptr<const void>(data, [size = out.bytes.size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    return out;
  }

  int fd_;
  std::string path_;
};

class MemorySource : public PackageSource {
 public:
  explicit MemorySource(std::vector<std::pair<std::string, Blob>> files) {
    for (auto& [name, bytes] : files) files_.emplace(std::move(name), std::move(bytes));
  }
  Result<SourceFile> open(const std::string& name) const override {
    const auto it = files_.find(name);
    if (it == files_.end()) return invalid_input(cat("package in memory has no file ", quote(name)));
    return SourceFile{it->second, {}};
  }
  std::string place(const std::string& name) const override { return name; }

 private:
  std::map<std::string, Blob> files_;
};

}  // namespace

std::unique_ptr<PackageSource> folder_source(int fd, std::string path) { return std::make_unique<FolderSource>(fd, std::move(path)); }
std::unique_ptr<PackageSource> memory_source(std::vector<std::pair<std::string, Blob>> files) {
  return std::make_unique<MemorySource>(std::move(files));
}

}  // namespace optima
