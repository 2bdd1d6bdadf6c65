// SPDX-License-Identifier: Apache-2.0
// One mistake a case: the message, the exit code, and nothing left behind.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima::test;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// Compiles into folder/out; whatever is wrong, that folder must not be there afterwards.
Ran compile_fails(const TempFolder& folder, std::vector<std::string> words) {
  words.insert(words.begin(), "compile");
  words.insert(words.end(), {"-o", folder / "out"});
  const Ran r = host(words);
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
  CHECK(r.err.find("terminate") == std::string::npos);
  return r;
}

void check(const Ran& r, int code, const std::string& part) {
  CAPTURE(r.err);
  CHECK(r.code == code);
  CHECK(r.err.find(part) != std::string::npos);
  // One error line: the last one.
  const size_t last = r.err.rfind("optima-host: error: ");
  REQUIRE(last != std::string::npos);
  CHECK(r.err.find('\n', last) == r.err.size() - 1);
}

std::string allocation(const TempFolder& folder, const std::string& text) { return folder.file("alloc.json", text); }

// A compiled package of the tiny model on the reference device, for the cases that damage it.
std::string package_in(const TempFolder& folder) {
  const Ran r = host({"compile", folder.file("tiny.onnxtxt", kTiny), "-o", folder / "pkg", "--device", "REF:0"});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return folder / "pkg/tiny";
}

}  // namespace

TEST_CASE("bad model: missing file") {
  const TempFolder f;
  check(compile_fails(f, {f / "none.onnx"}), 3, "none.onnx': No such file");
}
TEST_CASE("bad model: empty file") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnx", "")}), 3, "empty");
}
TEST_CASE("bad model: truncated file") {
  const TempFolder f;
  const std::string whole = bytes_of(digits_model());
  check(compile_fails(f, {f.file("m.onnx", whole.substr(0, whole.size() / 2))}), 3, "m.onnx");
}
TEST_CASE("bad model: not ONNX at all") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnx", "PK\x03\x04 this is a zip")}), 3, "m.onnx");
}
TEST_CASE("bad model: a cycle") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21]>\nm (float[1] x) => (float[1] y) {\n a = Add(x, b)\n b = Relu(a)\n y = Relu(b)\n}")}),
        3, "cycl");
}
TEST_CASE("bad model: an input that nothing produces") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21]>\nm (float[1] x) => (float[1] y) {\n y = Add(x, ghost)\n}")}), 3, "ghost");
}
TEST_CASE("bad model: shapes that do not fit") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21]>\nm (float[2,3] x, float[4,5] w) => (float[2,5] y) {\n y = MatMul(x, w)\n}")}), 3, "m.onnxtxt");
}
TEST_CASE("bad model: an opset from the future") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 99]>\nm (float[1] x) => (float[1] y) {\n y = Relu(x)\n}")}), 3, "99");
}
TEST_CASE("bad model: an opset from the past") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnxtxt", "<ir_version: 3, opset_import: [\"\" : 5]>\nm (float[1] x) => (float[1] y) {\n y = Relu(x)\n}")}), 3, "5");
}
TEST_CASE("an operator that no plugin claims is named with its domain") {
  const TempFolder f;
  check(compile_fails(f, {f.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21, \"com.nobody\" : 1]>\nm (float[1] x) => (float[1] y) {\n y = com.nobody.Magic(x)\n}"), "--device", "REF:0"}),
        4, "Magic");
}

TEST_CASE("bad allocation: not JSON") {
  const TempFolder f;
  check(compile_fails(f, {digits_model(), "--alloc", allocation(f, "{nope")}), 3, "line 1 column");
}
TEST_CASE("bad allocation: duplicate key") {
  const TempFolder f;
  check(compile_fails(f, {digits_model(), "--alloc", allocation(f, R"({"/Add": "X64:0", "/Add": "REF:0"})")}), 3, "'/Add' appears twice");
}
TEST_CASE("bad allocation: two equally long globs that disagree") {
  const TempFolder f;
  const Ran r = compile_fails(f, {digits_model(), "--alloc", allocation(f, R"({"/widen*/*": "X64:0", "*/widen*/": "REF:0", "/wid*.0/Conv": "X64:0", "/widen.0*onv": "REF:0", "/widen/*Conv": "REF:0", "/widen*/Conv": "X64:0"})")});
  check(r, 3, "/widen/widen.0/Conv");
}
TEST_CASE("bad allocation: unknown node, nearest names shown") {
  const TempFolder f;
  check(compile_fails(f, {digits_model(), "--alloc", allocation(f, R"({"/stem/stem.0/Conf": "X64:0"})")}), 3, "(nearest: '/stem/stem.0/Conv'");
}
TEST_CASE("bad allocation: unknown device kind") {
  const TempFolder f;
  check(compile_fails(f, {digits_model(), "--alloc", allocation(f, R"({"*": "WARP:0"})")}), 3, "WARP");
}
TEST_CASE("bad allocation: unknown plugin") {
  const TempFolder f;
  check(compile_fails(f, {digits_model(), "--alloc", allocation(f, R"({"*": "nobody/X64:0"})")}), 3, "nobody");
}
TEST_CASE("a pin that its plugin refuses shows the plugin's sentence") {
  const TempFolder f;
  const Ran r = compile_fails(f, {digits_model(), "--pin", "/stem/stem.0/Conv=NULL:0"});
  check(r, 4, "/stem/stem.0/Conv");
  CHECK(r.err.find("null") != std::string::npos);
}
TEST_CASE("--require-device that cannot be met says which nodes") {
  const TempFolder f;
  check(compile_fails(f, {digits_model(), "--require-device", "NULL:0"}), 4, "NULL:0");
}

