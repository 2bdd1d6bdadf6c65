// SPDX-License-Identifier: Apache-2.0
// Patterns that a plugin declares: contracted where no path leaves them and comes back, else not taken, which the plan says.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

// The second pair's product goes through an Exp before it comes to the Add as well.
constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]>
pairs (float[2,3] x, float[2,3] y) => (float[2,3] z) {
  [mul1] a = Mul(x, y)
  [add1] b = Add(a, x)
  [mul2] c = Mul(b, y)
  [exp] d = Sigmoid(c)
  [add2] e = Add(c, d)
  [mul3] f = Mul(e, e)
  [add3] z = Add(f, b)
})";

}  // namespace

TEST_CASE("a plugin's pattern moves as one where it is convex, and is refused with a note where it is not") {
  const TempFolder f;
  const std::string plugins = (fs::path(host_program()).parent_path() / "../lib/optima/plugins").string();
  const std::string model = f.file("pairs.onnxtxt", kModel);
  const Ran r = host({"--plugins", plugins, "--plugins", PATTERN_PLUGINS, "compile", model, "-o", f / "out",  //
                      "--device", "PAT:0,REF:0", "--pin", "exp=REF:0"});
  CAPTURE(r.out);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  const Result<Json> plan = read_json(f / "out/pairs/placement.json");
  REQUIRE(plan.ok());
  std::map<std::string, Json> nodes;
  for (const Json& node : (*plan)["nodes"]) nodes[node["name"]] = node;
  for (const char* name : {"mul1", "add1", "mul3", "add3"}) CHECK(nodes[name]["answers"]["PAT:0"]["yes"] == true);
  for (const char* name : {"mul2", "add2"}) {
    CHECK(nodes[name]["device"] == "REF:0");
    CHECK(nodes[name]["answers"]["PAT:0"]["text"] == "taken only together with 'mul2', 'add2', but a path leaves that group and comes back to it");
  }
  for (const auto& [first, second] : {std::pair("mul1", "add1"), std::pair("mul3", "add3")}) {
    CHECK(nodes[first]["subgraph"] == nodes[second]["subgraph"]);
    CHECK(nodes[first]["why"] == "follows-group");
  }
  CHECK(r.out.find("note: 1 of 3 groups of plugins does not move as one: PAT:0 takes 'mul2', 'add2' only together, but a path leaves that group "
                   "and comes back to it\n") != std::string::npos);
}

TEST_CASE("a package with patterns runs as the whole model") {
  const TempFolder f;
  const std::string plugins = (fs::path(host_program()).parent_path() / "../lib/optima/plugins").string();
  const std::string model = f.file("pairs.onnxtxt", kModel);
  const std::vector<std::string> head = {"--plugins", plugins, "--plugins", PATTERN_PLUGINS};
  std::vector<std::string> words = head;
  words.insert(words.end(), {"compile", model, "-o", f / "out", "--device", "REF:0", "--pin", "mul1=PAT:0", "--pin", "add1=PAT:0"});
  const Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.out.find("in 2 subgraphs") != std::string::npos);
  words = head;
  words.insert(words.end(), {"compare", model, f / "out/pairs", "--at-cuts", "--atol", "0", "--rtol", "0"});
  const Ran compared = host(words);
  CAPTURE(compared.out);
  CAPTURE(compared.err);
  CHECK(compared.code == 0);
  words = head;
  words.insert(words.end(), {"plan", model, "--device", "REF:0", "--pin", "mul1=PAT:0"});
  const Ran alone = host(words);
  CHECK(alone.code == 4);
  CHECK(alone.err.find("taken only together with 'mul1', 'add1', but 'add1' may not go there") != std::string::npos);
}
