// SPDX-License-Identifier: Apache-2.0
// An allocation in few keys means exactly what it was made from.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/allocation/allocation.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

using Devices = std::map<std::string, std::string, std::less<>>;

std::string compact(const GraphBuilder& g, const Devices& devices) {
  const Result<std::string> text = compact_allocation(g.graph, devices);
  INFO(text.status().message());
  REQUIRE(text.ok());
  const Result<Json> json = parse_json(*text, "text");
  REQUIRE(json.ok());
  const Result<Allocation> allocation = parse_allocation(*json, "text");
  REQUIRE(allocation.ok());
  const Result<Resolved> resolved = resolve(*allocation, g.graph);
  REQUIRE(resolved.ok());
  for (const auto& [name, device] : devices) CHECK(resolved->by_node_id[g.id_of(name)].text() == device);
  return to_line(*json);
}

}  // namespace

TEST_CASE("operators, prefixes and the most common device take the place of names") {
  GraphBuilder g;
  Devices devices;
  uint32_t v = g.input("x");
  const auto add = [&](const std::string& name, const std::string& op, const std::string& device) {
    v = g.node(name, op, {v});
    devices[name] = device;
  };
  for (int i = 0; i < 5; ++i) add("body/conv_" + std::to_string(i), "Conv", "a/A:0");
  for (int i = 0; i < 3; ++i) add("head/deep/fc_" + std::to_string(i), "Gemm", "b/B:0");
  add("head/relu", "Relu", "b/B:0");
  add("soft_1", "Softmax", "c/C:0");
  add("soft_2", "Softmax", "c/C:0");
  add("relu_out", "Relu", "c/C:0");
  g.output(v);
  CHECK(compact(g, devices) == R"({"*":"a/A:0","op:Gemm":"b/B:0","op:Softmax":"c/C:0","head/relu":"b/B:0","relu_out":"c/C:0"})");
  devices["head/deep/fc_1"] = "a/A:0";
  CHECK(compact(g, devices) == R"({"*":"a/A:0","op:Softmax":"c/C:0","head/deep/fc_0":"b/B:0","head/deep/fc_2":"b/B:0","head/relu":"b/B:0","relu_out":"c/C:0"})");
}

TEST_CASE("random placements with names that look like patterns come back as they were") {
  std::mt19937_64 random(4);
  for (int round = 0; round < 60; ++round) {
    GraphBuilder g;
    Devices devices;
    uint32_t v = g.input("x");
    for (int n = 0; n < 30; ++n) {
      static const char* const kFolders[] = {"", "a/", "a/b/", "a/b/*/", "c?/", "/", "//", "op:", "a/b/c/"};
      const std::string name = std::string(kFolders[random() % 9]) + "n" + std::to_string(n) + (random() % 20 == 0 ? "*" : "");
      v = g.node(name, random() % 2 ? "Relu" : "Exp", {v});
      devices[name] = random() % 3 == 0 ? "b/B:1" : "a/A:0";
    }
    g.output(v);
    compact(g, devices);
  }
}
