// SPDX-License-Identifier: Apache-2.0
// All of ONNX's node tests through import, passes and export; ONNX Runtime then says whether they still mean the same.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
namespace fs = std::filesystem;

namespace {

const std::string kPython = std::string(OPTIMA_SOURCE_DIR) + "/.deps/py/bin/python";
const std::string kScript = std::string(OPTIMA_SOURCE_DIR) + "/tests/unit/onnx_io/node_tests.py";

// Models of opset 1, and a Scan of opset 8, whose batch axis later opsets do not have: refused by name.
const std::set<std::string> kTooOld = {"test_not_2d", "test_not_3d", "test_not_4d", "test_scan_sum"};

std::string import_and_write(const std::string& path, const std::string& folder) {
  auto g = onnx_io::load_model(path);
  if (!g.ok()) return g.status().message();
  passes::PassOptions options;
  options.verify = true;
  options.off = {"code_texts"};  // what is written has strings where the model has them
  auto done = passes::run_passes(std::move(*g), options);
  if (!done.ok()) return done.status().message();
  return onnx_io::write_onnx(*done, folder).message();
}

}  // namespace

TEST_CASE("every node test of the ONNX package is imported, and what is written from it computes the same") {
  if (!fs::exists(kPython)) {
    MESSAGE("SKIP: no ", kPython, ": run scripts/setup");
    return;
  }
  test::TempFolder folder;
  const test::Ran dumped = test::run({kPython, kScript, "dump", folder / "theirs"});
  REQUIRE_MESSAGE(dumped.code == 0, dumped.err);
  std::istringstream paths(dumped.out);
  int good = 0;
  for (std::string path; std::getline(paths, path);) {
    const std::string name = fs::path(path).parent_path().filename().string();
    const std::string why = import_and_write(path, folder / ("ours/" + name));
    CHECK_MESSAGE(why.empty() == !kTooOld.count(name), name, ": ", why);
    good += why.empty();
  }
  MESSAGE(good, " node tests imported and written");
  CHECK(good > 1800);
  const test::Ran compared = test::run({kPython, kScript, "compare", folder / "theirs", folder / "ours"});
  CHECK_MESSAGE(compared.code == 0, compared.err.substr(0, 2000));
  MESSAGE(compared.out);
}
