// SPDX-License-Identifier: Apache-2.0
// tests/install: find_package(OptimaSdk) and optima_add_plugin() as strangers use them, and what a new plugin costs the tree.
#include <doctest/doctest.h>

#include <elf.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "optima/abi.h"
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
    MESSAGE("SKIP: aarch64-linux-gnu-g++ is not installed");
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
    MESSAGE("SKIP: clang++-19 is not installed");
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

TEST_CASE("the package says its seam's version and where guide, example, skeleton and schema lie") {
  const test::TempFolder folder;
  folder.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\nfind_package(OptimaSdk REQUIRED)\n"
                                "message(STATUS \"seam ${OptimaSdk_ABI_MAJOR}.${OptimaSdk_ABI_MINOR}.\")\n"
                                "foreach(what GUIDE EXAMPLE NULL_PLUGIN SCHEMA)\n  if(NOT EXISTS \"${OptimaSdk_${what}}\")\n"
                                "    message(FATAL_ERROR \"no ${what} at '${OptimaSdk_${what}}'\")\n  endif()\nendforeach()\n");
  const test::Ran ran = configure(folder.path());
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.out.find("seam " + std::to_string(OPTIMA_ABI_MAJOR) + "." + std::to_string(OPTIMA_ABI_MINOR) + ".") != std::string::npos);
}

namespace {

/// The vendor's manifest with `from` replaced by `to`.
std::string vendor_manifest(const std::string& from, const std::string& to) {
  std::string manifest = test::get(sdk() + "/share/optima/examples/vendor_plugin/manifest.json");
  REQUIRE(manifest.find(from) != std::string::npos);
  return manifest.replace(manifest.find(from), from.size(), to);
}

/// What building a plugin with this priority line says, in a project of one language.
test::Ran built_with(const std::string& priority, const std::string& language, std::vector<std::string> more = {}) {
  const test::TempFolder folder;
  folder.file("m.json", vendor_manifest("\"priority\": 0", priority));
  const std::string source = language == "C" ? "a.c" : "a.cpp";
  folder.file(source, "#include \"optima/abi.h\"\nOPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t, const optima_host*, optima_status*);\n"
                      "const optima_plugin_api* optima_plugin_query(uint32_t m, const optima_host* h, optima_status* s) { (void)m, (void)h, (void)s; return 0; }\n");
  folder.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p VERSION 1.0 LANGUAGES " + language +
                                    ")\nadd_compile_options(-Wall -Wextra -Werror)\nfind_package(OptimaSdk REQUIRED)\noptima_add_plugin(p " + source +
                                    " MANIFEST m.json BUILD_ID 1)\n");
  const test::Ran configured = configure(folder.path(), std::move(more));
  INFO(configured.err);
  REQUIRE(configured.code == 0);
  test::Ran ran = build(folder.path());
  ran.out += ran.err;
  return ran;
}

}  // namespace

TEST_CASE("a manifest written by hand is checked while building, in projects of C and of C++, and when cross-building") {
  for (const std::string language : {"C", "CXX"}) {
    const test::Ran good = built_with("\"priority\": 7", language);
    INFO(good.out);
    CHECK(good.code == 0);
    const test::Ran bad = built_with("\"priorty\": 7", language);
    CHECK(bad.code != 0);
    CHECK(bad.out.find("m.json:11: error: key 'priorty' is not known (nearest: 'priority')") != std::string::npos);
  }
  if (test::run({"aarch64-linux-gnu-gcc", "--version"}).code != 0) {
    MESSAGE("SKIP: aarch64-linux-gnu-gcc is not installed");
    return;
  }
  const std::vector<std::string> cross = {"-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc"};
  CHECK(built_with("\"priority\": 7", "C", cross).code == 0);
  CHECK(built_with("\"priorty\": 7", "C", cross).out.find("(nearest: 'priority')") != std::string::npos);
}

