// SPDX-License-Identifier: Apache-2.0
// Operators on integers through both halves of the plugin: sums are exact, codes those of the reference.
#include <algorithm>

#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

uint32_t byte(Net& net, int v) { return net.constant<uint8_t>({}, {static_cast<uint8_t>(v)}, OPTIMA_U8); }
uint32_t real(Net& net, float v) { return net.constant<float>({}, {v}, OPTIMA_F32); }
/// Codes that reach both ends, the largest ones next to each other.
template <class T>
std::vector<T> codes(int64_t count) {
  std::vector<T> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(i % 7 < 3 ? std::numeric_limits<T>::max() : i % 11 < 3 ? std::numeric_limits<T>::min() : i * 37));
  return out;
}

int kernels(const Compiled& c, std::string_view stem) {
  int found = 0;
  for (const auto& [name, bytes] : c.sink.files) found += name.starts_with(stem);
  return found;
}

}  // namespace

TEST_CASE("products of bytes are exact sums") {
  Bench bench;
  Net net;
  for (const auto& [a, b, out] : std::vector<std::tuple<Dims, Dims, Dims>>{
           {{5, 70}, {70, 33}, {5, 33}}, {{1, 3}, {3, 1}, {1, 1}}, {{70}, {70, 20}, {20}}, {{4, 9}, {9}, {4}},
           {{2, 3, 5, 16}, {3, 16, 8}, {2, 3, 5, 8}}, {{3, 5, 16}, {16, 8}, {3, 5, 8}}, {{2, 1, 5, 16}, {1, 3, 16, 8}, {2, 3, 5, 8}}}) {
    const uint32_t x = net.input(a, OPTIMA_U8);
    net.output(net.node("MatMulInteger", 10, {x, net.input(b, OPTIMA_I8)}, out, {}, OPTIMA_I32));
    net.output(net.node("MatMulInteger", 10, {x, net.constant<uint8_t>(b, codes<uint8_t>(count(b)), OPTIMA_U8), byte(net, 200), byte(net, 255)}, out, {}, OPTIMA_I32));
  }
  matches_reference(bench, net);
}

TEST_CASE("zero points of a product may differ from row to row and from column to column") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({4, 37}, OPTIMA_I8), w = net.constant<int8_t>({37, 19}, codes<int8_t>(37 * 19), OPTIMA_I8);
  const uint32_t rows = net.constant<int8_t>({4}, {-128, 127, 0, 5}, OPTIMA_I8), columns = net.constant<int8_t>({19}, codes<int8_t>(19), OPTIMA_I8);
  net.output(net.node("MatMulInteger", 10, {x, w, rows, columns}, {4, 19}, {}, OPTIMA_I32));
  matches_reference(bench, net);
}

TEST_CASE("convolutions of bytes are exact sums whatever their window, and padding is the zero point") {
  Bench bench;
  Net net;
  const auto conv = [&](const Dims& x, const Dims& w, const Dims& out, std::vector<optima::image::Attr> attrs) {
    const uint32_t weights = net.constant<int8_t>(w, codes<int8_t>(count(w)), OPTIMA_I8);
    const uint32_t zeros = net.constant<int8_t>({w[0]}, codes<int8_t>(w[0]), OPTIMA_I8);
    net.output(net.node("ConvInteger", 10, {net.input(x, OPTIMA_U8), weights, byte(net, 77), zeros}, out, std::move(attrs), OPTIMA_I32));
  };
  conv({2, 6, 9, 11}, {4, 6, 3, 3}, {2, 4, 9, 11}, {Net::ints("pads", {1, 1, 1, 1})});
  conv({1, 6, 9, 11}, {4, 3, 3, 2}, {1, 4, 5, 4}, {Net::ints("pads", {1, 0, 1, 1}), Net::ints("strides", {2, 3}), Net::integer("group", 2)});
  conv({1, 4, 9}, {4, 1, 3}, {1, 4, 5}, {Net::ints("dilations", {2}), Net::integer("group", 4)});
  conv({1, 2, 5, 6, 7}, {3, 2, 2, 3, 3}, {1, 3, 4, 6, 7}, {Net::ints("pads", {0, 1, 1, 0, 1, 1})});
  matches_reference(bench, net);
}

