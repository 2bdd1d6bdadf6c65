// SPDX-License-Identifier: Apache-2.0
// Graphs as modules: which operators stand for a node, what every one states, what is refused and how.
#include <doctest/doctest.h>

#include <memory>

#include "core/onnx_io/onnx_io.hpp"
#include "plugins/bmcompiler/top/lower.hpp"

using namespace optima;
using namespace bmcompiler_plugin;

namespace {

/// A graph as a plugin sees it.
struct Sample {
  explicit Sample(const std::string& text) : graph(*onnx_io::load_text("<ir_version: 10, opset_import: [\"\" : 21]> g " + text, "sample")), packed(pack(graph)) {}
  sdk::Graph view() const { return sdk::Graph(&packed.raw); }
  Graph graph;
  PackedGraph packed;
};

top::Lowered lowered(const std::string& text, const char* chip = "bm1684x") { return top::lower(Sample(text).view(), *find_chip(chip)); }
std::string module_of(const std::string& text, const char* chip = "bm1684x") { return lowered(text, chip).module.text("w.npz"); }
bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string refusal(const std::string& text, const char* chip = "bm1684x") {
  try {
    lowered(text, chip);
  } catch (const sdk::Error& e) {
    CHECK(e.code == OPTIMA_UNSUPPORTED);
    return e.text;
  }
  return "";
}

}  // namespace

TEST_CASE("a convolution states every attribute, and pads that its model leaves to it") {
  const std::string m = module_of("(float[1,1,5,5] x) => (float[1,2,3,3] y) <float[2,1,3,3] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}> "
                                  "{ y = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w) }");
  CHECK(holds(m, "\"top.Conv\"(%1, %2, %none) {do_relu = false, relu_limit = -1.0e+00 : f64, kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], "
                 "dilations = [1, 1], group = 1 : i64, dynweight_reorderd = false, weight_is_coeff = 1 : i64} : "
                 "(tensor<1x1x5x5xf32>, tensor<2x1x3x3xf32>, none) -> tensor<1x2x3x3xf32> loc(\"y\")"));
}

TEST_CASE("defaults are ONNX's, not the tools'") {
  CHECK(holds(module_of("(float[2] x) => (float[2] y) { y = LeakyRelu(x) }"), "alpha = 9.9"));  // 0.01 as a float
  CHECK(holds(module_of("(float[2] x) => (float[2] y) { y = HardSigmoid(x) }"), "beta = 5.0e-01"));
  CHECK(holds(module_of("(float[2] x) => (float[2] y) { y = Elu(x) }"), "{alpha = 1.0e+00 : f64}"));
}

TEST_CASE("a value that pieces of its operator make is found under their name") {
  const top::Lowered m = lowered("(float[1,2] x, float[1,2] z) => (float[1,4] y) { s = Add(x, z) c = Concat<axis = 1>(s, x) y = Relu(c) }");
  CHECK(m.locations == std::map<std::string, std::string>{{"c", "c/joined"}});
}

TEST_CASE("ports: integers and bools come in as floats, under the graph's names") {
  const top::Lowered m = lowered("(int64[2] i, bool[2] b, float[2] x) => (float[2] y, bool[2] z) { f = Cast<to = 1>(i) y = Add(f, x) z = Not(b) }");
  REQUIRE(m.inputs.size() == 3);
  CHECK(m.inputs[0].name == "i");
  CHECK(m.inputs[0].dtype == OPTIMA_F32);
  CHECK(m.inputs[1].dtype == OPTIMA_F32);
  REQUIRE(m.outputs.size() == 2);
  CHECK(m.outputs[0].name == "y");
  CHECK(m.outputs[1].name == "z");
  CHECK(m.outputs[1].dtype == OPTIMA_F32);
}

TEST_CASE("a scalar is a vector of one") {
  const std::string m = module_of("(float x) => (float y) { y = Abs(x) }");
  CHECK(holds(m, "%arg0: tensor<1xf32>"));
}

