// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_general: kernels made at one size run nets of other sizes, to the bit as kernels made for those. Sizes are those around
// tiles and vectors, and primes.
#include <functional>

#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_general/workbench.hpp"
#include "tests/unit/llvm_cpu_ops/codes_net.hpp"

using namespace llvm_cpu_test;

namespace {

using Make = std::function<void(CodesNet&, int64_t)>;

/// A table of the general kernels of the net at each of `made`, then runs at `sizes`. Every step has its kernel there.
void serves(const Make& make, const std::vector<int64_t>& made, const std::vector<int64_t>& sizes, Workbench& bench = workbench()) {
  std::vector<cpu::KernelSpec> specs;
  for (const int64_t size : made) {
    CodesNet net(1);
    make(net, size);
    const auto model = net.model();
    const cpu::Draft draft = bench.plan(*model);
    specs.insert(specs.end(), draft.specs.begin(), draft.specs.end());
  }
  const Table table(specs);
  for (const int64_t size : sizes) {
    CAPTURE(size);
    CodesNet net(1);
    make(net, size);
    for (const std::string& step : run_by_table(net, table, bench)) FAIL_CHECK("no kernel for " << step);
  }
}

const std::vector<int64_t> kSizes = {1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 47};

void layer(Net& net, int64_t size, int64_t channels, int64_t out, int64_t kernel, int64_t stride, int64_t group) {
  net.output(net.same("Relu", 14, net.conv(net.input({1, channels, 9, size}), out, kernel, stride, kernel / 2, group)));
}

}  // namespace

TEST_CASE("direct convolution at every width") {
  serves([](Net& n, int64_t w) { layer(n, w, 20, 40, 3, 2, 1); }, {40}, kSizes);
  serves([](Net& n, int64_t w) { layer(n, w, 3, 24, 3, 2, 1); }, {40}, kSizes);
  serves([](Net& n, int64_t w) { layer(n, w, 20, 20, 5, 1, 1); }, {7}, {1, 2, 3, 7, 8, 29});
}

TEST_CASE("convolution of short rows, in tiles of any rows and images, and of rows in which it goes on along them") {
  Workbench many("", "", true);
  const std::vector<int64_t> sizes = {1, 2, 3, 5, 7, 9, 13, 14, 17};
  serves([](Net& n, int64_t w) { layer(n, w, 20, 40, 3, 2, 1); }, {40, 9}, sizes, many);
  serves([](Net& n, int64_t w) { layer(n, w, 40, 72, 3, 2, 2); }, {6}, sizes, many);
  serves([](Net& n, int64_t w) { n.output(n.conv(n.input({5, 36, 3, w}), 20, 5, 1, 2, 1)); }, {3}, sizes, many);
}

TEST_CASE("convolution of rows whose ends and remainders are in tiles of any rows") {
  Workbench many("", "", true);
  const auto conv = [](Net& n, const Dims& in, Dims weights, int64_t stride, int64_t dilation, const Dims& pads) {
    const Dims kernel{weights[2], weights[3]};
    const auto out = [&](size_t i) { return (in[i + 2] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation - 1) / stride + 1; };
    n.output(n.node("Conv", 11, {n.input(in), n.weights(weights, -0.05f, 0.05f), n.weights({weights[0]})}, {in[0], weights[0], out(0), out(1)},
                    {Net::ints("kernel_shape", kernel), Net::ints("strides", {stride, stride}), Net::ints("dilations", {dilation, dilation}), Net::ints("pads", pads)}));
  };
  const std::vector<int64_t> sizes = {13, 16, 19, 33};
  serves([&](Net& n, int64_t w) { conv(n, {2, 36, 5, w}, {40, 36, 3, 3}, 1, 6, {6, 6, 6, 6}); }, {40}, sizes, many);
  serves([&](Net& n, int64_t w) { conv(n, {1, 33, 6, w}, {20, 33, 5, 5}, 1, 1, {2, 2, 2, 2}); }, {40}, sizes, many);
  serves([&](Net& n, int64_t w) { conv(n, {1, 33, 3, w}, {72, 33, 1, 7}, 1, 1, {0, 3, 0, 3}); }, {40}, sizes, many);
  serves([&](Net& n, int64_t w) { conv(n, {1, 40, 7, 2 * w + 1}, {20, 40, 3, 3}, 2, 1, {1, 0, 1, 1}); }, {40}, sizes, many);
  serves([&](Net& n, int64_t w) { conv(n, {1, 600, 1, w}, {9, 600, 1, 3}, 1, 36, {0, 72, 0, 0}); }, {1000}, {70, 1021, 1100}, many);  // in pieces, too
  serves([&](Net& n, int64_t w) { n.output(n.node("ConvTranspose", 11, {n.input({1, 40, 5, w}), n.weights({40, 20, 3, 3})}, {1, 20, 11, 2 * w + 1}, {Net::ints("strides", {2, 2})})); }, {40}, sizes, many);
}