TEST_CASE("the largest of bytes of either type is found with channels last") {
  Bench bench;
  Net net;
  for (const int32_t type : {OPTIMA_U8, OPTIMA_I8}) {
    const auto pool = [&](const Dims& in, const Dims& out, std::vector<optima::image::Attr> attrs) {
      net.output(net.node("MaxPool", 12, {net.input(in, type)}, out, std::move(attrs), type));
    };
    pool({2, 20, 9, 11}, {2, 20, 5, 6}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2}), Net::ints("pads", {1, 1, 1, 1})});
    pool({1, 3, 8, 8}, {1, 3, 4, 4}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})});
    pool({1, 70, 6, 5, 4}, {1, 70, 5, 4, 3}, {Net::ints("kernel_shape", {2, 2, 2})});
    pool({3, 17, 12}, {3, 17, 5}, {Net::ints("kernel_shape", {3}), Net::ints("dilations", {2}), Net::ints("strides", {2}), Net::ints("pads", {1, 0})});
  }
  CHECK(kernels(*compile(bench, net), "pool_codes") > 0);
  matches_reference(bench, net);
}

TEST_CASE("products and convolutions between codes round as the reference") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({5, 40}, OPTIMA_U8), w = net.constant<int8_t>({40, 12}, codes<int8_t>(40 * 12), OPTIMA_I8);
  const uint32_t zeros = net.constant<int8_t>({12}, std::vector<int8_t>(12, 0), OPTIMA_I8), scales = net.weights({12}, 0.01f, 0.02f);
  net.output(net.node("QLinearMatMul", 21, {x, real(net, 0.02f), byte(net, 130), w, scales, zeros, real(net, 0.3f), byte(net, 120)}, {5, 12}, {}, OPTIMA_U8));
  const uint32_t image = net.input({1, 6, 8, 9}, OPTIMA_U8), k = net.constant<int8_t>({8, 6, 3, 3}, codes<int8_t>(8 * 54), OPTIMA_I8);
  const uint32_t channels = net.constant<int8_t>({8}, std::vector<int8_t>(8, 0), OPTIMA_I8);
  const uint32_t bias = net.constant<int32_t>({8}, {5, -3000, 20, 12345, 0, 1, -1, 7}, OPTIMA_I32);
  net.output(net.node("QLinearConv", 10, {image, real(net, 0.02f), byte(net, 130), k, net.weights({8}, 0.01f, 0.02f), channels, real(net, 0.3f), byte(net, 120), bias},
                      {1, 8, 8, 9}, {Net::ints("pads", {1, 1, 1, 1})}, OPTIMA_U8));
  matches_reference(bench, net);
}

TEST_CASE("codes whose scale follows from the values, of any number of values") {
  Bench bench;
  Net net;
  for (const Dims& dims : {Dims{3, 40000}, {7}, {1, 16384}, {2, 3, 17}}) {
    const auto made = net.nodes("DynamicQuantizeLinear", 11, {net.input(dims)}, {{dims, OPTIMA_U8}, {{}, OPTIMA_F32}, {{}, OPTIMA_U8}});
    for (const uint32_t v : made) net.output(v);
  }
  matches_reference(bench, net);
}

namespace {

/// What dynamic quantization makes of a product: X -> codes, product, float, times the scales, plus a bias.
uint32_t dynamic_product(Net& net, const Dims& in, int64_t N, bool by_column, bool biased, int32_t type) {
  const int64_t K = in.back();
  Dims out = in;
  out.back() = N;
  const auto x = net.nodes("DynamicQuantizeLinear", 11, {net.input(in)}, {{in, OPTIMA_U8}, {{}, OPTIMA_F32}, {{}, OPTIMA_U8}});
  const uint32_t w = type == OPTIMA_I8 ? net.constant<int8_t>({K, N}, codes<int8_t>(K * N), type) : net.constant<uint8_t>({K, N}, codes<uint8_t>(K * N), type);
  const uint32_t zero = type == OPTIMA_I8 ? net.constant<int8_t>({}, {0}, type) : byte(net, 128);
  const uint32_t sums = net.node("MatMulInteger", 10, {x[0], w, x[2], zero}, out, {}, OPTIMA_I32);
  const uint32_t real = net.node("Cast", 13, {sums}, out, {Net::integer("to", OPTIMA_F32)});
  const uint32_t scale = net.node("Mul", 14, {x[1], by_column ? net.weights({N}, 0.01f, 0.02f) : net.weights({1}, 0.01f, 0.02f)}, {by_column ? N : 1});
  const uint32_t y = net.node("Mul", 14, {real, scale}, out);
  return biased ? net.node("Add", 14, {y, net.weights({N})}, out) : y;
}

}  // namespace

