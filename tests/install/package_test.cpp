// SPDX-License-Identifier: Apache-2.0
// tests/install: find_package(OptimaSdk) and optima_add_plugin() as strangers use them, and what a new plugin costs the tree.
#include <doctest/doctest.h>

#include <elf.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "tests/support/elf_note.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
namespace fs = std::filesystem;

namespace {

const std::string& sdk() {
  static const test::TempFolder folder;
  static const bool done = [] {
    const test::Ran ran = test::run({"cmake", "--install", OPTIMA_BINARY_DIR, "--component", "sdk", "--prefix", folder.path()});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return true;
  }();
  REQUIRE(done);
  return folder.path();
}

test::Ran configure(const std::string& source, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"cmake", "-S", source, "-B", source + "/build", "-DCMAKE_PREFIX_PATH=" + sdk()};
  words.insert(words.end(), more.begin(), more.end());
  return test::run(words);
}
test::Ran build(const std::string& source) { return test::run({"cmake", "--build", source + "/build"}); }

/// What configuring a project with this line says, blanks folded.
std::string refusal(const std::string& line) {
  const test::TempFolder folder;
  folder.file("a.c", "int a;\n");
  folder.file("bad.json", "{ not json");
  folder.file("runtime.json", "{\"roles\": [\"runtime\"]}");
  folder.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p VERSION 1.0 LANGUAGES C)\nfind_package(OptimaSdk REQUIRED)\n" + line + "\n");
  const test::Ran ran = configure(folder.path());
  CHECK(ran.code != 0);
  std::string folded;
  for (char c : ran.err) {
    const char d = c == '\n' ? ' ' : c;
    if (d != ' ' || folded.empty() || folded.back() != ' ') folded += d;
  }
  return folded;
}

std::map<std::string, std::string> files_below(const fs::path& root) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      all[fs::relative(entry.path(), root).string()] = std::string{std::istreambuf_iterator<char>(in), {}};
    }
  return all;
}

/// plugins/null under another name, as the guide tells people to do it.
void copy_null(const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(OPTIMA_SOURCE_DIR "/plugins/null", to, fs::copy_options::recursive);
  const test::Ran ran = test::run({"sed", "-i", "s/null/mine/g; s/NULL/MINE/g; s/Null/Mine/g", to / "CMakeLists.txt", to / "info.hpp", to / "manifest.cpp", to / "plugin.cpp"});
  REQUIRE(ran.code == 0);
}

}  // namespace

TEST_CASE("plugins/null copied and renamed builds outside the tree against the installed SDK") {
  const test::TempFolder folder;
  copy_null(folder / "mine");
  const test::Ran configured = configure(folder / "mine");
  INFO(configured.out << configured.err);
  REQUIRE(configured.code == 0);
  const test::Ran built = build(folder / "mine");
  INFO(built.out << built.err);
  REQUIRE(built.code == 0);
  const std::string plugin = folder / "mine/build/lib/optima/plugins/optima_mine.so";
  CHECK(test::read_note(plugin).manifest.find("\"id\": \"mine\"") != std::string::npos);
  const test::Ran symbols = test::run({"nm", "-D", "--defined-only", plugin});
  CHECK(std::count(symbols.out.begin(), symbols.out.end(), '\n') == 1);
  CHECK(symbols.out.find(" T optima_plugin_query\n") != std::string::npos);
}

TEST_CASE("adding a plugin to the tree changes nothing outside its folder") {
  const test::TempFolder folder;
  const fs::path tree = folder / "tree";
  fs::create_directories(tree);
  for (const auto& entry : fs::directory_iterator(OPTIMA_SOURCE_DIR)) {
    const std::string name = entry.path().filename();
    if (name == "build" || name == "out" || name.rfind(".git", 0) == 0) continue;
    if (name == ".deps") fs::create_directory_symlink(fs::canonical(entry.path()), tree / name);
    else fs::copy(entry.path(), tree / name, fs::copy_options::recursive);
  }
  copy_null(tree / "plugins/mine");
  const auto before = files_below(tree);
  const std::string out = folder / "build";
  const test::Ran configured = test::run({"cmake", "-S", tree, "-B", out, "-DOPTIMA_TESTS=OFF"});
  INFO(configured.err);
  REQUIRE(configured.code == 0);
  const test::Ran built = test::run({"cmake", "--build", out, "--target", "optima_plugin_mine"});
  INFO(built.out << built.err);
  REQUIRE(built.code == 0);
  CHECK(test::read_note(out + "/lib/optima/plugins/optima_mine.so").manifest.find("\"id\": \"mine\"") != std::string::npos);
  CHECK((files_below(tree) == before));
}