TEST_CASE("convolution of images that caches do not hold, block by block, and of rows in pieces") {
  serves([](Net& n, int64_t w) { n.output(n.conv(n.input({1, 64, 90, w}), 20, 3, 2, 1)); }, {40}, {99, 140});
  serves([](Net& n, int64_t w) { n.output(n.conv(n.input({2, 160, 2, w}), 20, 3, 1, 1)); }, {40}, {1021});
  serves([](Net& n, int64_t w) { n.output(n.conv(n.input({1, 384, 30, w}), 40, 1, 1, 0)); }, {40}, {67});
  const std::vector<image::Attr> apart{Net::ints("kernel_shape", {3}), Net::ints("dilations", {70}), Net::ints("pads", {75, 140})};
  serves([&](Net& n, int64_t w) { n.output(n.node("Conv", 11, {n.input({1, 520, w}), n.weights({8, 520, 3}, -0.05f, 0.05f)}, {1, 8, w + 75}, apart)); }, {200}, {1021, 1100});
}

TEST_CASE("pointwise convolution at every width") {
  serves([](Net& n, int64_t w) { layer(n, w, 24, 40, 1, 1, 1); }, {50}, kSizes);
  serves([](Net& n, int64_t w) { layer(n, w, 24, 40, 1, 1, 1); }, {1}, {1, 2, 30});
}

TEST_CASE("Winograd's convolution at every width") {
  serves([](Net& n, int64_t w) { layer(n, w, 32, 32, 3, 1, 1); }, {30, 9}, {8, 9, 13, 16, 17, 31, 47});
}

TEST_CASE("depthwise convolution at every width") {
  serves([](Net& n, int64_t w) { layer(n, w, 20, 20, 3, 1, 20); }, {40}, kSizes);
  serves([](Net& n, int64_t w) { layer(n, w, 20, 20, 5, 2, 20); }, {9}, kSizes);
}

TEST_CASE("products of every number of rows, columns and inner elements") {
  serves([](Net& n, int64_t m) { n.output(n.node("MatMul", 13, {n.input({m, 24}), n.weights({24, 50})}, {m, 50})); }, {33}, kSizes);
  serves([](Net& n, int64_t s) { n.output(n.node("MatMul", 13, {n.input({2, s, 24}), n.input({2, 24, s})}, {2, s, s})); }, {64}, {1, 5, 15, 16, 17, 31, 47, 50, 64, 65});
  serves([](Net& n, int64_t s) { n.output(n.node("MatMul", 13, {n.input({2, s, s}), n.input({2, s, 24})}, {2, s, 24})); }, {33}, kSizes);
}

