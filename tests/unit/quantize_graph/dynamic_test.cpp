// SPDX-License-Identifier: Apache-2.0
// Products whose activations get their scale in each run.
#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

Quantized dynamic(const Graph& graph) {
  QuantizeOptions options;
  options.precision = Precision::Dynamic;
  Result<Quantized> q = quantize_graph(planned(graph, options), Observations(), options);
  REQUIRE_MESSAGE(q.ok(), q.status().message());
  CHECK(verify(q->graph).message() == "");
  return *q;
}

}  // namespace

TEST_CASE("products add up codes whose scale follows from the values, at any loudness") {
  struct Case {
    const char* x;
    const char* y;
    std::vector<int64_t> dims;
    int64_t outputs;
    const char* node;
    const char* op;
    size_t elements;
  };
  const Case cases[] = {{"float[2,3,4] x", "float[2,3,6] y", {4, 6}, 6, "m = MatMul (x, w)\n y = Add (m, b)", "MatMulInteger", 24},
                        {"float[3,4] x", "float[3,6] y", {4, 6}, 6, "y = Gemm (x, w, b)", "MatMulInteger", 12},
                        {"float[3,4] x", "float[3,6] y", {6, 4}, 6, "y = Gemm <transB = 1, alpha = 0.5> (x, w, b)", "MatMulInteger", 12},
                        {"float[1,4,5,5] x", "float[1,6,3,3] y", {6, 4, 3, 3}, 6, "y = Conv (x, w, b)", "ConvInteger", 100},
                        {"float[1,4,5,5] x", "float[1,6,5,5] y", {6, 2, 3, 3}, 6, "y = Conv <group = 2, pads = [1,1,1,1]> (x, w)", "ConvInteger", 100}};
  for (const Case& c : cases) {
    CAPTURE(c.node);
    const Graph graph = model(c.x, c.y, {tensor("w", c.dims, 5), tensor("b", {c.outputs}, 6)}, c.node);
    const Quantized q = dynamic(graph);
    CHECK(count_of(q.graph, c.op) == 1);
    CHECK(q.encodings.activations.empty());
    CHECK(q.graph.main().values[q.graph.main().outputs[0]].name == "y");
    for (const float loudness : {0.01f, 1.0f, 100.0f}) CHECK(quality(graph, q.graph, c.elements, loudness) > 35);
  }
}

TEST_CASE("a value that two products read is coded once, and the nodes keep name and id") {
  const Graph graph = model("float[3,4] x", "float[3,6] y", {tensor("w", {4, 6}, 1), tensor("v", {4, 6}, 2)}, "a = MatMul (x, w)\n b = MatMul (x, v)\n y = Mul (a, b)");
  const Quantized q = dynamic(graph);
  CHECK(count_of(q.graph, "DynamicQuantizeLinear") == 1);
  CHECK(node_named(q.graph, graph.main().nodes[1].name).op_type == "MatMulInteger");
  CHECK(node_named(q.graph, graph.main().nodes[1].name).id == graph.main().nodes[1].id);
}

TEST_CASE("what no operator adds up as codes stays float with a reason") {
  const Graph graph = model("float[1,4,3,3] x", "float[1,6,5,5] y", {tensor("w", {4, 6, 3, 3}, 5)}, "y = ConvTranspose (x, w)");
  const Quantized q = dynamic(graph);
  CHECK(print(q.graph) == print(graph));
  REQUIRE(q.encodings.left_float.size() == 1);
  CHECK(q.encodings.left_float[0].why == "no operator adds up codes for a ConvTranspose");
}
