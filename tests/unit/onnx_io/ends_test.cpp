// SPDX-License-Identifier: Apache-2.0
// --shape, --dim, --inputs, --outputs.
#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"

using namespace optima;
using onnx_io::ImportOptions;

namespace {

constexpr const char* kChain = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[batch,4] x) => (float[batch,4] y) <float[4] w = {1, 2, 3, 4}> { a = Relu(x)  b = Add(a, w)  c = Neg(b)  y = Abs(c) })";

Result<Graph> load(const ImportOptions& options, const char* text = kChain) { return onnx_io::load_text(text, "t", options); }

std::string shape_of(const Graph& g, const std::string& name) {
  for (const image::Value& v : g.main().values)
    if (v.name == name) return type_text(v);
  return "none";
}
std::vector<std::string> node_names(const Graph& g) {
  std::vector<std::string> out;
  for (const image::Node& n : g.main().nodes) out.push_back(n.name);
  return out;
}

}  // namespace

TEST_CASE("a symbolic dim gets its value everywhere") {
  ImportOptions options;
  options.dims = {{"batch", 3}};
  auto g = load(options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(shape_of(*g, "x") == "f32[3,4]");
  CHECK(shape_of(*g, "c") == "f32[3,4]");
  CHECK(shape_of(*g, "y") == "f32[3,4]");
}

TEST_CASE("a given shape replaces the input's and everything after it is inferred anew") {
  ImportOptions options;
  options.shapes = {{"x", {5, 4}}};
  auto g = load(options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(shape_of(*g, "y") == "f32[5,4]");
}

TEST_CASE("shapes and dims that the model does not have are refused") {
  auto message = [](const ImportOptions& options) { return load(options).status().message(); };
  ImportOptions options;
  options.shapes = {{"xx", {1, 4}}};
  CHECK(message(options) == "--shape: the model has no input 'xx' (nearest: 'x')");
  options.shapes = {{"x", {1}}};
  CHECK(message(options) == "--shape 'x': 1 dims, wanted 2 as in [batch,4]");
  options.shapes = {{"x", {-2, 4}}};
  CHECK(message(options) == "--shape 'x': dim -2, wanted 0 or more, or ? for one that stays open");
  options.shapes = {{"x", {2, 5}}};
  CHECK(message(options) == "types and shapes do not fit: node 'add_1' (Add): Incompatible dimensions");
  options.shapes.clear();
  options.dims = {{"n", 1}};
  CHECK(message(options) == "--dim: no input has a dim 'n', the model has batch");
  options.dims = {{"batch", -1}};
  CHECK(message(options) == "--dim batch: -1, wanted 0 or more");
  options.dims = {{"x.1", 4}};
  CHECK(message(options) == "--dim: no input has a dim 'x.1', the model has batch");
}

TEST_CASE("a dim whose sizes are bounded stays open, and its bounds are kept by the name that it has in the graph") {
  ImportOptions options;
  const SizeRange few = *parse_size_range("1,4,8");
  options.ranges = {{"batch", few}};
  auto g = load(options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(shape_of(*g, "y") == "f32[batch,4]");
  CHECK(g->sizes == SizeRanges{{"batch", few}});
  options.ranges = {{"width", few}};
  CHECK(load(options).status().message() == "--dim: no input has a dim 'width', the model has batch");
}

TEST_CASE("a shape may leave a dim open, also one that the model fixes, which then goes by its place") {
  ImportOptions options;
  options.shapes = {{"x", {-1, 4}}};
  auto g = load(options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(shape_of(*g, "y") == "f32[batch,4]");
  const SizeRange some = *parse_size_range("2..6:2");
  ImportOptions opened;
  opened.shapes = {{"x", {-1, 3}}};
  opened.ranges = {{"x.0", some}};
  const Result<Graph> free = load_text("<ir_version: 10, opset_import: [\"\" : 21]> g (float[5,3] x) => (float[5,3] y) { y = Relu(x) }", "g", opened);
  REQUIRE_MESSAGE(free.ok(), free.status().message());
  CHECK(shape_of(*free, "y") == "f32[x.0,3]");
  CHECK(free->sizes == SizeRanges{{"x.0", some}});
}

TEST_CASE("the model is cut at the named outputs and what they do not need is reported") {
  ImportOptions options;
  options.outputs = {"b", "a"};
  auto g = load(options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(node_names(*g) == std::vector<std::string>{"relu_1", "add_1"});
  REQUIRE(g->folded.size() == 2);
  CHECK(g->folded[0].name == "neg_1");
  CHECK(g->folded[0].reason == "not needed for --outputs");
  CHECK(g->main().values[g->main().outputs[1]].name == "a");
}

TEST_CASE("an inner value becomes an input, with the type it has") {
  ImportOptions options;
  options.inputs = {"b"};
  options.dims = {{"batch", 2}};
  auto g = load(options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(node_names(*g) == std::vector<std::string>{"neg_1", "abs_1"});
  CHECK(shape_of(*g, "b") == "f32[2,4]");
  REQUIRE(g->main().inputs.size() == 1);
}

TEST_CASE("a node of several outputs may be cut at one of them") {
  ImportOptions options;
  options.inputs = {"p", "x"};
  auto g = load(options, R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[2] y) { p, q = Split <axis = 0> (x)  y = Add(p, q) })");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(g->main().nodes.size() == 2);
  CHECK(g->main().inputs.size() == 2);
}

TEST_CASE("cuts that cannot be are refused with the nearest names") {
  auto message = [](std::vector<std::string> inputs, std::vector<std::string> outputs) {
    ImportOptions options;
    options.inputs = std::move(inputs), options.outputs = std::move(outputs);
    return load(options).status().message();
  };
  CHECK(message({}, {"bb"}) == "--outputs: the model has no value 'bb' (nearest: 'b')");
  CHECK(message({"q7"}, {}) == "--inputs: the model has no value 'q7'");
  CHECK(message({}, {"b", "b"}) == "--outputs: value 'b' is named twice");
  CHECK(message({"b"}, {"a"}) == "--inputs: node 'relu_1' (Relu) still needs the model's input 'x'");
}