TEST_CASE("chains of every length and of every number of rows") {
  const auto chain = [](Net& n, const Dims& dims, const Dims& other) {
    const uint32_t x = n.input(dims);
    n.output(n.node("Add", 14, {n.same("Sigmoid", 13, n.node("Mul", 14, {x, n.weights(other)}, dims)), x}, dims));
  };
  serves([&](Net& n, int64_t s) { chain(n, {s}, {s}); }, {40}, {2, 15, 16, 17, 97, 8191, 8192, 8193, 16385, 40000});
  serves([&](Net& n, int64_t s) { chain(n, {s, 24}, {24}); }, {40}, {2, 3, 17, 341, 342, 700});
  serves([&](Net& n, int64_t s) { chain(n, {3, s, 24}, {3, s, 1}); }, {40}, {2, 3, 17, 341, 342, 700});
  serves([&](Net& n, int64_t s) { chain(n, {5, 6, s}, {6, 1}); }, {40}, {2, 3, 15, 16, 17, 97, 2000, 9000, 17000});
}

TEST_CASE("rows of every length") {
  for (const char* op : {"Softmax", "LogSoftmax"}) serves([&](Net& n, int64_t s) { n.output(n.same(op, 13, n.input({3, s}), {Net::integer("axis", 1)})); }, {40}, kSizes);
  serves([](Net& n, int64_t s) { n.output(n.same("Softmax", 13, n.input({3, 5, s}), {Net::integer("axis", 1)})); }, {40}, {2, 3, 15, 16, 17, 33});
  serves([](Net& n, int64_t s) { n.output(n.node("ReduceMean", 18, {n.input({3, s}), n.integers({1})}, {3, 1})); }, {40}, {2, 15, 16, 17, 63, 64, 65, 97});
  serves([](Net& n, int64_t s) { n.output(n.node("ReduceMax", 18, {n.input({s, 5, 7}), n.integers({1})}, {s, 1, 7})); }, {40}, {2, 3, 5, 17});
  serves([](Net& n, int64_t s) { n.output(n.node("LayerNormalization", 17, {n.input({s, 37}), n.weights({37}), n.weights({37})}, {s, 37})); }, {40}, {1, 2, 3, 17});
  serves([](Net& n, int64_t s) { n.output(n.node("InstanceNormalization", 6, {n.input({1, 3, s, 3}), n.weights({3}), n.weights({3})}, {1, 3, s, 3})); }, {40}, {2, 5, 16, 21, 22});
}

TEST_CASE("moves, pools and passages between layouts at every size") {
  serves([](Net& n, int64_t s) { n.output(n.node("Transpose", 13, {n.input({3, s, 20})}, {3, 20, s}, {Net::ints("perm", {0, 2, 1})})); }, {40}, {2, 3, 15, 16, 17, 33, 500});
  for (const int64_t c : {3, 5}) serves([&](Net& n, int64_t s) {
    n.output(n.node("Transpose", 13, {n.input({2, c, s})}, {2, s, c}, {Net::ints("perm", {0, 2, 1})}));
    n.output(n.node("Transpose", 13, {n.input({s, c})}, {c, s}));
    n.output(n.node("Pad", 21, {n.input({c, s, s}), n.integers({0, 1, 1, 0, 1, 1})}, {c, s + 2, s + 2}, {Net::text("mode", "reflect")}));
    n.output(n.node("CumSum", 14, {n.input({c, 3, s}), n.constant<int64_t>({}, {1}, OPTIMA_I64)}, {c, 3, s}));
  }, {40}, {2, 15, 17, 33});
  serves([](Net& n, int64_t s) { n.output(n.node("Concat", 13, {n.input({2, s, 6}), n.input({2, 3, 6})}, {2, s + 3, 6}, {Net::integer("axis", 1)})); }, {40}, {1, 2, 17, 97});
  serves([](Net& n, int64_t s) { n.output(n.node("Gather", 13, {n.weights({50, 6}), n.constant<int64_t>({s}, Dims(static_cast<size_t>(s), 7), OPTIMA_I64)}, {s, 6})); }, {40}, {2, 3, 500});
  serves([](Net& n, int64_t s) { n.output(n.node("MaxPool", 12, {n.conv(n.input({1, 8, s, s}), 20, 1, 1, 0)}, {1, 20, s / 2, s / 2}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})})); }, {40}, {4, 5, 16, 31});
  serves([](Net& n, int64_t s) { n.output(n.node("GlobalAveragePool", 1, {n.conv(n.input({1, 8, s, 3}), 20, 1, 1, 0)}, {1, 20, 1, 1})); }, {40}, {2, 3, 5, 17});
}

