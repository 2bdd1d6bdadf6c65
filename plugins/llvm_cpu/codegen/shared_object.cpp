// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see shared_object.hpp. Names of fields and relocations are those of the ELF specification. The file has three segments, whose
// bytes follow each other and whose addresses are pages apart: what is read, what is run, what the loader writes to and then protects.
#include "plugins/llvm_cpu/codegen/shared_object.hpp"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>

#include <cstring>
#include <map>
#include <vector>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/relocate.hpp"

namespace optima::llvm_cpu {
namespace {

using namespace llvm::ELF;
using File = llvm::object::ELFFile<llvm::object::ELF64LE>;

[[noreturn]] void refuse(const std::string& why) { throw sdk::Error(OPTIMA_INTERNAL, "kernels are not linked: " + why); }

template <class T>
T taken(llvm::Expected<T> value) {
  if (!value) refuse(llvm::toString(value.takeError()));
  return *value;
}

uint64_t aligned(uint64_t at, uint64_t to) { return (at + to - 1) / to * to; }

/// A section that is in memory when the kernel runs.
struct Piece {
  std::string_view bytes;
  uint64_t align;
  bool runs;
  uint64_t offset = 0, address = 0;  // in the file, in memory
};

struct Symbol {
  std::string name;
  uint32_t section;  // 0 = undefined
  uint64_t value;    // from the section's beginning
  uint64_t size;
  uint8_t info;
};

/// What is read of an object file.
struct Object {
  uint16_t machine;
  std::map<uint32_t, Piece> pieces;  // by section
  std::vector<Symbol> symbols;       // as relocations number them
  struct Relocation {
    uint32_t section;
    uint64_t offset;
    uint32_t symbol, type;
    int64_t addend;
  };
  std::vector<Relocation> relocations;
};

void read_symbols(const File& file, const File::Elf_Shdr& table, Object& out) {
  const llvm::StringRef names = taken(file.getStringTableForSymtab(table));
  for (const File::Elf_Sym& s : taken(file.symbols(&table))) {
    if (s.st_shndx == SHN_COMMON || s.getType() == STT_TLS) refuse("a symbol is of kind " + std::to_string(s.getType()) + " in section " + std::to_string(s.st_shndx));
    out.symbols.push_back({taken(s.getName(names)).str(), s.st_shndx, s.st_value, s.st_size, s.st_info});
  }
}

Object read_object(std::string_view object) {
  const File file = taken(File::create({object.data(), object.size()}));
  Object out{file.getHeader().e_machine, {}, {}, {}};
  uint32_t index = 0;
  for (const File::Elf_Shdr& s : taken(file.sections())) {
    if (s.sh_type == SHT_SYMTAB) read_symbols(file, s, out);
    if (s.sh_flags & SHF_ALLOC && s.sh_size) {
      const std::string name = taken(file.getSectionName(s)).str();
      if (s.sh_type != SHT_PROGBITS || s.sh_flags & (SHF_WRITE | SHF_TLS)) refuse("section " + name + " is no constant and no code");
      const auto bytes = taken(file.getSectionContents(s));
      const bool runs = s.sh_flags & SHF_EXECINSTR;
      out.pieces.emplace(index, Piece{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, std::max<uint64_t>(s.sh_addralign, 1), runs});
    }
    ++index;
  }
  for (const File::Elf_Shdr& s : taken(file.sections()))
    if (s.sh_type == SHT_RELA && out.pieces.count(s.sh_info))
      for (const File::Elf_Rela& r : taken(file.relas(s))) out.relocations.push_back({s.sh_info, r.r_offset, r.getSymbol(false), r.getType(false), r.r_addend});
  return out;
}

class Linking {
 public:
  explicit Linking(std::string_view object) : object_(read_object(object)), page_(object_.machine == EM_AARCH64 ? 65536 : 4096) {
    if (object_.machine != EM_X86_64 && object_.machine != EM_AARCH64) refuse("they are of ELF machine " + std::to_string(object_.machine));
    order_symbols();
    lay_out();
  }

  std::string bytes() {
    out_.assign(size_, '\0');
    write_headers();
    write_tables();
    for (const auto& [section, p] : object_.pieces) put(p.offset, p.bytes.data(), p.bytes.size());
    for (size_t i = 0; i < called_.size(); ++i) {
      const std::string code = stub(object_.machine, stubs_.address + i * kStubSize, slots_.address + i * 8);
      put(stubs_.offset + i * kStubSize, code.data(), code.size());
    }
    for (const Object::Relocation& r : object_.relocations) relocate(r);
    write_dynamic();
    write_sections();
    return std::move(out_);
  }

 private:
  struct Place {
    uint64_t offset = 0, address = 0, size = 0;
  };

