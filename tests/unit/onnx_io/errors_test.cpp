// SPDX-License-Identifier: Apache-2.0
// What a user is told about a model that is wrong. Messages are exact.
#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

// The message without the model's path, which differs from run to run.
std::string refusal(const std::string& bytes, const onnx_io::ImportOptions& options = {}) {
  test::TempFolder folder;
  const std::string path = folder.file("m.onnx", bytes);
  const auto loaded = onnx_io::load_model(path, options);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.status().kind() == StatusKind::InvalidInput);
  const std::string head = "model '" + path + "': ", message = loaded.status().message();
  REQUIRE(message.rfind(head, 0) == 0);
  CHECK(message.find('\n') == std::string::npos);
  return message.substr(head.size());
}
std::string refusal(const onnx::ModelProto& model, const onnx_io::ImportOptions& options = {}) {
  return refusal(model.SerializeAsString(), options);
}
std::string refused_graph(std::string_view graph, int opset = 17) { return refusal(test::graph_model(graph, opset)); }

constexpr const char* kRelu = "g (float[2] x) => (float[2] y) { y = Relu(x) }";

}  // namespace

TEST_CASE("a file that is missing, empty, cut or something else is refused with what it is") {
  CHECK(onnx_io::load_model("/nowhere/m.onnx").status().kind() == StatusKind::InvalidInput);
  CHECK(refusal(std::string()) == "the file is empty, wanted an ONNX model");
  const std::string whole = test::graph_model(kRelu).SerializeAsString();
  CHECK(refusal(whole.substr(0, whole.size() / 2)) == "truncated: the field at byte 2 goes past the end of the file or of what it is in");
  CHECK(refusal("\x89PNG\r\n\x1a\n and more") == "not an ONNX model: field 1281 of wire type 1, wanted one of a model");
  CHECK(refusal("plain text, nothing else") == "not an ONNX model: field 14 of wire type 0, wanted one of a model");
  CHECK(refusal(std::string("\x08\x07", 2)) == "not an ONNX model: no graph in it");
}

TEST_CASE("versions that we do not read are refused with those we do") {
  CHECK(refused_graph(kRelu, 6) == "opset 6 of ai.onnx, wanted 7 to 28");
  CHECK(refused_graph(kRelu, 99) == "opset 99 of ai.onnx, wanted 7 to 28");
  onnx::ModelProto model = test::graph_model(kRelu);
  model.clear_opset_import();
  CHECK(refusal(model) == "no opset is imported, wanted at least one");
  model = test::graph_model(kRelu);
  model.mutable_graph()->mutable_node(0)->set_domain("com.acme");
  CHECK(refusal(model) == "the Relu node that makes 'y': domain com.acme is not among the imported opsets");
}

TEST_CASE("a graph whose values do not fit together is refused with the nodes and values") {
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { a = Add(x, c)  b = Relu(a)  c = Neg(b)  y = Abs(c) }") ==
        "the graph has a cycle: the Add node that makes 'a' -> the Relu node that makes 'b' -> the Neg node that makes 'c' -> the Add node that makes 'a'");
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { y = Add(x, xx) }") ==
        "the Add node that makes 'y' reads 'xx', which nothing makes (nearest: 'x')");
  CHECK(refused_graph("g (float[2] x) => (float[2] z) { y = Relu(x) }") == "graph output 'z' is made by no node (nearest: 'x', 'y')");
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { y = Relu(x)  y = Neg(x) }") ==
        "value 'y' is made twice, by the Relu node that makes 'y' and by the Neg node that makes 'y'");
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { x = Relu(x)  y = Neg(x) }") ==
        "value 'x' is made twice, by an input or initializer and by the Relu node that makes 'x'");
  CHECK(refused_graph("g (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }") == "value 'x' is an input twice");
}

TEST_CASE("shapes that contradict each other are refused with the node") {
  CHECK(refused_graph("g (float[2] x, float[3] w) => (float[2] y) { y = Add(x, w) }") ==
        "types and shapes do not fit: node 'add_1' (Add): Incompatible dimensions");
  CHECK(refused_graph("g (float[2,3] x) => (int64[2,3] y) { y = Relu(x) }") ==
        "types and shapes do not fit: node 'relu_1' (Relu): Inferred elem type differs from existing elem type: (FLOAT) vs (INT64)");
}

TEST_CASE("a node that breaks its operator's schema is refused with node and operator") {
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { y = Conv(x) }") ==
        "node 'conv_1' (Conv): has input size 1 not in range [min=2, max=3]");
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { y = Relu <alpha = 1.0> (x) }").find("node 'relu_1' (Relu): ") == 0);
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { y = Rellu(x) }") ==
        "node 'rellu_1' (Rellu): operator 'Rellu' is not in opset 17 of ai.onnx (nearest: 'Relu', 'Celu', 'Gelu')");
  CHECK(refused_graph("g (float[2] x) => (float[2] y) { y = Gelu(x) }", 17) ==
        "node 'gelu_1' (Gelu): operator 'Gelu' is not in opset 17 of ai.onnx, its last change is in 20");
}

TEST_CASE("tensors whose bytes do not fit their shape are refused") {
  onnx::ModelProto model = test::graph_model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  auto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_raw_data("1234567");
  CHECK(refusal(model) == "tensor 'w': 7 bytes of data, wanted 8 for f32[2]");
  w.set_raw_data(std::string(4096, 'x'));  // large enough to be moved by the wire scan
  CHECK(refusal(model) == "tensor 'w': 4096 bytes of data, wanted 8 for f32[2]");
  model = test::graph_model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Relu(x) }");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -2);
  CHECK(refusal(model) == "tensor 'w': a shape that is negative or too large");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 2);
  model.mutable_graph()->mutable_initializer(0)->set_data_type(77);
  CHECK(refusal(model) == "tensor 'w': element type 77, which is not known");
}

TEST_CASE("bodies are checked like the graph they are in") {
  CHECK(refused_graph(R"(g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] r) { r = Add(x, nope) }, else_branch = e () => (float[2] q) { q = Neg(x) }> })") ==
        "the If node that makes 'y' reads 'nope', which nothing makes");
  CHECK(refused_graph(R"(g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] r) { r = Relu(x)  r = Neg(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> })") ==
        "the If node that makes 'y', then_branch: value 'r' is made twice, by the Relu node that makes 'r' and by the Neg node that makes 'r'");
}

TEST_CASE("text that is no ONNX text is refused with the place") {
  const auto loaded = onnx_io::load_text("<ir_version: 8", "t");
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.status().kind() == StatusKind::InvalidInput);
  CHECK(loaded.status().message().rfind("ONNX text: ", 0) == 0);
}