TEST_CASE("reading and writing by indices at every size") {
  const auto places = [](Net& n, const Dims& dims, int64_t size) {
    std::vector<int64_t> all(static_cast<size_t>(count(dims)));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i * i * 7 / 3) % size;
    return n.constant<int64_t>(dims, all, OPTIMA_I64);
  };
  const std::vector<image::Attr> add{Net::text("reduction", "add")};
  serves([&](Net& n, int64_t s) { n.output(n.node("GatherElements", 13, {n.input({3, s, 20}), places(n, {3, s, s}, 20)}, {3, s, s}, {Net::integer("axis", 2)})); }, {40}, {1, 2, 17, 33});
  serves([&](Net& n, int64_t s) { n.output(n.node("GatherElements", 13, {n.input({5, s, 20}), places(n, {s, s, 2}, 5)}, {s, s, 2}, {Net::integer("axis", 0)})); }, {40}, {1, 2, 17, 33});
  serves([&](Net& n, int64_t s) { n.output(n.node("ScatterElements", 18, {n.input({5, s}), places(n, {s + 1, s}, 5), n.input({s + 1, s})}, {5, s}, add)); }, {40}, {1, 2, 17, 33, 90});
  serves([&](Net& n, int64_t s) { n.output(n.node("ScatterND", 18, {n.input({5, s}), places(n, {s, 1}, 5), n.input({s, s})}, {5, s}, add)); }, {40}, {1, 2, 17, 33, 90});
  serves([&](Net& n, int64_t s) { n.output(n.node("GatherND", 13, {n.input({2, 5, s}), places(n, {2, s, 1}, 5)}, {2, s, s}, {Net::integer("batch_dims", 1)})); }, {40}, {1, 2, 17, 33});
}

TEST_CASE("grids and pictures of every size") {
  for (const char* mode : {"linear", "nearest"}) {
    const std::vector<image::Attr> how{Net::text("mode", mode)};
    serves([&](Net& n, int64_t s) { n.output(n.node("GridSample", 20, {n.input({2, 3, s, 5}), n.input({2, 2, 20, 2})}, {2, 3, 2, 20}, how)); }, {40}, {1, 2, 17, 100});
    serves([&](Net& n, int64_t s) { n.output(n.node("GridSample", 20, {n.input({1, s, 4, 6}), n.input({1, s, 3, 2})}, {1, s, s, 3}, how)); }, {40}, {1, 2, 17, 90});
  }
}

