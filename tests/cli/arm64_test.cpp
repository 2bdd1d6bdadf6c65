// SPDX-License-Identifier: Apache-2.0
// Compiled here for ARM64:0, run by the cross-built optima-run and plugin under qemu-user, compared with the reference.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima::test;

namespace {

std::string arm64_program() { return OPTIMA_SOURCE_DIR "/build/arm64/bin/optima-run"; }

// Why the emulated program cannot run here; empty when it can.
std::string why_not() {
  if (!std::filesystem::exists(arm64_program())) return "build/arm64 is not built (cmake --preset arm64 && cmake --build build/arm64)";
  if (run({"qemu-aarch64", "--version"}).code != 0) return "qemu-aarch64 is not installed";
  return {};
}

void check_model(const std::string& model, const std::string& name, const std::vector<std::string>& input) {
  const TempFolder f;
  const Ran compiled = host({"compile", model, "-o", f / "out", "--device", "ARM64:0"});
  CAPTURE(compiled.err);
  REQUIRE(compiled.code == 0);
  std::vector<std::string> words = {"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", arm64_program(), f / ("out/" + name), "-o", f / "answers"};
  words.insert(words.end(), input.begin(), input.end());
  const Ran ran = run(words);
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  std::vector<std::string> compare = {"compare", model, f / "answers"};
  compare.insert(compare.end(), input.begin(), input.end());
  const Ran same = host(compare);
  CAPTURE(same.out);
  CHECK(same.code == 0);
}

}  // namespace

TEST_CASE("models compiled on this machine for ARM64:0 give the reference's answers on the emulated target") {
  if (const std::string why = why_not(); !why.empty()) {
    MESSAGE("SKIP: " << why);
    return;
  }
  check_model(digits_model(), "digits", {"--image", digit_picture(6)});
  if (shared_models().empty()) {
    MESSAGE("SKIP: ../shared/models is not here, so only the digits ran");
    return;
  }
  check_model(shared_models() + "/mnist.onnx", "mnist", {"--input", "random:2"});
  check_model(shared_models() + "/version-RFB-320.onnx", "version-RFB-320", {"--input", "random:2"});
}

TEST_CASE("the target's runtime library is small") {
  const std::string library = OPTIMA_SOURCE_DIR "/build/arm64/lib/liboptima_runtime.so";
  if (const std::string why = why_not(); !why.empty()) {
    MESSAGE("SKIP: " << why);
    return;
  }
  const TempFolder f;
  REQUIRE(run({"aarch64-linux-gnu-strip", "-o", f / "lib.so", library}).code == 0);
  CHECK(std::filesystem::file_size(f / "lib.so") < 700000);
}

TEST_CASE("a package for another architecture is refused by name") {
  const TempFolder f;
  REQUIRE(host({"compile", digits_model(), "-o", f / "out", "--device", "ARM64:0"}).code == 0);
  const Ran r = host({"run", f / "out/digits", "--image", digit_picture(1)});
  CAPTURE(r.err);
  CHECK(r.code == 5);
  CHECK(r.err.find("aarch64") != std::string::npos);
}