TEST_CASE("a plugin cross-built for AArch64 carries the note that this machine's generator printed") {
  if (test::run({"aarch64-linux-gnu-g++", "--version"}).code != 0) {
    std::cout << "SKIP: aarch64-linux-gnu-g++ is not installed\n";
    return;
  }
  const test::TempFolder folder;
  copy_null(folder / "mine");
  const test::Ran configured = configure(folder / "mine", {"-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++"});
  INFO(configured.out << configured.err);
  REQUIRE(configured.code == 0);
  const test::Ran built = build(folder / "mine");
  INFO(built.out << built.err);
  REQUIRE(built.code == 0);
  const test::ElfNote note = test::read_note(folder / "mine/build/lib/optima/plugins/optima_mine.so");
  CHECK(note.machine == EM_AARCH64);
  CHECK(note.manifest.find("\"id\": \"mine\"") != std::string::npos);
}

TEST_CASE("clang builds the same plugin, also under a sanitizer, which the note then names") {
  if (test::run({"clang++-19", "--version"}).code != 0) {
    std::cout << "SKIP: clang++-19 is not installed\n";
    return;
  }
  for (const std::string flags : {"", "-fsanitize=address"}) {
    const test::TempFolder folder;
    copy_null(folder / "mine");
    const test::Ran configured = configure(folder / "mine", {"-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_CXX_FLAGS=" + flags});
    INFO(configured.out << configured.err);
    REQUIRE(configured.code == 0);
    const test::Ran built = build(folder / "mine");
    INFO(built.out << built.err);
    REQUIRE(built.code == 0);
    const std::string note = test::read_note(folder / "mine/build/lib/optima/plugins/optima_mine.so").manifest;
    CHECK(note.find(flags.empty() ? "\"sanitizer\": \"none\"" : "\"sanitizer\": \"address\"") != std::string::npos);
  }
}

TEST_CASE("two halves of one plugin come from one table, each with its role, and their objects keep the IBT mark") {
  const test::TempFolder folder;
  copy_null(folder / "mine");
  folder.file("mine/CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\nproject(mine VERSION 2.0 LANGUAGES CXX)\nfind_package(OptimaSdk REQUIRED)\n"
              "optima_add_plugin(mine plugin.cpp MANIFEST_PROGRAM manifest.cpp ROLE compiler BUILD_ID b7)\n"
              "optima_add_plugin(mine_rt plugin.cpp MANIFEST_PROGRAM manifest.cpp ROLE runtime BUILD_ID b7 OUTPUT ${CMAKE_BINARY_DIR}/target)\n");
  REQUIRE(configure(folder / "mine", {"-DCMAKE_CXX_FLAGS=-fcf-protection=full"}).code == 0);
  const test::Ran built = build(folder / "mine");
  INFO(built.out << built.err);
  REQUIRE(built.code == 0);
  const std::string compiler = test::read_note(folder / "mine/build/lib/optima/plugins/optima_mine.so").manifest;
  const std::string runtime = test::read_note(folder / "mine/build/target/optima_mine_rt.so").manifest;
  CHECK(compiler.find("\"roles\": [\"compiler\"]") != std::string::npos);
  CHECK(runtime.find("\"roles\": [\"runtime\"]") != std::string::npos);
  for (const std::string& m : {compiler, runtime}) CHECK(m.find("\"build_id\": \"b7\"") != std::string::npos);
  const test::Ran object = test::run({"readelf", "-n", folder / "mine/build/CMakeFiles/optima_plugin_mine.dir/optima_plugin_mine.note/note.cpp.o"});
  CHECK(object.out.find("IBT") != std::string::npos);
}

TEST_CASE("a changed manifest program changes the note of the next build") {
  const test::TempFolder folder;
  copy_null(folder / "mine");
  REQUIRE(configure(folder / "mine").code == 0);
  REQUIRE(build(folder / "mine").code == 0);
  REQUIRE(test::run({"sed", "-i", "s/\"Optima\"/\"Somebody\"/", folder / "mine/info.hpp"}).code == 0);
  REQUIRE(build(folder / "mine").code == 0);
  CHECK(test::read_note(folder / "mine/build/lib/optima/plugins/optima_mine.so").manifest.find("\"vendor\": \"Somebody\"") != std::string::npos);
}

TEST_CASE("optima_add_plugin says what is missing or wrong") {
  CHECK(refusal("optima_add_plugin(p a.c)").find("optima_add_plugin(p): wants one of MANIFEST and MANIFEST_PROGRAM") != std::string::npos);
  CHECK(refusal("optima_add_plugin(p MANIFEST bad.json)").find("optima_add_plugin(p): no sources") != std::string::npos);
  CHECK(refusal("optima_add_plugin(p a.c MANIFEST bad.json)").find("bad.json") != std::string::npos);
  CHECK(refusal("optima_add_plugin(p a.c MANIFEST bad.json ROLE driver)").find("ROLE is 'driver', wanted compiler, runtime or both") != std::string::npos);
  CHECK(refusal("optima_add_plugin(p a.c MANIFEST none.json)").find("none.json does not exist") != std::string::npos);
  CHECK(refusal("optima_add_plugin(p a.c MANIFEST runtime.json ROLE compiler)").find("ROLE is 'compiler', the roles in") != std::string::npos);
  CHECK(refusal("find_package(OptimaSdk 9.0 REQUIRED)").find("version \"9.0\"") != std::string::npos);
}
