// SPDX-License-Identifier: Apache-2.0
// Operators that the ONNX library does not know.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"

using namespace optima;

namespace {

constexpr const char* kText = R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
  g (float[2,3] x) => (float[a,b] y) { h = Relu(x)  k = com.acme.Widen <by = 2> (h)  y = Neg(k) })";

}  // namespace

TEST_CASE("a foreign operator is a node whose types nobody knows") {
  auto g = onnx_io::load_text(kText, "t");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  const image::Node& node = g->main().nodes[1];
  CHECK(node.domain == "com.acme");
  CHECK(node.since_version == 3);
  CHECK(g->main().values[node.outputs[0]].dtype == OPTIMA_UNDEFINED);
}

TEST_CASE("the caller's answer about a foreign operator spreads to what comes after it") {
  onnx_io::ImportOptions options;
  options.infer_foreign = [](const optima_graph& graph, uint32_t index) -> Result<std::vector<image::Value>> {
    const optima_node* n = optima_get_node(graph.image, index);
    CHECK(optima_str_is(optima_string(graph.image, &n->op_type), "Widen"));
    const optima_value* in = optima_get_value(graph.image, optima_input(graph.image, n, 0));
    CHECK(in->dtype == OPTIMA_F32);
    const int64_t columns = optima_get_dim(graph.image, in->dims.first + 1)->value * optima_find_attr(graph.image, n, "by")->i;
    return std::vector<image::Value>{{"", OPTIMA_F32, std::vector<image::Dim>{{2, ""}, {columns, ""}}, OPTIMA_NONE, OPTIMA_KIND_TENSOR}};
  };
  auto g = onnx_io::load_text(kText, "t", options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(type_text(g->main().values[g->main().nodes[1].outputs[0]]) == "f32[2,6]");
  CHECK(type_text(g->main().values[g->main().outputs[0]]) == "f32[2,6]");
}

TEST_CASE("a caller that refuses a foreign node, or answers for another, ends the import") {
  onnx_io::ImportOptions options;
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> { return invalid_input("by is 2, wanted 4"); };
  CHECK(onnx_io::load_text(kText, "t", options).status().message() == "by is 2, wanted 4");
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> { return std::vector<image::Value>(3); };
  CHECK(onnx_io::load_text(kText, "t", options).status().message() == "node 'widen_1' (Widen): its plugin gives 3 output types, wanted 1");
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> { return std::vector<image::Value>{}; };
  CHECK(onnx_io::load_text(kText, "t", options).status().message() == "");
}

namespace {

/// Every foreign operator gives what it gets; nothing while it gets nothing.
onnx_io::InferForeign like_its_input(int* asked = nullptr) {
  return [asked](const optima_graph& graph, uint32_t index) -> Result<std::vector<image::Value>> {
    if (asked) ++*asked;
    const Graph alone = unpack(graph);
    const image::Value& in = alone.main().values[alone.main().nodes[index].inputs[0]];
    return std::vector<image::Value>(alone.main().nodes[index].outputs.size(), {"", in.dtype, in.dims, OPTIMA_NONE, in.kind});
  };
}

const image::Value& value_named(const image::Graph& g, const std::string& name) {
  const auto it = std::find_if(g.values.begin(), g.values.end(), [&](const image::Value& v) { return v.name == name; });
  REQUIRE(it != g.values.end());
  return *it;
}

}  // namespace

TEST_CASE("foreign operators in bodies are asked too, and what stands between and behind them is inferred") {
  constexpr const char* kBodies = R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
    g (bool c, float[2,3] x) => (y) {
      k = com.acme.Widen (x)
      y = If (c) <then_branch = t () => (p) { a = com.acme.Widen (k)  b = Transpose (a)  d = com.acme.Widen (b)  p = Transpose (d) },
                  else_branch = e () => (q) { q = If (c) <then_branch = u () => (r) { r = com.acme.Widen (k) }, else_branch = v () => (s) { s = Neg (x) }> }>
    })";
  onnx_io::ImportOptions options;
  int asked = 0;
  options.infer_foreign = like_its_input(&asked);
  auto g = onnx_io::load_text(kBodies, "t", options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  REQUIRE(verify(*g).ok());
  CHECK(type_text(g->main().values[g->main().outputs[0]]) == "f32[2,3]");
  const image::Graph& then = g->contents.graphs[1];
  CHECK(type_text(value_named(then, "k")) == "f32[2,3]");
  CHECK(type_text(value_named(then, "d")) == "f32[3,2]");
  CHECK(type_text(value_named(then, "p")) == "f32[2,3]");
  CHECK(asked < 20);
}

TEST_CASE("with --shape and --dim the types of foreign operators follow, or are unknown where nobody can be asked") {
  constexpr const char* kDynamic = R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
    g (float[n,3] x) => (float[n,3] y, float[n,3] z) <float[n,3] k> { k = com.acme.Widen (x)  y = com.acme.Widen (k)  z = Relu (k) })";
  for (const bool by_dim : {true, false}) {
    onnx_io::ImportOptions options;
    if (by_dim) options.dims = {{"n", 4}};
    else options.shapes = {{"x", {4, 3}}};
    auto unknown = onnx_io::load_text(kDynamic, "t", options);
    REQUIRE_MESSAGE(unknown.ok(), unknown.status().message());
    CHECK(type_text(unknown->main().values[unknown->main().outputs[0]]) == "f32[*]");
    CHECK(type_text(unknown->main().values[unknown->main().outputs[1]]) == "f32[*]");
    options.infer_foreign = like_its_input();
    auto known = onnx_io::load_text(kDynamic, "t", options);
    REQUIRE_MESSAGE(known.ok(), known.status().message());
    for (const uint32_t v : known->main().outputs) CHECK(type_text(known->main().values[v]) == "f32[4,3]");
  }
}