TEST_CASE("a result that no operator of its own makes is a copy, for the tools drop the name otherwise") {
  const top::Lowered m = lowered("(float[2] x) => (float[2] y, float[2] z) { y = Identity(x) z = Identity(x) }");
  CHECK(m.outputs[0].name != "x");
  CHECK(m.outputs[0].name != m.outputs[1].name);
  CHECK(holds(m.module.text("w"), "%2 = \"top.Tile\"(%1) {tile = [1]} : (tensor<2xf32>) -> tensor<2xf32> loc(\"x/copy\")"));
  CHECK(holds(m.module.text("w"), "\"top.Tile\"(%2)"));  // of two alike the tools keep one, and the other output is nothing
}

TEST_CASE("operators that stand between have names that no value of the graph has") {
  const top::Lowered m = lowered("(float[2] x) => (float[2] y) { a = Abs(x) y = Selu(a) }");
  for (const std::string& name : m.module.locations()) CHECK(std::count(m.module.locations().begin(), m.module.locations().end(), name) == 1);
  CHECK(m.outputs[0].name == "y");
  CHECK(holds(m.module.text("w"), "loc(\"y/Elu\")"));
}

TEST_CASE("what a chip has no right operator for is composed there") {
  const std::string erf = "(float[2] x) => (float[2] y) { y = Erf(x) }";
  CHECK(holds(module_of(erf), "\"top.Erf\""));
  CHECK_FALSE(holds(module_of(erf, "bm1684"), "\"top.Erf\""));
  const std::string elu = "(float[2] x) => (float[2] y) { y = Elu<alpha = 2.0>(x) }";
  CHECK(holds(module_of(elu), "\"top.Elu\""));
  CHECK_FALSE(holds(module_of(elu, "bm1684"), "\"top.Elu\""));
  CHECK_FALSE(holds(module_of("(float[2] x, float[2] z) => (bool[2] y) { y = Equal(x, z) }"), "\"Equal\""));  // compares bits: -0 is not 0
}

TEST_CASE("what bm1684's operators write over is a copy where others read it, too") {
  const std::string shared = "(float[2] x) => (float[2] y, float[2] z) { y = Tanh(x) z = Neg(x) }", alone = "(float[2] x) => (float[2] y) { y = Tanh(x) }";
  CHECK(holds(module_of(shared, "bm1684"), "loc(\"y/copy\")"));
  CHECK_FALSE(holds(module_of(shared), "loc(\"y/copy\")"));
  CHECK_FALSE(holds(module_of(alone, "bm1684"), "loc(\"y/copy\")"));
  CHECK(holds(module_of("(float[2] x) => (float[2] y) { a = Identity(x) y = Tanh(a) }", "bm1684"), "loc(\"y/copy\")"));
}

TEST_CASE("a mask is repeated here, under a name that tables of modes have") {
  const std::string masked = "(bool[1,1,3] m, float[4,2,3] x, float[4,2,3] z) => (float[4,2,3] y) { y = Where(m, x, z) }";
  CHECK(holds(module_of(masked), "{tile = [4, 2, 1]}"));
  CHECK_FALSE(holds(module_of("(bool[4,2,3] m, float[4,2,3] x, float[4,2,3] z) => (float[4,2,3] y) { y = Where(m, x, z) }"), "\"top.Tile\""));
}

TEST_CASE("cells that the tools have none for are written step by step, up to 64 steps") {
  const std::string weights = " <float[1,2,2] w = {1,2,3,4}, float[1,6,2] g = {1,2,3,4,5,6,7,8,9,10,11,12}> ";
  const std::string rnn = module_of("(float[3,1,2] x) => (float[3,1,1,2] y)" + weights + "{ y = RNN<hidden_size = 2>(x, w, w) }");
  size_t tanhs = 0;
  for (size_t at = rnn.find("\"top.Tanh\""); at != rnn.npos; at = rnn.find("\"top.Tanh\"", at + 1)) ++tanhs;
  CHECK(tanhs == 3);
  CHECK_FALSE(holds(module_of("(float[3,1,2] x) => (float[3,1,1,2] y)" + weights + "{ y = GRU<hidden_size = 2>(x, g, g) }"), "\"top.GRU\""));
  CHECK(holds(module_of("(float[3,1,2] x) => (float[3,1,1,2] y)" + weights + "{ y = GRU<hidden_size = 2, linear_before_reset = 1>(x, g, g) }"), "\"top.GRU\""));
  CHECK(refusal("(float[65,1,2] x) => (float[65,1,1,2] y)" + weights + "{ [cell] y = GRU<hidden_size = 2>(x, g, g) }") ==
        "\"cell\" (GRU): linear_before_reset is 0, wanted 1, which is written step by step here, 64 steps at most, found 65");
  CHECK(holds(refusal("(float[3,1,2] x) => (float[3,1,1,2] y)" + weights + "{ y = RNN<hidden_size = 2, activations = [\"Gelu\"]>(x, w, w) }"), "activation \"Gelu\" is none of ONNX's"));
}

