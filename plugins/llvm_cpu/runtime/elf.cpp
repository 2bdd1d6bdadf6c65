// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see elf.hpp. Field names are those of the ELF specification.
#include "plugins/llvm_cpu/runtime/elf.hpp"

#include <elf.h>

#include <cstring>

namespace optima::llvm_cpu {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_AARCH64;
#endif

bool inside(uint64_t offset, uint64_t length, uint64_t size) { return offset <= size && length <= size - offset; }

std::string segment_mistake(const char* bytes, uint64_t size, const Elf64_Phdr& p) {
  if (p.p_type != PT_LOAD && p.p_type != PT_DYNAMIC) return "";
  if (!inside(p.p_offset, p.p_filesz, size)) return "a segment lies outside the file";
  if (p.p_filesz > p.p_memsz || p.p_memsz > uint64_t{1} << 30) return "a segment has a wrong size";
  if (p.p_type == PT_LOAD) return "";
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= p.p_filesz; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn d;
    std::memcpy(&d, bytes + p.p_offset + at, sizeof d);
    if (d.d_tag == DT_NULL) return "";
    if (d.d_tag == DT_NEEDED) return "it needs another library";
  }
  return "its dynamic section has no end";
}

}  // namespace

std::string elf_mistake(const char* bytes, uint64_t size) {
  Elf64_Ehdr h;
  if (size < sizeof h) return "it is shorter than an ELF header";
  std::memcpy(&h, bytes, sizeof h);
  if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_type != ET_DYN)
    return "it is no shared object";
  if (h.e_machine != kMachine) return "it is for another architecture";
  if (h.e_phentsize != sizeof(Elf64_Phdr) || !inside(h.e_phoff, uint64_t{h.e_phnum} * sizeof(Elf64_Phdr), size)) return "its program headers lie outside the file";
  bool dynamic = false;
  for (uint16_t i = 0; i < h.e_phnum; ++i) {
    Elf64_Phdr p;
    std::memcpy(&p, bytes + h.e_phoff + i * sizeof p, sizeof p);
    dynamic = dynamic || p.p_type == PT_DYNAMIC;
    if (std::string why = segment_mistake(bytes, size, p); !why.empty()) return why;
  }
  return dynamic ? "" : "it has no dynamic section";
}

}  // namespace optima::llvm_cpu
