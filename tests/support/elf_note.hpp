// SPDX-License-Identifier: Apache-2.0
// tests/support: the capability note of a 64-bit ELF file that we built ourselves (it trusts the file), and the file's machine.
#pragma once

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace optima::test {

struct ElfNote {
  std::string manifest;  ///< empty when there is none
  int machine = 0;       ///< EM_X86_64, EM_AARCH64
};

inline ElfNote read_note(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  ElfNote note;
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return note;
  std::memcpy(&header, file.data(), sizeof header);
  note.machine = header.e_machine;
  for (int k = 0; k < header.e_phnum; ++k) {
    Elf64_Phdr segment;
    std::memcpy(&segment, &file[header.e_phoff + static_cast<size_t>(k) * header.e_phentsize], sizeof segment);
    if (segment.p_type != PT_NOTE) continue;
    const uint64_t align = segment.p_align == 8 ? 8 : 4;
    const auto up = [&](uint64_t n) { return (n + align - 1) / align * align; };
    for (uint64_t at = segment.p_offset; at + sizeof(Elf64_Nhdr) <= segment.p_offset + segment.p_filesz;) {
      Elf64_Nhdr n;
      std::memcpy(&n, &file[at], sizeof n);
      const uint64_t desc = at + up(sizeof n + n.n_namesz);
      if (n.n_type == 1 && n.n_namesz == 7 && std::memcmp(&file[at + sizeof n], "Optima", 7) == 0) note.manifest = file.substr(desc, n.n_descsz);
      at = desc + up(n.n_descsz);
    }
  }
  return note;
}

}  // namespace optima::test