TEST_CASE("regions, deformed convolutions, blocks and maxima that are put back, at every size") {
  const std::vector<image::Attr> cells{Net::integer("output_height", 2), Net::integer("output_width", 3), Net::real("spatial_scale", 4)};
  serves([&](Net& n, int64_t s) {
    const uint32_t x = n.input({2, 19, s, 5}), boxes = n.input({s, 4}), pictures = n.constant<int64_t>({s}, std::vector<int64_t>(static_cast<size_t>(s), 1), OPTIMA_I64);
    n.output(n.node("RoiAlign", 16, {x, boxes, pictures}, {s, 19, 2, 3}, cells));
    n.output(n.node("MaxRoiPool", 1, {x, n.node("Abs", 13, {n.input({s, 5})}, {s, 5})}, {s, 19, 2, 2}, {Net::ints("pooled_shape", {2, 2}), Net::real("spatial_scale", 4)}));
  }, {40}, {1, 2, 17, 33});
  serves([&](Net& n, int64_t s) {
    n.output(n.node("DeformConv", 19, {n.input({2, 32, s, 5}), n.weights({20, 32, 3, 3}), n.input({2, 18, s, 5})}, {2, 20, s, 5}, {Net::ints("pads", {1, 1, 1, 1})}));
    n.output(n.node("Col2Im", 18, {n.input({1, 18, s * 7}), n.integers({s, 7}), n.integers({3, 3})}, {1, 2, s, 7}, {Net::ints("pads", {1, 1, 1, 1})}));
    std::vector<int64_t> places(static_cast<size_t>(4 * s));
    for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(4 * i + i % 3);
    n.output(n.node("MaxUnpool", 11, {n.input({1, 2, s, 2}), n.constant<int64_t>({1, 2, s, 2}, places, OPTIMA_I64)}, {1, 2, 2 * s, 4}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})}));
  }, {40}, {1, 2, 7, 17, 33});
}

TEST_CASE("recurrent layers of every length and batch") {
  serves([](Net& n, int64_t s) {
    const uint32_t x = n.input({s, 1, 10});
    n.output(n.node("LSTM", 14, {x, n.weights({1, 48, 10}, -0.3f, 0.3f), n.weights({1, 48, 12}, -0.3f, 0.3f), n.weights({1, 96})}, {s, 1, 1, 12}, {Net::integer("hidden_size", 12)}));
  }, {40}, {1, 2, 3, 17});
  serves([](Net& n, int64_t s) {  // batches in parts of four at most
    const uint32_t x = n.input({5, s, 10});
    n.output(n.node("GRU", 14, {x, n.weights({1, 36, 10}, -0.3f, 0.3f), n.weights({1, 36, 12}, -0.3f, 0.3f), n.weights({1, 72})}, {5, 1, s, 12}, {Net::integer("hidden_size", 12)}));
  }, {40}, {2, 3, 4, 5, 6, 7, 9, 17});
}

namespace {

/// The same of products on codes: by this machine's kernels, its matrix unit's where it has one, and by dot products of either width.
void serves_codes(const Make& make, const std::vector<int64_t>& made, const std::vector<int64_t>& sizes) {
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  serves(make, made, sizes);
  serves(make, made, sizes, workbench("x86-64-v3"));
  if (wide && __builtin_cpu_supports("avx512vnni")) serves(make, made, sizes, workbench("x86-64-v4", "+avx512vnni"));
  else MESSAGE("SKIP: this processor has no AVX-512 VNNI");
}

const std::vector<int64_t> kFewSizes = {1, 2, 3, 7, 17, 29};  // kernels of three processors are made for each
const CodeSteps kIn{OPTIMA_U8, 0.02f, 117};

void coded(CodesNet& net, const Dims& in, int64_t out, int64_t kernel, int64_t stride, int64_t group) {
  Chance r(9);
  net.output(net.coded_layer(net.dequantize(net.input(in, OPTIMA_U8), kIn), out, kernel, stride, group, r));
}

}  // namespace

TEST_CASE("convolutions of codes at every width") {
  serves_codes([](CodesNet& n, int64_t w) { coded(n, {1, 20, 9, w}, 40, 3, 2, 1); }, {40, 3}, kFewSizes);
  serves_codes([](CodesNet& n, int64_t w) { coded(n, {2, 3, 9, w}, 24, 5, 1, 1); }, {40, 3}, kFewSizes);
  serves_codes([](CodesNet& n, int64_t w) { coded(n, {1, 24, 5, w}, 40, 1, 1, 1); }, {40}, kFewSizes);
  serves_codes([](CodesNet& n, int64_t w) { coded(n, {1, 24, 9, w}, 40, 3, 1, 2); }, {40, 3}, kFewSizes);
  serves_codes([](CodesNet& n, int64_t h) { coded(n, {h % 5 + 1, 20, h, 7}, 33, 3, 1, 1); }, {40, 5}, {1, 3, 13});
}

