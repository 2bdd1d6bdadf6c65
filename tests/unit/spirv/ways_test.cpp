// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: steps that may be done in several ways: the first that the GPU can do is taken, and all come to the same.
#include <doctest/doctest.h>

#ifndef SPIRV_PLUGIN

TEST_CASE("plugins/spirv has ways") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

/// Reductions whose lines a workgroup shares.
TextNet lines(const std::string& node, const std::string& y = "float[N,M] y", const std::string& x = "float[5,300] x") {
  return TextNet("<ir_version: 10, opset_import: [\"\" : 18]> g (" + x + ") => (" + y + ") <int64[1] a = {1}, float[300] s = {" + numbers(300) + "}> { " + node + " }");
}

/// Codes of all values, of integers of one byte; of two, both bytes are such.
Tensors codes_for(const optima_graph& raw) {
  const sdk::Graph graph(&raw);
  Tensors out;
  for (uint32_t k = 0; k < graph.input_count(); ++k) {
    void* data = nullptr;
    reference::Tensor t = reference::Tensor::make(graph.input(k).dtype(), graph.input(k).shape(), &data);
    for (int64_t i = 0; i < t.elements() * optima_dtype_bits(t.dtype) / 8; ++i) static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(i * 101 + 77 * k);
    out.push_back(std::move(t));
  }
  return out;
}

/// -128 and 127 among them.
std::string codes(int count) {
  std::string all;
  for (int k = 0; k < count; ++k) all += (k ? "," : "") + std::to_string(k * 37 % 256 - 128);
  return all;
}

/// A graph of one step, and whether an integer dot product is a way of it.
struct Case {
  std::string text;
  bool by_words;
};

/// Runs the case as it is, with floats as halves, and with a look at every index, for a target that has integer dot products and for one that has not, by each of its ways.
void equals_reference(int opset, const Case& c) {
  CAPTURE(c.text.substr(c.text.rfind("{ ")));
  CAPTURE(c.text.substr(0, c.text.find(" <")));
  const LimitsFile has("\"shaderIntegerDotProduct\""), lacks("");
  const TextNet net("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g " + c.text);
  Halves halves;
  seam::MemorySink sink, plain, halved;
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", has.path)}) == OPTIMA_OK, status.message);
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, plain, status, {guarded()}) == OPTIMA_OK, status.message);
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, halved, status, {seam::option("spirv.precision", "f16")}) == OPTIMA_OK, status.message);
  CHECK(ways_of(sink) == std::vector<size_t>{c.by_words ? 2u : 1u});
  CHECK(ways_of(plain) == std::vector<size_t>{1});
  const Tensors in = codes_for(net.packed.raw);
  const std::vector<double> wanted = reference::load<double>(reference::run(net.packed.raw, in).at(0));
  CHECK(reference::load<double>(ran(halves, plain, in).at(0)) == wanted);
  CHECK(reference::load<double>(ran(halves, halved, in).at(0)) == wanted);
  CHECK(reference::load<double>(ran(halves, sink, in, {seam::option("spirv.pretend", lacks.path)}).at(0)) == wanted);
  if (!c.by_words) return;
  seam::MemorySink dots, watched;
  CHECK(reference::load<double>(ran(halves, without_plain_ways(sink, dots), in).at(0)) == wanted);
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, watched, status, {seam::option("spirv.limits", has.path), guarded()}) == OPTIMA_OK, status.message);
  CHECK(reference::load<double>(ran(halves, watched, in).at(0)) == wanted);
}

}  // namespace

