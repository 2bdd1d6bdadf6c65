// SPDX-License-Identifier: Apache-2.0
// core/loader: the note reader. Every offset comes from the file and is checked before it is followed.
#include "core/loader/elf_note.hpp"

#include <cstring>

#include "core/support/text.hpp"

namespace optima {

namespace {

constexpr uint64_t kLongestManifest = 1 << 20;  // bytes; the largest real one is some 100 KiB
constexpr uint32_t kSegmentLoad = 1, kSegmentNote = 4;
constexpr uint16_t kSharedObject = 3, kCountElsewhere = 0xFFFF;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> file) : file_(file) {}

  Result<ElfNote> read() {
    if (file_.size() < 4 || std::memcmp(file_.data(), "\177ELF", 4) != 0) return invalid_input("not an ELF file");
    if (file_.size() < 52) return invalid_input(cat("truncated: ", file_.size(), " bytes, an ELF header has more"));
    const auto width = static_cast<uint8_t>(file_[4]), order = static_cast<uint8_t>(file_[5]);
    if (width != 1 && width != 2) return invalid_input("damaged: unknown ELF class");
    if (order != 1) return invalid_input("big-endian; Optima serves little-endian targets");
    note_.wide = wide_ = width == 2;
    note_.machine = static_cast<uint16_t>(word(18, 2));
    note_.shared_library = word(16, 2) == kSharedObject;
    const uint64_t table = word(wide_ ? 32 : 28, wide_ ? 8 : 4);
    const uint64_t step = word(wide_ ? 54 : 42, 2), count = word(wide_ ? 56 : 44, 2);
    if (count == kCountElsewhere || step < (wide_ ? 56u : 32u)) return invalid_input("damaged: impossible program headers");
    if (table > file_.size() || count * step > file_.size() - table) return truncated(table + count * step);
    for (uint64_t i = 0; i < count && ok_; ++i) segment(table + i * step);
    if (past_end_ != 0) return truncated(past_end_);
    if (!ok_) return invalid_input("damaged: a note runs past its segment");
    if (too_long_ != 0) return invalid_input(cat("its Optima note is too large: found ", too_long_, " bytes, wanted at most ", kLongestManifest));
    return std::move(note_);
  }

 private:
  Status truncated(uint64_t wanted) const {
    return invalid_input(cat("truncated or damaged: found ", file_.size(), " bytes, wanted at least ", wanted));
  }

  uint64_t word(uint64_t at, unsigned bytes) {
    uint64_t v = 0;
    if (at > file_.size() || bytes > file_.size() - at) return ok_ = false, 0;
    for (unsigned i = 0; i < bytes; ++i) v |= static_cast<uint64_t>(file_[at + i]) << 8 * i;
    return v;
  }

  void segment(uint64_t header) {
    const uint64_t type = word(header, 4);
    if (type != kSegmentLoad && type != kSegmentNote) return;
    const uint64_t at = word(header + (wide_ ? 8 : 4), wide_ ? 8 : 4);
    const uint64_t size = word(header + (wide_ ? 32 : 16), wide_ ? 8 : 4);
    if (at > file_.size() || size > file_.size() - at) {
      past_end_ = at + size < at ? UINT64_MAX : at + size;
      ok_ = false;
      return;
    }
    if (type == kSegmentNote) notes(at, at + size, word(header + (wide_ ? 48 : 28), wide_ ? 8 : 4) == 8 ? 8 : 4);
  }

  void notes(uint64_t at, uint64_t end, uint64_t align) {  // GNU property notes are aligned to 8
    const auto up = [&](uint64_t n) { return (n + align - 1) / align * align; };
    while (ok_ && end - at >= 12) {
      const uint64_t name = word(at, 4), desc = word(at + 4, 4), type = word(at + 8, 4);
      const uint64_t desc_at = up(12 + name);
      if (desc_at > end - at || desc > end - at - desc_at) ok_ = false;
      if (!ok_) return;
      if (type == 1 && name == 7 && std::memcmp(&file_[at + 12], "Optima", 7) == 0 && !note_.has_note) {
        note_.has_note = true;
        if (desc > kLongestManifest) too_long_ = desc;
        else note_.manifest.assign(reinterpret_cast<const char*>(file_.data()) + at + desc_at, desc);
      }
      const uint64_t next = desc_at + up(desc);
      at = next > end - at ? end : at + next;
    }
  }

  std::span<const std::byte> file_;
  ElfNote note_;
  bool wide_ = true, ok_ = true;
  uint64_t past_end_ = 0, too_long_ = 0;
};

}  // namespace

Result<ElfNote> read_elf_note(std::span<const std::byte> file) { return Reader(file).read(); }

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case 3: return "x86";
    case 8: return "MIPS";
    case 20: return "PowerPC";
    case 21: return "PowerPC64";
    case 40: return "ARM";
    case 62: return "x86-64";
    case 164: return "Hexagon";
    case 183: return "AArch64";
    case 243: return "RISC-V";
    case 258: return "LoongArch";
    default: return cat("machine ", machine);
  }
}

uint16_t own_machine() {
#if defined(__x86_64__)
  return 62;
#elif defined(__aarch64__)
  return 183;
#elif defined(__riscv)
  return 243;
#else
#error "name this machine's e_machine here"
#endif
}

}  // namespace optima
