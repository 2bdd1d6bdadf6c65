// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: 3 x 3 convolutions by Winograd's method: where it is taken, and how far its sums are from those of the model's own order.
#include <doctest/doctest.h>

#ifdef SPIRV_PLUGIN

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

/// A target whose memory costs nothing, so that the fewest products win.
const char* const kFreeMemory = ", \"storage_buffers\": 8, \"gflops\": 1, \"gbytes\": 1000000, \"launch_us\": 0.001";

/// A convolution of 3 x 3.
struct Square {
  int64_t batch, channels, height, width, features;
  std::array<int64_t, 4> pads{1, 1, 1, 1};
  std::string more = "";    ///< attributes, each with a comma behind it
  std::string behind = "y = Relu(c)";
  int64_t groups = 1;
  std::string text() const {
    const auto n = [](int64_t v) { return std::to_string(v); };
    const int64_t h = height + pads[0] + pads[2] - 2, w = width + pads[1] + pads[3] - 2;
    return "(float[" + n(batch) + "," + n(channels) + "," + n(height) + "," + n(width) + "] x, float[1," + n(features) + "," + n(h) + "," + n(w) + "] r) => (y) <float[" + n(features) + "," + n(channels / groups) +
           ",3,3] w = {" + numbers(static_cast<int>(features * channels / groups * 9)) + "}, float[" + n(features) + "] b = {" + numbers(static_cast<int>(features)) + "}> { c = Conv<" + more + "pads = [" + n(pads[0]) + "," +
           n(pads[1]) + "," + n(pads[2]) + "," + n(pads[3]) + "]>(x, w, b) " + behind + " }";
  }
};

/// m of F(m x m, 3 x 3) by the weights' name; 0: none was transformed.
int transform_of(const seam::MemorySink& sink) {
  const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
  for (const auto& tensor : meta.at("tensors"))
    if (const auto name = tensor.at("name").get<std::string>(); name.find("/winograd") != name.npos) return name.back() - '0';
  return 0;
}

TextNet net_for(const Square& layer) { return net_of({layer.text(), {}}); }

/// Numbers of both signs.
Tensors signed_numbers(const optima_graph& raw) {
  Tensors out = numbers_for(raw, false);
  for (reference::Tensor& t : out)
    for (int64_t k = 0; k < t.elements(); ++k) static_cast<float*>(const_cast<void*>(static_cast<const void*>(t.data)))[k] -= 1;
  return out;
}

int compiled_for(const Square& layer, const std::vector<optima_option>& options, const char* kind = "VULKAN") {
  const TextNet net = net_for(layer);
  Halves halves;
  seam::MemorySink sink;
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, options, seam::device(kind)) == OPTIMA_OK, status.message);
  return transform_of(sink);
}

}  // namespace

