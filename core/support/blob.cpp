// SPDX-License-Identifier: Apache-2.0
#include "core/support/blob.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "core/support/text.hpp"

namespace optima {
namespace {

struct Mapping {
  void* data = MAP_FAILED;
  uint64_t size = 0;
  int fd = -1;
  ~Mapping() {
    if (data != MAP_FAILED) ::munmap(data, size);
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Blob Blob::copy(const void* data, uint64_t size) {
  constexpr std::align_val_t kAlign{64};
  auto* bytes = static_cast<std::byte*>(::operator new(size ? size : 1, kAlign));
  if (size) std::memcpy(bytes, data, size);
  Blob b;
  b.data = bytes;
  b.size = size;
  b.keeper = std::shared_ptr<const void>(bytes, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlign); });
  return b;
}

Blob Blob::own(std::vector<std::byte> bytes) {
  auto keeper = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Blob b;
  b.data = keeper->data();
  b.size = keeper->size();
  b.keeper = std::move(keeper);
  return b;
}

Sha256 hash(const Blob& blob) { return sha256(blob.data, blob.size); }

Result<Blob> map_file(const std::string& path) {
  auto m = std::make_shared<Mapping>();
  m->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (m->fd < 0) return invalid_input(cat("cannot open ", quote(path), ": ", std::strerror(errno)));
  struct stat st {};
  if (::fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode)) return invalid_input(cat(quote(path), " is not a regular file"));
  m->size = static_cast<uint64_t>(st.st_size);
  Blob b;
  b.size = m->size;
  b.fd = m->fd;
  b.path = std::filesystem::absolute(path).string();
  if (m->size) {
    m->data = ::mmap(nullptr, m->size, PROT_READ, MAP_PRIVATE, m->fd, 0);
    if (m->data == MAP_FAILED) return io_error(cat("cannot map ", quote(path), ": ", std::strerror(errno)));
    b.data = static_cast<const std::byte*>(m->data);
  }
  b.keeper = std::move(m);
  return b;
}

Blob slice(const Blob& blob, uint64_t offset, uint64_t size) {
  Blob b = blob;
  b.data += offset;
  b.size = size;
  b.file_offset += offset;
  return b;
}

}  // namespace optima
