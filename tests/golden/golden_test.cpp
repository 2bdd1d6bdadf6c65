// SPDX-License-Identifier: Apache-2.0
// Golden cases: each file in golden/<group>/ is ONNX text, a line of "====", and the printed graph. The group's name says what
// is done in between: "import" nothing, "passes" the whole pipeline, or the one pass that the file's first line names
// ("# pass: fold_shapes").
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/file.hpp"

using namespace optima;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLine = "\n====\n";

std::vector<fs::path> cases(const std::string& group) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(std::string(OPTIMA_SOURCE_DIR) + "/tests/golden/" + group)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> all_but(const std::string& text) {
  constexpr std::string_view kHead = "# pass: ";
  std::vector<std::string> off;
  if (text.rfind(kHead, 0) != 0) return off;
  const std::string wanted = text.substr(kHead.size(), text.find('\n') - kHead.size());
  for (const passes::Pass& pass : passes::all_passes())
    if (pass.name != wanted) off.emplace_back(pass.name);
  REQUIRE(off.size() + 1 == passes::all_passes().size());
  return off;
}

std::string answer(const std::string& text, const fs::path& path, bool with_passes) {
  auto graph = onnx_io::load_text(text, path.stem().string());
  if (!graph.ok()) return "error: " + graph.status().message() + "\n";
  CHECK(verify(*graph).message() == "");
  if (!with_passes) return print(*graph);
  passes::PassOptions options;
  options.off = all_but(text);
  options.verify = true;
  auto done = passes::run_passes(std::move(*graph), options);
  return done.ok() ? print(*done) : "error: " + done.status().message() + "\n";
}

void check_group(const std::string& group, bool with_passes) {
  for (const fs::path& path : cases(group)) {
    CAPTURE(path.filename().string());
    const std::string file = *read_file(path.string());
    const size_t line = file.find(kLine);
    const std::string text = file.substr(0, line);
    const std::string found = answer(text, path, with_passes);
    if (std::getenv("OPTIMA_UPDATE_GOLDEN")) {
      REQUIRE(write_file(path.string(), text + std::string(kLine) + found).ok());
      continue;
    }
    REQUIRE(line != std::string::npos);
    CHECK(file.substr(line + kLine.size()) == found);
  }
}

}  // namespace

TEST_CASE("ONNX text imports to the expected graphs") { check_group("import", false); }
TEST_CASE("passes turn graphs into the expected graphs") { check_group("passes", true); }