TEST_CASE("bad package: a flipped byte in every kind of file") {
  const TempFolder f;
  const std::string package = package_in(f);
  for (const char* name : {"model.meta", "placement.json", "Subgraph_0/subgraph_0.graph"}) {
    CAPTURE(name);
    const std::string path = package + "/" + name, whole = bytes_of(path);
    REQUIRE(!whole.empty());
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
    std::ofstream(path, std::ios::binary) << flipped;
    const Ran r = host({"run", package, "--input", "random", "--verify"});
    CAPTURE(r.err);
    CHECK(r.code == 3);
    std::ofstream(path, std::ios::binary) << whole;
  }
  CHECK(host({"run", package, "--input", "random"}).code == 0);
}
TEST_CASE("bad package: a missing file") {
  const TempFolder f;
  const std::string package = package_in(f);
  std::filesystem::remove(package + "/Subgraph_0/subgraph_0.graph");
  check(host({"run", package, "--input", "random"}), 3, "subgraph_0.graph");
}
TEST_CASE("bad package: a newer format names both numbers") {
  const TempFolder f;
  const std::string package = package_in(f);
  std::string meta = bytes_of(package + "/model.meta");
  const size_t at = meta.find("\"format\": 1");
  REQUIRE(at != std::string::npos);
  meta.replace(at, 11, "\"format\": 7");
  std::ofstream(package + "/model.meta", std::ios::binary) << meta;
  const Ran r = host({"run", package, "--input", "random"});
  check(r, 3, "7");
}
TEST_CASE("an existing package is kept without --force and replaced with it") {
  const TempFolder f;
  const std::string package = package_in(f);
  const std::string before = bytes_of(package + "/model.meta");
  const Ran again = host({"compile", f / "tiny.onnxtxt", "-o", f / "pkg", "--device", "REF:0"});
  check(again, 3, "--force");
  CHECK(bytes_of(package + "/model.meta") == before);
  CHECK(host({"compile", f / "tiny.onnxtxt", "-o", f / "pkg", "--device", "REF:0", "--force"}).code == 0);
}

TEST_CASE("bad tensor: wrong name, shape, type, truncated and pickled npy") {
  const TempFolder f;
  const std::string package = package_in(f);
  const auto npy = [&](const std::string& descr, const std::string& shape, size_t bytes) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(118, ' ');
    header.back() = '\n';
    return f.file("t.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(bytes, '\0'));
  };
  const auto run = [&](const std::string& input) { return host({"run", package, "--input", input}); };
  CHECK(run("x=" + npy("<f4", "(1, 4)", 16)).code == 0);
  check(run("z=" + npy("<f4", "(1, 4)", 16)), 3, "'z'");
  check(run("x=" + npy("<f4", "(1, 5)", 20)), 3, "1x5");
  check(run("x=" + npy("<f8", "(1, 4)", 32)), 3, "float64");
  check(run("x=" + npy("<f4", "(1, 4)", 7)), 3, "t.npy");
  check(run("x=" + npy("|O", "(1, 4)", 16)), 3, "pickle");
}

TEST_CASE("a full disk leaves nothing behind and the old package whole") {
  const TempFolder f;
  const std::string mount = f / "small";
  std::filesystem::create_directories(mount);
  if (run({"mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount}).code != 0) {
    MESSAGE("SKIP: mounting a small tmpfs is not allowed here, so a full disk cannot be had");
    return;
  }
  const Ran r = host({"compile", digits_model(), "-o", mount + "/out", "--device", "REF:0"});
  CHECK(r.code == 5);
  CHECK(r.err.find("No space left") != std::string::npos);
  CHECK(std::filesystem::is_empty(mount));
  run({"umount", mount});
}

TEST_CASE("an interrupted compile leaves nothing and exits with 130") {
  // The plugin writes half an artifact, says "first stage" and compiles until it is asked to end. Job control, because a plain `&` would
  // have the program ignore the signal.
  const TempFolder f;
  std::filesystem::create_directories(f / "plugins");
  std::filesystem::copy_file(OPTIMA_BINARY_DIR "/tests/unit/loader/plugins/trial.so", f / "plugins/trial.so");
  const std::string model = f.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) { y = Identity(x) }");
  const Ran r = run({"bash", "-mc", R"("${@:2}" 2>"$1" & until grep -q 'first stage' "$1" || ! kill -0 $!; do sleep 0.05; done; kill -INT $!; wait $!; code=$?; cat "$1" >&2; exit $code)",
                     "bash", f / "err", host_program(), "--plugins", f / "plugins", "compile", model, "-o", f / "out", "--option", "trial.act=cancel"});
  CAPTURE(r.err);
  CHECK(r.code == 130);
  CHECK(r.err.find("optima-host: error: interrupted\n") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(f / "out"));
}
