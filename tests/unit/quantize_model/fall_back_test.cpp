// SPDX-License-Identifier: Apache-2.0
#include "core/session/fall_back.hpp"

#include <doctest/doctest.h>

#include "core/session/layers.hpp"
#include "core/session/own_error.hpp"
#include "core/placement/placement.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x/q -> x/dq -> conv -> relu -> conv_out/q -> conv_out/dq -> y, beside a float Exp
struct Net : GraphBuilder {
  FakePlugin npu{"npu", {"NPU"}, {"Conv", "Relu", "Exp", "QuantizeLinear", "DequantizeLinear"}},
      cpu{"cpu", {"CPU"}, {"Conv", "Relu", "Exp", "QuantizeLinear", "DequantizeLinear"}};
  uint32_t x, conv, relu;
  Net() {
    const uint32_t scale = constant("s");
    x = input("x");
    conv = node("conv", "Conv", {node("x/dq", "DequantizeLinear", {node("x/q", "QuantizeLinear", {x, scale}), scale})});
    relu = node("relu", "Relu", {conv});
    output(node("r/dq", "DequantizeLinear", {node("r/q", "QuantizeLinear", {relu, scale}), scale}));
    output(node("exp", "Exp", {x}));
  }
  PlacementRequest request(bool npu_alone) {
    PlacementRequest out;
    out.plugins = {&npu, &cpu};
    out.candidates = {{"", "NPU", 0}};
    if (!npu_alone) out.candidates.push_back({"", "CPU", 0});
    return out;
  }
  Plan placed(bool npu_alone) {
    Result<Plan> plan = make_plan(graph, request(npu_alone));
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    return *plan;
  }
};

}  // namespace

TEST_CASE("a unit whose device refuses one of its codes' nodes falls back, with the device's sentence") {
  Net net;
  const Plan in_float = net.placed(true);
  CHECK(detail::refused_units(in_float, answers_of(in_float), net.graph, {net.id_of("conv"), net.id_of("exp")}).empty());
  net.npu.refuse(net.id_of("x/dq"), OPTIMA_REASON_QUANT, "scale 0.3 is no power of two");
  const auto refused = detail::refused_units(in_float, answers_of(net.placed(false)), net.graph, {net.id_of("conv"), net.id_of("exp")});
  REQUIRE(refused.size() == 1);
  CHECK(refused.at(net.id_of("conv")) == "NPU:0 refuses 'x/dq' of its quantized unit: scale 0.3 is no power of two");
  CHECK(detail::refused_units(in_float, answers_of(net.placed(false)), net.graph, {net.id_of("exp")}).empty());
}

TEST_CASE("a unit falls back also where its device is the only one, so that there is no plan") {
  Net net;
  const Plan in_float = net.placed(true);
  net.npu.refuse(net.id_of("r/q"), OPTIMA_REASON_QUANT, "no codes here");
  CHECK(make_plan(net.graph, net.request(true)).status().kind() == StatusKind::Placement);
  const Result<AskedDevices> asked = ask_devices(net.graph, net.request(true));
  REQUIRE_MESSAGE(asked.ok(), asked.status().message());
  REQUIRE(asked->devices.size() == 1);
  REQUIRE(asked->answers.size() == net.graph.main().nodes.size());
  const auto refused = detail::refused_units(in_float, *asked, net.graph, {net.id_of("conv"), net.id_of("relu"), net.id_of("exp")});
  REQUIRE(refused.size() == 1);
  CHECK(refused.at(net.id_of("relu")) == "NPU:0 refuses 'r/q' of its quantized unit: no codes here");
}

TEST_CASE("what is next to a node that nobody takes falls back too, codes between them or not") {
  Net net;
  const std::set<uint32_t> free = {net.id_of("conv"), net.id_of("relu"), net.id_of("exp")};
  const auto stranded = [&] { return detail::stranded_units(*ask_devices(net.graph, net.request(true)), net.graph, free); };
  CHECK(stranded().empty());
  net.npu.refuse(net.id_of("r/dq"), OPTIMA_REASON_QUANT, "no codes here");
  const auto behind = stranded();
  REQUIRE(behind.size() == 1);
  CHECK(behind.at(net.id_of("relu")) == "NPU:0 refuses 'r/dq' beside it: no codes here");
  net.npu.refuse(net.id_of("x/q"), OPTIMA_REASON_QUANT, "nor here");
  const auto both = stranded();
  CHECK(both.size() == 2);
  CHECK(both.at(net.id_of("conv")) == "NPU:0 refuses 'x/q' beside it: nor here");
  CHECK(detail::stranded_units(*ask_devices(net.graph, net.request(false)), net.graph, free).empty());  // the CPU takes them
}

TEST_CASE("units are the nodes that read codes and compute") {
  const Net net;
  CHECK(quantized_units(net.graph) == std::vector<uint32_t>{net.id_of("conv")});
}

TEST_CASE("a graph taken apart reads the float model's value in front of every quantizer, and rounds what a layer makes once more") {
  const Net net;
  const detail::TakenApart apart = detail::take_apart(net.graph, {net.x, net.relu}, {"x", "relu_out"});
  REQUIRE(verify(apart.graph).ok());
  const image::Graph& main = apart.graph.main();
  REQUIRE(apart.joints.size() == 2);
  CHECK(apart.joints[0].value == "x");
  CHECK(apart.joints[0].name == "x/float");
  CHECK(apart.joints[1].value == "relu_out");
  REQUIRE(main.inputs.size() == 3);
  REQUIRE(apart.layers.size() == 2);
  CHECK(apart.layers[1].value == "relu_out");
  for (const image::Node& node : main.nodes) {
    if (node.name == "x/q") CHECK(main.values[node.inputs[0]].name == "x/float");
    if (node.name == "r/q") CHECK(main.values[node.inputs[0]].name == "relu_out/float");
    if (node.name == "r/q/own") CHECK(main.values[node.inputs[0]].name == "relu_out");
  }
  CHECK(main.values[main.outputs[1]].name == apart.layers[1].name);
}

TEST_CASE("what the float model does not make, as smoothing's product, is computed from the float model's value in front of it") {
  GraphBuilder net;
  const uint32_t scale = net.constant("s"), factor = net.constant("f"), x = net.input("x");
  const uint32_t exp = net.node("exp", "Exp", {x});
  const uint32_t smooth = net.node("smooth", "Mul", {exp, factor});
  net.output(net.node("conv", "Conv", {net.node("dq", "DequantizeLinear", {net.node("q", "QuantizeLinear", {smooth, scale}), scale})}));
  const detail::TakenApart apart = detail::take_apart(net.graph, {net.graph.main().outputs[0]}, {"x", "exp_out", "conv_out"});
  REQUIRE(verify(apart.graph).ok());
  REQUIRE(apart.joints.size() == 1);
  CHECK(apart.joints[0].value == "exp_out");
  const image::Graph& main = apart.graph.main();
  for (const image::Node& node : main.nodes) {
    if (node.name == "smooth") CHECK(main.values[node.inputs[0]].name == "exp_out/float");
    if (node.name == "q") CHECK(main.values[node.inputs[0]].name == "smooth_out");
  }
}
