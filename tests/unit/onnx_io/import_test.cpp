// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using test::shared_model;

namespace {

int count(const Graph& g, const std::string& op) {
  return static_cast<int>(std::count_if(g.main().nodes.begin(), g.main().nodes.end(), [&](const auto& n) { return n.op_type == op; }));
}

Graph load(const std::string& text, const onnx_io::ImportOptions& options = {}) {
  auto loaded = onnx_io::load_text(text, "t", options);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  CHECK(verify(*loaded).message() == "");
  return std::move(*loaded);
}

}  // namespace

TEST_CASE("an old-style model with initializers among its inputs has only its real input left") {
  const std::string path = shared_model("mnist.onnx");
  if (path.empty()) return;
  auto loaded = onnx_io::load_model(path);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  const Graph& g = *loaded;
  CHECK(verify(g).message() == "");
  CHECK(g.model_name == "mnist");
  REQUIRE(g.main().inputs.size() == 1);
  CHECK(type_text(g.main().values[g.main().inputs[0]]) == "f32[1,1,28,28]");
  CHECK(g.main().values[g.main().outputs.at(0)].name == "Plus214_Output_0");
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "f32[1,10]");
  CHECK(count(g, "Conv") == 2);
  CHECK(g.main().nodes.size() == 12);
  CHECK(g.contents.opsets == std::vector<std::pair<std::string, int64_t>>{{"", 21}});
}

TEST_CASE("a trained detector of opset 9 arrives at opset 21 with every type known") {
  const std::string path = shared_model("version-RFB-320.onnx");
  if (path.empty()) return;
  auto loaded = onnx_io::load_model(path);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  const Graph& g = *loaded;
  CHECK(verify(g).message() == "");
  CHECK(g.model_hash.size() == 64);
  CHECK(count(g, "Conv") == 52);
  CHECK(count(g, "Constant") == 0);
  for (const image::Value& v : g.main().values) CHECK_MESSAGE(v.dtype != OPTIMA_UNDEFINED, v.name);
  const PackedGraph packed = pack(g, true);
  CHECK(image::verify(packed.bytes.data(), packed.bytes.size(), &packed.raw) == "");
  CHECK(print(g) == print(*onnx_io::load_model(path)));
}

TEST_CASE("the detector's arithmetic on shapes folds away entirely") {
  const std::string path = shared_model("version-RFB-320.onnx");
  if (path.empty()) return;
  auto done = passes::run_passes(*onnx_io::load_model(path));
  REQUIRE_MESSAGE(done.ok(), done.status().message());
  for (const char* op : {"Shape", "Gather", "Unsqueeze"}) CHECK_MESSAGE(count(*done, op) == 0, op);
  CHECK(count(*done, "Conv") == 52);
  for (const image::Value& v : done->main().values) CHECK_MESSAGE(static_bytes(v) > 0, v.name);
}

TEST_CASE("weights of a model file are ranges of the mapped file, not copies") {
  const std::string path = shared_model("version-RFB-320.onnx");
  if (path.empty()) return;
  auto loaded = onnx_io::load_model(path);
  REQUIRE(loaded.ok());
  for (const Blob& blob : loaded->blobs)
    if (blob.size > 1024) CHECK_MESSAGE(blob.fd >= 0, blob.size);
}

TEST_CASE("inner tensors, inputs, constants and one value twice may be outputs") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] h, float[2] x, float[2] w, float[2] y) <float[2] w = {1, 2}> { h = Relu(x)  y = Add(h, w) })");
  REQUIRE(g.main().outputs.size() == 4);
  CHECK(g.main().values[g.main().outputs[1]].name == "x");
  CHECK(g.main().values[g.main().outputs[2]].constant != OPTIMA_NONE);
}

TEST_CASE("nodes may stand in any order") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { y = Neg(b)  b = Abs(a)  a = Relu(x) })");
  CHECK(g.main().nodes[0].op_type == "Relu");
  CHECK(g.main().nodes[2].op_type == "Neg");
}