TEST_CASE("products of long sums and of vectors are the reference's in the form that suits their shape, with validation silent") {
  const std::vector<size_t> line{2}, parts{1, 1}, plain{1};
  const Multiplied all[] = {
      {"(float[1,300] x, float[300,5] z) => (y) { y = MatMul(x, z) }", line},                      // few columns
      {"(float[1,5003] x, float[5003,3] z) => (y) { m = MatMul(x, z) y = Neg(m) }", line},         // a larger workgroup
      {"(float[37,129] x, float[129,1] z) => (y) { y = MatMul(x, z) }", line},                     // a column
      {"(float[257] x, float[257] z) => (y) { y = MatMul(x, z) }", line},
      {"(float[2,3,1,257] x, float[3,257,1] z) => (y) { y = MatMul(x, z) }", line},
      {"(float[2,1,131] x, float[3,1,131,2] z, float[3,2,1,2] r) => (y) { m = MatMul(x, z) y = Mul(m, r) }", line},  // batches repeated on both sides
      {"(float[1,131] x, float[41,131] z, float[41] b) => (y) { g = Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, z, b) y = Relu(g) }", line},  // neighbours along k
      {"(float[129,1] x, float[129,7] z, float[7] b) => (y) { y = Gemm<transA = 1>(x, z, b) }", line},
      {"(float[131,17] x, float[131,1] z, float[17,1] b) => (y) { y = Gemm<transA = 1>(x, z, b) }", plain},  // neighbours along m
      {"(float[1,127] x, float[127,5] z) => (y) { y = MatMul(x, z) }", plain},                     // too short to share
      {"(float[3,2053] x, float[2053,33] z) => (y) { y = MatMul(x, z) }", parts},                  // the last part is shorter
      {"(float[1,2048] x, float[2048,101] z, float[101] b) => (y) { y = Gemm<beta = 0.5>(x, z, b) }", parts},
      {"(float[2,5,2048] x, float[2,2048,7] z, float[2,5,7] r) => (y) { m = MatMul(x, z) a = Add(m, r) y = Sigmoid(a) }", parts},
      {"(float[1,5,2100] x, float[3,2100,4] z) => (y) { y = MatMul(x, z) }", parts},
      {"(float[2501,5] x, float[6,2501] z, float[5,1] b) => (y) { g = Gemm<transA = 1, transB = 1, alpha = 2.0>(x, z, b) y = Clip(g) }", parts},
      {"(float[2,2047] x, float[2047,9] z) => (y) { y = MatMul(x, z) }", plain},                   // not long enough
      {"(float[2,5,3,40] x, float[2,7,3,40] z) => (y) { y = Einsum<equation = \"bqhd,bkhd->bhqk\">(x, z) }", plain},
      {"(float[2,7,3,40] x, float[2,5,3,40] z, float[2,3,5,7] r) => (y) { e = Einsum<equation = \"bkhd,bqhd->bhqk\">(x, z) y = Add(e, r) }", plain},  // the columns are x's
      {"(float[3,1,4] x, float[1,4,5] z) => (y) { y = Einsum<equation = \"...ij,...jk->...ik\">(x, z) }", plain},  // repeated batches
      {"(float[4,4,3] x, float[3,5] z) => (y) { y = Einsum<equation = \"iij,jk->ik\">(x, z) }", plain},  // a diagonal
      {"(float[6,150] x, float[150] z) => (y) { y = Einsum<equation = \"ij,j->i\">(x, z) }", line},
      {"(float[3,2051] x, float[2051,4] z) => (y) { y = Einsum<equation = \"ij,jk->ki\">(x, z) }", parts},
      {"(float[3,4,5] x, float[3,4,5] z) => (y) { y = Einsum<equation = \"ijk,ijk->i\">(x, z) }", plain},  // two labels summed: no product
      {"(float[33,2,2048] x, float[33,2048,2] z) => (y) { y = MatMul(x, z) }", plain},             // tiles enough
  };
  const LimitsFile subgroups("\"subgroupArithmetic\"");
  const Validation validation;
  for (const Multiplied& m : all) {
    CAPTURE(m.text);
    const TextNet net = net_of(m);
    Halves halves;
    seam::MemorySink sink, ways, only, watched, halved;
    const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
    CHECK(ways_of(made(halves, net, sink, {})) == std::vector<size_t>(m.ways.size(), 1));
    CHECK(off(ran(halves, sink, in).at(0), wanted.at(0)) < kExact);
    CHECK(off(ran(halves, made(halves, net, watched, {guarded()}), in).at(0), wanted.at(0)) < kExact);
    if (m.ways == plain) continue;
    CHECK(off(ran(halves, made(halves, net, halved, {seam::option("spirv.precision", "f16")}), in).at(0), wanted.at(0)) < kHalves);
    CHECK(ways_of(made(halves, net, ways, {seam::option("spirv.limits", subgroups.path)})) == m.ways);
    if (m.ways == line) CHECK(off(ran(halves, without_plain_ways(ways, only), in).at(0), wanted.at(0)) < kExact);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("lines are reduced by subgroups of any size where the target has their arithmetic, to what the tree in shared memory comes to") {
  const LimitsFile has("\"subgroupArithmetic\""), lacks("");
  const TextNet nets[] = {
      lines("y = Softmax(x)"),
      lines("y = LayerNormalization(x, s)"),
      lines("y = Hardmax(x)"),
      lines("y = ReduceMax(x, a)"),
      lines("y = ReduceMin(x, a)"),
      lines("y = ReduceProd(x, a)"),
      lines("y = ReduceLogSumExp(x, a)"),
      lines("y = ArgMax<axis = 1>(x)", "int64[N,M] y"),
      lines("y = ReduceMax(x, a)", "int64[N,M] y", "int64[5,300] x"),
      lines("y = ReduceMin(x, a)", "int64[N,M] y", "int64[5,300] x"),
      lines("y = ReduceSum(x, a)", "float[N,M] y", "float[3,5000] x"),  // a workgroup of twice the size
  };
  for (const TextNet& net : nets) {
    const sdk::Graph graph(&net.packed.raw);
    CAPTURE(std::string(graph[0].op()));
    Halves compiler;
    seam::MemorySink sink, plain;
    seam::Status status;
    REQUIRE_MESSAGE(compile(*compiler.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", has.path)}) == OPTIMA_OK, status.message);
    REQUIRE_MESSAGE(compile(*compiler.compiler, net.packed.raw, plain, status) == OPTIMA_OK, status.message);
    CHECK(ways_of(sink) == std::vector<size_t>{2});
    CHECK(ways_of(plain) == std::vector<size_t>{1});
    seam::MemorySink subgroups;
    without_plain_ways(sink, subgroups);
    for (const bool with_nan : {false, true}) {
      CAPTURE(with_nan);
      if (with_nan && graph[0].op() == "Hardmax") continue;  // the reference takes NaN for the largest in other operators alone
      const Tensors in = numbers_for(net.packed.raw, with_nan), wanted = reference::run(net.packed.raw, in);
      for (const char* width : {"128", "256", "512"}) {
        CAPTURE(width);
        ::setenv("LP_NATIVE_VECTOR_WIDTH", width, 1);
        Halves halves;  // the driver reads its environment when it is opened
        CHECK(off(ran(halves, subgroups, in).at(0), wanted.at(0)) < 1e-5);
        CHECK(off(ran(halves, sink, in).at(0), wanted.at(0)) < 1e-5);
        CHECK(off(ran(halves, sink, in, {seam::option("spirv.pretend", lacks.path)}).at(0), wanted.at(0)) < 1e-5);
        ::unsetenv("LP_NATIVE_VECTOR_WIDTH");
      }
    }
    int32_t code = 0;
    CHECK(load_error(compiler, subgroups, code, {seam::option("spirv.pretend", lacks.path)}).find("needs subgroupArithmetic, which this GPU has not") != std::string::npos);
    CHECK(code == OPTIMA_WRONG_DEVICE);
  }
}

TEST_CASE("products of codes are the same numbers by integer dot products, by words code by code, and without words") {
  const std::string scales = "float xs = {0.5}, float ws = {0.25}, float ys = {64}";
  const Case cases[] = {
      {"(uint8[2,6,7,5] x) => (uint8[2,8,4,5] y) <" + scales + ", uint8 xz = {7}, int8 wz = {0}, uint8 yz = {100}, int8[8,3,3,2] w = {" + codes(144) + "}, int32[8] b = {1,-2,300,-4000,5,6,7,8}> "
       "{ y = QLinearConv<group = 2, pads = [1, 1, 1, 0], strides = [2, 1]>(x, xs, xz, w, ws, wz, ys, yz, b) }", false},  // a group of three channels fills no word
      {"(uint8[2,10,7,5] x) => (uint8[2,8,4,5] y) <" + scales + ", uint8 xz = {7}, int8 wz = {0}, uint8 yz = {100}, int8[8,5,3,2] w = {" + codes(240) + "}, int32[8] b = {1,-2,300,-4000,5,6,7,8}> "
       "{ y = QLinearConv<group = 2, pads = [1, 1, 1, 0], strides = [2, 1]>(x, xs, xz, w, ws, wz, ys, yz, b) }", true},
      {"(int8[1,9,6] x) => (int8[1,3,5] y) <" + scales + ", int8 xz = {-128}, int8 wz = {0}, int8 yz = {3}, int8[3,9,4] w = {" + codes(108) + "}> "
       "{ y = QLinearConv<pads = [2, 1], dilations = [1]>(x, xs, xz, w, ws, wz, ys, yz) }", true},
      {"(uint8[1,4,4,4] x, uint8 z) => (int32[1,4,4,4] y) <int8[4,4,3,3] w = {" + codes(144) + "}> { y = ConvInteger<pads = [1, 1, 1, 1]>(x, w, z) }", true},
      {"(uint8[1,4,4,4] x) => (int32[1,4,2,2] y) <uint8 z = {255}, uint8 o = {128}, uint8[4,4,3,3] w = {" + [] {
         std::string all;
         for (int k = 0; k < 144; ++k) all += (k ? "," : "") + std::to_string(k * 37 % 256);
         return all;
       }() + "}> { y = ConvInteger(x, w, z, o) }", true},
      {"(uint8[1,4,4,4] x) => (int32[1,4,2,2] y) <uint8 z = {255}, uint8[4,4,3,3] w = {" + [] {
         std::string all;
         for (int k = 0; k < 144; ++k) all += (k ? "," : "") + std::to_string(k * 37 % 256);
         return all;
       }() + "}> { y = ConvInteger(x, w, z) }", false},  // weights to 255 are no signed codes
      {"(uint8[2,3,7] x, uint8 z) => (int32[2,3,5] y) <int8[7,5] w = {" + codes(35) + "}> { y = MatMulInteger(x, w, z) }", true},
      {"(int8[3,8] x, int8[3] z) => (int32[3,5] y) <int8[8,5] w = {" + codes(40) + "}> { y = MatMulInteger(x, w, z) }", true},
      {"(uint8[3,8] x) => (uint8[3,5] y) <float xs = {0.5}, float[5] ws = {0.25,0.5,1,2,4}, float ys = {64}, uint8 xz = {7}, int8[5] wz = {0,0,0,0,0}, uint8 yz = {100}, int8[8,5] w = {" + codes(40) + "}> "
       "{ y = QLinearMatMul(x, xs, xz, w, ws, wz, ys, yz) }", true},
  };
  const Validation validation;
  for (const Case& c : cases) equals_reference(17, c);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("convolutions of codes are exact in tiles that their features and pixels do not fill, by zero points that are computed, and beyond what floats hold") {
  const std::string scales = "float xs = {0.5}, float ys = {64}, uint8 xz = {7}, uint8 yz = {100}", many = "float[11] ws = {0.25,0.5,1,2,4,8,0.25,0.5,1,2,4}, int8[11] wz = {0,1,-2,3,-4,5,-6,7,-8,9,-10}";
  std::string few, far;  // weights and their distance from zero points are signed codes; partial sums beyond 2^24
  for (int k = 0; k < 594; ++k) few += (k ? "," : "") + std::to_string(k * 37 % 201 - 100);
  for (int k = 0; k < 3000; ++k) far += (k ? "," : "") + std::to_string(k % 1500 < 750 ? 127 - k % 5 : k % 3 - 126);
  const Case cases[] = {
      {"(uint8[2,6,5,11] x) => (uint8[2,11,5,11] y) <" + scales + ", " + many + ", int8[11,6,3,3] w = {" + few + "}> { y = QLinearConv<pads = [1, 1, 1, 1]>(x, xs, xz, w, ws, wz, ys, yz) }", true},
      {"(uint8[1,6,9,10] x) => (uint8[1,6,5,5] y) <" + scales + ", float ws = {0.25}, int8 wz = {0}, int8[6,1,3,3] w = {" + codes(54) + "}> "
       "{ y = QLinearConv<group = 6, strides = [2, 2], pads = [1, 1, 1, 1]>(x, xs, xz, w, ws, wz, ys, yz) }", false},
      {"(uint8[1,6,9,10] x, uint8 z) => (int32[1,6,9,10] y) <int8[6,1,3,3] w = {" + codes(54) + "}> { y = ConvInteger<group = 6, pads = [1, 1, 1, 1]>(x, w, z) }", false},
      {"(int8[1,5,13] x, int8 z) => (int32[1,11,11] y) <int8[11,5,3] w = {" + codes(165) + "}> { y = ConvInteger<dilations = [2], pads = [1, 1]>(x, w, z) }", true},
      {"(int8[1,6,7] x) => (int32[1,11,7] y) <int8 z = {-5}, int8[11] o = {0,1,-2,3,-4,5,-6,7,-8,9,-10}, int8[11,6,9] w = {" + few + "}> { y = ConvInteger<pads = [4, 4]>(x, w, z, o) }", true},
      {"(uint8[1,750,2,2] x, uint8 z) => (int32[1,4,2,2] y) <int8[4,750,1,1] w = {" + far + "}> { y = ConvInteger(x, w, z) }", true},
      {"(uint8[1,4,2,3,4] x) => (int32[1,4,2,3,4] y) <uint8 z = {9}, int8[4,4,1,1,3] w = {" + codes(48) + "}> { y = ConvInteger<pads = [0, 0, 1, 0, 0, 1]>(x, w, z) }", true},  // three axes
  };
  const Validation validation;
  for (const Case& c : cases) equals_reference(17, c);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("a convolution of codes has as many workgroups as one of the floats that they stand for") {
  const std::string w = "int8[32,8,3,3] w = {" + codes(2304) + "}", d = "int8[32,1,3,3] w = {" + codes(288) + "}", of = "float s = {0.5}, uint8 z = {7}, int8 o = {0}, ";
  const auto groups = [](const std::string& text) {
    const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g " + text);
    Halves halves;
    seam::MemorySink sink;
    seam::Status status;
    REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status) == OPTIMA_OK, status.message);
    const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
    REQUIRE(meta.at("steps").size() == 1);
    return meta.at("steps").at(0).at("ways").at(0).at("groups").dump();
  };
  for (const auto& [weights, channels, attributes] : {std::tuple{w, "8", "<pads = [1, 1, 1, 1]>"}, std::tuple{d, "32", "<group = 32, pads = [1, 1, 1, 1]>"}}) {
    const std::string x = std::string("[1,") + channels + ",28,28] x) => (", y = "[1,32,28,28] y) <" + of + weights + "> { ", window = attributes;
    const std::string wanted = groups("(float" + x + "float" + y + "f = DequantizeLinear(w, s, o) y = Conv" + window + "(x, f) }");
    CHECK(groups("(uint8" + x + "uint8" + y + "y = QLinearConv" + window + "(x, s, z, w, s, o, s, z) }") == wanted);
    CHECK(groups("(uint8" + x + "int32" + y + "y = ConvInteger" + window + "(x, w, z) }") == wanted);
  }
}

TEST_CASE("convolutions of decoded codes are one step that sums whole numbers, as floats where these hold them, as integers where they do not, and by integer dot products") {
  // Scales of few bits: the reference's floats are exact, so that no code may differ.
  const std::string x = "float xs = {0.375}, uint8 xz = {7}, ", y = "float ys = {24}, uint8 yz = {100}, ", b = "int32[8] b = {1,-2,300,-4000,5,6,7,8}, float[8] bs = {0.09375,0.1875,0.28125,0.375,0.46875,0.5625,0.65625,0.75}, int32 bz = {0}",
                    ws = "float[8] ws = {0.25,0.5,0.75,1,1.25,1.5,1.75,2}, ", zeros = "int8[8] wz = {0,0,0,0,0,0,0,0}, ";
  const auto conv = [](const std::string& attributes, const std::string& bias) {
    return "w = DequantizeLinear<axis = 0>(wc, ws, wz) a = DequantizeLinear(x, xs, xz) c = Conv<" + attributes + ">(a, w" + bias + ") r = Relu(c) y = QuantizeLinear(r, ys, yz) }";
  };
  std::string far, ones;  // partial sums beyond 2^24, of which the rest is small
  for (int k = 0; k < 6000; ++k) far += (k ? "," : "") + std::to_string(k % 3000 < 1500 ? 127 - k % 5 : k % 3 - 126);
  for (int k = 0; k < 144; ++k) ones += (k ? "," : "") + std::to_string(k * 37 % 256);
  const Case cases[] = {
      {"(uint8[2,10,7,5] x) => (uint8[2,8,4,5] y) <" + x + y + ws + zeros + b + ", int8[8,5,3,2] wc = {" + codes(240) + "}> { d = DequantizeLinear<axis = 0>(b, bs) " +
           conv("group = 2, pads = [1, 1, 1, 0], strides = [2, 1]", ", d"), true},
      {"(uint8[1,3,9,9] x) => (uint8[1,8,9,9] y) <" + x + y + ws + zeros + "float[8] b = {1,2,3,4,5,6,7,8}, int8[8,3,3,3] wc = {" + codes(216) + "}> { " + conv("pads = [1, 1, 1, 1]", ", b"), false},
      {"(int8[1,8,9,8] x) => (uint8[1,8,7,8] y) <float xs = {0.375}, int8 xz = {-128}, " + y + ws + zeros + "int8[8,1,3,3] wc = {" + codes(72) + "}> { " + conv("group = 8, pads = [0, 1, 0, 1]", ""), false},
      {"(uint8[1,6,8] x) => (uint8[1,8,7] y) <" + x + y + "float ws = {0.5}, uint8 wz = {120}, uint8[8,6,3] wc = {" + ones + "}> { " + conv("pads = [0, 1]", ""), false},  // weights to 135 are no signed codes
      {"(int16[1,6,8] x) => (uint8[1,8,7] y) <float xs = {0.001953125}, int16 xz = {-300}, " + y + ws + zeros + "int8[8,6,3] wc = {" + codes(144) + "}> { " + conv("pads = [0, 1]", ""), false},
      {"(uint8[1,3000,2,2] x) => (int16[1,2,2,2] y) <float xs = {0.375}, uint8 xz = {0}, float ys = {0.09375}, int16 yz = {0}, float ws = {0.25}, int8 wz = {0}, int8[2,3000,1,1] wc = {" + far + "}> { "
       "w = DequantizeLinear(wc, ws, wz) a = DequantizeLinear(x, xs, xz) c = Conv(a, w) y = QuantizeLinear(c, ys, yz) }", true},
  };
  const Validation validation;
  for (const Case& c : cases) equals_reference(21, c);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("products of decoded codes are one step that sums whole numbers, as floats, as integers, and by integer dot products") {
  const std::string x = "float xs = {0.375}, uint8 xz = {7}, ", y = "float ys = {24}, uint8 yz = {100}, ", ws = "float[5] ws = {0.25,0.5,0.75,1,1.25}, int8[5] wz = {0,0,0,0,0}, ";
  const std::string matmul = " { w = DequantizeLinear<axis = 1>(wc, ws, wz) a = DequantizeLinear(x, xs, xz) c = MatMul(a, w) r = Relu(c) y = QuantizeLinear(r, ys, yz) }";
  std::string far;  // partial sums beyond 2^24, of which the rest is small
  for (int k = 0; k < 6000; ++k) far += (k ? "," : "") + std::to_string(k / 2 < 1500 ? 127 - k / 2 % 5 : k / 2 % 3 - 126);
  const Case cases[] = {
      {"(uint8[2,9,7] x) => (uint8[2,9,5] y) <" + x + y + ws + "int8[7,5] wc = {" + codes(35) + "}>" + matmul, true},
      {"(int8[1,8] x) => (uint8[1,5] y) <float xs = {0.375}, int8 xz = {-128}, " + y + ws + "int8[8,5] wc = {" + codes(40) + "}>" + matmul, true},
      {"(uint8[3,3] x) => (uint8[3,5] y) <" + x + y + ws + "int8[3,5] wc = {" + codes(15) + "}>" + matmul, false},  // three fill no word
      {"(uint8[9,11] x) => (uint8[9,5] y) <" + x + y + ws + "int8[5,11] wc = {" + codes(55) + "}, int32[5] b = {1,-2,300,-4000,5}, float[5] bs = {0.09375,0.1875,0.28125,0.375,0.46875}> "
       "{ w = DequantizeLinear<axis = 0>(wc, ws, wz) d = DequantizeLinear<axis = 0>(b, bs) a = DequantizeLinear(x, xs, xz) c = Gemm<transB = 1>(a, w, d) y = QuantizeLinear(c, ys, yz) }", true},
      {"(uint8[11,9] x) => (uint8[9,5] y) <" + x + y + ws + "int8[11,5] wc = {" + codes(55) + "}, float[1,5] b = {1,-2,30,-40,5}> "
       "{ w = DequantizeLinear<axis = 1>(wc, ws, wz) a = DequantizeLinear(x, xs, xz) c = Gemm<transA = 1>(a, w, b) y = QuantizeLinear(c, ys, yz) }", true},
      {"(uint8[2,3000] x) => (int16[2,2] y) <float xs = {0.375}, uint8 xz = {0}, float ys = {0.09375}, int16 yz = {0}, float ws = {0.25}, int8 wz = {0}, int8[3000,2] wc = {" + far + "}> "
       "{ w = DequantizeLinear(wc, ws, wz) a = DequantizeLinear(x, xs, xz) c = MatMul(a, w) y = QuantizeLinear(c, ys, yz) }", true},
  };
  const Validation validation;
  for (const Case& c : cases) equals_reference(21, c);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("codes that elements are computed of are decoded where they are read, by no step of their own") {
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 21]> g (uint8[1,8,6,6] x) => (uint8[1,8,6,6] y, uint8[1,8,6,6] z) <float s = {0.375}, uint8 o = {7}, float ws = {0.25}, int8[8,8,1,1] wc = {" +
                    codes(64) + "}, float t = {24}> { w = DequantizeLinear(wc, ws) a = DequantizeLinear(x, s, o) b = Conv(a, w) y = QuantizeLinear(b, t, o) "
                    "c = DequantizeLinear(y, t, o) d = Conv(c, w) e = QuantizeLinear(d, t, o) f = DequantizeLinear(e, t, o) g = Add(c, f) z = QuantizeLinear(g, t, o) }");
  Halves halves;
  seam::MemorySink sink;
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", LimitsFile("").path)}) == OPTIMA_OK, status.message);
  CHECK(ways_of(sink).size() == 3);  // two convolutions and the sum, which would bind a buffer too many behind one
  const Tensors in = codes_for(net.packed.raw), wanted = reference::run(net.packed.raw, in), got = ran(halves, sink, in);
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(reference::load<double>(got.at(k)) == reference::load<double>(wanted[k]));
}

TEST_CASE("Vulkan's validation says nothing of subgroups") {
  const Validation validation;
  const LimitsFile has("\"subgroupArithmetic\"");
  Halves halves;
  const TextNet net = lines("m = LayerNormalization(x, s) y = Softmax(m)");
  seam::MemorySink sink, subgroups;
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", has.path)}) == OPTIMA_OK, status.message);
  const Tensors in = numbers_for(net.packed.raw, false);
  CHECK(off(ran(halves, without_plain_ways(sink, subgroups), in).at(0), reference::run(net.packed.raw, in).at(0)) < 1e-5);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("a GPU is taken for a lesser one, and never for more than it is") {
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g (float[150,70] x, float[70,150] z) => (float[150,150] y) { y = MatMul(x, z) }");
  const LimitsFile big("", ", \"shared_bytes\": 1000000, \"invocations\": 1024, \"size\": [1024, 1024, 64], \"product_tile\": [16, 16, 8, 8, 64]");
  const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
  const Validation validation;
  Halves halves;
  seam::MemorySink sink, only;
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", big.path)}) == OPTIMA_OK, status.message);
  REQUIRE(ways_of(sink) == std::vector<size_t>{2});
  int32_t code = OPTIMA_OK;
  const std::string text = load_error(halves, without_plain_ways(sink, only), code, {seam::option("spirv.pretend", big.path)});
  CHECK(code == OPTIMA_WRONG_DEVICE);
  CHECK_MESSAGE(text.find("needs 135168 bytes of shared memory, this GPU has 32768") != std::string::npos, text);
  CHECK(off(ran(halves, sink, in, {seam::option("spirv.pretend", big.path)}).at(0), wanted.at(0)) < kExact);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages().substr(0, 2000));
}

#endif
