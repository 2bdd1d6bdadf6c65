// SPDX-License-Identifier: Apache-2.0
// One mistake a case around the openvino plugin: the message, the exit code, and nothing left behind.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/support/text.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/forged_meta.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

bool ready() {
  if (!has_openvino()) MESSAGE("SKIP: " << kNoOpenvino);
  return has_openvino();
}

void check(const Ran& r, int code, const std::string& part) {
  CAPTURE(r.err);
  CHECK(r.code == code);
  CHECK(r.err.find(part) != std::string::npos);
}

std::string package_in(const TempFolder& f) {
  const Ran r = host({"compile", f.file("tiny.onnxtxt", kTiny), "-o", f / "pkg", "--require-device", "openvino/X64:0"});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return f / "pkg/tiny";
}

// As the compat record stands in model.meta.
std::string hex(std::string_view text) {
  std::string out;
  for (const char c : text) out += cat("0123456789abcdef"[static_cast<uint8_t>(c) >> 4], "0123456789abcdef"[c & 15]);
  return out;
}

}  // namespace

TEST_CASE("wrong options of openvino: the nearest valid one is shown and nothing is written") {
  if (!ready()) return;
  const TempFolder f;
  const auto option = [&](const std::string& setting) {
    const Ran r = host({"compile", digits_model(), "-o", f / "out", "--device", "openvino/X64:0", "--option", setting});
    CHECK_FALSE(fs::exists(f / "out"));
    return r;
  };
  check(option("openvino.precision=f12"), 3, "option 'openvino.precision': found 'f12', wanted one of f32, f16, bf16 (nearest: 'f32', 'f16'");
  check(option("openvino.streams=-4"), 3, "option 'openvino.streams': found '-4', wanted an integer within 0..256 (nearest: 0)");
  check(option("openvino.threads=1e9"), 3, "option 'openvino.threads': found '1e9', wanted an integer within 0..1024");
  check(option("openvino.precison=f16"), 3, "unknown option 'openvino.precison' (nearest: 'openvino.precision'");
  check(option("openvno.precision=f16"), 3, "no usable plugin 'openvno' (nearest: 'openvino')");
}

TEST_CASE("wrong names of plugins and kinds show what there is") {
  if (!ready()) return;
  const TempFolder f;
  const auto device = [&](const std::string& name) { return host({"compile", digits_model(), "-o", f / "out", "--device", name}); };
  check(device("openvno/X64:0"), 3, "no plugin 'openvno', found ");
  check(device("openvno/X64:0"), 3, "(nearest: 'openvino')");
  check(device("openvino/X65:0"), 3, "plugin 'openvino' does not serve kind 'X65', it serves X64");
  check(device("X65:0"), 3, "no plugin serves kind 'X65', found X64 (llvm_cpu), ");
  CHECK_FALSE(fs::exists(f / "out"));
}

TEST_CASE("a blob of another OpenVINO is refused by run and by optima-run --check, in the plugin's words") {
  if (!ready()) return;
  const TempFolder f;
  const std::string package = package_in(f);
  REQUIRE(host({"run", package, "--input", "random"}).code == 0);
  put(package + "/model.meta", forged(package, hex("openvino=2"), hex("openvino=1")));
  check(host({"run", package, "--input", "random"}), 5, "blob was made by OpenVINO 1");
  const Ran checked = run({run_program(), package, "--check"});
  CHECK(checked.code == 5);
  CHECK((checked.out + checked.err).find("blob was made by OpenVINO 1") != std::string::npos);
}

TEST_CASE("a truncated or flipped blob is refused by the package, and by the plugin when the package was made to fit") {
  if (!ready()) return;
  const TempFolder f;
  const std::string package = package_in(f), blob = package + "/Subgraph_0/subgraph_0.blob", whole = get(blob);
  const auto sum = [](const std::string& bytes) { return to_hex(sha256(bytes.data(), bytes.size())); };
  REQUIRE(whole.size() > 100);
  put(blob, whole.substr(0, whole.size() / 2));
  check(host({"run", package, "--input", "random"}), 3, "subgraph_0.blob': found " + std::to_string(whole.size() / 2) + " bytes, wanted " + std::to_string(whole.size()));
  for (const size_t at : {size_t{0}, whole.size() / 3, whole.size() - 1}) {
    CAPTURE(at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    put(blob, flipped);
    check(host({"run", package, "--input", "random"}), 3, "subgraph_0.blob': found sha256 " + sum(flipped));
    const std::string honest = get(package + "/model.meta");
    put(package + "/model.meta", forged(package, sum(whole), sum(flipped)));
    check(host({"run", package, "--input", "random"}), 3, "file 'subgraph_0.blob' is damaged");
    put(package + "/model.meta", honest);
  }
  put(blob, whole);
  CHECK(host({"run", package, "--input", "random"}).code == 0);
}
