// SPDX-License-Identifier: Apache-2.0
#include "core/loader/run_path.hpp"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

namespace optima {

namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> file) : file_(file) {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return;
    for (uint64_t k = 0; k < header->e_phnum; ++k)
      if (const auto s = at<Elf64_Phdr>(header->e_phoff + k * header->e_phentsize)) segments_.push_back(*s);
  }

  std::string text() const {
    std::optional<uint64_t> strings, place;
    bool newer = false;
    for (const Elf64_Phdr& s : segments_)
      for (uint64_t k = 0; s.p_type == PT_DYNAMIC && k < s.p_filesz / sizeof(Elf64_Dyn); ++k) {
        const auto d = at<Elf64_Dyn>(s.p_offset + k * sizeof(Elf64_Dyn));
        if (!d || d->d_tag == DT_NULL) break;
        if (d->d_tag == DT_STRTAB) strings = offset_of(d->d_un.d_ptr);
        if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && !newer)) place = d->d_un.d_val, newer = d->d_tag == DT_RUNPATH;
      }
    if (!strings || !place || *strings >= file_.size() || *place >= file_.size() - *strings) return "";
    const auto* first = reinterpret_cast<const char*>(file_.data()) + *strings + *place;
    const size_t room = file_.size() - *strings - *place;
    const size_t size = strnlen(first, room);
    return size == room ? "" : std::string(first, size);
  }

 private:
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > file_.size() || sizeof(T) > file_.size() - offset) return std::nullopt;
    T found;
    std::memcpy(&found, file_.data() + offset, sizeof found);
    return found;
  }
  std::optional<uint64_t> offset_of(uint64_t address) const {
    for (const Elf64_Phdr& s : segments_)
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz) return s.p_offset + (address - s.p_vaddr);
    return std::nullopt;
  }

  std::span<const std::byte> file_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::vector<std::string> run_path(std::span<const std::byte> file, std::string_view origin) {
  std::vector<std::string> folders;
  std::istringstream text(Reader(file).text());
  for (std::string folder; std::getline(text, folder, ':');) {
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
      if (const size_t at = folder.find(word); at != folder.npos) folder.replace(at, word.size(), origin);
    if (!folder.empty()) folders.push_back(std::filesystem::path(folder).lexically_normal().string());
  }
  return folders;
}

}  // namespace optima