  /// Undefined functions first, as the hash table has only what is exported.
  void order_symbols() {
    names_.push_back('\0');
    dynamic_symbols_.emplace_back();
    for (const bool defined : {false, true})
      for (size_t i = 1; i < object_.symbols.size(); ++i) {
        const Symbol& s = object_.symbols[i];
        if (s.info >> 4 == STB_LOCAL || (s.section != SHN_UNDEF) != defined) continue;
        if (!defined) stub_of_[i] = called_.size(), called_.push_back(dynamic_symbols_.size());
        else if (!object_.pieces.count(s.section)) refuse("symbol " + s.name + " lies outside of code and constants");
        dynamic_symbols_.push_back({uint32_t(names_.size()), s.info, STV_DEFAULT, 0, 0, s.size});
        source_.push_back(i);
        names_ += s.name + '\0';
      }
    exported_ = dynamic_symbols_.size() - called_.size() - 1;
    if (!exported_) refuse("they export nothing");
  }

  Place next(uint64_t size, uint64_t align, uint64_t segment) {
    at_ = aligned(at_, align);
    const Place out{at_, at_ + segment * page_, size};
    at_ += size;
    return out;
  }

  void lay_pieces(bool runs, uint64_t segment) {
    for (auto& [section, p] : object_.pieces)
      if (p.runs == runs) {
        const Place place = next(p.bytes.size(), p.align, segment);
        p.offset = place.offset, p.address = place.address;
      }
  }

  void lay_out() {
    at_ = sizeof(Elf64_Ehdr) + kSegments * sizeof(Elf64_Phdr);
    symbols_ = next(dynamic_symbols_.size() * sizeof(Elf64_Sym), 8, 0);
    hash_ = next(4 * 4 + 8 + 4 + 4 * exported_, 8, 0);
    strings_ = next(names_.size(), 1, 0);
    relocations_ = next(called_.size() * sizeof(Elf64_Rela), 8, 0);
    lay_pieces(false, 0);
    read_ = {0, 0, at_};
    at_ = aligned(at_, 64);
    const uint64_t code = at_;
    lay_pieces(true, 1);
    stubs_ = next(called_.size() * kStubSize, kStubSize, 1);
    run_ = {code, code + page_, at_ - code};
    slots_ = next(called_.size() * 8, 8, 2);
    dynamic_ = next(kDynamic * sizeof(Elf64_Dyn), 8, 2);
    written_ = {slots_.offset, slots_.address, at_ - slots_.offset};
    section_names_ = next(sizeof kSectionNames, 1, 0);
    sections_ = next(kSections * sizeof(Elf64_Shdr), 8, 0);
    size_ = at_;
  }

  void put(uint64_t offset, const void* bytes, size_t size) {
    if (size) std::memcpy(out_.data() + offset, bytes, size);
  }

  void write_headers() {
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ElfMagic, 4);
    h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB, h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_DYN, h.e_machine = object_.machine, h.e_version = EV_CURRENT;
    h.e_phoff = h.e_ehsize = sizeof h, h.e_phentsize = sizeof(Elf64_Phdr), h.e_phnum = kSegments;
    h.e_shoff = sections_.offset, h.e_shentsize = sizeof(Elf64_Shdr), h.e_shnum = kSections, h.e_shstrndx = kSections - 1;
    put(0, &h, sizeof h);
    const uint64_t protected_size = aligned(written_.address + written_.size, page_) - written_.address;  // whole pages are protected
    const auto segment = [](uint32_t type, uint32_t flags, const Place& p, uint64_t memory, uint64_t align) {
      return Elf64_Phdr{type, flags, p.offset, p.address, p.address, p.size, memory, align};
    };
    const Elf64_Phdr segments[kSegments] = {segment(PT_LOAD, PF_R, read_, read_.size, page_),
                                            segment(PT_LOAD, PF_R | PF_X, run_, run_.size, page_),
                                            segment(PT_LOAD, PF_R | PF_W, written_, protected_size, page_),
                                            segment(PT_DYNAMIC, PF_R | PF_W, dynamic_, dynamic_.size, 8),
                                            segment(PT_GNU_RELRO, PF_R, written_, protected_size, 1),
                                            segment(PT_GNU_STACK, PF_R | PF_W, {}, 0, 0)};
    put(sizeof h, segments, sizeof segments);
  }

  /// Symbols, their hash table of one bucket, their names, and what the loader is to fill in.
  void write_tables() {
    std::vector<uint32_t> hash{1, uint32_t(called_.size() + 1), 1, 0, ~0u, ~0u, uint32_t(called_.size() + 1)};  // a filter that lets all through
    for (size_t i = 1; i < dynamic_symbols_.size(); ++i) {
      const Symbol& s = object_.symbols[source_[i - 1]];
      if (i <= called_.size()) continue;
      Elf64_Sym& d = dynamic_symbols_[i];
      d.st_value = object_.pieces.at(s.section).address + s.value;
      d.st_shndx = kTextSection;  // any but undefined: sections are for people who look
      uint32_t h = 5381;
      for (const unsigned char c : s.name) h = h * 33 + c;
      hash.push_back(i + 1 == dynamic_symbols_.size() ? h | 1 : h & ~1u);
    }
    put(symbols_.offset, dynamic_symbols_.data(), symbols_.size);
    put(hash_.offset, hash.data(), hash_.size);
    put(strings_.offset, names_.data(), names_.size());
    const uint64_t type = object_.machine == EM_X86_64 ? uint64_t{R_X86_64_GLOB_DAT} : uint64_t{R_AARCH64_GLOB_DAT};
    for (size_t i = 0; i < called_.size(); ++i) {
      const Elf64_Rela r{slots_.address + i * 8, uint64_t(called_[i]) << 32 | type, 0};
      put(relocations_.offset + i * sizeof r, &r, sizeof r);
    }
  }