TEST_CASE("depthwise convolution of codes at every width") {
  serves_codes([](CodesNet& n, int64_t w) { coded(n, {1, 40, 9, w}, 40, 3, 1, 40); }, {40}, kFewSizes);
  serves_codes([](CodesNet& n, int64_t w) { coded(n, {2, 72, w, 6}, 72, 5, 2, 72); }, {9}, {1, 3, 17});
}

TEST_CASE("products of codes of every number of rows, columns and inner elements") {
  const auto dense = [](CodesNet& n, int64_t m) {
    Chance r(9);
    std::vector<float> scales;
    const uint32_t w = n.weights_of_codes({72, 50}, 1, r, scales);
    n.output(n.quantize(n.node("MatMul", 13, {n.dequantize(n.input({m, 72}, OPTIMA_U8), kIn), w}, {m, 50}), kIn));
  };
  serves_codes(dense, {33, 3}, kFewSizes);
  const auto computed = [](CodesNet& n, const Dims& a, const Dims& b, const Dims& out, bool added) {
    const uint32_t y = n.node("MatMul", 13, {n.dequantize(n.input(a, OPTIMA_U8), kIn), n.dequantize(n.input(b, OPTIMA_I8), {OPTIMA_I8, 0.02f, -3})}, out);
    n.output(n.quantize(added ? n.add(y, n.dequantize(n.input(out, OPTIMA_U8), kIn)) : y, {OPTIMA_U8, 0.05f, 99}));
  };
  const std::vector<int64_t> sizes{1, 3, 4, 17, 50, 64, 65};
  serves_codes([&](CodesNet& n, int64_t s) { computed(n, {2, s, 64}, {2, 64, s}, {2, s, s}, true); }, {40, 3}, sizes);
  serves_codes([&](CodesNet& n, int64_t s) { computed(n, {2, s, s}, {2, s, 40}, {2, s, 40}, false); }, {80, 33, 3}, sizes);
}

TEST_CASE("codes of a matrix in blocks serve every number of rows") {
  const auto product = [](CodesNet& n, int64_t m) {
    const int64_t K = 64, N = 50;
    const uint32_t w = n.constant<int8_t>({N, K}, std::vector<int8_t>(static_cast<size_t>(N * K), 5), OPTIMA_I8);
    const uint32_t real = n.node("DequantizeLinear", 21, {w, n.weights({N, 2}, 0.01f, 0.02f)}, {N, K}, {Net::integer("axis", 1), Net::integer("block_size", 32)});
    const uint32_t turned = n.node("Transpose", 13, {real}, {K, N}, {Net::ints("perm", {1, 0})});
    n.output(n.node("MatMul", 13, {n.input({m, K}), turned}, {m, N}));
  };
  serves(product, {3, 40}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 40});
}

TEST_CASE("codes of a matrix in blocks serve every number of rows that may be rounded to bytes") {
  const auto product = [](CodesNet& n, int64_t m) {
    const int64_t K = 128, N = 50;
    const uint32_t w = n.constant<uint8_t>({N, K}, std::vector<uint8_t>(static_cast<size_t>(N * K / 2), 0x95), OPTIMA_U4);
    const uint32_t real = n.node("DequantizeLinear", 21, {w, n.weights({N, 4}, 0.01f, 0.02f)}, {N, K}, {Net::integer("axis", 1), Net::integer("block_size", 32)});
    const uint32_t turned = n.node("Transpose", 13, {real}, {K, N}, {Net::ints("perm", {1, 0})});
    n.output(n.node("MatMul", 13, {n.input({m, K}), turned}, {m, N}));
    n.graph().nodes.back().flags |= OPTIMA_NODE_ROUNDS_TO_BYTES;
  };
  serves_codes(product, {3, 40}, {1, 2, 3, 4, 5, 8, 9, 10, 11, 40});
}
