// SPDX-License-Identifier: Apache-2.0
#include "core/cost/costs_file.hpp"

#include <doctest/doctest.h>

using namespace optima;

namespace {
std::string mistake(const std::string& devices) {
  const auto costs = parse_costs(R"({"format": 1, "devices": [)" + devices + "]}", "costs.json");
  CHECK(costs.status().kind() == StatusKind::InvalidInput);
  return costs.status().message();
}
}  // namespace

TEST_CASE("measured costs read back as they were written") {
  MeasuredCosts costs{"net", std::string(64, 'a'), {{*parse_device("llvm_cpu/X64:0"), 0.25, {}}, {*parse_device("REF:0"), -1, {}}}};
  costs.devices[0].nodes = {{"a", {1.5, CostMethod::Profile}}, {"b", {0, CostMethod::Share}}, {"c\n\"", {1e-3, CostMethod::Given}}};
  costs.devices[1].runs = {{12.5, 4096, 0, {"a", "b"}}, {7, 0, 4096, {"c\n\""}}};
  const std::string text = costs_text(costs);
  const auto back = parse_costs(text, "costs.json");
  REQUIRE(back.ok());
  CHECK(costs_text(*back) == text);
  CHECK(back->model_hash == costs.model_hash);
  REQUIRE(back->devices.size() == 2);
  CHECK(back->devices[0].launch_us == 0.25);
  CHECK(back->devices[0].nodes.at("b").method == CostMethod::Share);
  CHECK(back->devices[0].nodes.at("c\n\"").microseconds == 1e-3);
  CHECK(back->devices[1].launch_us < 0);
  REQUIRE(back->devices[1].runs.size() == 2);
  CHECK(back->devices[1].runs[0].bytes_in == 4096);
  CHECK(back->devices[1].runs[1].nodes == std::vector<std::string>{"c\n\""});
}

TEST_CASE("times that are no times are refused by name and place") {
  CHECK(mistake(R"({"device": "X64:0", "given": {"conv": -1}})") == "costs.json.devices[0].given: 'conv': found -1, wanted microseconds, 0 or more");
  CHECK(mistake(R"({"device": "X64:0", "given": {"conv": "fast"}})") ==
        "costs.json.devices[0].given: 'conv': found \"fast\", wanted microseconds, 0 or more");
  CHECK(mistake(R"({"device": "X64:0", "launch_us": null})").find("'launch_us': found null") != std::string::npos);
  CHECK(mistake(R"({"device": "X64:0", "given": {"c": 1}, "share": {"c": 2}})").find("'c' was given before") != std::string::npos);
  CHECK(mistake(R"({"device": "X64:0"}, {"device": "X64:0"})").find("'X64:0' appears twice") != std::string::npos);
  CHECK(mistake(R"({"device": "X64"})").find("device:") != std::string::npos);
  const auto run = [](const std::string& members) { return mistake(R"({"device": "X64:0", "runs": [{)" + members + "}]}"); };
  CHECK(run(R"("microseconds": -2, "bytes_in": 0, "bytes_out": 0, "nodes": [])").find("runs[0]: 'microseconds': found -2") != std::string::npos);
  CHECK(run(R"("microseconds": 2, "bytes_in": -8, "bytes_out": 0, "nodes": [])").find("'bytes_in': found -8") != std::string::npos);
  CHECK(run(R"("bytes_in": 0, "bytes_out": 0, "nodes": [])").find("has no 'microseconds'") != std::string::npos);
  CHECK(mistake(R"({"device": "X64:0", "nodes": {}})").find("nodes") != std::string::npos);
}

TEST_CASE("a newer format is refused") {
  CHECK(parse_costs(R"({"format": 3, "devices": []})", "c").status().message() == "c: format: found 3, wanted 1 to 2");
}

TEST_CASE("measurements of several packages join: runs add up, what is known stays") {
  const DeviceName x = *parse_device("X64:0"), y = *parse_device("Y:0");
  MeasuredCosts all{"net", "", {{x, -1, {{"a", {1, CostMethod::Share}}}, {{1, 0, 0, {"a"}}}}}};
  add_measured(all, {"net", "", {{x, 3, {{"a", {9, CostMethod::Share}}, {"b", {2, CostMethod::Share}}}, {{11, 0, 0, {"a", "b"}}}}, {y, 4, {}}}});
  REQUIRE(all.devices.size() == 2);
  CHECK(all.devices[0].launch_us == 3);
  CHECK(all.devices[0].nodes.at("a").microseconds == 1);
  CHECK(all.devices[0].nodes.at("b").microseconds == 2);
  CHECK(all.devices[0].runs.size() == 2);
  CHECK(all.devices[1].name.text() == "Y:0");
}
