// SPDX-License-Identifier: Apache-2.0
// `inspect` of files that plugins know: DLCs, which snpe describes without Qualcomm's tools.
#include <doctest/doctest.h>

#include <fstream>

#include "core/support/json_value.hpp"
#include "tests/support/process.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::string kDlc = OPTIMA_SOURCE_DIR "/tests/unit/snpe_dlc/samples/codes.dlc";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("inspect says what a plugin knows of a file that is no model, for people and as JSON") {
  const Ran told = host({"inspect", kDlc});
  INFO(told.out << told.err);
  CHECK(told.code == 0);
  CHECK(has(told.out, "kind: DLC\n"));
  CHECK(has(told.out, "made by:\n  tool: qnn-net-run\n"));
  CHECK(has(told.out, "  operator    nodes\n"));
  CHECK(has(told.out, "  sfixed8   3, 3, 2, 3  0.05, 0.06, 0.07  "));
  const Ran json = host({"--json", "inspect", kDlc});
  const Result<Json> document = parse_json(json.out, "inspect");
  REQUIRE_MESSAGE(document.ok(), json.out << json.err);
  CHECK(document->at("graphs").at(0).at("inputs").at(0).at("name") == "x");
}

TEST_CASE("inspect of a damaged file of a plugin's says what is wrong, and of a file that nobody knows that it is no model") {
  const TempFolder folder;
  const Ran damaged = host({"inspect", folder.file("a.dlc", "PK\3\4 and no more")});
  CHECK(damaged.code == 3);
  CHECK_MESSAGE(has(damaged.err, "file has 16 bytes, too few for a zip file"), damaged.err);
  const Ran unknown = host({"inspect", folder.file("a.txt", "a poem")});
  CHECK(unknown.code == 3);
  CHECK_MESSAGE(has(unknown.err, "error: model '"), unknown.err);
}
