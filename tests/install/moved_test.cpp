// SPDX-License-Identifier: Apache-2.0
// tests/install: what `cmake --install` puts together, moved elsewhere: it knows nothing of the machine that built it, and runs.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
namespace fs = std::filesystem;

namespace {

/// The tree, installed once and moved from where it was installed to.
struct Moved {
  test::TempFolder folder;
  std::string root = folder / "moved", programs = root + "/bin/";
  Moved() {
    const test::Ran ran = test::run({"cmake", "--install", OPTIMA_BINARY_DIR, "--prefix", folder / "installed"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    fs::rename(folder / "installed", root);
  }
  /// With a cache of its own: what other plugin files were found to be is not remembered.
  test::Ran host(std::vector<std::string> words, std::vector<std::string> environment = {}) const {
    words.insert(words.begin(), programs + "optima-host");
    environment.push_back("XDG_CACHE_HOME=" + folder / "cache");
    return test::run(words, environment);
  }
};

/// Lines of `readelf -d` about a run path.
std::string run_path(const fs::path& file) {
  std::istringstream text(test::run({"readelf", "-d", "-W", file}).out);
  std::string all;
  for (std::string line; std::getline(text, line);)
    if (line.find("path:") != std::string::npos) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("no installed file has a folder of the machine that built it on its run path") {
  const Moved tree;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(tree.root)) {
    if (!entry.is_regular_file() || (entry.path().extension() != ".so" && entry.path().parent_path().filename() != "bin")) continue;
    ++files;
    CHECK_MESSAGE(run_path(entry.path()).find(OPTIMA_SOURCE_DIR) == std::string::npos, entry.path().string() << ": " << run_path(entry.path()));
  }
  CHECK(files >= 5);
}

TEST_CASE("an installed tree compiles and runs where it is moved to") {
  const Moved tree;
  const test::Ran compiled = tree.host({"compile", OPTIMA_SOURCE_DIR "/examples/digits/digits.onnx", "-o", tree.folder / "out"});
  INFO(compiled.out << compiled.err);
  REQUIRE(compiled.code == 0);
  const std::string picture = OPTIMA_SOURCE_DIR "/examples/digits/pictures/digit_3.png", labels = OPTIMA_SOURCE_DIR "/examples/digits/labels.txt";
  const test::Ran ran = test::run({tree.programs + "optima-run", tree.folder / "out/digits", "--image", picture, "--top", "1", "--labels", labels});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.out.find("three") != std::string::npos);
}

TEST_CASE("the moved openvino plugin takes OpenVINO from its own tree, and says where it looks when it is not there") {
#ifndef OPENVINO_FOLDER
  MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there");
#else
  const Moved tree;
  const std::string digits = OPTIMA_SOURCE_DIR "/examples/digits/digits.onnx";
  const test::Ran compiled = tree.host({"compile", digits, "-o", tree.folder / "out", "--require-device", "openvino/X64:0"});
  INFO(compiled.out << compiled.err);
  REQUIRE(compiled.code == 0);
  const test::Ran compared = tree.host({"compare", digits, tree.folder / "out/digits"});
  INFO(compared.out << compared.err);
  CHECK(compared.code == 0);

  fs::rename(tree.root + "/lib/optima/openvino", tree.root + "/lib/optima/elsewhere");
  const test::Ran refused = tree.host({"plugins"});
  const std::string said = refused.out + refused.err;
  INFO(said);
  CHECK(said.find("needs the library 'libopenvino.so.") != std::string::npos);
  CHECK(said.find("it may lie in '" + tree.root + "/lib/optima/plugins', '" + tree.root + "/lib/optima/openvino' or a folder named in LD_LIBRARY_PATH") != std::string::npos);

  const test::Ran named = tree.host({"devices"}, {"LD_LIBRARY_PATH=" OPENVINO_FOLDER});
  INFO(named.out << named.err);
  CHECK(named.out.find("openvino/X64:0") != std::string::npos);
#endif
}