TEST_CASE("a product whose operand is quantized in the run is one step on codes") {
  Bench bench;
  for (const int32_t type : {OPTIMA_I8, OPTIMA_U8}) {
    Net net;
    for (const auto& [in, N] : std::vector<std::pair<Dims, int64_t>>{{{5, 64}, 48}, {{2, 7, 33}, 19}, {{1, 128}, 100}, {{60, 16}, 16}})
      for (const bool by_column : {true, false}) net.output(dynamic_product(net, in, N, by_column, by_column, type));
    const auto c = compile(bench, net);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(kernels(*c, "integer_product") == 0);
    CHECK(kernels(*c, "codes_conv") > 0);
    matches_reference(bench, net);
  }
}

TEST_CASE("a product whose operand is quantized in the run uses a matrix unit where there is one") {
  Bench bench;
  Net net;
  net.output(dynamic_product(net, {16, 128}, 64, true, true, OPTIMA_I8));
  const auto c = compile(bench, net, {seam::option("llvm_cpu.cpu", "sapphirerapids")});
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(kernels(*c, "codes_amx") > 0);
}

TEST_CASE("a convolution whose operand is quantized in the run is one step on codes") {
  Bench bench;
  Net net;
  const auto conv = [&](const Dims& in, const Dims& w, const Dims& out, bool by_channel, std::vector<optima::image::Attr> attrs) {
    const auto x = net.nodes("DynamicQuantizeLinear", 11, {net.input(in)}, {{in, OPTIMA_U8}, {{}, OPTIMA_F32}, {{}, OPTIMA_U8}});
    const uint32_t weights = net.constant<int8_t>(w, codes<int8_t>(count(w)), OPTIMA_I8), zero = net.constant<int8_t>({}, {0}, OPTIMA_I8);
    const uint32_t sums = net.node("ConvInteger", 10, {x[0], weights, x[2], zero}, out, std::move(attrs), OPTIMA_I32);
    const uint32_t real = net.node("Cast", 13, {sums}, out, {Net::integer("to", OPTIMA_F32)});
    const Dims channels{w[0], 1, 1};
    const uint32_t scale = net.node("Mul", 14, {x[1], by_channel ? net.weights(channels, 0.01f, 0.02f) : net.weights({1}, 0.01f, 0.02f)}, by_channel ? channels : Dims{1});
    const uint32_t y = net.node("Mul", 14, {real, scale}, out);
    net.output(by_channel ? net.node("Add", 14, {y, net.weights({1, w[0], 1, 1})}, out) : y);
  };
  conv({1, 16, 9, 11}, {20, 16, 3, 3}, {1, 20, 9, 11}, true, {Net::ints("pads", {1, 1, 1, 1})});
  conv({2, 3, 9, 11}, {20, 3, 3, 3}, {2, 20, 5, 6}, true, {Net::ints("pads", {1, 1, 1, 1}), Net::ints("strides", {2, 2})});
  conv({1, 40, 8, 8}, {33, 40, 1, 1}, {1, 33, 8, 8}, false, {});
  conv({1, 16, 9, 9}, {24, 8, 3, 3}, {1, 24, 5, 5}, true, {Net::integer("group", 2), Net::ints("dilations", {2, 2})});
  conv({1, 40, 9, 11}, {40, 1, 3, 3}, {1, 40, 9, 11}, true, {Net::integer("group", 40), Net::ints("pads", {1, 1, 1, 1})});
  conv({2, 70, 12, 9}, {70, 1, 5, 3}, {2, 70, 4, 4}, false, {Net::integer("group", 70), Net::ints("strides", {2, 2})});
  for (const auto& options : std::vector<std::vector<optima_option>>{{}, {seam::option("llvm_cpu.cpu", "haswell")}}) {
    const auto c = compile(bench, net, options);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(kernels(*c, "integer_conv") == 0);
    CHECK(kernels(*c, "codes_depthwise") > 0);
    matches_reference(bench, net, 1e-5, options);
  }
}