TEST_CASE("weights of a transposed convolution are turned, on bm1684 in one group with the bias behind") {
  const std::string net = "(float[1,2,3,3] x) => (float[1,4,3,3] y) <float[2,2,1,1] w = {1,2,3,4}, float[4] b = {1,1,1,1}> { [up] y = ConvTranspose<group = 2>(x, w, b) }";
  const top::Lowered grouped = lowered(net), dense = lowered(net, "bm1684");
  const auto numbers = [](const top::Lowered& m) {
    for (const top::Weight& w : m.module.weights())
      if (w.name == "y/weight") return std::make_pair(w.dims, std::vector<float>(reinterpret_cast<const float*>(w.bytes.data()), reinterpret_cast<const float*>(w.bytes.data() + w.bytes.size())));
    return std::make_pair(std::vector<int64_t>{}, std::vector<float>{});
  };
  CHECK(numbers(grouped) == std::make_pair(std::vector<int64_t>{2, 2, 1, 1}, std::vector<float>{1, 2, 3, 4}));
  CHECK(numbers(dense) == std::make_pair(std::vector<int64_t>{4, 2, 1, 1}, std::vector<float>{1, 0, 2, 0, 0, 3, 0, 4}));
  CHECK(holds(dense.module.text("w"), "loc(\"y/Deconv\")"));
}

TEST_CASE("what has no right form is refused, naming the node, what was found and what is wanted") {
  CHECK(refusal("(float[2,2] x) => (float y) { [det] y = Det(x) }") == "\"det\" (Det): these chips' tools have no form of this operator");
  CHECK(refusal("(int64[2] x) => (int64[2] y) { [sum] y = Add(x, x) }") ==
        "\"sum\" (Add): value 'x' is of i64, wanted f32: these chips compute Add with floats");
  CHECK(holds(refusal("(float16[2] x) => (float16[2] y) { y = Abs(x) }"), "value 'x' is of f16, wanted f32, bool, i8, u8, i16, u16, i32 or i64"));
  CHECK(holds(refusal("(float[N] x) => (float[N] y) { y = Abs(x) }"), "value 'x' has a dim that is not known"));
  CHECK(holds(refusal("(float[2,0] x) => (float[2,0] y) { y = Abs(x) }"), "value 'x' has no elements"));
  CHECK(holds(refusal("(float[1,1,4,4] x, float[1,1,1,1] w) => (float[1,1,4,4] y) { y = Conv(x, w) }"), "weight is computed, wanted a constant"));
  CHECK(holds(refusal("(float[1,1,4,4] x) => (float[1,1,2,2] y, int64[1,1,2,2] i) { y, i = MaxPool<kernel_shape = [3, 3]>(x) }"), "indices are wanted"));
  CHECK(holds(refusal("(float[2] x, float[2] e) => (float[2] y) { y = Pow(x, e) }"), "exponent is no constant number"));
  const std::string part = "(float[1,1,3,3] x) => (float[1,1,1,1] y) { y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }";
  CHECK(refusal(part).empty());
  CHECK(holds(refusal("(float[1,1,3,3,3] x) => (float[1,1,2,2,3] y) { y = AveragePool<kernel_shape = [2, 2, 2], pads = [0, 0, 1, 0, 0, 0]>(x) }"), "averages of three axes with pads"));
  CHECK(holds(refusal(part, "bm1684"), "single window of a part"));
}

TEST_CASE("comparisons with infinity are refused, since reductions have none") {
  CHECK(holds(refusal("(float[2] x) => (bool[2] y) <float[1] w = {inf}> { y = Equal(x, w) }"), "operand 1 holds an infinity"));
  CHECK(refusal("(float[2] x) => (bool[2] y) <float[1] w = {1e38}> { y = Equal(x, w) }").empty());
}

