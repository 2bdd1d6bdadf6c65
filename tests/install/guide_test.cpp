// SPDX-License-Identifier: Apache-2.0
// tests/install: docs/write-a-plugin.md as installed, followed to the letter: every ```sh block in order, in one shell and an empty folder.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/support/elf_note.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

/// The guide as a script. Blocks marked `sh host` need optima-host and are left out without it.
std::string script_of(const std::string& guide, bool with_host, int& blocks) {
  std::istringstream in(guide);
  std::string line, script = "set -euo pipefail\n";
  bool inside = false, taken = false;
  while (std::getline(in, line)) {
    if (!inside && line.rfind("```sh", 0) == 0) {
      inside = true;
      taken = line == "```sh" || with_host;
      blocks += taken;
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside && taken) {
      script += line + "\n";
    }
  }
  return script;
}

}  // namespace

TEST_CASE("the guide leads from nothing to a plugin that is found, compiles a model and runs it") {
  const test::TempFolder folder;
  REQUIRE(test::run({"cmake", "--install", OPTIMA_BINARY_DIR, "--component", "sdk", "--prefix", folder / "sdk"}).code == 0);
  std::ifstream in(folder / "sdk/share/optima/write-a-plugin.md");
  const std::string guide{std::istreambuf_iterator<char>(in), {}};
  const bool with_host = std::filesystem::exists(test::host_program());
  if (!with_host) MESSAGE("SKIP: optima-host is not built, the guide's steps 5 and 6 are not run");
  int blocks = 0;
  const std::string script = folder.file("work/guide.sh", script_of(guide, with_host, blocks));
  CHECK(blocks == (with_host ? 7 : 5));

  const test::Ran ran = test::run({"bash", "-c", "cd \"$1\" && exec bash guide.sh", "guide", folder / "work"},
                                  {"OPTIMA_SDK=" + folder / "sdk", "OPTIMA_HOST=" + test::host_program()});
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.out.find(" T optima_plugin_query\n") != std::string::npos);
  const std::string manifest = test::read_note(folder / "work/negate/build/lib/optima/plugins/optima_negate.so").manifest;
  CHECK(manifest.find("\"id\": \"negate\"") != std::string::npos);
  CHECK(manifest.find("\"op\": \"Neg\", \"since_version\": [6, 13], \"inputs\": [[1]], \"outputs\": [[1]]") != std::string::npos);
  CHECK(manifest.find("only_when_named") == std::string::npos);
  if (with_host) {
    CHECK(ran.out.find("negate") != std::string::npos);
    CHECK(std::filesystem::exists(folder / "work/negate/out/neg/model.meta"));
  }
}
