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
}

TEST_CASE("times that are no times are refused by name and place") {
  CHECK(mistake(R"({"device": "X64:0", "given": {"conv": -1}})") == "costs.json.devices[0].given: 'conv': found -1, wanted microseconds, 0 or more");
  CHECK(mistake(R"({"device": "X64:0", "given": {"conv": "fast"}})") ==
        "costs.json.devices[0].given: 'conv': found \"fast\", wanted microseconds, 0 or more");
  CHECK(mistake(R"({"device": "X64:0", "launch_us": null})").find("'launch_us': found null") != std::string::npos);
  CHECK(mistake(R"({"device": "X64:0", "given": {"c": 1}, "share": {"c": 2}})").find("'c' was given before") != std::string::npos);
  CHECK(mistake(R"({"device": "X64:0"}, {"device": "X64:0"})").find("'X64:0' appears twice") != std::string::npos);
  CHECK(mistake(R"({"device": "X64"})").find("device:") != std::string::npos);
  CHECK(mistake(R"({"device": "X64:0", "nodes": {}})").find("nodes") != std::string::npos);
}

TEST_CASE("a newer format is refused") {
  CHECK(parse_costs(R"({"format": 2, "devices": []})", "c").status().message() == "c: format: found 2, wanted 1 to 1");
}
