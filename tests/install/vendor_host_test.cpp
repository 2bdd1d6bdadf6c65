// SPDX-License-Identifier: Apache-2.0
// tests/install: the vendor's plugin dropped into a plugin folder: optima-host finds it, imports its operator, asks it, compiles
// with it beside llvm_cpu, and runs.
#include <doctest/doctest.h>

#include <cstring>

#include "core/support/text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

TEST_CASE("a vendor's plugin in a plugin folder is found, asked, compiled with, and run between pieces of llvm_cpu") {
  const test::TempFolder work;
  const test::Ran built = test::run({OPTIMA_SOURCE_DIR "/tests/install/build_vendor_plugin.sh", OPTIMA_BINARY_DIR, work.path()});
  INFO(built.out << built.err);
  REQUIRE(built.code == 0);
  const auto host = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {test::host_program(), "--plugins", work / "plugins", "--plugins", OPTIMA_BINARY_DIR "/lib/optima/plugins"});
    return test::run(words);
  };

  const test::Ran listed = host({"plugins"});
  INFO(listed.out << listed.err);
  CHECK(listed.code == 0);
  CHECK(listed.out.find("com.acme.scale_shift") != std::string::npos);

  const test::Ran compiled = host({"compile", OPTIMA_SOURCE_DIR "/tests/install/scale_shift.onnx", "-o", work / "out", "--device", "ACME:0,X64:0"});
  INFO(compiled.out << compiled.err);
  REQUIRE(compiled.code == 0);

  const float x[8] = {1, -2, 3, -4, 0, 0, 0, 1};
  const std::string input = work.file("x.raw", {reinterpret_cast<const char*>(x), sizeof x});
  const test::Ran ran = host({"run", work / "out/scale_shift", "--input", "x=" + input, "-o", work / "result"});
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  std::ifstream in(work / "result/y.npy", std::ios::binary);
  const std::string npy{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(npy.size() > sizeof x);
  float y[8];
  std::memcpy(y, npy.data() + npy.size() - sizeof y, sizeof y);
  const float wanted[8] = {2, 10, 26, 30, 0, 10, 20, 32};
  for (int k = 0; k < 8; ++k) CHECK(y[k] == wanted[k]);

  // The operator's own evaluator is what the chip is compared with, and what a self test stores.
  const std::string model = OPTIMA_SOURCE_DIR "/tests/install/scale_shift.onnx";
  const test::Ran compared = host({"compare", model, work / "out/scale_shift", "--at-cuts"});
  INFO(compared.out << compared.err);
  CHECK(compared.code == 0);
  const test::Ran tested = host({"compile", model, "-o", work / "tested", "--device", "ACME:0,X64:0", "--self-test"});
  INFO(tested.out << tested.err);
  REQUIRE(tested.code == 0);
  const test::Ran same = host({"run", work / "tested/scale_shift", "--input", cat("x=", work / "tested/scale_shift/self_test/input_0.npy"), "-o", work / "again"});
  INFO(same.out << same.err);
  REQUIRE(same.code == 0);
  CHECK(test::get(work / "again/y.npy") == test::get(work / "tested/scale_shift/self_test/output_0.npy"));
}

TEST_CASE("a vendor's own operator without a shift, in a model whose batch is set while importing, is planned and compared") {
  const test::TempFolder work;
  const test::Ran built = test::run({OPTIMA_SOURCE_DIR "/tests/install/build_vendor_plugin.sh", OPTIMA_BINARY_DIR, work.path()});
  INFO(built.out << built.err);
  REQUIRE(built.code == 0);
  const std::string model = work.file("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21, \"com.acme\" : 1]> g (float[n,4] x) => (float[n,4] y) { "
                                                   "h = Relu(x)  y = com.acme.ScaleShift <scale = 0.5> (h) }");
  const test::Ran compiled = test::run({test::host_program(), "--plugins", work / "plugins", "--plugins", OPTIMA_BINARY_DIR "/lib/optima/plugins",
                                        "compile", model, "-o", work / "out", "--device", "ACME:0,X64:0", "--dim", "n=3", "--self-test"});
  INFO(compiled.out << compiled.err);
  CHECK(compiled.code == 0);
  const test::Ran compared = test::run({test::host_program(), "--plugins", work / "plugins", "--plugins", OPTIMA_BINARY_DIR "/lib/optima/plugins",
                                        "compare", model, work / "out/m", "--shape", "x=3,4"});
  INFO(compared.out << compared.err);
  CHECK(compared.code == 0);
}