TEST_CASE("integers that floats cannot hold are refused") {
  CHECK(holds(refusal("(int64[1] x) => (bool[1] y) <int64[1] c = {16777217}> { y = Equal(x, c) }"), "holds 16777217, wanted integers up to 16777216"));
  CHECK(refusal("(int64[1] x) => (bool[1] y) <int64[1] c = {16777216}> { y = Equal(x, c) }").empty());
}

TEST_CASE("operators of integers are told, with all that they are made of; places that are counted or looked up are none") {
  const top::Lowered m = lowered("(int64[2,4] i, float[2,5] x, int64[2] at) => (int64[2,4] o, int64[2,1] k, float[2,5] z, bool[2,4] e) <int64 seven = {7}> "
                                 "{ o = Mod(i, seven) k = ArgMax<axis = 1>(x) r = Relu(x) z = Gather(r, at) e = Less(o, seven) }");
  CHECK(m.integers.count("o") == 1);
  CHECK(m.integers.count("e") == 1);
  for (const char* other : {"k", "r", "z"}) CHECK(m.integers.count(other) == 0);
}

TEST_CASE("a product of four dims by one column is one of two dims") {
  for (const char* w : {"float[3] w", "float[3,1] w"}) {
    CAPTURE(w);
    const bool vector = std::string(w) == "float[3] w";
    const std::string m = module_of(std::string("(float[1,2,4,3] x, ") + w + ") => (" + (vector ? "float[1,2,4]" : "float[1,2,4,1]") + " y) { y = MatMul(x, w) }");
    CHECK(holds(m, "(tensor<8x3xf32>, tensor<3x1xf32>, none) -> tensor<8x1xf32>"));
  }
}

TEST_CASE("an output that is an argument in another shape is copied for the chips that leave it unwritten") {
  const char* view = "(float[3,4] x) => (float[12] y) <int64[1] to = {12}> { y = Reshape(x, to) }";
  for (const char* chip : {"bm1688", "cv186x"}) CHECK(holds(module_of(view, chip), "\"top.Tile\""));
  for (const char* chip : {"bm1684x", "bm1690"}) CHECK_FALSE(holds(module_of(view, chip), "\"top.Tile\""));
  CHECK_FALSE(holds(module_of("(float[3,4] x) => (float[12] y) <int64[1] to = {12}> { r = Exp(x) y = Reshape(r, to) }", "bm1688"), "\"top.Tile\""));
}

TEST_CASE("bits are those of integers of 16 bits or less, and what has no comparisons on a chip is refused there") {
  CHECK(holds(refusal("(int32[2] x, int32[2] z) => (int32[2] y) { y = BitwiseAnd(x, z) }"), "is of i32, wanted integers of 16 bits or less"));
  CHECK(holds(module_of("(int16[2] x, int16[2] z) => (int16[2] y) { y = BitwiseAnd(x, z) }"), "top.Floor"));
  CHECK(holds(refusal("(float[2] x, float[2] z) => (bool[2] y) { y = Less(x, z) }", "cv183x"), "no lowering of the comparisons"));
  CHECK(holds(refusal("(float[1,2,4,4] x) => (float[1,2,4,4] y) { y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x) }", "cv183x"), "pads are not counted"));
}

TEST_CASE("cv183x sums nothing smaller and computed behind a product of two computed tensors") {
  const auto sum = [](const char* dims) { return "(float[4,8] x, float[8,4] z, float[" + std::string(dims) + "] b) => (float[4,4] y) { p = MatMul(x, z) y = Add(b, p) }"; };
  CHECK(holds(refusal(sum("4"), "cv183x"), "comes out wrong on cv183x (0.1 of its size)"));
  CHECK(holds(module_of(sum("4,4"), "cv183x"), "top.Add"));
  CHECK(holds(module_of(sum("4"), "bm1684x"), "top.Add"));
}

TEST_CASE("cv183x turns the two middle axes in two steps") {
  const std::string m = module_of("(float[2,3,4,5] x) => (float[2,4,3,5] y) { y = Transpose<perm = [0, 2, 1, 3]>(x) }", "cv183x");
  CHECK(holds(m, "order = [0, 2, 3, 1]"));
  CHECK(holds(m, "order = [0, 1, 3, 2]"));
}
