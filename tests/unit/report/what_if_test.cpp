// SPDX-License-Identifier: Apache-2.0
#include "core/report/what_if.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/placement/placement.hpp"
#include "core/report/report.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr uint32_t kNpu = 0;

// x -> Relu -> Pad -> Relu -> Pad -> Relu -> Exp -> Relu -> y; the CPU takes Pad and Exp only, so each costs two subgraphs.
struct Net {
  GraphBuilder g;
  FakePlugin cpu{"slowcpu", {"CPU"}, {"Pad", "Exp"}}, npu{"fastnpu", {"NPU"}, {"Relu", "Pad", "Exp"}};
  PlacementRequest request;

  Net() {
    uint32_t v = g.input("x");
    int number = 0;
    for (const char* op : {"Relu", "Pad", "Relu", "Pad", "Relu", "Exp", "Relu"}) v = g.node(std::string(op) + "_" + std::to_string(number++), op, {v});
    g.output(v);
    for (const char* pad : {"Pad_1", "Pad_3"}) npu.refuse(g.id_of(pad), OPTIMA_REASON_ATTRIBUTE, "mode is reflect, wanted constant");
    npu.refuse(g.id_of("Exp_5"), OPTIMA_REASON_DTYPE, "input 0 is f32, wanted f16");
    request.plugins = {&npu, &cpu};
    request.candidates = {*parse_device("NPU:0"), *parse_device("CPU:0")};
  }
  Plan plan() {
    Result<Plan> made = make_plan(g.graph, request);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return *made;
  }
};

}  // namespace

TEST_CASE("what-if ranks refusals by the subgraphs that taking them would save") {
  Net net;
  const Plan plan = net.plan();
  const Result<WhatIfReport> report = what_if(plan);
  REQUIRE(report.ok());
  CHECK(what_if_text(plan, *report) ==
        "what if: 'tiny' is 7 subgraphs and 96 bytes crossing\n"
        "  if     took            because of  nodes  subgraphs  crossing              first of them\n"
        "  NPU:0  all it refuses                  3  7 -> 1     96 bytes -> 0 bytes\n"
        "  CPU:0  Relu            OP              4  7 -> 1     96 bytes -> 0 bytes   'Relu_0': operator Relu is not in the note of plugin slowcpu\n"
        "  NPU:0  Pad             ATTRIBUTE       2  7 -> 3     96 bytes -> 32 bytes  'Pad_1': mode is reflect, wanted constant\n"
        "  NPU:0  Exp             DTYPE           1  7 -> 5     96 bytes -> 64 bytes  'Exp_5': input 0 is f32, wanted f16\n");
}

TEST_CASE("what-if says what really happens when the plugin is changed so") {
  Net before, after;
  after.npu.verdicts.erase(after.g.id_of("Exp_5"));
  const Plan changed = after.plan();
  const Result<WhatIfReport> report = what_if(before.plan());
  REQUIRE(report.ok());
  bool found = false;
  for (const WhatIf& c : report->cases)
    if (c.device == kNpu && c.op == "Exp") {
      found = true;
      CHECK(c.subgraphs == changed.subgraphs.size());
      CHECK(c.bytes == changed.bytes);
    }
  CHECK(found);
}

TEST_CASE("asking again without a change gives the plan's own numbers, with pins, lists and groups") {
  Net net;
  net.request.wishes.resize(net.g.id_of("Relu_6") + 1);
  net.request.wishes[net.g.id_of("Pad_1")] = Wish{{{"", "CPU", 0}}, true, "'Pad_1'"};
  net.request.wishes[net.g.id_of("Exp_5")] = Wish{{{"", "NPU", 0}, {"", "CPU", 0}}, false, "'Exp_5'"};
  net.npu.group(1, {net.g.id_of("Exp_5"), net.g.id_of("Relu_6")});
  const Plan plan = net.plan();
  const Result<WhatIfReport> report = what_if(plan);
  REQUIRE(report.ok());
  CHECK(report->subgraphs == plan.subgraphs.size());
  CHECK(report->bytes == plan.bytes);
}

TEST_CASE("explain says what moving a node would do to the number of subgraphs") {
  Net net;
  net.npu.verdicts.erase(net.g.id_of("Exp_5"));
  const Result<std::string> text = explain_node(net.plan(), "Exp_5");
  REQUIRE(text.ok());
  CHECK(text->find("  CPU:0  slowcpu  yes   2 subgraphs more there\n") != std::string::npos);
}

TEST_CASE("a plan without tensors cannot be asked what if, and says what to do") {
  Net net;
  Plan plan = net.plan();
  plan.tensors.clear();
  const Status status = what_if(plan).status();
  CHECK(status.kind() == StatusKind::InvalidInput);
  CHECK(status.message() == "the plan of 'tiny' lists no tensors, it was written by an older version; write it again with 'plan -o'");
}
