// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: products and convolutions through shared memory, by tiles of any size, without the plain way behind them.
#include <doctest/doctest.h>

#ifdef SPIRV_PLUGIN

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

namespace {

/// What a target with a tile has beside VULKAN's limits.
std::string with_tile(const std::string& tile, const std::string& more = "") {
  return ", \"invocations\": 256, \"size\": [256, 256, 64], \"shared_bytes\": 32768, \"storage_buffers\": 16, \"product_tile\": " + tile + more;
}

/// Less than any tile wants.
struct LessFile : LimitsFile {
  LessFile() : LimitsFile("", ", \"invocations\": 256, \"size\": [256, 256, 64], \"storage_buffers\": 16, \"shared_bytes\": 256") {}
};

/// Bytes of shared memory of the first step's first way.
int64_t shared_bytes(const seam::MemorySink& sink) {
  const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
  return meta.at("kernels").at(meta.at("steps").at(0).at("ways").at(0).at("kernel").get<size_t>()).at("needs").at("shared_bytes").get<int64_t>();
}

/// Runs it through shared memory alone, and without it where a GPU has less; `thorough`: also with a look at every index, and as halves.
void equals_reference(const LimitsFile& target, const Multiplied& m, bool thorough, double within = kExact) {
  CAPTURE(m.text.substr(0, 300));
  const LessFile less;
  const TextNet net = net_of(m);
  Halves halves;
  seam::MemorySink sink, only, watched, halved;
  const optima_option limits = seam::option("spirv.limits", target.path);
  const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
  CHECK(ways_of(made(halves, net, sink, {limits})) == m.ways);
  if (m.ways == std::vector<size_t>{1}) return;
  CHECK(off(ran(halves, without_plain_ways(sink, only), in).at(0), wanted.at(0)) < within);
  if (!thorough) return;
  CHECK(off(ran(halves, sink, in, {seam::option("spirv.pretend", less.path)}).at(0), wanted.at(0)) < within);
  int32_t code = 0;
  CHECK(load_error(halves, only, code, {seam::option("spirv.pretend", less.path)}).find("bytes of shared memory, this GPU has 256") != std::string::npos);
  CHECK(code == OPTIMA_WRONG_DEVICE);
  CHECK(off(ran(halves, made(halves, net, watched, {limits, guarded()}), in).at(0), wanted.at(0)) < within);
  made(halves, net, halved, {limits, seam::option("spirv.precision", "f16")});
  seam::MemorySink halves_only;
  CHECK(off(ran(halves, without_plain_ways(halved, halves_only), in).at(0), wanted.at(0)) < kHalves);
}

/// A convolution of constant weights and a bias, with what is behind it.
Multiplied conv(const std::string& x, const std::string& w, int weights, const std::string& attributes, int64_t features, std::vector<size_t> ways = {2}) {
  return {"(float[" + x + "] x) => (y) <float[" + w + "] w = {" + numbers(weights) + "}, float[" + std::to_string(features) + "] b = {" + numbers(static_cast<int>(features)) + "}> { c = Conv" + attributes +
              "(x, w, b) y = Relu(c) }", std::move(ways)};
}

const std::vector<size_t> kTile{2}, kPlain{1};

}  // namespace

