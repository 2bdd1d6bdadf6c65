// SPDX-License-Identifier: Apache-2.0
// tests of placement: a graph, two fake plugins and a request.
#pragma once

#include <doctest/doctest.h>

#include "core/placement/placement.hpp"
#include "tests/support/fake_plugin.hpp"

namespace optima::test {

inline const std::vector<std::string> kAllOps = {"Relu", "Add", "Exp", "If", "Neg"};

struct Setup : GraphBuilder {
  FakePlugin cpu{"slowcpu", {"CPU"}, kAllOps};
  FakePlugin npu{"fastnpu", {"NPU"}, {"Relu", "Add"}};
  PlacementRequest request;
  Setup() { request.plugins = {&npu, &cpu}; }

  void candidates(std::vector<std::string> names) {
    for (const std::string& name : names) request.candidates.push_back(*parse_device(name));
  }
  void wish(const std::string& node, std::vector<std::string> devices, bool hard = true) {
    const uint32_t id = id_of(node);
    if (request.wishes.size() <= id) request.wishes.resize(id + 1);
    Wish& wish = request.wishes[id];
    for (const std::string& name : devices) wish.devices.push_back(*parse_device(name));
    wish.hard = hard;
    wish.source = "'" + node + "'";
  }
  Plan plan() {
    Result<Plan> made = make_plan(graph, request);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return *made;
  }
  std::string error(StatusKind kind) {
    const Result<Plan> made = make_plan(graph, request);
    CHECK(made.status().kind() == kind);
    return made.status().message();
  }
};

// x -> a(Relu) -> b(Exp) -> c(Relu) -> y
struct Chain : Setup {
  Chain() {
    const uint32_t x = input("x");
    output(node("c", "Relu", {node("b", "Exp", {node("a", "Relu", {x})})}));
  }
};

inline std::string devices_of(const Plan& plan) {
  std::string out;
  for (const PlacedNode& node : plan.nodes) out += plan.devices[node.device].name + " ";
  return out;
}

}  // namespace optima::test
