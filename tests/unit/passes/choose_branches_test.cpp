// SPDX-License-Identifier: Apache-2.0
// Ifs whose conditions are known. The golden cases show what becomes of them; here is what ONNX text cannot say, and that the answers stay.
#include "core/passes/choose_branches.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "core/passes/constant_values.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/text.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// x, c and the constant condition "yes". Nodes are added by the tests.
struct Branches : GraphBuilder {
  Branches() {
    x = input("x"), c = input("c");
    yes = constant("yes");
    const uint8_t one = 1;
    graph.blobs[0] = Blob::copy(&one, 1);
    graph.contents.constants[0] = {OPTIMA_BOOL, {}, 0};
    graph.main().values[yes].dtype = graph.main().values[c].dtype = OPTIMA_BOOL;
    graph.main().values[yes].dims.emplace();
  }
  // An If whose then_branch hands `through` out as it came, and whose else_branch is its Neg.
  uint32_t hands_through(const std::string& name, uint32_t through) {
    const uint32_t out = node(name, "If", {yes});
    const uint32_t then = body("then_branch", {through});
    graph.contents.graphs[then].outputs = {0};
    const uint32_t other = body("else_branch", {through});
    graph.contents.graphs[other].outputs = {node(name + "/neg", "Neg", {0}, other)};
    return out;
  }
  bool choose() {
    const bool any = passes::choose_branches(graph);
    passes::tidy(graph);
    CHECK(verify(graph).message() == "");
    return any;
  }
  uint32_t x, c, yes;
};

std::string name_of(const Graph& graph, uint32_t value) { return graph.main().values[value].name; }

// A random graph of nested Ifs over x, with constant conditions and one that only the run knows. Siblings use the same names.
class RandomText {
 public:
  explicit RandomText(uint32_t seed) : random_(seed) {}
  std::string make() {
    const std::string inside = statements(0, {"x"});
    return "<ir_version: 10, opset_import: [\"\" : 21]> g (bool c, float[3] x) => (float[3] y)\n<bool yes = {1}, bool no = {0}>\n{\n" + inside +
           "  y = Identity(" + last_ + ")\n}";
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string any_of(const std::vector<std::string>& known) { return known[static_cast<size_t>(below(static_cast<int>(known.size())))]; }

  std::string statements(int depth, std::vector<std::string> known) {
    std::string out;
    for (int i = 0, n = 2 + below(3); i < n; ++i) {
      const std::string name = cat("d", depth, "_", i);
      if (depth < 3 && below(2) == 0) {
        out += cat("  ", name, ", ", name, "b = If(", any_of({"yes", "no", "c", "yes"}), ") <\n");
        const bool else_first = below(2) == 0;
        for (const char* attr : {else_first ? "else_branch" : "then_branch", else_first ? "then_branch" : "else_branch"}) {
          const std::string inner = statements(depth + 1, known);
          const std::string one = last_, two = below(3) == 0 ? last_ : cat("w", depth);
          out += cat(attr == std::string(else_first ? "else_branch" : "then_branch") ? "" : ",\n", attr, " = g", depth, " () => (float[3] ", one, ", float[3] ", two,
                     ") {\n", inner, two == one ? "" : cat("  ", two, " = Abs(", one, ")\n"), "}");
        }
        out += ">\n";
        known.push_back(name + "b");
      } else {
        out += below(2) == 0 ? cat("  ", name, " = Neg(", any_of(known), ")\n") : cat("  ", name, " = Add(", any_of(known), ", ", any_of(known), ")\n");
      }
      known.push_back(name);
      last_ = name;
    }
    return out;
  }

  std::mt19937 random_;
  std::string last_;
};

std::vector<float> answer(const Graph& graph, bool c) {
  const PackedGraph packed = pack(graph);
  void *p = nullptr, *q = nullptr;
  reference::Tensor condition = reference::Tensor::make(OPTIMA_BOOL, {}, &p), x = reference::Tensor::make(OPTIMA_F32, {3}, &q);
  const float values[] = {1, -2, 3};
  std::memcpy(p, &c, 1), std::memcpy(q, values, sizeof values);
  const std::vector<reference::Tensor> out = reference::run(packed.raw, {condition, x});
  std::vector<float> result(3);
  std::memcpy(result.data(), out.at(0).data, sizeof values);
  return result;
}

}  // namespace

