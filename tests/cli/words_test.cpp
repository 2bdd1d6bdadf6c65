// SPDX-License-Identifier: Apache-2.0
// Words that name nothing: devices, nodes, operators, folders of plugins.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima::test;

namespace {

void check(const Ran& r, int code, const std::string& part) {
  CAPTURE(r.err);
  CHECK(r.code == code);
  CHECK(r.err.find(part) != std::string::npos);
}

const std::string kPlugins = OPTIMA_BINARY_DIR "/lib/optima/plugins";

}  // namespace

TEST_CASE("a pin or device that is no word of the command line is a usage error") {
  for (const char* pin : {"/Softmax", "=X64:0", "/Softmax=", "/Softmax=cpu", "op:=X64:0"}) {
    CAPTURE(pin);
    check(host({"plan", digits_model(), "--pin", pin}), 2, "--pin");
  }
  check(host({"plan", digits_model(), "--device", "cpu"}), 2, "--device: device 'cpu': wanted KIND:index");
  check(host({"plan", digits_model(), "--device", "X64:0,:"}), 2, "--device: device ':'");
  check(host({"plan", digits_model(), "--device", ","}), 2, "--device: found nothing");
  check(host({"plan", digits_model(), "--require-device", "X64"}), 2, "--require-device: device 'X64'");
  check(host({"calibrate-links", "--device", "cpu"}), 2, "--device: device 'cpu'");
  check(host({"alloc", digits_model(), "--default", "cpu"}), 2, "--default: device 'cpu'");
  check(host({"plan", digits_model(), "--device", "WARP:0"}), 3, "no plugin serves kind 'WARP'");
}

TEST_CASE("pins, globs and operators that match nothing are errors with the nearest name") {
  const TempFolder f;
  const auto alloc = [&](const std::string& text) { return host({"plan", digits_model(), "--device", "X64:0", "--alloc", f.file("a.json", text)}); };
  check(host({"plan", digits_model(), "--pin", "op:Sofmax=REF:0"}), 3, "--pin: no node of the model is of the type in 'op:Sofmax' (nearest: 'op:Softmax')");
  check(host({"plan", digits_model(), "--pin", "op:Gelu=REF:0"}), 3, "--pin: no node of the model is of the type in 'op:Gelu'");
  check(host({"plan", digits_model(), "--pin", "/widen/*x=REF:0"}), 3, "--pin: glob '/widen/*x' matches no node (nearest: '/widen/*'");
  check(alloc(R"({"/wyden/*": "REF:0"})"), 3, "glob '/wyden/*' matches no node (nearest: '/widen/*'");
  check(alloc(R"({"op:Sofmax": "REF:0"})"), 3, "'op:Sofmax' names no known operator (nearest: 'op:Softmax'");
  const Ran shared = alloc(R"({"op:Gelu": "REF:0"})");  // a file may serve several models
  CHECK(shared.code == 0);
  CHECK(shared.out.find("note: no node of the model is of the type in 'op:Gelu'") != std::string::npos);
}

TEST_CASE("a folder of sources stands for the plugins built from it, as in a checkout after quickstart") {
  const TempFolder f;
  f.file("plugins/null/CMakeLists.txt", "");
  check(host({"--plugins", f / "plugins"}), 0, "holds sources, no built plugin; build first");
  std::filesystem::create_directories(f / "build/release/lib/optima");
  std::filesystem::copy(kPlugins, f / "build/release/lib/optima/plugins");
  const Ran r = host({"--plugins", f / "plugins"});
  check(r, 0, "holds sources, no built plugin; taking those built from them in '" + f.path() + "/build/release/lib/optima/plugins'");
  CHECK(r.out.find("llvm_cpu") != std::string::npos);
}

TEST_CASE("OPTIMA_PLUGINS wins over the folder beside the program, --plugins over both, and a missing one is bad input") {
  const TempFolder f;
  for (const std::string& program : {host_program(), run_program()}) {
    CAPTURE(program);
    const std::string list = program == host_program() ? "devices" : "--devices";
    check(run({program, list}, {"OPTIMA_PLUGINS=" + (f / "gone")}), 3, "plugin folder '" + f.path() + "/gone': no such folder");
    const Ran empty = run({program, list}, {"OPTIMA_PLUGINS=" + f.path()});
    CHECK(empty.code == 0);
    CHECK(empty.out.find("llvm_cpu") == std::string::npos);
    const Ran named = run({program, "--plugins", kPlugins, list}, {"OPTIMA_PLUGINS=" + (f / "gone")});
    CAPTURE(named.err);
    CHECK(named.code == 0);
    CHECK(named.out.find("llvm_cpu") != std::string::npos);
    CHECK(run({program, "--help"}).out.find("OPTIMA_PLUGINS") != std::string::npos);
  }
  check(host({"--plugins", f / "gone"}), 3, "no such folder");
}
