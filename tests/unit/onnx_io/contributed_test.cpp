// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft; what they compute is compared with ONNX Runtime in tests/conformance.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

Graph load(const std::string& text, const onnx_io::ImportOptions& options = {}) {
  auto loaded = onnx_io::load_text(text, "t", options);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  CHECK(verify(*loaded).message() == "");
  return std::move(*loaded);
}

std::vector<std::string> operators(const image::Graph& g) {
  std::vector<std::string> out;
  for (const image::Node& n : g.nodes) out.push_back(n.domain.empty() ? n.op_type : n.domain + "." + n.op_type);
  return out;
}

using Names = std::vector<std::string>;

/// An initializer in ONNX's text form.
std::string uint8(const std::string& name, const std::string& dims, int count) {
  std::string out = "uint8[" + dims + "] " + name + " = {0";
  for (int k = 1; k < count; ++k) out += ", " + std::to_string(k);
  return out + "}";
}

constexpr const char* kAdd = R"(<ir_version: 8, opset_import: ["" : 12, "com.microsoft" : 1]>
  g (uint8[2,3] x) => (uint8[2,3] y) <float s = {0.5}, uint8 z = {3}> { y = com.microsoft.QLinearAdd(x, s, z, x, s, z, s, z) })";

}  // namespace

TEST_CASE("an addition of codes becomes nodes whose names begin with its own") {
  const Graph g = load(kAdd);
  CHECK(operators(g.main()) == Names{"DequantizeLinear", "DequantizeLinear", "Add", "QuantizeLinear"});
  CHECK(g.main().nodes[1].name == "qlinearadd_1/dequantizelinear_2");
  CHECK(g.main().nodes[3].name == "qlinearadd_1/quantizelinear_1");
  CHECK(g.main().values[g.main().outputs[0]].name == "y");
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "u8[2,3]");
  REQUIRE(g.folded.size() == 1);
  CHECK(g.folded[0].name == "qlinearadd_1");
  CHECK(g.folded[0].reason == "restated in ONNX operators");
  CHECK(g.contents.opsets == std::vector<std::pair<std::string, int64_t>>{{"", 21}});
}

TEST_CASE("a node that becomes one node keeps its name") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2,3] x) => (y) <float s = {0.5}, uint16 z = {3}> { y = com.microsoft.QuantizeLinear(x, s, z) })");
  REQUIRE(operators(g.main()) == Names{"QuantizeLinear"});
  CHECK(g.main().nodes[0].name == "quantizelinear_1");
  CHECK(g.folded.empty());
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "u16[2,3]");
}

TEST_CASE("a restated normalization has the results that it had, and no further ones") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[n,8] x, float[8] s, float[8] b) => (float[n,8] y) { y = com.microsoft.LayerNormalization <axis = -1> (x, s, b) })");
  REQUIRE(operators(g.main()) == Names{"LayerNormalization"});
  CHECK(g.main().nodes[0].outputs.size() == 1);
}

// ONNX Runtime's optimizer fuses a Transpose inside a Loop.
TEST_CASE("a product with a turned operand in a body whose values have no shape") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 16, "com.microsoft" : 1]>
    g (float[2,3,4] x, int64 n, bool go) => (y) {
      y = Loop (n, go, x) <body = b (int64 i, bool c, h) => (d, t) { d = Identity(c)  s = com.microsoft.FusedMatMul <transA = 1> (h, h)  t = Relu(s) }>
    })");
  REQUIRE(g.contents.graphs.size() == 2);
  CHECK(operators(g.contents.graphs[1]) == Names{"Identity", "Einsum", "MatMul", "Relu"});
}

// ONNX Runtime's optimizer sums up BERT's mask to a number of keys a sample. Two or three numbers a sample have another meaning.
TEST_CASE("attention whose mask says how many keys there are, for batches of any size") {
  const auto attention = [](const char* x, const char* mask) {
    return operators(load(std::string(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[)") + x + "] x, float[8,24] w, float[24] b, int32[" + mask +
                          "] m) => (y) { y = com.microsoft.Attention <num_heads = 2> (x, w, b, m) }").main());
  };
  const auto stays = [](const Names& all) { return std::find(all.begin(), all.end(), "com.microsoft.Attention") != all.end(); };
  CHECK(!stays(attention("n,s,8", "n")));
  CHECK(!stays(attention("n,s,8", "other")));
  CHECK(!stays(attention("3,s,8", "n")));
  CHECK(!stays(attention("3,5,8", "3")));
  CHECK(stays(attention("3,5,8", "6")));
  CHECK(stays(attention("3,5,8", "11")));
}

TEST_CASE("an operator that a plugin keeps, or that has no ONNX form, stays a node") {
  onnx_io::ImportOptions options;
  options.kept_functions = {{"com.microsoft", "QLinearAdd"}};
  CHECK(operators(load(kAdd, options).main()) == Names{"com.microsoft.QLinearAdd"});
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[2] x) => (y) { y = com.microsoft.Novel(x) })");
  CHECK(operators(g.main()) == Names{"com.microsoft.Novel"});
  CHECK(g.contents.opsets.size() == 2);
}

