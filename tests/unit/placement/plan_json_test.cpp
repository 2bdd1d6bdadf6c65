// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_json.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "core/report/report.hpp"
#include "core/report/what_if.hpp"
#include "tests/unit/placement/placing.hpp"

using namespace optima;
using namespace optima::test;

namespace {

Json good() {
  Chain c;
  c.candidates({"CPU:0"});
  c.wish("a", {"NPU:0"});
  c.request.settings = {{*parse_device("CPU:0"), {{"arch", "v9"}}, 1000}};
  return plan_to_json(c.plan());
}
std::string bad(const std::function<void(Json&)>& damage) {
  Json json = good();
  damage(json);
  const Result<Plan> plan = plan_from_json(json, "plan.json");
  CHECK(plan.status().kind() == StatusKind::InvalidInput);
  return plan.status().message();
}

}  // namespace

TEST_CASE("reading a plan back names the place of each mistake") {
  CHECK(bad([](Json& j) { j = Json::array(); }) == "plan.json: found array, wanted an object");
  CHECK(bad([](Json& j) { j.erase("format"); }) == "plan.json: member 'format' is missing, wanted an integer");
  CHECK(bad([](Json& j) { j["format"] = 2; }) == "plan.json: format: found 2, wanted 1 to 1");
  CHECK(bad([](Json& j) { j["model"] = 3; }) == "plan.json.model: found number, wanted an object");
  CHECK(bad([](Json& j) { j["bytes"] = -1; }) == "plan.json: bytes: found -1, wanted 0 or more");
  CHECK(bad([](Json& j) { j["devices"][0].erase("plugin"); }) == "plan.json.devices[0]: member 'plugin' is missing, wanted a string");
  CHECK(bad([](Json& j) { j["devices"][1]["name"] = j["devices"][0]["name"]; }) == "plan.json.devices[1]: device 'CPU:0' appears twice");
  CHECK(bad([](Json& j) { j["devices"][0]["slot"] = 4294967296; }) == "plan.json.devices[0]: slot: found 4294967296, wanted 0 or more and below 4294967296");
  CHECK(bad([](Json& j) { j["devices"][0]["attributes"]["arch"] = 1; }) == "plan.json.devices[0].attributes.arch: found number, wanted a string");
  CHECK(bad([](Json& j) { j["subgraphs"][0]["device"] = "GPU:0"; }) == "plan.json.subgraphs[0]: device 'GPU:0' is not among the plan's devices: CPU:0, NPU:0");
  CHECK(bad([](Json& j) { j["subgraphs"][0]["inputs"][0].erase("value"); }) == "plan.json.subgraphs[0].inputs[0]: member 'value' is missing, wanted an integer");
  CHECK(bad([](Json& j) { j["nodes"][0]["subgraph"] = 5; }) == "plan.json.nodes[0]: subgraph: found 5, wanted 0 or more and below 2");
  CHECK(bad([](Json& j) { j["nodes"][0]["device"] = "CPU:0"; }) == "plan.json.nodes[0]: device 'CPU:0' is not that of subgraph 0");
  CHECK(bad([](Json& j) { j["nodes"][0]["why"] = "because"; }) == "plan.json.nodes[0]: why: 'because' is not known");
  CHECK(bad([](Json& j) { j["nodes"][0]["arithmetic"] = "odd"; }) == "plan.json.nodes[0]: arithmetic: 'odd' is not known, wanted float, half or int8");
  CHECK(bad([](Json& j) { j["nodes"][0]["answers"].erase("CPU:0"); }) == "plan.json.nodes[0].answers: member 'CPU:0' is missing, wanted an object");
  CHECK(bad([](Json& j) { j["nodes"].erase(0); }) == "plan.json: no node is in subgraph 0");
  CHECK(bad([](Json& j) { j["cuts"][0]["from"] = 2; }) == "plan.json.cuts[0]: from: found 2, wanted 0 or more and below 2");
  CHECK(bad([](Json& j) { j["cuts"][0]["to"] = {0}; }) == "plan.json.cuts[0]: to: found subgraph 0, wanted one behind 0 of 2");
  CHECK(bad([](Json& j) { j["nodes"][0]["wanted"] = {"GPU:0"}; }) == "plan.json.nodes[0]: device 'GPU:0' is not among the plan's devices: CPU:0, NPU:0");
  CHECK(bad([](Json& j) { j["nodes"][1]["unit"] = 3; }) == "plan.json.nodes[1]: unit: found 3, wanted 0 or more and below 1");
  CHECK(bad([](Json& j) { j["tensors"][1]["from"] = 3; }) == "plan.json.tensors[1]: from: found 3, wanted 0 or more and below 3");
  CHECK(bad([](Json& j) { j["tensors"][1]["to"] = {0}; }) == "plan.json.tensors[1]: to: found node 0, wanted 1 or more and below 3");
  CHECK(bad([](Json& j) { j["tensors"][0].erase("bytes"); }) == "plan.json.tensors[0]: member 'bytes' is missing, wanted an integer");
  const auto question = [](const std::function<void(Json&)>& damage) {
    const std::string said = bad([&](Json& j) { damage(j["question"]); });
    CHECK(said.starts_with("plan.json.question"));
    return said.substr(std::min(said.size(), std::string("plan.json.question").size()));
  };
  CHECK(question([](Json& q) { q = 1; }) == ": found number, wanted an object");
  CHECK(question([](Json& q) { q.erase("rules"); }) == ": member 'rules' is missing, wanted an array");
  CHECK(question([](Json& q) { q["rules"][0]["limit"] = 8; }) == ": rules[0]: names a device beyond the 2 of the plan");
  CHECK(question([](Json& q) { q["rules"][0]["first_of"] = {2}; }) == ": rules[0].first_of[0]: found 2, wanted one below 2");
  CHECK(question([](Json& q) { q["rule_of"] = {0, 5, 0}; }) == ": rule_of[1]: found 5, wanted one below 2");
  CHECK(question([](Json& q) { q["rule_of"] = {0}; }) == ": rule_of: found 1 numbers, wanted 3");
  CHECK(question([](Json& q) { q["units"] = {0, 1, 7}; }) == ": units: found 7, wanted one below 3");
  CHECK(question([](Json& q) { q["units"] = {0, 2, 2}; }) == ": units: unit 1 of 3 has no node");
  CHECK(question([](Json& q) { q["allow"] = {1, -1, 1}; }) == ".allow[1]: found -1, wanted a number of 0 or more that fits");
  CHECK(question([](Json& q) { q["readers"][0] = 4294967296; }) == ".readers[0]: found 4294967296, wanted a number of 0 or more that fits");
  CHECK(question([](Json& q) { q["readers"][1] = 1; }) == ": units and tensors do not make a graph in topological order");
  CHECK(question([](Json& q) { q["first_tensor"] = {0, 1, 1000000000, 1000000000}; }) ==
        ": units and tensors do not make a graph in topological order");
  CHECK(question([](Json& q) { q["copies"] = Json::array({{{"node", 9}, {"units", {0}}}}); }) == ": copies: found node 9, wanted one below 3");
  CHECK(question([](Json& q) { q["together"] = Json::array({{{"unit", 9}, {"rule", 0}, {"nodes", {0}}}}); }) == ": together[0]: found unit 9 of 3");
  CHECK(question([](Json& q) {
          q["together"] = Json::array({{{"unit", 1}, {"rule", 0}, {"nodes", {1}}}, {{"unit", 0}, {"rule", 0}, {"nodes", {0}}}});
        }) == ": together[1]: found unit 0 behind 1");
  CHECK(question([](Json& q) { q["limits"] = {{"parts", -1}, {"part", Json::array()}}; }) ==
        ".limits: member 'parts' is no number of 0 or more that fits");
  CHECK(question([](Json& q) { q["limits"] = {{"parts", 1}, {"part", Json::array()}}; }) ==
        ": limits: they do not fit the units, tensors and devices");
  CHECK(bad([](Json& j) { j["notes"] = "x"; }) == "plan.json.notes: found string, wanted an array of strings");
}