TEST_CASE("convolutions by Winograd's method are the reference's for images of any size, with validation silent") {
  struct Taken {
    Square layer;
    int m;
  };
  const Taken all[] = {
      {{1, 16, 14, 14, 16}, 2},
      {{1, 17, 13, 15, 19}, 2},                               // tiles reach past the last row and column
      {{3, 16, 5, 7, 16, {0, 1, 2, 1}}, 2},                   // tiles of several images, pads of one side
      {{1, 16, 28, 28, 16}, 4},
      {{1, 19, 29, 31, 17, {1, 0, 0, 1}}, 4},
      {{2, 16, 18, 21, 24, {0, 0, 0, 0}, "", "a = Add(c, r) y = Sigmoid(a)"}, 4},
      {{4, 16, 17, 1, 16}, 2},                                // one column
  };
  const LimitsFile free("", kFreeMemory);
  const Validation validation;
  for (const Taken& t : all) {
    const TextNet net = net_for(t.layer);
    CAPTURE(t.layer.text().substr(0, 60));
    Halves halves;
    seam::MemorySink sink, watched;
    const optima_option limits = seam::option("spirv.limits", free.path);
    const Tensors in = signed_numbers(net.packed.raw), wanted = reference::run(net.packed.raw, in);
    CHECK(transform_of(made(halves, net, sink, {limits})) == t.m);
    CHECK(ways_of(sink) == std::vector<size_t>{1, 1, 1});
    CHECK(off(ran(halves, sink, in).at(0), wanted.at(0)) < kExact);
    CHECK(off(ran(halves, made(halves, net, watched, {limits, guarded()}), in).at(0), wanted.at(0)) < kExact);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("a BatchNormalization is folded into transformed weights") {
  const std::string n = "float[20] s = {" + numbers(20) + "}, float[20] m = {" + numbers(20) + "}, float[20] v = {" + [] {
    std::string all;
    for (int k = 0; k < 20; ++k) all += (k ? "," : "") + std::to_string(0.5 + 0.1 * k);
    return all;
  }() + "}";
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g (float[1,16,12,13] x) => (y) <float[20,16,3,3] w = {" + numbers(2880) + "}, " + n + "> { c = Conv<pads = [1, 1, 1, 1]>(x, w) y = BatchNormalization(c, s, m, m, v) }");
  const LimitsFile free("", kFreeMemory);
  Halves halves;
  seam::MemorySink sink;
  const Tensors in = signed_numbers(net.packed.raw);
  CHECK(transform_of(made(halves, net, sink, {seam::option("spirv.limits", free.path)})) == 2);
  CHECK(ways_of(sink).size() == 3);
  CHECK(off(ran(halves, sink, in).at(0), reference::run(net.packed.raw, in).at(0)) < kExact);
}

TEST_CASE("products of transformed tiles go through shared memory where the target has tiles for it") {
  const LimitsFile cards("", std::string(kFreeMemory) + ", \"product_tile\": [8, 8, 2, 4, 8]");
  const Validation validation;
  for (const Square& layer : {Square{1, 16, 13, 15, 19}, Square{2, 20, 30, 17, 18}}) {
    const TextNet net = net_for(layer);
    Halves halves;
    seam::MemorySink sink, only;
    const Tensors in = signed_numbers(net.packed.raw);
    CHECK(ways_of(made(halves, net, sink, {seam::option("spirv.limits", cards.path)})) == std::vector<size_t>{1, 2, 1});
    CHECK(transform_of(sink) > 0);
    CHECK(off(ran(halves, without_plain_ways(sink, only), in).at(0), reference::run(net.packed.raw, in).at(0)) < kExact);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("no sum by Winograd's method is further off than its bound") {
  // What rounding may come to: each product and sum of magnitudes as they stand in the transforms, for weights and inputs of at most 1. The transforms'
  // rows of magnitudes, weights by input by output, come to 8 and to 48 along an axis, where three products stand in the sum itself.
  constexpr double kEpsilon = 0x1p-24, kRows[] = {8, 48};
  const LimitsFile free("", kFreeMemory);
  for (const Square& layer : {Square{1, 64, 14, 14, 16, {1, 1, 1, 1}, "", "y = Identity(c)"}, Square{1, 64, 28, 28, 16, {1, 1, 1, 1}, "", "y = Identity(c)"}}) {
    const TextNet net = net_for(layer);
    Halves halves;
    seam::MemorySink sink;
    const Tensors in = signed_numbers(net.packed.raw);
    const int m = transform_of(made(halves, net, sink, {seam::option("spirv.limits", free.path)}));
    CHECK(m == (layer.height == 14 ? 2 : 4));
    const std::vector<double> got = reference::load<double>(ran(halves, sink, in).at(0)), wanted = reference::load<double>(reference::run(net.packed.raw, in).at(0));
    double most = 0;
    for (size_t k = 0; k < got.size(); ++k) most = std::max(most, std::fabs(got[k] - wanted[k]));
    const double rows = kRows[m / 4], largest = 0.2 * 0.5, roundings = 64 + 16;  // of the sum over channels, and of the transforms
    CHECK(most < kEpsilon * roundings * rows * rows * 64 * largest);
    CHECK(most < 40 * kEpsilon * 64 * 9 * largest);  // what it is in fact: a few times that of the sum as it is
  }
}

TEST_CASE("convolutions are transformed where an estimate says that it pays, and nowhere that they cannot be") {
  const auto off = [] {
    optima_option o = seam::option("spirv.winograd", "");
    o.type = OPTIMA_OPTION_I64, o.i64 = 0;
    return o;
  }();
  // As measured on lavapipe (docs/decisions/0011-kernels-for-vulkan.md).
  CHECK(compiled_for({1, 64, 56, 56, 64}, {}) == 4);
  CHECK(compiled_for({1, 128, 28, 28, 128}, {}) == 4);
  CHECK(compiled_for({1, 128, 14, 14, 128}, {}) == 2);
  CHECK(compiled_for({1, 128, 7, 7, 128}, {}) == 0);
  CHECK(compiled_for({1, 16, 56, 56, 16}, {}) == 0);
  const LimitsFile free("", kFreeMemory), launches("", ", \"launch_us\": 10000"), fits("", std::string(kFreeMemory) + ", \"buffer_range\": 589824"), small("", std::string(kFreeMemory) + ", \"buffer_range\": 589823");
  const optima_option limits = seam::option("spirv.limits", free.path);
  CHECK(compiled_for({1, 16, 28, 28, 16}, {limits}) == 4);
  CHECK(compiled_for({1, 16, 28, 28, 16}, {limits, off}) == 0);
  CHECK(compiled_for({1, 16, 28, 28, 16}, {limits, seam::option("spirv.precision", "f16")}) == 0);
  CHECK(compiled_for({1, 15, 28, 28, 16}, {limits}) == 0);
  CHECK(compiled_for({1, 16, 28, 28, 15}, {limits}) == 0);
  CHECK(compiled_for({1, 32, 28, 28, 32, {1, 1, 1, 1}, "group = 2, ", "y = Relu(c)", 2}, {limits}) == 0);
  CHECK(compiled_for({1, 16, 30, 30, 16, {0, 0, 0, 0}, "", "y = Relu(c)"}, {limits}) == 4);
  CHECK(compiled_for({1, 32, 56, 56, 32}, {seam::option("spirv.limits", launches.path)}) == 0);
  CHECK(compiled_for({1, 64, 28, 28, 64}, {seam::option("spirv.limits", fits.path)}) == 4);   // 36 * 64 * 64 weights of four bytes
  CHECK(compiled_for({1, 64, 28, 28, 64}, {seam::option("spirv.limits", small.path)}) == 0);  // nor 16 * 64 * 196 elements of tiles
}

#endif