TEST_CASE("types go through such operators before the model is raised to opset 21") {
  // Softmax of opset 12 can be raised only where the rank of its input is known.
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 12, "com.microsoft" : 1]>
    g (uint8[2,3,4] x) => (y) <float s = {0.5}, uint8 z = {3}> {
      a = com.microsoft.QLinearSigmoid(x, s, z, s, z)
      b = com.microsoft.DequantizeLinear(a, s, z)
      y = Softmax <axis = 1> (b)
    })");
  for (const image::Value& v : g.main().values) CHECK_MESSAGE(v.dtype != OPTIMA_UNDEFINED, v.name);
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "f32[2,3,4]");
}

TEST_CASE("operators in bodies, and of models that import no opset of ONNX, are restated too") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (bool c, float[2,3] x) => (y) {
      y = If (c) <then_branch = t () => (float[2,3] a) { a = com.microsoft.QuickGelu(x) }, else_branch = e () => (float[2,3] b) { b = Neg(x) }>
    })");
  CHECK(operators(g.contents.graphs.at(1)) == Names{"CastLike", "Mul", "Sigmoid", "Mul"});
  CHECK(operators(load(R"(<ir_version: 8, opset_import: ["com.microsoft" : 1]> g (float[2] x) => (float[2] y) { y = com.microsoft.Gelu(x) })").main()) == Names{"Gelu"});
}

TEST_CASE("a node without an operand it needs, or with too many, is refused by name") {
  const auto message = [](const std::string& call) {
    return std::string(onnx_io::load_text(R"(<ir_version: 8, opset_import: ["" : 21, "com.microsoft" : 1]> g (uint8[2] x, float s) => (y) { y = com.microsoft.)" + call + " }", "t")
                           .status().message());
  };
  CHECK(message("QLinearSigmoid(x, s)") == "node 'qlinearsigmoid_1' (QLinearSigmoid): no input 3, wanted all but zero points");
  CHECK(message("BiasGelu(s, s, s)") == "node 'biasgelu_1' (BiasGelu): 3 inputs and 1 outputs, wanted 2 and 1 at most");
}

TEST_CASE("weights of 4 bits stay ranges of the mapped file, and blocks of them are dequantized by the product's neighbour") {
  onnx::ModelProto model = test::graph_model("g (float[2,64] x) => (float[2,64] y) { y = com.microsoft.MatMulNBits <K = 64, N = 64, bits = 4, block_size = 32> (x, w, s) }", 21);
  auto& domain = *model.add_opset_import();
  domain.set_domain("com.microsoft"), domain.set_version(1);
  auto& w = *model.mutable_graph()->add_initializer();
  w.set_name("w"), w.set_data_type(OPTIMA_U8), w.add_dims(64), w.add_dims(2), w.add_dims(16), w.set_raw_data(std::string(64 * 32, '\x5a'));
  auto& s = *model.mutable_graph()->add_initializer();
  s.set_name("s"), s.set_data_type(OPTIMA_F32), s.add_dims(128);
  for (int k = 0; k < 128; ++k) s.add_float_data(0.25f);
  test::TempFolder folder;
  auto loaded = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  auto folded = passes::run_passes(*loaded);
  REQUIRE_MESSAGE(folded.ok(), folded.status().message());
  const image::Graph& g = folded->main();
  CHECK(operators(g) == Names{"DequantizeLinear", "Transpose", "MatMul"});
  const image::Value& codes = g.values[g.nodes[0].inputs[0]];
  CHECK(type_text(codes) == "u4[64,64]");
  CHECK(folded->blobs[folded->contents.constants[codes.constant].blob].fd >= 0);
}

TEST_CASE("a product of blocks may round its operand to bytes where the model says that this is accurate enough") {
  for (const auto& [level, allowed] : std::map<std::string, bool>{{"", false}, {", accuracy_level = 0", false}, {", accuracy_level = 1", false}, {", accuracy_level = 3", false}, {", accuracy_level = 4", true}}) {
    CAPTURE(level);
    const Graph g = load(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[2,32] x) => (float[2,2] y) <)" + uint8("w", "2,2,8", 32) +
                                               ", float[4] s = {1.0, 2.0, 3.0, 4.0}> { y = com.microsoft.MatMulNBits <K = 32, N = 2, bits = 4, block_size = 16" + level + "> (x, w, s) }");
    int products = 0;
    for (const image::Node& n : g.main().nodes) {
      products += n.op_type == "MatMul";
      CHECK(n.flags == (n.op_type == "MatMul" && allowed ? OPTIMA_NODE_ROUNDS_TO_BYTES : 0));
    }
    CHECK(products == 1);
    CHECK((print(g).find(" rounds to bytes -> y") != std::string::npos) == allowed);
    const PackedGraph packed = pack(g);
    CHECK(print(unpack(packed.raw)).find(" rounds to bytes") == print(g).find(" rounds to bytes"));
  }
}