namespace {

/// Codes of all sizes around a zero point, so that their differences do not fit into signed bytes.
uint32_t wide_weights(Net& net, const Dims& dims) {
  std::vector<uint8_t> all(static_cast<size_t>(count(dims)));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i * 37 % 256);
  return net.constant<uint8_t>(dims, all, OPTIMA_U8);
}

/// What older quantizers make of a bias: integers in steps of the product, whose size is known in the run.
uint32_t bias_in_steps(Net& net, uint32_t scale, const Dims& dims) {
  const uint32_t steps = net.node("Floor", 13, {net.node("Div", 14, {net.weights(dims), scale}, dims)}, dims);
  return net.node("Cast", 13, {steps}, dims, {Net::integer("to", OPTIMA_I32)}, OPTIMA_I32);
}

}  // namespace

TEST_CASE("weights whose zero point leaves the range of signed bytes, and a bias in integers, are one step on codes") {
  Bench bench;
  Net net;
  const auto dynamic = [&](const char* op, const Dims& in, const Dims& w, const Dims& out, const Dims& columns, bool each, std::vector<optima::image::Attr> attrs) {
    const auto x = net.nodes("DynamicQuantizeLinear", 11, {net.input(in)}, {{in, OPTIMA_U8}, {{}, OPTIMA_F32}, {{}, OPTIMA_U8}});
    const int64_t C = *std::max_element(columns.begin(), columns.end());
    std::vector<uint8_t> zeros(static_cast<size_t>(C));
    for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<uint8_t>(i * 11 % 256);
    const uint32_t zero = each ? net.constant<uint8_t>({C}, zeros, OPTIMA_U8) : byte(net, 113);
    const uint32_t sums = net.node(op, 10, {x[0], wide_weights(net, w), x[2], zero}, out, std::move(attrs), OPTIMA_I32);
    const uint32_t scale = net.node("Mul", 14, {x[1], net.weights({1}, 0.01f, 0.02f)}, {1});
    const uint32_t biased = net.node("Add", 14, {sums, bias_in_steps(net, scale, columns)}, out, {}, OPTIMA_I32);
    net.output(net.node("Mul", 14, {net.node("Cast", 13, {biased}, out, {Net::integer("to", OPTIMA_F32)}), scale}, out));
  };
  for (const bool each : {false, true}) {
    dynamic("ConvInteger", {1, 16, 9, 11}, {20, 16, 3, 3}, {1, 20, 9, 11}, {1, 20, 1, 1}, each, {Net::ints("pads", {1, 1, 1, 1})});
    dynamic("ConvInteger", {2, 40, 8, 8}, {33, 40, 1, 1}, {2, 33, 8, 8}, {1, 33, 1, 1}, each, {});
    dynamic("ConvInteger", {1, 16, 9, 9}, {24, 8, 3, 3}, {1, 24, 5, 5}, {1, 24, 1, 1}, each, {Net::integer("group", 2), Net::ints("dilations", {2, 2})});
    dynamic("ConvInteger", {2, 12, 30}, {9, 12, 5}, {2, 9, 13}, {9, 1}, each, {Net::ints("strides", {2})});
    dynamic("ConvInteger", {1, 80, 9, 11}, {80, 1, 3, 3}, {1, 80, 9, 11}, {1, 80, 1, 1}, each, {Net::integer("group", 80), Net::ints("pads", {1, 1, 1, 1})});
    dynamic("ConvInteger", {2, 24, 12, 13}, {24, 1, 5, 5}, {2, 24, 4, 5}, {1, 24, 1, 1}, each, {Net::integer("group", 24), Net::ints("strides", {2, 2})});
    dynamic("MatMulInteger", {5, 64}, {64, 48}, {5, 48}, {48}, each, {});
    dynamic("MatMulInteger", {2, 7, 33}, {33, 19}, {2, 7, 19}, {19}, each, {});
  }
  for (const auto& options : std::vector<std::vector<optima_option>>{{}, {seam::option("llvm_cpu.cpu", "haswell")}}) {
    const auto c = compile(bench, net, options);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(kernels(*c, "integer_conv") == 0);
    CHECK(kernels(*c, "integer_product") == 0);
    matches_reference(bench, net, 1e-5, options);
  }
}
