// SPDX-License-Identifier: Apache-2.0
// Which values are codes.
#include <set>

#include "tests/unit/quantize_graph/harness.hpp"

using namespace optima;
using namespace optima::test;

namespace {

using Names = std::vector<std::string>;

const std::vector<std::string> kThree = {tensor("w1", {4, 4, 3, 3}, 1), tensor("w2", {4, 4, 3, 3}, 2), tensor("w3", {4, 4, 3, 3}, 3)};
constexpr size_t kPicture = 4 * 6 * 6;
const std::string kPads = "<pads = [1,1,1,1]> ";

Graph residual() {
  return model("float[1,4,6,6] x", "float[1,4,6,6] y", kThree,
               "c1 = Conv " + kPads + "(x, w1)\n r1 = Relu (c1)\n c2 = Conv " + kPads + "(r1, w2)\n s = Add (c2, r1)\n r2 = Relu (s)\n y = Conv " + kPads + "(r2, w3)");
}

// A block of attention and a feed-forward pair with a GELU of single operators, normalized behind.
Graph transformer() {
  std::vector<std::string> constants = {tensor("wq", {8, 8}, 1), tensor("wk", {8, 8}, 2), tensor("wv", {8, 8}, 3), tensor("w1", {8, 16}, 4), tensor("w2", {16, 8}, 5),
                                        tensor("b1", {16}, 6), tensor("g", {8}, Numbers(8, 1)), tensor("root", {}, Numbers{1.41421356f}), tensor("one", {}, Numbers{1}),
                                        tensor("half", {}, Numbers{0.5f})};
  return model("float[1,5,8] x", "float[1,5,8] y", constants,
               "q = MatMul (x, wq)\n k = MatMul (x, wk)\n v = MatMul (x, wv)\n kt = Transpose <perm = [0,2,1]> (k)\n a = MatMul (q, kt)\n p = Softmax (a)\n"
               "o = MatMul (p, v)\n r = Add (o, x)\n n = LayerNormalization (r, g)\n f = MatMul (n, w1)\n fb = Add (f, b1)\n"
               "d = Div (fb, root)\n e = Erf (d)\n e1 = Add (e, one)\n m = Mul (fb, e1)\n h = Mul (m, half)\n t = MatMul (h, w2)\n u = Add (t, n)\n y = LayerNormalization (u, g)");
}

// Scale and zero point that a value's QuantizeLinear has, as names of constants.
std::pair<std::string, std::string> code_of(const Graph& graph, const std::string& value) {
  for (const image::Node& n : graph.main().nodes)
    if (n.op_type == "QuantizeLinear" && graph.main().values[n.inputs[0]].name == value) return {graph.main().values[n.inputs[1]].name, graph.main().values[n.inputs[2]].name};
  FAIL("no codes of " << value);
  return {};
}

bool notes(const Quantized& q, const std::string& node, const std::string& why) {
  for (const LeftFloat& left : q.encodings.left_float)
    if (left.node == node && left.why.find(why) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a residual block is one kernel a convolution: no code between a convolution, its sum and its activation") {
  const Quantized q = quantized(residual(), samples_of(kPicture));
  CHECK(coded_values(q.graph) == Names{"x", "r1", "r2"});
  CHECK(q.encodings.activations.size() == 3);
  CHECK(count_of(q.graph, "DequantizeLinear") == 4 + 3 + 3);  // r1 has two readers; weights; biases that correction made
  CHECK(quality(residual(), q.graph, kPicture) > 30);
}

TEST_CASE("of two convolutions that are summed the first one gives codes") {
  const Graph graph = model("float[1,4,6,6] x", "float[1,4,6,6] y", kThree,
                            "c1 = Conv " + kPads + "(x, w1)\n c2 = Conv " + kPads + "(x, w2)\n s = Add (c1, c2)\n y = Conv " + kPads + "(s, w3)");
  CHECK(coded_values(quantized(graph, samples_of(kPicture)).graph) == Names{"x", "c1", "s"});
}

TEST_CASE("values that are never negative start at code 0, others have it in the middle") {
  const Quantized q = quantized(residual(), samples_of(kPicture));
  CHECK(q.encodings.activations.at("r1").zero_point == std::vector<int32_t>{0});
  CHECK(q.encodings.activations.at("x").zero_point == std::vector<int32_t>{128});
}

TEST_CASE("no code stands behind a product that floats read") {
  const Graph graph = model("float[2,4] x", "float[2,3] y", {tensor("w", {4, 3}, 1)}, "g = MatMul (x, w)\n y = Softmax (g)");
  CHECK(coded_values(quantized(graph, samples_of(8)).graph) == Names{"x"});
}

TEST_CASE("what only moves numbers hands its encoding on, and its codes") {
  const Graph graph = model("float[1,4,6,6] x", "float[1,3] y", {tensor("w1", {4, 4, 3, 3}, 1), tensor("w2", {36, 3}, 2)},
                            "c = Conv " + kPads + "(x, w1)\n r = Relu (c)\n p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)\n f = Flatten (p)\n y = Gemm (f, w2)");
  const Quantized q = quantized(graph, samples_of(kPicture));
  CHECK(coded_values(q.graph) == Names{"x", "r", "p", "f"});
  CHECK(code_of(q.graph, "f") == code_of(q.graph, "r"));
  CHECK(code_of(q.graph, "p") == code_of(q.graph, "r"));
  CHECK(q.encodings.activations.at("f") == q.encodings.activations.at("r"));
}

TEST_CASE("a concat of ranges alike is a copy, and one of ranges unlike is not") {
  for (const float loud : {1.0f, 8.0f}) {
    const Graph graph = model("float[1,4,6,6] x", "float[1,4,6,6] y", {tensor("w1", {4, 4, 3, 3}, 1), tensor("w2", {4, 4, 3, 3}, 1, 0.2f * loud), tensor("w3", {4, 8, 3, 3}, 3)},
                              "a = Conv " + kPads + "(x, w1)\n b = Conv " + kPads + "(x, w2)\n c = Concat <axis = 1> (a, b)\n y = Conv " + kPads + "(c, w3)");
    const Quantized q = quantized(graph, samples_of(kPicture));
    CHECK(coded_values(q.graph) == Names{"x", "a", "b", "c"});
    CHECK((code_of(q.graph, "a") == code_of(q.graph, "c")) == (loud == 1));
    CHECK(code_of(q.graph, "b") == code_of(q.graph, "b"));
    CHECK(quality(graph, q.graph, kPicture) > 30);
  }
}

TEST_CASE("a constant in a concat of codes is codes, too") {
  const Graph graph = model("float[1,4,6,6] x", "float[1,4,6,6] y", {tensor("w1", {4, 4, 3, 3}, 1), tensor("k", {1, 4, 6, 6}, 2, 0.4f), tensor("w3", {4, 8, 3, 3}, 3)},
                            "a = Conv " + kPads + "(x, w1)\n c = Concat <axis = 1> (a, k)\n y = Conv " + kPads + "(c, w3)");
  const Quantized q = quantized(graph, samples_of(kPicture));
  CHECK(bytes_of(q.graph, "k/q").size() == 4 * 6 * 6);
  CHECK(quality(graph, q.graph, kPicture) > 30);
}

TEST_CASE("a constant in a concat of codes that are much coarser than its own keeps its own, as the class token of a transformer") {
  const Graph graph = model("float[2,4] x", "float[2,8] y", {tensor("w", {4, 4}, 1), tensor("token", {2, 4}, 2, 0.01f)}, "a = MatMul (x, w)\n y = Concat <axis = 1> (a, token)");
  QuantizeOptions options;
  options.all = true;
  const Quantized q = quantized(graph, samples_of(8), options);
  const std::map<std::string, Tensor> values = values_of(q.graph, {normal(8, 77)});
  const Tensor& token = values.at("token/dq");
  CHECK(snr(normal(8, 2, 0.01f), {token.as<float>().begin(), token.as<float>().end()}) > 35);
}

TEST_CASE("new nodes have the version that the model's opset has, where it cannot be 21") {
  const std::string text = cat("<ir_version: 11, opset_import: [\"\" : 23]> g (float[2,4] x) => (float[2,3] y) <", tensor("w", {4, 3}, 1), ", ", tensor("g", {4}, Numbers(4, 1)),
                               "> {n = RMSNormalization (x, g)\n y = MatMul (n, w)}");
  const Result<Graph> graph = onnx_io::load_text(text, "newer");
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  const Quantized q = quantized(*graph, samples_of(8));
  for (const image::Node& n : q.graph.main().nodes)
    if (n.op_type.ends_with("Linear")) CHECK(n.since_version == 23);
  CHECK(quality(*graph, q.graph, 8) > 35);
}

TEST_CASE("a HardSwish of single operators has codes at its ends only") {
  const Graph graph = model("float[1,4,6,6] x", "float[1,4,6,6] y", {kThree[0], kThree[1], tensor("three", {}, Numbers{3}), tensor("zero", {}, Numbers{0}), tensor("six", {}, Numbers{6})},
                            "c = Conv " + kPads + "(x, w1)\n a = Add (c, three)\n l = Clip (a, zero, six)\n m = Mul (c, l)\n d = Div (m, six)\n y = Conv " + kPads + "(d, w2)");
  CHECK(coded_values(quantized(graph, samples_of(kPicture)).graph) == Names{"x", "c", "d"});
}

TEST_CASE("in a transformer only inputs of products with constant weights are codes") {
  QuantizeOptions options;
  options.smooth = false;
  const Quantized q = quantized(transformer(), samples_of(40), options);
  CHECK(coded_values(q.graph) == Names{"x", "n", "h"});
  CHECK(notes(q, node_named(transformer(), "matmul_4").name, "two activations"));
  CHECK(quality(transformer(), q.graph, 40) > 30);
}

TEST_CASE("all fills every hole, and outputs keep their names") {
  QuantizeOptions options;
  options.all = true;
  const Quantized q = quantized(transformer(), samples_of(40), options);
  const Names coded = coded_values(q.graph);
  const std::set<std::string> names(coded.begin(), coded.end());
  for (const std::string value : {"x", "q", "kt", "p", "o", "r", "n", "fb", "h"}) CHECK_MESSAGE(names.contains(value), value);
  CHECK(q.graph.main().values[q.graph.main().outputs[0]].name == "y");
  CHECK(q.encodings.activations.contains("y"));
  CHECK(q.encodings.activations.at("p").scale[0] == doctest::Approx(1.0 / 256));
  CHECK(quality(transformer(), q.graph, 40) > 15);
}

TEST_CASE("of nodes on a device that wants all, every hole is filled, and others keep to the rules") {
  const Graph graph = transformer();
  QuantizeOptions options;
  options.smooth = false;
  // The attention with its sum and norm; what comes behind is elsewhere.
  for (const char* value : {"q", "k", "v", "kt", "a", "p", "o", "r", "n"})
    for (const image::Node& node : graph.main().nodes)
      if (graph.main().values[node.outputs[0]].name == value) options.fill.insert(node.id);
  const Quantized q = quantized(graph, samples_of(40), options);
  CHECK(coded_values(q.graph) == Names{"x", "q", "k", "v", "kt", "a", "p", "o", "r", "n", "h"});
  const image::Graph& main = q.graph.main();
  for (const image::Node& node : main.nodes)
    if (node.op_type != "QuantizeLinear")
      for (uint32_t v : node.inputs) CHECK_MESSAGE(main.values[v].name != "n", node.name);  // the float reader of n sees codes, too
  CHECK_FALSE(q.encodings.activations.contains("y"));
  CHECK(quality(graph, q.graph, 40) > 15);
}

TEST_CASE("masks are filled, whole numbers and truths are not") {
  const Graph graph = model("float[2,4] x, bool[2,4] m, int64[2] i", "float[2,4] y, int64[2] j",
                            {tensor("w", {4, 4}, 1), tensor("low", {}, Numbers{-4}), "int64[2] one = {1, 1}"},
                            "a = MatMul (x, w)\n b = Where (m, a, low)\n y = Softmax (b)\n j = Add (i, one)");
  QuantizeOptions options;
  options.all = true;
  for (const char* value : {"x", "a", "b", "y"}) options.given.activations[value] = encoding_of_range(-4, 4, Scheme::Shared, 8);
  const QuantizePlan plan = planned(graph, options);
  Result<Quantized> q = quantize_graph(plan, Observations(plan.taps), options);
  REQUIRE_MESSAGE(q.ok(), q.status().message());
  CHECK(coded_values(q->graph) == Names{"x", "a", "b", "y/f32"});
}

TEST_CASE("a comparison on a device that wants all reads codes, as nobody sees the floats") {
  const Graph graph = model("float[2,4] x", "bool[2,4] y", {tensor("w", {4, 4}, 1), tensor("zero", {}, Numbers{0})}, "a = MatMul (x, w)\n y = Greater (a, zero)");
  QuantizeOptions options;
  options.all = true;
  const Quantized q = quantized(graph, samples_of(8), options);
  CHECK(coded_values(q.graph) == Names{"x", "a"});
  CHECK(q.graph.main().values[q.graph.main().nodes.back().inputs[0]].name == "a/dq");
}

TEST_CASE("where everything has sixteen bits the answers do, too") {
  QuantizeOptions options;
  options.all = true;
  options.precision = Precision::A16W8;
  const Quantized q = quantized(transformer(), samples_of(40), options);
  for (const auto& [name, encoding] : q.encodings.activations) CHECK_MESSAGE(encoding.dtype == OPTIMA_U16, name);
  CHECK(q.encodings.activations.contains("y"));
  CHECK(quality(transformer(), q.graph, 40) > 30);
}

TEST_CASE("a16w4 has weights of four bits, a scale for each output, and biases of 32") {
  const Graph graph = model("float[2,64] x", "float[2,3] y", {tensor("w", {3, 64}, 1), tensor("b", {3}, 2)}, "y = Gemm <transB = 1> (x, w, b)");
  QuantizeOptions options;
  options.precision = Precision::A16W4;
  const Quantized q = quantized(graph, samples_of(128), options);
  const Encoding& w = q.encodings.weights.at("w");
  CHECK((w.dtype == OPTIMA_I4 && w.axis == 0 && w.block == 0 && w.scale.size() == 3));
  CHECK(q.encodings.weights.at("b").dtype == OPTIMA_I32);
  CHECK(q.encodings.activations.at("x").dtype == OPTIMA_U16);
  CHECK(quality(graph, q.graph, 128) > 12);
}

TEST_CASE("bodies stay float, and a sentence says so") {
  const Graph graph = model("bool c, float[2,4] x", "float[2,3] y", {tensor("w", {4, 3}, 1)},
                            "g = MatMul (x, w)\n y = If (c) <then_branch = t () => (float[2,3] a) { a = Neg (g) }, else_branch = e () => (float[2,3] b) { b = MatMul (x, w) }>");
  QuantizeOptions options;
  const QuantizePlan plan = planned(graph, options);
  REQUIRE(plan.taps.size() == 1);
  options.given.activations["x"] = encoding_of_range(-1, 1, Scheme::Shared, 8);
  const Result<Quantized> q = quantize_graph(plan, Observations(), options);
  REQUIRE(q.ok());
  CHECK(q->graph.contents.graphs.size() == 3);
  CHECK(notes(*q, node_named(graph, "if_1").name, "bodies are computed in float"));
  CHECK(q->notes.size() == 1);
}

TEST_CASE("a node between codes that the model has already keeps them") {
  const Graph graph = model("float[2,4] x", "float[2,4] y", {tensor("w", {4, 4}, 1), tensor("s", {}, Numbers{0.03f}), "uint8 z = {128}"},
                            "q = QuantizeLinear (x, s, z)\n d = DequantizeLinear (q, s, z)\n g = MatMul (d, w)\n r = Relu (g)\n y = MatMul (r, w)");
  const Quantized q = quantized(graph, samples_of(8));
  CHECK(coded_values(q.graph) == Names{"x", "r"});
  CHECK(q.graph.main().values[node_named(q.graph, "matmul_1").inputs[1]].name == "w");
}

TEST_CASE("a16w8 gives its inputs sixteen bits, and others eight") {
  QuantizeOptions options;
  const Graph graph = residual();
  options.by_node[node_named(graph, "conv_3").id] = Precision::A16W8;
  const Quantized q = quantized(graph, samples_of(kPicture), options);
  CHECK(q.encodings.activations.at("r2").dtype == OPTIMA_U16);
  CHECK(q.encodings.activations.at("r1").dtype == OPTIMA_U8);
}

TEST_CASE("a node that is pinned to float stays float with the reason given") {
  QuantizeOptions options;
  const Graph graph = residual();
  const uint32_t id = node_named(graph, "conv_2").id;
  options.by_node[id] = Precision::F32;
  options.precision_why[id] = "f32 by alloc.json";
  const Quantized q = quantized(graph, samples_of(kPicture), options);
  CHECK(notes(q, node_named(graph, "conv_2").name, "alloc.json"));
  CHECK(coded_values(q.graph) == Names{"x", "r2"});
}

TEST_CASE("encodings that are given win over what was seen, and say what stays float") {
  const Graph graph = residual();
  QuantizeOptions options;
  options.given.activations["r1"] = encoding_of_range(0, 100, Scheme::Shared, 8);
  options.given.left_float.push_back({node_named(graph, "conv_3").name, "whatever"});
  const Quantized q = quantized(graph, samples_of(kPicture), options);
  CHECK(q.encodings.activations.at("r1") == options.given.activations.at("r1"));
  CHECK(coded_values(q.graph) == Names{"x", "r1"});
  CHECK(notes(q, node_named(graph, "conv_3").name, "encodings given"));
}

TEST_CASE("what was quantized can be quantized again from its encodings alone") {
  const Graph graph = residual();
  const Quantized first = quantized(graph, samples_of(kPicture));
  QuantizeOptions options;
  options.given = first.encodings;
  options.correct_bias = false;
  const Result<Quantized> again = quantize_graph(planned(graph, options), Observations(), options);
  REQUIRE_MESSAGE(again.ok(), again.status().message());
  CHECK(again->encodings.activations == first.encodings.activations);
  CHECK(again->encodings.weights.at("w2") == first.encodings.weights.at("w2"));
}

TEST_CASE("a value that nobody observed is an error that names it") {
  const QuantizePlan plan = planned(residual());
  const Result<Quantized> q = quantize_graph(plan, Observations(), {});
  CHECK(q.status().kind() == StatusKind::InvalidInput);
  CHECK(q.status().message() == "value 'x' was not observed and has no encoding given");
}

TEST_CASE("few samples are noted, and cancelling ends the work") {
  const QuantizePlan plan = planned(residual());
  const Observations seen = observed(plan, samples_of(kPicture, 2));
  double last = 0;
  const Result<Quantized> q = quantize_graph(plan, seen, {}, [&](double part) {
    CHECK(part >= last);
    last = part;
  });
  REQUIRE(q.ok());
  CHECK(last == 1);
  REQUIRE(q->notes.size() == 1);
  CHECK(q->notes[0] == "ranges come from 2 samples, wanted at least 8");
  const std::atomic<bool> stop{true};
  CHECK(quantize_graph(plan, seen, {}, {}, &stop).status().kind() == StatusKind::Cancelled);
}

TEST_CASE("where every hole is filled a function has codes at both ends, but a Relu or a Clip from 0 goes into what is before it") {
  const Graph graph = model("float[2,4] x", "float[2,4] y",
                            {tensor("w", {4, 4}, 1), tensor("zero", {}, Numbers{0}), tensor("six", {}, Numbers{6}), tensor("low", {}, Numbers{-1})},
                            "a = MatMul (x, w)\n b = Relu (a)\n c = MatMul (b, w)\n d = Add (c, x)\n e = Clip (d, zero, six)\n"
                            "f = MatMul (e, w)\n g2 = Clip (f, low, six)\n h = MatMul (g2, w)\n y = Sigmoid (h)");
  QuantizeOptions options;
  options.all = true;
  CHECK(coded_values(quantized(graph, samples_of(8), options).graph) == Names{"x", "b", "c", "e", "f", "g2", "h", "y/f32"});
  options.scheme = Scheme::Symmetric;  // 0 is no end of the codes: a Relu computes
  CHECK(coded_values(quantized(graph, samples_of(8), options).graph) == Names{"x", "a", "b", "c", "d", "e", "f", "g2", "h", "y/f32"});
}

TEST_CASE("a GELU of several nodes is filled as one: floats inside, and one read of its input") {
  for (const char* products : {"m = Mul (x2, s)\n y = Mul (m, half)", "m = Mul (s, half)\n y = Mul (m, x2)", "m = Mul (x2, half)\n y = Mul (m, s)"}) {
    const Graph graph = model("float[2,4] x", "float[2,4] y", {tensor("w", {4, 4}, 1), tensor("root", {}, Numbers{1.41421354f}), tensor("one", {}, Numbers{1}), tensor("half", {}, Numbers{0.5f})},
                              cat("x2 = MatMul (x, w)\n d = Div (x2, root)\n e = Erf (d)\n s = Add (e, one)\n", products));
    QuantizeOptions options;
    options.all = true;
    const Quantized q = quantized(graph, samples_of(8), options);
    CHECK(coded_values(q.graph) == Names{"x", "x2", "y/f32"});
    const image::Graph& main = q.graph.main();
    std::set<uint32_t> reads;
    for (const image::Node& node : main.nodes)
      if (node.op_type == "Div" || node.op_type == "Mul")
        for (uint32_t v : node.inputs)
          if (main.values[v].name.starts_with("x2/dq")) reads.insert(v);
    CHECK(reads.size() == 1);
    CHECK(std::none_of(main.values.begin(), main.values.end(), [](const image::Value& v) { return v.name == "half/q" || v.name == "one/q"; }));
    CHECK(quality(graph, q.graph, 8) > 25);
  }
}

TEST_CASE("another number than GELU's, or another reader inside, is no GELU") {
  const auto coded = [](const char* number, const char* outputs) {
    const Graph graph = model("float[2,4] x", outputs, {tensor("root", {}, Numbers{1.41421354f}), cat("float one = {", number, "}"), tensor("half", {}, Numbers{0.5f})},
                              "d = Div (x, root)\n e = Erf (d)\n s = Add (e, one)\n m = Mul (x, s)\n y = Mul (m, half)");
    QuantizeOptions options;
    options.all = true;
    return coded_values(quantized(graph, samples_of(8), options).graph);
  };
  CHECK(coded("1", "float[2,4] y") == Names{"x", "y/f32"});
  CHECK(coded("2", "float[2,4] y").size() == 6);
  CHECK(coded("1", "float[2,4] y, float[2,4] e").size() == 6);
}

TEST_CASE("where every hole is filled a Concat's inputs keep their own encodings") {
  const Graph graph = model("float[2,4] x", "float[2,8] y", {tensor("w", {4, 4}, 1)}, "a = MatMul (x, w)\n b = Relu (a)\n y = Concat <axis = 1> (b, x)");
  QuantizeOptions options;
  options.all = true;
  const Quantized q = quantized(graph, samples_of(8), options);
  CHECK(q.encodings.activations.at("b").zero_point[0] == 0);  // so that its Relu stays what the codes do anyway
  CHECK(q.encodings.activations.at("y").zero_point[0] == 128);
}

TEST_CASE("constants beside activations of sixteen bits have sixteen") {
  const Graph graph = model("float[2,4] x", "float[2,4] y", {tensor("c", {4}, 1)}, "y = Add (x, c)");
  QuantizeOptions options;
  options.all = true;
  options.precision = Precision::A16W8;
  const Quantized q = quantized(graph, samples_of(8), options);
  const std::vector<image::Value>& values = q.graph.main().values;
  const auto codes = std::find_if(values.begin(), values.end(), [](const image::Value& v) { return v.name == "c/q"; });
  REQUIRE(codes != values.end());
  CHECK(codes->dtype == OPTIMA_U16);
}

TEST_CASE("what a filled node of 16-bit activations makes has 16 bits, though its reader elsewhere has 8") {
  const Graph graph = model("float[2,4] x", "float[2,4] y", {tensor("w", {4, 4}, 1), tensor("v", {4, 4}, 2)}, "a = MatMul (x, w)\n y = MatMul (a, v)");
  QuantizeOptions options;
  options.fill = {graph.main().nodes[0].id};
  options.by_node = {{graph.main().nodes[0].id, Precision::A16W8}};
  const Quantized q = quantized(graph, samples_of(8), options);
  CHECK(q.encodings.activations.at("x").dtype == OPTIMA_U16);
  CHECK(q.encodings.activations.at("a").dtype == OPTIMA_U16);
  CHECK_FALSE(q.encodings.activations.contains("y"));
}
