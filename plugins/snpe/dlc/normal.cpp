// SPDX-License-Identifier: Apache-2.0
#include "normal.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "optima/plugin/error.hpp"
#include "zip.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr std::string_view kKey = "\"timestamp\": \"", kForm = "0000-00-00 00:00:00 UTC", kTime = "1980-01-01 00:00:00 UTC";

/// A file's bytes, to be changed where they are.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat s{};
    if (file >= 0 && ::fstat(file, &s) == 0) size_ = static_cast<size_t>(s.st_size);
    if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    if (file >= 0) ::close(file);
    if (file < 0 || data_ == MAP_FAILED) throw sdk::Error(OPTIMA_IO, "file '" + path + "' cannot be changed: " + std::strerror(error));
  }
  ~Mapped() {
    if (size_ > 0) ::munmap(data_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  void write(uint64_t at, const void* from, size_t size) { std::memcpy(static_cast<char*>(data_) + at, from, size); }

 private:
  size_t size_ = 0;
  void* data_ = nullptr;
};

bool is_time(std::string_view text) {
  for (size_t k = 0; k < kForm.size(); ++k)
    if (kForm[k] == '0' ? text[k] < '0' || text[k] > '9' : text[k] != kForm[k]) return false;
  return true;
}

uint32_t crc(std::string_view bytes) {
  uint32_t c = ~0u;
  for (const char b : bytes) {
    c ^= static_cast<unsigned char>(b);
    for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xedb88320u ^ c >> 1 : c >> 1;
  }
  return ~c;
}

void clear_times(Mapped& file, const Part& part) {
  const std::string_view text = part.bytes(file.bytes());
  for (size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
    at += kKey.size();
    if (text.size() - at >= kTime.size() && is_time(text.substr(at))) file.write(part.at + at, kTime.data(), kTime.size());
  }
  if (part.sum == 0) return;  // nobody made one
  const uint32_t sum = crc(part.bytes(file.bytes()));
  for (const uint64_t at : {part.sum_in_directory, part.sum_before}) file.write(at, &sum, sizeof sum);
}

}  // namespace

void normalize(const std::string& path) {
  Mapped file(path);
  for (const Part& part : read_directory(file.bytes()))
    if (!part.packed && part.name.rfind("dlc.metadata", 0) == 0) clear_times(file, part);
}

}  // namespace snpe_plugin
