// SPDX-License-Identifier: Apache-2.0
// A graph of codes in floats again.
#include <doctest/doctest.h>

#include <cstring>

#include "core/graph/graph.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "optima/plugin/float_graph.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using sdk::FloatGraph;

namespace {

/// The float graph of a model, written and read again.
struct Floats {
  Graph from;
  PackedGraph packed;
  FloatGraph made;
  Graph graph;

  explicit Floats(const std::string& text) : Floats(load(text)) {}
  explicit Floats(Graph g) : from(std::move(g)), packed(pack(from)), made(&packed.raw) {
    const test::TempFolder folder;
    REQUIRE(image::verify(reinterpret_cast<const uint8_t*>(made.raw()->image), made.raw()->image->total_size, made.raw()).empty());
    const Status written = onnx_io::write_onnx(*made.raw(), folder.path());
    REQUIRE_MESSAGE(written.ok(), written.message());
    Result<Graph> again = onnx_io::load_model(folder / "model.onnx");
    REQUIRE_MESSAGE(again.ok(), again.status().message());
    graph = std::move(*again);
  }
  static Graph load(const std::string& text) {
    Result<Graph> graph = onnx_io::load_text("<ir_version: 10, opset_import: [\"\" : 21]> g " + text, "model");
    REQUIRE_MESSAGE(graph.ok(), graph.status().message());
    return std::move(*graph);
  }
  /// "op(a,b)->c" of every node.
  std::vector<std::string> nodes() const {
    std::vector<std::string> out;
    const auto name = [&](uint32_t v) { return v == OPTIMA_NONE ? std::string() : graph.main().values[v].name; };
    for (const image::Node& n : graph.main().nodes) {
      std::string line = n.op_type + "(";
      for (uint32_t v : n.inputs) line += name(v) + ",";
      line.back() = ')';
      for (uint32_t v : n.outputs) line += "->" + name(v);
      out.push_back(line);
    }
    return out;
  }
  std::vector<float> constant(const std::string& name) const {
    for (const image::Value& v : graph.main().values)
      if (v.name == name && v.constant != OPTIMA_NONE) {
        const Blob& bytes = graph.blobs[graph.contents.constants[v.constant].blob];
        std::vector<float> out(bytes.size / sizeof(float));
        std::memcpy(out.data(), bytes.data, bytes.size);
        return out;
      }
    FAIL("no constant " << name);
    return {};
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("pairs of codes go, coded weights are floats, and names stay") {
  const Floats f(R"((float[1,2] x) => (float[1,2] y) <float s = {0.5}, uint8 z = {128}, int8[2,2] wq = {2, -4, 6, 127}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 1}, int32[2] bq = {3, -1}, float[2] bs = {0.25, 0.125}, int32[2] bz = {0, 0}, float t = {0.25}, uint8 tz = {0}>
    { xq = QuantizeLinear (x, s, z)  xd = DequantizeLinear (xq, s, z)  w = DequantizeLinear <axis = 1> (wq, ws, wz)  b = DequantizeLinear <axis = 0> (bq, bs, bz)
      h = Gemm (xd, w, b)  r = Relu (h)  rq = QuantizeLinear (r, t, tz)  rd = DequantizeLinear (rq, t, tz)  yf = Tanh (rd)  yq = QuantizeLinear (yf, s, z)  y = DequantizeLinear (yq, s, z) })");
  CHECK(f.made.held_codes());
  CHECK(f.nodes() == Lines{"Gemm(x,w,b)->h", "Relu(h)->r", "Tanh(r)->y"});
  CHECK(f.constant("w") == std::vector<float>{1, -1.25f, 3, 31.5f});
  CHECK(f.constant("b") == std::vector<float>{0.75f, -0.125f});
  const std::vector<FloatGraph::Codes> codes = f.made.codes();
  Lines names;
  for (const FloatGraph::Codes& c : codes) names.push_back((c.constant ? "constant " : "") + c.value);
  CHECK(names == Lines{"constant b", "r", "constant w", "x", "y"});
  CHECK((codes[1].dtype == OPTIMA_U8 && codes[1].scales == std::vector<float>{0.25f} && codes[1].zero_points == std::vector<int32_t>{0} && codes[1].axis == -1));
  CHECK((codes[2].dtype == OPTIMA_I8 && codes[2].scales == std::vector<float>{0.5f, 0.25f} && codes[2].zero_points == std::vector<int32_t>{0, 1} && codes[2].axis == 1));
}

TEST_CASE("codes that cross the border keep the node that is there") {
  const Floats f(R"((uint8[4] x) => (float[4] y, uint8[4] q) <float s = {0.5}, uint8 z = {0}>
    { d = DequantizeLinear (x, s, z)  y = Relu (d)  q = QuantizeLinear (y, s, z) })");
  CHECK_FALSE(f.made.held_codes());
  CHECK(f.nodes() == Lines{"DequantizeLinear(x,s,z)->d", "Relu(d)->y", "QuantizeLinear(y,s,z)->q"});
}

TEST_CASE("codes that go out and are read inside keep their QuantizeLinear alone") {
  const Floats f(R"((float[4] x) => (float[4] y, uint8[4] q) <float s = {0.5}, uint8 z = {0}>
    { q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  y = Relu (d) })");
  CHECK(f.nodes() == Lines{"QuantizeLinear(x,s,z)->q", "Relu(x)->y"});
}

TEST_CASE("an output that is its quantized input is a copy of it") {
  const Floats f(R"((float[4] x) => (float[4] y, float[4] r) <float s = {0.5}, uint8 z = {0}>
    { q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z)  r = Relu (y) })");
  CHECK(f.nodes() == Lines{"Identity(x)->y", "Relu(y)->r"});
}

TEST_CASE("halves of bytes and blocks are read as they are stored") {
  // The text form has no halves of bytes.
  onnx::ModelProto model = test::graph_model("g (float[1,4] x) => (float[1,2] y) <int8[4,2] wq = {0,0,0,0,0,0,0,0}, float[2,2] ws = {1, 0.5, 0.25, 2}> "
                                             "{ w = DequantizeLinear <axis = 0, block_size = 2> (wq, ws)  y = MatMul (x, w) }", 21);
  onnx::TensorProto& codes = *model.mutable_graph()->mutable_initializer(0);
  codes.set_data_type(onnx::TensorProto::INT4);
  codes.clear_int32_data();
  codes.set_raw_data("\x81\x07\x2F\xD3");  // 1, -8, 7, 0, -1, 2, 3, -3
  const test::TempFolder folder;
  Result<Graph> graph = onnx_io::load_model(folder.file("model.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  const Floats f(std::move(*graph));
  CHECK(f.constant("w") == std::vector<float>{1, -4, 7, 0, -0.25f, 4, 0.75f, -6});
  CHECK(f.made.codes().at(0).block == 2);
}

TEST_CASE("a float graph holds no codes, and scales that are computed are left alone") {
  const Floats plain("(float[4] x) => (float[4] y) { y = Relu (x) }");
  CHECK_FALSE(plain.made.held_codes());
  CHECK(plain.made.codes().empty());
  const Floats computed(R"((float[4] x) => (float[4] y) { q, s, z = DynamicQuantizeLinear (x)  y = DequantizeLinear (q, s, z) })");
  CHECK_FALSE(computed.made.held_codes());
  CHECK(computed.nodes().size() == 2);
}