TEST_CASE("a node keeps its name and opset of the source model") {
  onnx::ModelProto model = test::graph_model("g (float[2] x) => (float[2] y) { h = Relu(x)  y = Relu(h) }", 13);
  model.mutable_graph()->mutable_node(0)->set_name("twin");
  model.mutable_graph()->mutable_node(1)->set_name("twin");
  test::TempFolder folder;
  auto g = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(g->main().nodes[0].name == "relu_1");
  CHECK(g->main().nodes[1].name == "relu_2");
  CHECK(g->origins[g->main().nodes[1].id].name == "twin");
  CHECK(g->origins[g->main().nodes[1].id].opset == 13);
}

TEST_CASE("the text form is read from files that end in .onnxtxt") {
  test::TempFolder folder;
  auto g = onnx_io::load_model(folder.file("model.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }"));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(g->model_name == "model");
}

TEST_CASE("a list of 2^40 elements in a small file costs no memory") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[1099511627776] x) => (int64[1099511627776] y, int64[1] s) { h = Add(x, x)  y = Mul(h, x)  s = Shape(y) })");
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "i64[1099511627776]");
}

TEST_CASE("a kept local function stays one node with its types") {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { h = local.twice(x)  y = Relu(h) }
    <domain: "local", opset_import: ["" : 17]> twice (a) => (b) { b = Add(a, a) })";
  onnx_io::ImportOptions options;
  options.kept_functions = {{"local", "twice"}};
  const Graph g = load(text, options);
  REQUIRE(g.main().nodes.size() == 2);
  CHECK(g.main().nodes[0].domain == "local");
  CHECK(type_text(g.main().values[g.main().nodes[0].outputs[0]]) == "f32[2]");
  CHECK(load(text).main().nodes.size() == 2);
  CHECK(load(text).main().nodes[0].op_type == "Add");
}

// ONNX Runtime 1.31 does the same with all of these but a newer IR version, which it refuses.
TEST_CASE("what a file says beside its computation does not matter") {
  const auto nodes = [](const std::function<void(onnx::ModelProto&)>& edit, std::string more = "") {
    const test::TempFolder folder;
    onnx::ModelProto model = test::graph_model("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }");
    edit(model);
    auto loaded = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString() + more));
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
    CHECK(verify(*loaded).message() == "");
    return loaded->main().nodes.size();
  };
  const auto import = [](onnx::ModelProto& m, int64_t version) { m.add_opset_import()->set_version(version); };
  CHECK(nodes([](auto& m) { m.set_ir_version(99); }) == 1);
  CHECK(nodes([](auto& m) { m.mutable_graph()->clear_name(); }) == 1);
  CHECK(nodes([](auto& m) {
    for (int k = 0; k < 2; ++k) m.add_metadata_props()->set_key("k"), m.mutable_graph()->add_metadata_props()->set_key("k"), m.mutable_graph()->mutable_input(0)->add_metadata_props()->set_key("k");
  }) == 1);
  CHECK(nodes([](auto& m) { m.mutable_graph()->add_quantization_annotation()->set_tensor_name("x"); }) == 1);
  CHECK(nodes([](auto&) {}, "\xf2\x3f\x03" "abc") == 1);  // field 1022
  CHECK(nodes([&](auto& m) { import(m, 17); }) == 1);
  CHECK(nodes([](auto& m) { m.clear_opset_import(), m.add_opset_import()->set_domain("ai.onnx.ml"), m.mutable_opset_import(0)->set_version(3); }) == 1);
  // The last one counts: Softmax of opset 9 flattens.
  CHECK(nodes([&](auto& m) { import(m, 9); }) == nodes([&](auto& m) { m.mutable_opset_import(0)->set_version(9); }));
  CHECK(nodes([&](auto& m) { import(m, 9); }) > 1);
}