  void write_dynamic() {
    std::vector<Elf64_Dyn> d;
    const auto entry = [&](int64_t tag, uint64_t value) { d.push_back({tag, {value}}); };
    entry(DT_FLAGS, DF_BIND_NOW), entry(DT_FLAGS_1, DF_1_NOW);
    entry(DT_SYMTAB, symbols_.address), entry(DT_SYMENT, sizeof(Elf64_Sym));
    entry(DT_STRTAB, strings_.address), entry(DT_STRSZ, strings_.size), entry(DT_GNU_HASH, hash_.address);
    if (!called_.empty()) entry(DT_RELA, relocations_.address), entry(DT_RELASZ, relocations_.size), entry(DT_RELAENT, sizeof(Elf64_Rela));
    put(dynamic_.offset, d.data(), d.size() * sizeof(Elf64_Dyn));  // DT_NULL is all zero
  }

  /// Nobody needs them to load it; disassemblers do.
  void write_sections() {
    const auto section = [](uint32_t name, uint32_t type, uint64_t flags, const Place& p, uint32_t link, uint32_t info, uint64_t align, uint64_t each) {
      return Elf64_Shdr{name, type, flags, p.address, p.offset, p.size, link, info, align, each};
    };
    const Place file_only{section_names_.offset, 0, section_names_.size};
    const Elf64_Shdr all[kSections] = {{},
                                       section(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, run_, 0, 0, 64, 0),
                                       section(7, SHT_DYNSYM, SHF_ALLOC, symbols_, 3, 1, 8, sizeof(Elf64_Sym)),
                                       section(15, SHT_STRTAB, SHF_ALLOC, strings_, 0, 0, 1, 0),
                                       section(23, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, dynamic_, 3, 0, 8, sizeof(Elf64_Dyn)),
                                       section(32, SHT_STRTAB, 0, file_only, 0, 0, 1, 0)};
    put(section_names_.offset, kSectionNames, sizeof kSectionNames);
    put(sections_.offset, all, sizeof all);
  }

  void relocate(const Object::Relocation& r) {
    if (r.symbol >= object_.symbols.size()) refuse("a relocation names no symbol");
    const Symbol& s = object_.symbols[r.symbol];
    const Piece& p = object_.pieces.at(r.section);
    if (r.offset > p.bytes.size() || p.bytes.size() - r.offset < 4) refuse("a relocation lies outside of its section");
    uint64_t to = 0;
    if (s.section == SHN_UNDEF) {
      const auto at = stub_of_.find(r.symbol);
      if (at == stub_of_.end() || !is_call(object_.machine, r.type)) refuse("the address of " + s.name + " is used otherwise than by calling it");
      to = stubs_.address + at->second * kStubSize;
    } else {
      const auto at = object_.pieces.find(s.section);
      if (at == object_.pieces.end()) refuse("a relocation names " + (s.name.empty() ? "section " + std::to_string(s.section) : s.name) + ", which is not in memory");
      to = at->second.address + s.value;
    }
    if (const std::string why = llvm_cpu::relocate(object_.machine, r.type, out_.data() + p.offset + r.offset, p.address + r.offset, to + uint64_t(r.addend)); !why.empty())
      refuse(why);
  }

  static constexpr size_t kSegments = 6, kSections = 6, kDynamic = 11;
  static constexpr uint16_t kTextSection = 1;
  static constexpr char kSectionNames[] = "\0.text\0.dynsym\0.dynstr\0.dynamic\0.shstrtab";

  Object object_;
  const uint64_t page_;
  std::vector<Elf64_Sym> dynamic_symbols_;
  std::vector<size_t> source_;            // of dynamic_symbols_, but the first, in object_.symbols
  std::vector<size_t> called_;            // undefined ones in dynamic_symbols_
  std::map<uint32_t, size_t> stub_of_;    // by symbol
  std::string names_, out_;
  uint64_t exported_ = 0, at_ = 0, size_ = 0;
  Place symbols_, hash_, strings_, relocations_, read_, run_, stubs_, slots_, dynamic_, written_, section_names_, sections_;
};

}  // namespace

std::string shared_object(std::string_view object) { return Linking(object).bytes(); }

}  // namespace optima::llvm_cpu
