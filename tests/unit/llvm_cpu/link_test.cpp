// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: shared objects that are made without a linker: they run, on both architectures, and have what the loader protects.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <set>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/shared_object.hpp"
#include "tests/support/process.hpp"

namespace cpu = optima::llvm_cpu;
using optima::test::run;

namespace {

const std::string kObjects = LINKED_OBJECTS;  // linked_X64.o, ...

std::string linked(const std::string& name) { return cpu::shared_object(optima::test::get(kObjects + "/" + name)); }

template <class T>
std::vector<T> table(const std::string& bytes, uint64_t offset, uint64_t count) {
  std::vector<T> out(count);
  REQUIRE(offset + count * sizeof(T) <= bytes.size());
  std::memcpy(out.data(), bytes.data() + offset, count * sizeof(T));
  return out;
}

/// The object of this name with every relocation of one type made one of another.
std::string with_type(const std::string& name, uint32_t from, uint32_t to) {
  std::string bytes = optima::test::get(kObjects + "/" + name);
  const auto h = table<Elf64_Ehdr>(bytes, 0, 1)[0];
  for (const Elf64_Shdr& s : table<Elf64_Shdr>(bytes, h.e_shoff, h.e_shnum))
    for (uint64_t at = 0; s.sh_type == SHT_RELA && at < s.sh_size; at += sizeof(Elf64_Rela)) {
      auto r = table<Elf64_Rela>(bytes, s.sh_offset + at, 1)[0];
      if (ELF64_R_TYPE(r.r_info) == from) r.r_info = ELF64_R_INFO(ELF64_R_SYM(r.r_info), uint64_t{to});
      std::memcpy(bytes.data() + s.sh_offset + at, &r, sizeof r);
    }
  return bytes;
}

/// What linked_main.cpp is to print.
std::string wanted() {
  constexpr long long numbers[] = {3, 1, 4, 1, 5, 9, 2, 6}, odd[] = {2, 3, 5, 7}, more[] = {11, 13, 17, 19};
  std::string out;
  for (long long which = 0; which < 8; ++which) {
    const long long x = 1000003 * which - 4000, in[8] = {which, x, which * 8, 40, 50, 60, 70, 80};
    const long long chosen[] = {x * 3, x / 7, x ^ 0x5a5a, -x, x * x, x >> 3, x % 11, 0};
    std::vector<long long> all = {chosen[which], numbers[which] + which * 180 * which * 180, static_cast<long long>(static_cast<double>(x) * 0.3333333333333333),
                                  static_cast<long long>(static_cast<float>(x) * 1.7182818f)};
    for (int i = 0; i < 4; ++i) all.push_back(in[i] * odd[i] + more[i]);
    for (int i = 0; i < 8; ++i) all.push_back(i < which ? in[i] : -1);
    for (int i = 0; i < 8; ++i) all.push_back(i < which ? 0x1111111111111111 : -1);
    for (const long long v : all) out += std::to_string(v) + " ";
    out += "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("what is linked runs: constants, a jump table, its own functions and those of the process") {
  optima::test::TempFolder folder;
  const std::string expected = wanted();
  for (const std::string kind : {"X64", "ARM64"}) {
    CAPTURE(kind);
    const std::string file = folder / (kind + ".so");
    optima::test::put(file, linked("linked_" + kind + ".o"));
    std::vector<std::string> words = {kObjects + "/linked_main_" + kind, file};
    if (kind == "ARM64") words.insert(words.begin(), {"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"});
    const auto ran = run(words);
    CHECK(ran.err == "");
    CHECK(ran.code == 0);
    CHECK(ran.out == expected);
  }
}

TEST_CASE("nothing is both written and run, pointers are protected, no library is needed, and equal objects give equal bytes") {
  for (const std::string name : {"linked_X64.o", "linked_ARM64.o"}) {
    CAPTURE(name);
    const std::string bytes = linked(name);
    CHECK(bytes == linked(name));
    const auto h = table<Elf64_Ehdr>(bytes, 0, 1)[0];
    CHECK(h.e_type == ET_DYN);
    std::set<uint32_t> types;
    Elf64_Phdr written{}, hidden{};
    for (const Elf64_Phdr& p : table<Elf64_Phdr>(bytes, h.e_phoff, h.e_phnum)) {
      types.insert(p.p_type);
      CHECK((p.p_flags & (PF_W | PF_X)) != (PF_W | PF_X));
      CHECK(p.p_offset + p.p_filesz <= bytes.size());
      if (p.p_type == PT_LOAD) CHECK(p.p_offset % p.p_align == p.p_vaddr % p.p_align);
      if (p.p_type == PT_LOAD && p.p_flags & PF_W) written = p;
      if (p.p_type == PT_GNU_RELRO) hidden = p;
      if (p.p_type != PT_DYNAMIC) continue;
      std::set<int64_t> tags;
      for (const Elf64_Dyn& d : table<Elf64_Dyn>(bytes, p.p_offset, p.p_filesz / sizeof(Elf64_Dyn))) tags.insert(d.d_tag);
      CHECK(tags.count(DT_NEEDED) == 0);
      CHECK(tags.count(DT_TEXTREL) == 0);
      CHECK(tags.count(DT_FLAGS_1) == 1);
      CHECK(tags.count(DT_NULL) == 1);
    }
    CHECK(types == std::set<uint32_t>{PT_LOAD, PT_DYNAMIC, PT_GNU_RELRO, PT_GNU_STACK});
    CHECK(hidden.p_vaddr == written.p_vaddr);  // all that is written, and whole pages of it
    CHECK(hidden.p_memsz == written.p_memsz);
    CHECK((written.p_vaddr + written.p_memsz) % written.p_align == 0);
  }
}

TEST_CASE("what no kernel has is refused, not linked wrongly") {
  const auto refused = [](const std::string& object, const char* why) {
    CHECK_THROWS_WITH_AS(cpu::shared_object(object), ("kernels are not linked: " + std::string(why)).c_str(), optima::sdk::Error);
  };
  const auto file = [](const char* name) { return optima::test::get(kObjects + "/" + name); };
  refused(file("written_X64.o"), "section .bss is no constant and no code");
  refused(file("written_ARM64.o"), "section .bss is no constant and no code");
  refused(file("pointer_X64.o"), "the address of memcpy is used otherwise than by calling it");
  refused(file("pointer_ARM64.o"), "the address of memcpy is used otherwise than by calling it");
  refused(with_type("linked_X64.o", R_X86_64_PC32, R_X86_64_64), "relocation 1 is none of those that kernels have");
  refused(with_type("linked_ARM64.o", R_AARCH64_ADD_ABS_LO12_NC, R_AARCH64_LDST128_ABS_LO12_NC + 100), "relocation 399 is none of those that kernels have");
  const std::string whole = file("linked_X64.o");
  for (const size_t size : {size_t{0}, size_t{40}, size_t{64}, whole.size() / 2}) CHECK_THROWS_AS(cpu::shared_object(whole.substr(0, size)), optima::sdk::Error);
}
