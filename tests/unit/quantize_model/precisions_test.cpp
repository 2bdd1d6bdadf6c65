// SPDX-License-Identifier: Apache-2.0
#include "core/session/precisions.hpp"

#include <doctest/doctest.h>

#include "core/placement/placement.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x -> a(Conv) -> b(Relu) -> c(Conv) -> y: convolutions on NPU:0, the rest on CPU:0
struct Net : GraphBuilder {
  FakePlugin npu{"npu", {"NPU"}, {"Conv"}}, cpu{"cpu", {"CPU"}, {"Conv", "Relu"}};
  Plan plan;
  Net() {
    output(node("c", "Conv", {node("b", "Relu", {node("a", "Conv", {input("x")})})}));
    PlacementRequest request;
    request.plugins = {&npu, &cpu};
    request.candidates = {{"", "NPU", 0}, {"", "CPU", 0}};
    request.wishes.assign(id_of("c") + 1, Wish());
    request.wishes[id_of("a")] = request.wishes[id_of("c")] = Wish{{{"", "NPU", 0}}, true, "'*'"};
    Result<Plan> made = make_plan(graph, request);
    REQUIRE(made.ok());
    plan = *made;
  }
  std::string chosen(const std::vector<std::string>& words, const Resolved& wishes = {}) {
    const Result<std::vector<PrecisionOption>> options = parse_precisions(words);
    REQUIRE(options.ok());
    std::string out;
    for (const char* name : {"a", "b", "c"}) {
      const ChosenPrecision one = choose_precisions(graph, wishes, *options, &plan).at(id_of(name));
      out += std::string(name_of(one.precision)) + (one.source.empty() ? " " : "(" + one.source + ") ");
    }
    return out;
  }
  Resolved wishes(const std::string& node, PrecisionWish wish) {
    Resolved out;
    out.precision_by_node_id.resize(id_of("c") + 1);
    out.precision_by_node_id[id_of(node)] = std::move(wish);
    return out;
  }
};

}  // namespace

TEST_CASE("a precision of a device counts on it, that of all elsewhere, none means float") {
  Net net;
  CHECK(net.chosen({}) == "f32 f32 f32 ");
  CHECK(net.chosen({"int8"}) == "int8(--precision) int8(--precision) int8(--precision) ");
  CHECK(net.chosen({"NPU:0=a16w8"}) == "a16w8(--precision) f32 a16w8(--precision) ");
  CHECK(net.chosen({"int8", "npu/NPU:0=w8"}) == "w8(--precision) int8(--precision) w8(--precision) ");
}

TEST_CASE("the allocation's names come before --precision, its star after it") {
  Net net;
  CHECK(net.chosen({"int8"}, net.wishes("a", {Precision::F32, "'a'"})) == "f32('a') int8(--precision) int8(--precision) ");
  CHECK(net.chosen({"NPU:0=int8"}, net.wishes("a", {Precision::F32, "'op:Conv'", Wish::kOpRank})) == "f32('op:Conv') f32 int8(--precision) ");
  CHECK(net.chosen({"int8"}, net.wishes("a", {Precision::W8, "'*'", Wish::kEveryRank})) == "int8(--precision) int8(--precision) int8(--precision) ");
  CHECK(net.chosen({}, net.wishes("a", {Precision::W8, "'*'", Wish::kEveryRank})) == "w8('*') f32 f32 ");
}

TEST_CASE("nodes are filled where their device's note wants it and codes are wanted of them") {
  Net net;
  const auto note_of = [&](const std::string& plugin) -> const Manifest* { return plugin == "npu" ? &net.npu.manifest_ : plugin == "cpu" ? &net.cpu.manifest_ : nullptr; };
  const auto filled = [&](const std::vector<std::string>& words, const Resolved& wishes = {}) {
    return nodes_to_fill(choose_precisions(net.graph, wishes, *parse_precisions(words), &net.plan), net.plan, note_of);
  };
  CHECK(filled({"int8"}).empty());
  net.npu.manifest_.devices[0].quantizes_all = true;
  CHECK(filled({"int8"}) == std::set<uint32_t>{net.id_of("a"), net.id_of("c")});
  CHECK(filled({"NPU:0=a16w4"}) == std::set<uint32_t>{net.id_of("a"), net.id_of("c")});
  CHECK(filled({"CPU:0=int8"}).empty());
  CHECK(filled({"w8"}).empty());
  CHECK(filled({"auto"}, net.wishes("a", {Precision::F32, "'a'"})) == std::set<uint32_t>{net.id_of("c")});
}

TEST_CASE("of nodes that are filled those get 16-bit activations whose plugin's note has such codes") {
  Net net;
  const auto note_of = [&](const std::string& plugin) -> const Manifest* { return plugin == "npu" ? &net.npu.manifest_ : plugin == "cpu" ? &net.cpu.manifest_ : nullptr; };
  const std::set<uint32_t> filled{net.id_of("a")};
  CHECK(nodes_to_widen(filled, net.plan, note_of).empty());
  OperatorRow row;
  row.op = "QuantizeLinear", row.outputs = {uint64_t{1} << OPTIMA_U8};
  net.npu.manifest_.operators.push_back(row);
  CHECK(nodes_to_widen(filled, net.plan, note_of).empty());
  net.npu.manifest_.operators.back().outputs[0] |= uint64_t{1} << OPTIMA_U16;
  CHECK(nodes_to_widen(filled, net.plan, note_of) == filled);
  CHECK(nodes_to_widen({net.id_of("b")}, net.plan, note_of).empty());
}

TEST_CASE("an option of a device without nodes is said to have no effect") {
  Net net;
  const auto idle = idle_options(*parse_precisions({"NPU:0=int8", "TPU:0=w4", "f16"}), net.plan);
  CHECK(idle == std::vector<std::string>{"no node is on TPU:0, so --precision TPU:0=w4 has no effect"});
}

TEST_CASE("words of --precision that are none, or said twice, are usage errors") {
  CHECK(parse_precisions({"X64:0=int7"}).status().message().find("--precision: found precision 'int7'") == 0);
  CHECK(parse_precisions({"=int8"}).status().kind() == StatusKind::Usage);
  CHECK(parse_precisions({"X64:0=int8", "X64:0=w8"}).status().message() == "--precision is given twice for X64:0");
  CHECK(parse_precisions({"int8", "w8"}).status().message() == "--precision is given twice for all nodes");
  CHECK(parse_precisions({"int8", "X64:0=w8", "X64:1=w8"}).ok());
}