TEST_CASE("products through shared memory are the reference's for tiles of any size, and those of registers where a GPU has less of it") {
  const std::vector<size_t> parts{2, 1};
  const Multiplied all[] = {
      {"(float[61,67] x, float[67,71] z) => (y) { y = MatMul(x, z) }", kTile},
      {"(float[2,3,33,40] x, float[3,40,65] z) => (y) { y = MatMul(x, z) }", kTile},
      {"(float[64,128] x, float[64,256] z, float[256] b) => (y) { g = Gemm<transA = 1, alpha = 0.5>(x, z, b) y = Relu(g) }", kTile},  // whole tiles
      {"(float[37,45] x, float[70,45] z, float[37,1] b, float[37,70] r) => (y) { g = Gemm<transB = 1, beta = 2.0>(x, z, b) y = Mul(g, r) }", kTile},
      {"(float[2,45,3,40] x, float[2,70,3,40] z) => (y) { y = Einsum<equation = \"bqhd,bkhd->bhqk\">(x, z) }", kTile},
      {"(float[33,2051] x, float[2051,65] z) => (y) { m = MatMul(x, z) y = Neg(m) }", parts},
      {"(float[129,40] x, float[40,33] z) => (y) { y = MatMul(x, z) }", kTile},  // narrower than half of a tile
      {"(float[33,31] x, float[31,65] z) => (y) { y = MatMul(x, z) }", kPlain},  // shorter than a tile is deep, of three tiles
  };
  const Validation validation;
  for (const std::string of : {"[32, 8, 4, 4, 32]", "[16, 16, 4, 4, 32]", "[7, 3, 3, 5, 32]"}) {
    CAPTURE(of);
    const LimitsFile target("", with_tile(of));
    for (const Multiplied& m : all) equals_reference(target, m, m.ways == parts || &m == &all[0]);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("products of halves have a tile of their own, whose words in shared memory hold two, and sums stay 32 bits") {
  const Multiplied all[] = {{"(float[65,67] x, float[67,129] z) => (y) { y = MatMul(x, z) }", kTile},
                            {"(float[2,64,96] x, float[130,96] z) => (y) { t = Transpose<perm = [1, 0]>(z) y = MatMul(x, t) }", {2, 2}},
                            {"(float[70,33] x, float[140,70] z) => (y) { y = Gemm<transA = 1, transB = 1>(x, z) }", kTile}};
  const Validation validation;
  for (const std::string of : {"[32, 8, 8, 8, 16]", "[16, 8, 8, 4, 32]", "[9, 5, 2, 6, 8]", "[7, 3, 3, 5, 8]"})
    for (const Multiplied& m : all) {
      CAPTURE(of + m.text);
      const LimitsFile target("", with_tile("[16, 8, 2, 2, 4]", ", \"product_tile_f16\": " + of));
      const TextNet net = net_of(m);
      Halves halves;
      seam::MemorySink sink, only, watched;
      const std::vector<optima_option> options{seam::option("spirv.limits", target.path), seam::option("spirv.precision", "f16")};
      const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
      CHECK(ways_of(made(halves, net, sink, options)) == m.ways);
      CHECK(off(ran(halves, without_plain_ways(sink, only), in).at(0), wanted.at(0)) < kHalves);
      CHECK(off(ran(halves, made(halves, net, watched, {options[0], options[1], guarded()}), in).at(0), wanted.at(0)) < kHalves);
    }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("shared memory holds the next steps beside those that are multiplied where the target has room for both") {
  const Multiplied m{"(float[33,40] x, float[40,65] z) => (y) { y = MatMul(x, z) }", kTile};
  const TextNet net = net_of(m);
  Halves halves;
  const auto bytes = [&](const std::string& room, const std::vector<optima_option>& more) {
    const LimitsFile target("", ", \"product_tile\": [16, 8, 4, 4, 8], \"shared_bytes\": " + room);
    seam::MemorySink sink;
    std::vector<optima_option> options = more;
    options.push_back(seam::option("spirv.limits", target.path));
    made(halves, net, sink, options);
    const Tensors in = numbers_for(net.packed.raw, false);
    CHECK(off(ran(halves, sink, in).at(0), reference::run(net.packed.raw, in).at(0)) < (more.empty() ? kExact : kHalves));
    return shared_bytes(sink);
  };
  constexpr int64_t kOne = 8 * (32 + 4 + 64 + 4) * 4, kHalved = 8 * (16 + 4 + 32 + 4) * 4;  // steps, rows and columns with four more of each
  CHECK(bytes(std::to_string(2 * kOne), {}) == 2 * kOne);
  CHECK(bytes(std::to_string(2 * kOne - 4), {}) == kOne);
  CHECK(bytes(std::to_string(2 * kHalved), {seam::option("spirv.precision", "f16")}) == 2 * kHalved);
  CHECK(bytes(std::to_string(kHalved), {seam::option("spirv.precision", "f16")}) == kHalved);
}

TEST_CASE("convolutions through shared memory are the reference's for windows, strides, groups and images of any size") {
  const Multiplied all[] = {
      conv("1,24,9,7", "33,24,1,1", 792, "", 33),                                                                     // a product as it is
      conv("2,9,11,13", "34,9,3,3", 2754, "<pads = [1, 1, 1, 1]>", 34),                                               // tiles reach from image to image
      conv("1,8,16,8", "32,8,2,3", 1536, "<pads = [1, 0, 0, 2], dilations = [1, 1]>", 32),                            // whole tiles
      conv("1,12,17,9", "70,6,3,1", 1260, "<group = 2, strides = [2, 1], dilations = [2, 1], pads = [2, 1, 0, 1]>", 70),
      conv("3,16,21", "31,16,5", 2480, "<pads = [4, 0], strides = [1]>", 31),                                         // over one axis
      conv("1,16,12,12", "16,16,1,1", 256, "<strides = [2, 2]>", 16),
      conv("1,16,6,6", "16,16,1,1", 256, "<pads = [0, 1, 1, 0]>", 16),
      conv("1,3,7,5", "16,3,3,3", 432, "<pads = [1, 1, 1, 1]>", 16),                                                  // 27 steps of the sum
      {"(float[1,6,8,9] x, float[18,6,3,3] w, float[18] b, float[1,18,8,9] r) => (y) { c = Conv<pads = [1, 1, 1, 1]>(x, w, b) a = Add(c, r) y = Sigmoid(a) }", kTile},  // weights as the model has them
      {"(float[1,8,5,13] x, float[32,4,2,2] w) => (y) { y = Conv<group = 2>(x, w) }", kTile},
      conv("1,16,8,8", "16,1,3,3", 144, "<group = 16, pads = [1, 1, 1, 1]>", 16, kPlain),                             // a feature of each group
      conv("1,16,3,3", "32,16,1,1", 512, "", 32, kPlain),                                                             // nine pixels
  };
  const Validation validation;
  for (const std::string of : {"[16, 8, 4, 4, 8]", "[7, 3, 3, 5, 8]"}) {
    CAPTURE(of);
    const LimitsFile target("", with_tile(of));
    for (const Multiplied& m : all) equals_reference(target, m, &m == &all[1] || &m == &all[8]);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("convolutions have the tiles of each kind of card, also as halves") {
  const std::string limits = with_tile("");
  const Multiplied all[] = {conv("1,20,10,13", "66,20,3,3", 11880, "<pads = [1, 1, 1, 1]>", 66), conv("2,40,8,9", "63,40,1,1", 2520, "", 63)};
  const Validation validation;
  for (const std::string of : {"[32, 8, 4, 4, 16], \"product_tile_f16\": [32, 8, 8, 8, 16]", "[32, 8, 8, 4, 16], \"product_tile_f16\": [16, 8, 8, 8, 32]",
                               "[16, 16, 4, 4, 16], \"product_tile_f16\": [16, 8, 8, 4, 32]"}) {
    CAPTURE(of);
    const LimitsFile target("", with_tile(of));
    for (const Multiplied& m : all) equals_reference(target, m, true);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("an infinite number outside of a window stays outside of its sums through shared memory, and steps past the end add nothing") {
  const Multiplied m = conv("1,5,9,9", "17,5,3,3", 765, "<pads = [1, 1, 1, 1]>", 17);
  const LimitsFile target("", with_tile("[8, 4, 4, 4, 8]"));
  const TextNet net = net_of(m);
  Halves halves;
  seam::MemorySink sink, only;
  Tensors in = numbers_for(net.packed.raw, false);
  for (const int64_t at : {0, 404}) const_cast<float*>(static_cast<const float*>(in.at(0).data))[at] = at == 0 ? INFINITY : NAN;  // the first element and the last
  const reference::Tensor got = ran(halves, without_plain_ways(made(halves, net, sink, {seam::option("spirv.limits", target.path)}), only), in).at(0), wanted = reference::run(net.packed.raw, in).at(0);
  const std::vector<float> a = floats(got), b = floats(wanted);
  REQUIRE(a.size() == b.size());
  for (size_t k = 0; k < a.size(); ++k) CHECK_MESSAGE((std::isfinite(b[k]) ? std::fabs(a[k] - b[k]) < 1e-4F : std::isnan(a[k]) == std::isnan(b[k]) && std::isinf(a[k]) == std::isinf(b[k])), k);
}

TEST_CASE("convolutions of codes through shared memory are exact") {
  std::string codes;
  for (int k = 0; k < 17 * 9 * 9; ++k) codes += (k ? "," : "") + std::to_string(k * 37 % 256 - 128);
  const std::string scales = "float xs = {0.5}, float ws = {0.25}, float ys = {64}, int8 wz = {0}, uint8 yz = {100}, int8[17,9,3,3] w = {" + codes + "}";
  const std::string texts[] = {
      "(uint8[2,9,8,7] x) => (uint8[2,17,8,7] y) <uint8 xz = {7}, " + scales + "> { y = QLinearConv<pads = [1, 1, 1, 1]>(x, xs, xz, w, ws, wz, ys, yz) }",
      "(uint8[2,9,8,7] x) => (uint8[2,17,8,7] y) <uint8 xz = {7}, " + scales + "> { a = DequantizeLinear(x, xs, xz) f = DequantizeLinear(w, ws, wz) c = Conv<pads = [1, 1, 1, 1]>(a, f) y = QuantizeLinear(c, ys, yz) }",
      "(uint8[2,9,8,7] x, uint8 z) => (int32[2,17,8,7] y) <" + scales + "> { y = ConvInteger<pads = [1, 1, 1, 1]>(x, w, z) }",
  };
  const LimitsFile target("", with_tile("[8, 8, 4, 2, 16]"));
  const Validation validation;
  for (const std::string& text : texts) {
    CAPTURE(text.substr(text.rfind("{ ")));
    const TextNet net(("<ir_version: 10, opset_import: [\"\" : 21]> g ") + text);
    Halves halves;
    seam::MemorySink sink, only;
    CHECK(ways_of(made(halves, net, sink, {seam::option("spirv.limits", target.path)})) == kTile);
    Tensors in;
    const sdk::Graph graph(&net.packed.raw);
    for (uint32_t k = 0; k < graph.input_count(); ++k) {
      void* data = nullptr;
      in.push_back(reference::Tensor::make(graph.input(k).dtype(), graph.input(k).shape(), &data));
      for (int64_t i = 0; i < in.back().elements(); ++i) static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(i * 101 + 77);
    }
    CHECK(reference::load<double>(ran(halves, without_plain_ways(sink, only), in).at(0)) == reference::load<double>(reference::run(net.packed.raw, in).at(0)));
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("tiles in shared memory are made for GPUs on cards and not for those of phones or of no vendor, nor where they do not fit") {
  const Multiplied all[] = {{"(float[64,64] x, float[64,128] z) => (y) { y = MatMul(x, z) }", {}}, conv("1,16,12,12", "64,16,3,3", 9216, "<pads = [1, 1, 1, 1]>", 64)};
  for (const Multiplied& m : all) {
    const TextNet net = net_of(m);
    Halves halves;
    const auto ways = [&](const char* kind, const std::vector<optima_option>& options) {
      seam::MemorySink sink;
      seam::Status status;
      REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, options, seam::device(kind)) == OPTIMA_OK, status.message);
      return ways_of(sink).at(0);
    };
    for (const char* kind : {"NVIDIA", "AMDGPU", "INTELGPU"}) {
      CHECK_MESSAGE(ways(kind, {}) == 2, kind);
      CHECK_MESSAGE(ways(kind, {seam::option("spirv.precision", "f16")}) == 2, kind);
    }
    for (const char* kind : {"VULKAN", "MALI", "ADRENO"}) CHECK_MESSAGE(ways(kind, {}) == 1, kind);
    const LimitsFile few("", ", \"product_tile\": [16, 16, 4, 4, 32]"), small("", ", \"product_tile\": [16, 8, 4, 4, 64]"), fits("", ", \"product_tile\": [16, 8, 4, 4, 32]");
    CHECK(ways("VULKAN", {seam::option("spirv.limits", few.path)}) == 1);    // 256 invocations, of 128
    CHECK(ways("VULKAN", {seam::option("spirv.limits", small.path)}) == 1);  // 26 KiB, of 16
    CHECK(ways("VULKAN", {seam::option("spirv.limits", fits.path)}) == 2);
  }
}

#endif