TEST_CASE("weights in blocks that do not fit their sizes are refused by the input that does not") {
  const auto refusal = [](const std::string& weights) {
    const auto loaded = onnx_io::load_text("<ir_version: 8, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (float[2,32] x) => (y) <" + weights +
                                           "> { y = com.microsoft.MatMulNBits <K = 32, N = 2, bits = 4, block_size = 16> (x, w, s, z) }", "t");
    return loaded.ok() ? "no error" : std::string(loaded.status().message());
  };
  const std::string fine = uint8("w", "2,2,8", 32), scales = "float[4] s = {1, 1, 1, 1}", zeros = uint8("z", "2", 2);
  CHECK(refusal(fine + ", " + scales + ", " + zeros) == "no error");
  CHECK(refusal(uint8("w", "2,16", 32) + ", " + scales + ", " + zeros) ==
        "node 'matmulnbits_1' (MatMulNBits): input 1 (B) is [2, 16], wanted [2, 2, 8]: N, blocks of 16 of K = 32, bytes of a block");
  CHECK(refusal(fine + ", float[3] s = {1, 1, 1}, " + zeros) ==
        "node 'matmulnbits_1' (MatMulNBits): input 2 (scales) is [3], wanted 4 numbers: one for each of 2 blocks of N = 2 columns");
  CHECK(refusal(fine + ", " + scales + ", " + uint8("z", "4", 4)) ==
        "node 'matmulnbits_1' (MatMulNBits): input 3 (zero_points) has 4 bytes, wanted 2: codes of 4 bits for each of 2 blocks of N = 2 columns, columns in whole bytes");
}

TEST_CASE("a mean of codes is one of floats between dequantization and quantization") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 21, "com.microsoft" : 1]>
    g (int8[2,3,4] x) => (y) <float s = {0.5}, int8 z = {3}> { y = com.microsoft.QLinearReduceMean <axes = [1], keepdims = 0> (x, s, z, s, z) })");
  CHECK(operators(g.main()) == Names{"DequantizeLinear", "ReduceMean", "QuantizeLinear"});
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "i8[2,4]");
}

TEST_CASE("a cache of one window says what it wants where it is not so") {
  const auto refusal = [](const std::string& attributes, const std::string& cache, const std::string& more) {
    const std::string inputs = "g (float[b,s,64] q, float[b,s,32] k, float[b,s,32] v, float" + cache + " pk, float" + cache + " pv, int32[b] n, int32[1] t, float[b,4,s,m] bias) => (float[b,s,64] y) ";
    const std::string node = "{ y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, sliding_window_cache = 1" + attributes + "> (q, k, v, " + more + ") }";
    const auto loaded = onnx_io::load_text("<ir_version: 8, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> " + inputs + node, "t");
    return loaded.ok() ? "no error" : std::string(loaded.status().message());
  };
  const std::string window = ", local_window_size = 8", all = "pk, pv, n, t";
  CHECK(refusal(window, "[b,2,8,16]", all) == "no error");
  CHECK(refusal("", "[b,2,8,16]", all).find("attribute sliding_window_cache is given and local_window_size is -1, wanted 1 or more") != std::string::npos);
  CHECK(refusal(window, "[b,2,8,16]", ", , n, t").find("attribute sliding_window_cache is given, wanted input 3 (past_key) with it") != std::string::npos);
  CHECK(refusal(window, "[b,2,8,16]", all + ", , , , bias").find("attribute sliding_window_cache is given with input 10 (attention_bias), wanted one of them") != std::string::npos);
  CHECK(refusal(window, "[1,2,6,16]", all).find("input 3 (past_key) is [1, 2, 6, 16], wanted a cache of 8 keys or more, as local_window_size says") != std::string::npos);
}

TEST_CASE("what is wrong with such a node, or nobody restates, is said with its attribute") {
  const auto refusal = [](const std::string& body) {
    const auto loaded = onnx_io::load_text("<ir_version: 8, opset_import: [\"\" : 15, \"com.microsoft\" : 1]> g (float[N,3,8,9] x, float[M,4] a, int64[4] t) => (y) { " + body + " }", "t");
    return loaded.ok() ? "no error" : std::string(loaded.status().message());
  };
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(has(refusal("y = Crop <border = [1, 2]> (x)"), "node 'crop_1' (Crop): attributes border and scale have 2 and 0 numbers, wanted 4, and 2 or none"));
  CHECK(has(refusal("y = com.microsoft.CDist <metric = \"cosine\"> (a, a)"), "attribute metric is 'cosine', wanted euclidean or sqeuclidean"));
  CHECK(has(refusal("y = com.microsoft.NhwcMaxPool (x)"), "attribute kernel_shape is not there"));
  CHECK(has(refusal("y, n = com.microsoft.BifurcationDetector (t, t, t)"), "(BifurcationDetector): what a decoder guessed"));
}

TEST_CASE("operators that ONNX dropped from its own domain become others") {
  const Graph g = load(R"(<ir_version: 8, opset_import: ["" : 9]> g (float[N,3,8,9] x) => (z) { y = Crop <border = [1, 2, 3, 0]> (x) z = ScaledTanh <alpha = 2.0, beta = 0.5> (y) })");
  for (const image::Node& n : g.main().nodes) CHECK(n.domain == "");
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "f32[N,3,6,5]");
}