TEST_CASE("a function's text becomes the graph of a node: attributes in, absent operands out, inputs of the types given") {
  image::Graph g{"m", {{"x", OPTIMA_F32, std::vector<image::Dim>{{2, ""}}}, {"y", OPTIMA_F32, std::nullopt}}, {}, {0}, {1}, {}};
  image::Attr by{"by", OPTIMA_ATTR_FLOAT};
  by.f = 3;
  g.nodes.push_back({"scale", "Scale", "com.acme", 7, 1, {0, OPTIMA_NONE}, {1}, {by}});
  Graph graph;
  graph.contents = {{g}, {}, {{"", 21}, {"com.acme", 1}}};
  graph.origins.resize(8);
  const PackedGraph packed = pack(graph);
  const image::Value types[] = {{"", OPTIMA_F32, std::vector<image::Dim>{{2, ""}}}, {"", OPTIMA_UNDEFINED, std::nullopt}};
  const std::string text = R"(<opset_import: ["" : 13]> Scale <by: float = 1.0> (x, most) => (y) { b = Constant <value_float: float = @by> ()  m = Mul (x, b)  y = Clip (m, , most) })";
  const auto body = onnx_io::expand_function(packed.raw, 0, text, types);
  REQUIRE_MESSAGE(body.ok(), body.status().message());
  REQUIRE(verify(*body).ok());
  REQUIRE(body->main().inputs.size() == 1);
  CHECK(type_text(body->main().values[body->main().outputs[0]]) == "f32[2]");
  CHECK(body->main().nodes.back().op_type == "Clip");
  for (const char* bad : {"", "Scale", "<opset_import: [\"\" : 13]> Scale (x, most) => (y) { y = Neg (x) } more", "<opset_import: [\"\" : 99]> Scale (x, most) => (y) { y = Neg (x) }",
                          "<opset_import: [\"\" : 13]> Scale (x, most) => (y) { y = Neg (y) }", "<opset_import: [\"\" : 13]> Scale (x, most) => (y) { y = Conv (x) }"})
    CHECK_MESSAGE(onnx_io::expand_function(packed.raw, 0, bad, types).status().kind() == StatusKind::InvalidInput, bad);
}

TEST_CASE("the types of foreign operators follow from what shape arithmetic finds before them") {
  constexpr const char* kReshaped = R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
    g (float[2,3] x, float[6] w) => (y) { s = Shape (x)  t = Cast <to = 1> (s)  h = Ceil (t)  u = Cast <to = 7> (h)  r = Reshape (w, u)  k = com.acme.Widen (r)  y = Neg (k) })";
  onnx_io::ImportOptions options;
  options.infer_foreign = like_its_input();
  const auto passed = [&](bool asked) {
    auto g = onnx_io::load_text(kReshaped, "t", options);
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    passes::PassOptions passes;
    if (asked) passes.own_operators.infer = options.infer_foreign;
    auto done = passes::run_passes(std::move(*g), passes);
    REQUIRE_MESSAGE(done.ok(), done.status().message());
    return type_text(done->main().values[done->main().outputs[0]]);
  };
  CHECK(passed(true) == "f32[2,3]");
  CHECK(passed(false) != "f32[2,3]");
}

TEST_CASE("a call that leaves out an attribute of a local function has its default") {
  constexpr const char* kDefaults = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) { y = local.Scale (x)  z = local.Scale <by = 3.0> (x) }
    <opset_import: ["" : 17], domain: "local"> Scale <by: float = 2.0> (a) => (b) { c = Constant <value_float: float = @by> ()  b = Mul (a, c) })";
  auto g = onnx_io::load_text(kDefaults, "t");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(g->main().nodes.size() == 2);
  std::vector<float> factors;
  for (const Blob& b : g->blobs) factors.push_back(*reinterpret_cast<const float*>(b.data));
  CHECK(factors == std::vector<float>{2, 3});
}

// jax2onnx gives each function a domain of its own, and says of that what it says of ONNX.
TEST_CASE("functions that import domains in versions that are not the model's are inlined, and what they call, too") {
  constexpr const char* kApart = R"(<ir_version: 10, opset_import: ["" : 23, "custom.BlockV1" : 1, "custom.HalfV1" : 1]>
    g (float[2] x) => (float[2] y) { y = custom.BlockV1.Block (x) }
    <opset_import: ["" : 23, "custom.BlockV1" : 23, "custom.HalfV1" : 23], domain: "custom.BlockV1"> Block (a) => (b) { c = custom.HalfV1.Half (a)  b = Relu (c) }
    <opset_import: ["" : 23, "custom.HalfV1" : 7], domain: "custom.HalfV1"> Half (a) => (b) { b = Add (a, a) })";
  auto g = onnx_io::load_text(kApart, "t");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  REQUIRE(g->main().nodes.size() == 2);
  CHECK(g->main().nodes[0].op_type == "Add");
  CHECK(g->main().nodes[1].op_type == "Relu");
}
