// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: see relocate.hpp. Types and fields are those of the ELF supplements for x86-64 and AArch64.
#include "plugins/llvm_cpu/codegen/relocate.hpp"

#include <llvm/BinaryFormat/ELF.h>

#include <cstring>

namespace optima::llvm_cpu {
namespace {

using namespace llvm::ELF;

constexpr uint64_t kPage = 4096;  // of adrp, whatever the system's is

bool reaches(int64_t distance, int bits) { return distance >= -(int64_t{1} << (bits - 1)) && distance < int64_t{1} << (bits - 1); }

std::string too_far(uint32_t type) { return "relocation " + std::to_string(type) + " does not reach its target"; }

void set_bits(char* place, uint32_t mask, uint32_t value) {
  uint32_t word;
  std::memcpy(&word, place, sizeof word);
  word = (word & ~mask) | (value & mask);
  std::memcpy(place, &word, sizeof word);
}

std::string write_distance(uint32_t type, char* place, uint64_t from, uint64_t to) {
  const auto distance = static_cast<int64_t>(to - from);
  if (!reaches(distance, 32)) return too_far(type);
  set_bits(place, ~0u, static_cast<uint32_t>(distance));
  return "";
}

std::string write_pages(uint32_t type, char* place, uint64_t from, uint64_t to) {
  const auto pages = static_cast<int64_t>(to / kPage - from / kPage);
  if (!reaches(pages, 21)) return too_far(type);
  const auto bits = static_cast<uint32_t>(pages);
  set_bits(place, 0x60ffffe0, (bits & 3) << 29 | (bits >> 2 & 0x7ffff) << 5);
  return "";
}

/// The lower 12 bits of an address, in units of what is loaded.
std::string write_low(uint32_t type, char* place, uint64_t to, uint32_t scale) {
  if (to % (uint64_t{1} << scale)) return "relocation " + std::to_string(type) + " is of data that is not aligned";
  set_bits(place, 0xfffu << 10, static_cast<uint32_t>(to % kPage >> scale) << 10);
  return "";
}

std::string write_branch(uint32_t type, char* place, uint64_t from, uint64_t to) {
  const auto distance = static_cast<int64_t>(to - from);
  if (!reaches(distance, 28) || distance % 4) return too_far(type);
  set_bits(place, 0x3ffffff, static_cast<uint32_t>(distance >> 2));
  return "";
}

std::string unknown(uint32_t type) { return "relocation " + std::to_string(type) + " is none of those that kernels have"; }

std::string relocate_arm(uint32_t type, char* place, uint64_t from, uint64_t to) {
  switch (type) {
    case R_AARCH64_PREL32: return write_distance(type, place, from, to);
    case R_AARCH64_ADR_PREL_PG_HI21: return write_pages(type, place, from, to);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return write_low(type, place, to, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return write_low(type, place, to, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return write_low(type, place, to, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return write_low(type, place, to, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return write_low(type, place, to, 4);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: return write_branch(type, place, from, to);
    default: return unknown(type);
  }
}

}  // namespace

bool is_call(uint16_t machine, uint32_t type) {
  return machine == EM_X86_64 ? type == R_X86_64_PLT32 : type == R_AARCH64_CALL26 || type == R_AARCH64_JUMP26;
}

std::string relocate(uint16_t machine, uint32_t type, char* place, uint64_t from, uint64_t to) {
  if (machine == EM_AARCH64) return relocate_arm(type, place, from, to);
  return type == R_X86_64_PC32 || type == R_X86_64_PLT32 ? write_distance(type, place, from, to) : unknown(type);
}

std::string stub(uint16_t machine, uint64_t at, uint64_t slot) {
  std::string code;
  if (machine == EM_X86_64) {
    code.assign("\xff\x25\0\0\0\0\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc", kStubSize);  // jmp *slot(%rip), then int3
    relocate(machine, R_X86_64_PC32, code.data() + 2, at + 2, slot - 4);
    return code;
  }
  const uint32_t words[] = {0x90000010, 0xf9400211, 0xd61f0220, 0xd4200000};  // adrp x16, slot; ldr x17, [x16, low of slot]; br x17; brk 0
  code.assign(reinterpret_cast<const char*>(words), kStubSize);
  relocate(machine, R_AARCH64_ADR_PREL_PG_HI21, code.data(), at, slot);
  relocate(machine, R_AARCH64_LDST64_ABS_LO12_NC, code.data() + 4, at + 4, slot);
  return code;
}

}  // namespace optima::llvm_cpu