TEST_CASE("readers of a value that a branch hands through read the value itself, in bodies too") {
  Branches b;
  const uint32_t a = b.hands_through("if_1", b.x);
  b.output(b.node("relu", "Relu", {a}));
  b.output(b.node("if_2", "If", {b.c}));
  for (const char* name : {"then_branch", "else_branch"}) {
    const uint32_t body = b.body(name, {a});
    b.graph.contents.graphs[body].outputs = {b.node(cat("if_2/", name), "Exp", {0}, body)};
  }
  REQUIRE(b.choose());
  REQUIRE(b.graph.main().nodes.size() == 2);
  CHECK(name_of(b.graph, b.graph.main().nodes[0].inputs[0]) == "x");
  CHECK(name_of(b.graph, b.graph.contents.graphs[1].captures.at(0).outer) == "x");
  CHECK(name_of(b.graph, b.graph.contents.graphs[2].captures.at(0).outer) == "x");
  CHECK_FALSE(b.choose());
}

TEST_CASE("an If stays that hands a value through to an output of the model, and goes where the output is a body's") {
  Branches b;
  b.output(b.hands_through("if_1", b.x));
  CHECK_FALSE(b.choose());
  CHECK(b.graph.main().nodes.size() == 1);

  Branches d;
  d.output(d.node("if_1", "If", {d.c}));
  for (const char* name : {"then_branch", "else_branch"}) {
    const uint32_t body = d.body(name, {d.x, d.yes});
    const uint32_t out = d.node(cat("if_1/", name), "If", {1}, body);
    for (const char* inner_name : {"then_branch", "else_branch"}) {
      const auto inner = static_cast<uint32_t>(d.graph.contents.graphs.size());
      d.graph.contents.graphs.emplace_back();
      d.value("seen", inner);
      d.graph.contents.graphs[inner].captures = {{0, 0}}, d.graph.contents.graphs[inner].outputs = {0};
      d.graph.contents.graphs[body].nodes[0].attrs.push_back({inner_name, OPTIMA_ATTR_GRAPH});
      d.graph.contents.graphs[body].nodes[0].attrs.back().refs = {inner};
    }
    d.graph.contents.graphs[body].outputs = {out};
  }
  passes::spread_to_bodies(d.graph, 0, d.graph.main().nodes[0]);
  REQUIRE(d.choose());
  REQUIRE(d.graph.contents.graphs.size() == 3);
  for (uint32_t body : {1u, 2u}) {
    const image::Graph& g = d.graph.contents.graphs[body];
    CHECK(g.nodes.empty());
    CHECK(g.outputs.at(0) == g.captures.at(0).inner);
  }
}

TEST_CASE("what is no constant of one bool is no known condition") {
  Branches b;
  b.output(b.node("relu", "Relu", {b.hands_through("if_1", b.x)}));
  b.graph.contents.constants[0].dtype = OPTIMA_U8;
  CHECK_FALSE(b.choose());
}

TEST_CASE("nested Ifs give the same answers with the passes and without") {
  size_t gone = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const std::string text = RandomText(seed).make();
    CAPTURE(text);
    const Result<Graph> graph = onnx_io::load_text(text, "random");
    REQUIRE_MESSAGE(graph.ok(), graph.status().message());
    passes::PassOptions options;
    options.verify = true;
    const Result<Graph> done = passes::run_passes(*graph, options);
    REQUIRE_MESSAGE(done.ok(), done.status().message());
    for (const bool c : {false, true}) CHECK(answer(*done, c) == answer(*graph, c));
    for (const Folded& f : done->folded) gone += f.reason == "constant condition";
  }
  CHECK(gone > 200);
}
