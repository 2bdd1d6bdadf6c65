// SPDX-License-Identifier: Apache-2.0
#include "core/compile/plan_choice.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/plan/plan_json.hpp"
#include "core/report/diff.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// A chain whose plan is written to a file, perhaps edited, and followed.
struct Followed : Chain {
  TempFolder folder;
  Json document;
  Followed() {
    candidates({"NPU:0", "CPU:0"});
    for (const char* name : {"a", "c"}) wish(name, {"NPU:0"});
    request.settings = {{*parse_device("CPU:0"), {{"arch", "v9"}}, 1000}};
    document = plan_to_json(plan());
  }

  Result<PlanChoice> choice() { return read_plan_choice(folder.file("plan.json", to_text(document))); }
  std::string error(const std::function<void(Json&)>& edit) {
    edit(document);
    const Result<PlanChoice> read = choice();
    const Status status = read.ok() ? resolve(*read, graph).status() : read.status();
    CHECK(status.kind() == StatusKind::InvalidInput);
    std::string message = status.message();
    for (size_t at; (at = message.find(folder.path() + "/")) != std::string::npos;) message.erase(at, folder.path().size() + 1);
    return message;
  }
  Result<Plan> follow() {
    const Result<PlanChoice> read = choice();
    REQUIRE(read.ok());
    const Result<Resolved> wishes = resolve(*read, graph);
    REQUIRE(wishes.ok());
    request.candidates = read->candidates;
    request.settings = read->settings;
    request.wishes = wishes->by_node_id;
    request.kept = kept_nodes(*read, graph);
    return make_plan(graph, request);
  }
};

}  // namespace

TEST_CASE("a plan that nobody edited is followed to the letter, target options included") {
  Followed f;
  const Plan before = f.plan();
  const Result<Plan> after = f.follow();
  REQUIRE(after.ok());
  CHECK(diff(before, *after).equal());
  CHECK(after->bytes == before.bytes);
  CHECK(after->devices[1].target.attributes == before.devices[1].target.attributes);
  for (size_t n = 0; n < before.nodes.size(); ++n) {
    CAPTURE(before.nodes[n].sentence);
    CHECK(after->nodes[n].why == before.nodes[n].why);
    CHECK(after->nodes[n].sentence.starts_with(before.nodes[n].sentence + " (as in '"));
    CHECK(after->nodes[n].asked == before.nodes[n].asked);
    CHECK(after->nodes[n].wanted == before.nodes[n].wanted);
  }
  f.document = plan_to_json(*after);
  const Result<Plan> again = f.follow();
  REQUIRE(again.ok());
  CHECK(again->nodes[1].sentence == after->nodes[1].sentence);
}

TEST_CASE("an edited device moves its node, and the subgraphs follow") {
  Followed f;
  f.document["nodes"][0]["device"] = "CPU:0";
  const Result<Plan> after = f.follow();
  REQUIRE(after.ok());
  CHECK(devices_of(*after) == "CPU:0 CPU:0 NPU:0 ");
  CHECK(after->nodes[0].sentence.starts_with("pinned to CPU:0 by '"));
  CHECK(after->nodes[0].why == Why::Pinned);
  CHECK(after->nodes[1].why == Why::OnlyDevice);
  CHECK(after->subgraphs.size() == 2);
  Followed full;
  full.document["nodes"][0]["device"] = "slowcpu/CPU:0";
  CHECK(full.follow().ok());
}

TEST_CASE("a device that refuses the node says so itself") {
  Followed f;
  f.document["nodes"][1]["device"] = "NPU:0";
  const Status status = f.follow().status();
  CHECK(status.kind() == StatusKind::Placement);
  CHECK(status.message().find("plan.json', but plugin 'fastnpu' refuses it: operator Exp is not in the note of plugin fastnpu") != std::string::npos);
}

TEST_CASE("each mistake in an edited plan is named with its place") {
  CHECK(Followed().error([](Json& j) { j["nodes"][0]["device"] = "GPU:0"; }) ==
        "plan.json.nodes[0]: node 'a' is on 'GPU:0', which is not among the plan's devices: NPU:0, CPU:0");
  CHECK(Followed().error([](Json& j) { j["nodes"][0]["name"] = "b"; }) == "plan.json.nodes[1]: node 'b' appears twice");
  CHECK(Followed().error([](Json& j) { j["nodes"].erase(2); }).starts_with("'plan.json': node 'c' of the model is not in the plan, which lists 2 nodes"));
  CHECK(Followed().error([](Json& j) { j["nodes"].push_back(j["nodes"][0]), j["nodes"][3]["name"] = "aa"; }) == "'plan.json': no node 'aa' in the model (nearest: 'a')");
  CHECK(Followed().error([](Json& j) { j["model"]["hash"] = "00"; }) ==
        "'plan.json' is a plan of another model: found hash 00, wanted " + std::string(64, 'a'));
  CHECK(Followed().error([](Json& j) { j["format"] = 9; }) == "plan.json: format: found 9, wanted 1 to 1");
  CHECK(Followed().error([](Json& j) { j.erase("nodes"); }) == "plan.json: member 'nodes' is missing, wanted an array");
}

TEST_CASE("an Identity that a plan still lists is told as folded, anything else that is gone is an error") {
  Followed f;
  f.document["nodes"].push_back(f.document["nodes"][0]);
  f.document["nodes"].back()["name"] = "copy";
  f.graph.folded.push_back({"copy", "Identity", "identity"});
  const Result<PlanChoice> read = f.choice();
  REQUIRE(read.ok());
  const Result<Resolved> wishes = resolve(*read, f.graph);
  REQUIRE_MESSAGE(wishes.ok(), wishes.status().message());
  CHECK(wishes->folded == std::vector<std::string>{"'copy' (identity)"});
  f.graph.folded.back().reason = "dead";
  CHECK_FALSE(resolve(*read, f.graph).ok());
}

TEST_CASE("a plan becomes an allocation in few keys, bodies with their node") {
  Followed f;
  Result<PlanChoice> choice = f.choice();
  REQUIRE(choice.ok());
  const Result<std::string> text = allocation_from(*choice, f.graph);
  REQUIRE(text.ok());
  CHECK(*text == "{\n  \"*\": \"fastnpu/NPU:0\",\n  \"b\": \"slowcpu/CPU:0\"\n}\n");
}

TEST_CASE("a plan that is followed, or made an allocation, keeps its clones") {
  Followed f;
  f.document["subgraphs"][1]["clones"] = Json::array({{{"node", 0}, {"name", "a"}, {"why", "cloned"}, {"sentence", "it was so"}}});
  const Result<PlanChoice> choice = f.choice();
  REQUIRE(choice.ok());
  CHECK(choice->nodes[0].kept.clones == std::vector<DeviceName>{*parse_device("slowcpu/CPU:0")});
  CHECK(choice->nodes[1].kept.clones.empty());
  const Result<std::string> text = allocation_from(*choice, f.graph);
  REQUIRE(text.ok());
  CHECK(text->find("\"a\": [\n    \"fastnpu/NPU:0\",\n    \"slowcpu/CPU:0\"\n  ]") != std::string::npos);
  f.document["nodes"][0]["copied"] = {1};
  CHECK(f.choice()->nodes[0].kept.clones.empty());
}
