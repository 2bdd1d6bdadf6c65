// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "plugins/snpe/dlc/describe.hpp"
#include "tests/support/zip.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;
using Json = nlohmann::ordered_json;

namespace {

Json described(const std::string& bytes) {
  const std::optional<std::string> text = describe_file("subgraph_0.dlc", bytes);
  REQUIRE(text);
  return Json::parse(*text);
}

}  // namespace

TEST_CASE("A DLC is described with its makers, parts, ports, operators and scales") {
  const Json d = described(sample("codes"));
  CHECK(d.at("kind") == "DLC");
  CHECK(d.at("version") == 4);
  CHECK(d.at("made by").at("version") == "2.51.0.260929181845");
  CHECK(d.at("parts").size() == 5);
  const Json& g = d.at("graphs").at(0);
  CHECK(g.at("inputs") == Json::parse(R"([{"name": "x", "type": "float32", "dims": [1, 2, 5, 5]}])"));
  CHECK(g.at("outputs") == Json::parse(R"([{"name": "y", "type": "float32", "dims": [1, 3, 5, 5]}])"));
  CHECK(g.at("operators").at(0) == Json::parse(R"({"operator": "Conv2d", "nodes": 1})"));
  for (const Json& t : g.at("tensors")) {
    if (t.at("name") == "xq")
      CHECK(t == Json::parse(R"({"name": "xq", "role": "between", "type": "ufixed8", "dims": [1, 2, 5, 5], "scale": 0.02, "offset": -128, "bits": 8})"));
    if (t.at("name") == "wi") CHECK(t.at("scale") == Json::parse("[0.05, 0.06, 0.07]"));
    if (t.at("name") == "wi") CHECK(t.at("axis") == 3);
  }
}

TEST_CASE("A DLC of which little is known says so, and text that is none does no harm") {
  using namespace optima::test;
  const Json d = described(zip({stored("model", std::string("\xD5\x0A\x03\0\0\0\0\0", 8)), stored("odd \xff\xfe name", "")}));
  CHECK(d.at("version") == 3);
  CHECK(d.at("not told") == Json::parse(R"(["part 'model' has version 3, of which nothing is known here"])"));
  CHECK(d.at("graphs").empty());
}

TEST_CASE("Other files are not described, damaged ones refused") {
  CHECK_FALSE(describe_file("subgraph_0.meta", sample("float")));
  CHECK_FALSE(describe_file(".dlc", sample("float")));
  CHECK(said([] { describe_file("a.dlc", "none"); }) == "file has 4 bytes, too few for a zip file");
}