TEST_CASE("members of later formats are let pass") {
  Json json = good();
  json["costs"] = {1, 2};
  json["nodes"][0]["colour"] = "red";
  CHECK(plan_from_json(json, "plan.json").ok());
}

TEST_CASE("damaged plans are refused or can be explained, never worse") {
  const std::string text = to_text(good());
  std::mt19937_64 random(3);
  static constexpr std::string_view junk = "{}[]:,\"-0123456789eE.truefalsn\\ \x01\xff";
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = text;
    for (uint64_t k = 1 + random() % 3; k > 0; --k) {
      const size_t at = random() % damaged.size();
      if (random() % 3 == 0) damaged.erase(at, 1 + random() % 4);
      else damaged[at] = junk[random() % junk.size()];
    }
    const Result<Json> json = parse_json(damaged, "x");
    if (!json.ok()) continue;
    const Result<Plan> plan = plan_from_json(*json, "x");
    if (!plan.ok()) {
      CHECK(plan.status().kind() == StatusKind::InvalidInput);
      continue;
    }
    ++read;
    CHECK_FALSE(explain_plan(*plan).empty());
    const Result<WhatIfReport> report = what_if(*plan);
    if (report.ok()) CHECK_FALSE(what_if_text(*plan, *report).empty());
    for (const PlacedNode& node : plan->nodes) CHECK(explain_node(*plan, node.name).ok());
  }
  CHECK(read > 100);
}