TEST_CASE("what is wrong in a manifest is said with its line, its place and the nearest name") {
  const test::TempFolder folder;
  const std::string data = sdk() + "/share/optima";
  const test::Ran compiled = test::run({"cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", folder / "check", data + "/check_manifest/check_manifest.c"});
  INFO(compiled.err);
  REQUIRE(compiled.code == 0);
  const std::string major = std::to_string(OPTIMA_ABI_MAJOR), minor = std::to_string(OPTIMA_ABI_MINOR);
  const auto checked = [&](const std::string& manifest) {
    return test::run({folder / "check", folder.file("m.json", manifest), data + "/manifest.schema.json", data + "/onnx_operators.txt", major, minor, "1"});
  };
  CHECK(checked(vendor_manifest("\"priority\": 0", "\"priority\": -3")).code == 0);
  const std::string options = "\"options\": []", row = "\"op\": \"ScaleShift\"", domain = "{\"domain\": \"com.acme\", \"op\": \"ScaleShift\", \"since_version\": [1, 1]";
  const auto option = [&](const std::string& members) { return "\"options\": [{" + members + ", \"scope\": \"compile\", \"doc\": \"\", \"changes_artifact\": true}]"; };
  const auto standard = [](const std::string& op, const std::string& since) { return "{\"domain\": \"\", \"op\": \"" + op + "\", \"since_version\": " + since; };
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {domain, standard("Sofmax", "[13, 13]"), "m.json:18: error: operators[0].op: found 'Sofmax', wanted an operator of ONNX (nearest: 'Softmax')"},
      {domain, standard("Relu", "[15, 25]"), "operators[0].since_version: found [15, 25], wanted one with a version in which Relu changed: 1 6 13 14"},
      {domain, "{\"domain\": \"ai.onnx\", \"op\": \"Relu\", \"since_version\": [6, 14]", "operators[0].domain: found 'ai.onnx', wanted ''"},
      {"\"rank\": [1, 8]", "\"rank\": [1, 7]", "operators[0]: ranks begins with [1, 8], wanted rank's [1, 7]"},
      {row, row + ", \"kinds\": [\"ACM\"]", "operators[0].kinds: found 'ACM', wanted a kind that devices lists (nearest: 'ACME')"},
      {"\"max_nodes\"", "\"max_node\"", "limits: key 'max_node' is not known (nearest: 'max_nodes')"},
      {"\"max_nodes\": 1", "\"not_last\": [\"ScaleShft\"]", "limits.not_last: found 'ScaleShft', wanted one of operators (nearest: 'ScaleShift')"},
      {"\"flags\": []", "\"flags\": [\"only_when_name\"]", "flags[0]: found 'only_when_name', wanted one of only_when_named, single_instance, cancel_by_kill (nearest: 'only_when_named')"},
      {"[[0, 1]]", "[[0, 77]]", "abi: wanted the pair [" + major + ", " + minor + "] of this SDK among them"},
      {"\"build_id\": \"1\"", "\"build_id\": \"2\"", "build_id: found '2', wanted '1', which the sources are built with"},
      {"\"version\": \"1.0.0\",", "", "key 'version' is missing"},
      {"\"vendor\": \"Acme\",", "\"vendor\": \"Acme\", \"vendor\": \"Acme\",", "key 'vendor' is there twice"},
      {"\"options\": []", "\"options\": [],", "error: not JSON: wanted a key in quotation marks"},
      {options, option("\"name\": \"acme.mode\", \"type\": \"int\", \"default\": 1"), "options[0].name: found 'acme.mode', wanted one that begins with the plugin's id and a dot, 'com.acme.scale_shift.'"},
      {options, option("\"name\": \"com.acme.scale_shift.mode\", \"type\": \"enum\", \"values\": [\"fast\", \"small\"], \"default\": \"fats\""), "options[0].default: found 'fats', wanted one of the values (nearest: 'fast')"},
      {options, option("\"name\": \"com.acme.scale_shift.mode\", \"type\": \"int\", \"default\": \"3\""), "options[0].default: found '3', wanted an integer, as type is int"},
      {options, option("\"name\": \"com.acme.scale_shift.mode\", \"type\": \"int\", \"min\": 0, \"max\": 3, \"default\": 4"), "options[0].default: found 4, wanted one within min and max"},
  };
  for (const auto& [from, to, sentence] : cases) {
    const test::Ran ran = checked(vendor_manifest(from, to));
    CAPTURE(sentence);
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.err.find(sentence) != std::string::npos);
  }
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
