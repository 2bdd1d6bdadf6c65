// SPDX-License-Identifier: Apache-2.0
#include "core/loader/elf_note.hpp"

#include <random>

#include "core/loader/parse_manifest.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

Result<ElfNote> read(const std::string& bytes) { return read_elf_note(std::as_bytes(std::span(bytes.data(), bytes.size()))); }

// A 32-bit ELF file by hand: header, one PT_NOTE header, one note.
std::string narrow_file(const std::string& desc = "{}") {
  const size_t note = 20 + (desc.size() + 3) / 4 * 4;
  std::string f = std::string("\177ELF\1\1\1", 7) + std::string(9, '\0');
  const auto put = [&](uint64_t v, int bytes) { for (int i = 0; i < bytes; ++i) f += static_cast<char>(v >> 8 * i); };
  put(3, 2), put(40, 2), put(1, 4), put(0, 4), put(52, 4), put(0, 4), put(0, 4), put(52, 2), put(32, 2), put(1, 2), put(0, 2), put(0, 2), put(0, 2);
  put(4, 4), put(84, 4), put(0, 4), put(0, 4), put(note, 4), put(note, 4), put(4, 4), put(4, 4);
  put(7, 4), put(desc.size(), 4), put(1, 4), f += std::string("Optima\0\0", 8) + desc;
  f.resize(84 + note);
  return f;
}

}  // namespace

TEST_CASE("the note of a plugin is read without loading it") {
  const auto note = read(slurp(bad_plugin("crash_in_constructor")));
  REQUIRE(note.ok());
  CHECK((note->has_note && note->wide && note->shared_library && note->machine == own_machine()));
  CHECK(parse_manifest(note->manifest, "note")->id == "bad");
  CHECK(!read(slurp(bad_plugin("no_note")))->has_note);
}

TEST_CASE("notes of other machines and widths are read too") {
  const auto narrow = read(narrow_file());
  REQUIRE_MESSAGE(narrow.ok(), narrow.status().message());
  CHECK((!narrow->wide && narrow->machine == 40 && narrow->manifest == "{}"));
  CHECK(machine_name(40) == "ARM");
  CHECK(machine_name(4711) == "machine 4711");
  if (!fs::exists(bad_plugin("aarch64"))) {
    MESSAGE("skipped: no aarch64-linux-gnu-gcc, so no plugin of another machine");
    return;
  }
  const auto far = read(slurp(bad_plugin("aarch64")));
  REQUIRE(far.ok());
  CHECK((far->machine == 183 && far->has_note));
}

TEST_CASE("what is no whole ELF file is refused with a reason") {
  CHECK(read("").status().message() == "not an ELF file");
  CHECK(read("hello, this is a text").status().message() == "not an ELF file");
  CHECK(read("\177ELF").status().message() == "truncated: 4 bytes, an ELF header has more");
  std::string big = narrow_file();
  big[5] = 2;
  CHECK(read(big).status().message() == "big-endian; Optima serves little-endian targets");
  std::string odd = narrow_file();
  odd[4] = 9;
  CHECK(read(odd).status().message() == "damaged: unknown ELF class");
  const std::string good = slurp(bad_plugin("fine"));
  for (size_t n : {size_t{60}, size_t{1000}, size_t{4096}}) CHECK(read(good.substr(0, n)).status().message().find("truncated or damaged: found ") == 0);
  std::string long_name = narrow_file();
  long_name[84] = '\x7F';
  CHECK(read(long_name).status().message() == "damaged: a note runs past its segment");
}

TEST_CASE("a note that is too large is said to be, with its size") {
  CHECK(read(narrow_file(std::string(1 << 20, ' ')))->manifest.size() == 1 << 20);
  const auto large = read(narrow_file(std::string(50'000'000, ' ')));
  CHECK(large.status().kind() == StatusKind::InvalidInput);
  CHECK(large.status().message() == "its Optima note is too large: found 50000000 bytes, wanted at most 1048576");
}

TEST_CASE("no damaged file harms the note reader or the manifest reader") {
  const std::string good = slurp(bad_plugin("fine"));
  std::mt19937 random(1);
  int answered = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = i % 4 == 0 ? narrow_file() : good.substr(0, i % 4 == 1 ? random() % good.size() : good.size());
    const size_t reach = std::max<size_t>(1, std::min<size_t>(bad.size(), i % 4 == 3 ? bad.size() : 1024));
    for (unsigned k = random() % 8 + 1; k > 0 && !bad.empty(); --k) bad[random() % reach] = static_cast<char>(random() % 3 ? random() : 0xFF);
    const auto note = read(bad);
    if (note.ok() && note->has_note) (void)parse_manifest(note->manifest, "note");
    answered += note.ok();
  }
  CHECK(answered > 100);  // the mutator is not so wild that nothing gets through
}
