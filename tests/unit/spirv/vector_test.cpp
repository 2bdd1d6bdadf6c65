// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: tiles of registers for GPUs of phones.
#include <doctest/doctest.h>

#ifdef SPIRV_PLUGIN

#include <span>

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

TEST_CASE("products in vectors of four are the reference's, whatever the order in which operands lie") {
  const Multiplied all[] = {
      {"(float[7,8] x, float[8,12] z) => (y) { y = MatMul(x, z) }", {1}},                       // both sides by fours
      {"(float[33,67] x, float[67,37] z) => (y) { y = MatMul(x, z) }", {1}},                    // neither
      {"(float[2,3,17,16] x, float[3,16,41] z) => (y) { y = MatMul(x, z) }", {1}},              // the left alone
      {"(float[13,10] x, float[10,132] z, float[132] b) => (y) { g = Gemm<alpha = 0.5>(x, z, b) y = Relu(g) }", {1}},  // the right alone
      {"(float[24,14] x, float[20,24] z) => (y) { y = Gemm<transA = 1, transB = 1>(x, z) }", {1}},
      {"(float[12,3,4,24] x, float[12,3,24,4] z) => (y) { y = MatMul(x, z) }", {1}},            // four columns
      {"(float[5,12] x, float[12,3] z) => (y) { y = MatMul(x, z) }", {1}},                      // three: no vector
      {"(float[3,2053] x, float[2053,36] z) => (y) { y = MatMul(x, z) }", {1, 1}},              // parts, of which the last is shorter
      {"(float[3,2048] x, float[2048,36] z) => (y) { y = MatMul(x, z) }", {1, 1}},
      {"(float[2,45,3,40] x, float[2,70,3,40] z) => (y) { y = Einsum<equation = \"bqhd,bkhd->bhqk\">(x, z) }", {1}},
  };
  struct Target {
    std::string tiles;
    size_t forms;  ///< of them, the first; those of many sums take the driver long
  };
  const Validation validation;
  for (const Target& of : {Target{"[8, 2, 6, 4, 4], \"register_tile_f16\": [8, 2, 2, 8, 8]", std::size(all)}, Target{"[32, 2, 16, 4, 4], \"register_tile_f16\": [32, 2, 16, 8, 8]", 2}, Target{"[3, 5, 3, 12, 8]", 5}}) {
    const LimitsFile target("", ", \"register_tile\": " + of.tiles);
    for (const Multiplied& m : std::span(all, of.forms)) {
      CAPTURE(of.tiles + m.text);
      const TextNet net = net_of(m);
      Halves halves;
      seam::MemorySink sink, watched, halved;
      const optima_option limits = seam::option("spirv.limits", target.path);
      const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
      CHECK(ways_of(made(halves, net, sink, {limits})) == m.ways);
      CHECK(off(ran(halves, sink, in).at(0), wanted.at(0)) < kExact);
      CHECK(off(ran(halves, made(halves, net, halved, {limits, seam::option("spirv.precision", "f16")}), in).at(0), wanted.at(0)) < kHalves);
      if (of.forms == std::size(all)) CHECK(off(ran(halves, made(halves, net, watched, {limits, guarded()}), in).at(0), wanted.at(0)) < kExact);
    }
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

TEST_CASE("phones have tiles of their own for products and convolutions, also as halves") {
  const TextNet product = net_of({"(float[96,64] x, float[64,256] z) => (y) { y = MatMul(x, z) }", {}});
  const TextNet conv = net_of({"(float[1,16,24,24] x) => (y) <float[64,16,3,3] w = {" + numbers(9216) + "}> { y = Conv<pads = [1, 1, 1, 1]>(x, w) }", {}});
  Halves halves;
  const auto made_for = [&](const TextNet& net, const char* kind, bool halved, seam::MemorySink& sink) -> const seam::MemorySink& {
    seam::Status status;
    std::vector<optima_option> options{seam::option("spirv.precision", halved ? "f16" : "f32")};
    optima_option off = seam::option("spirv.winograd", "");
    off.type = OPTIMA_OPTION_I64, off.i64 = 0;
    options.push_back(off);
    REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, options, seam::device(kind)) == OPTIMA_OK, status.message);
    return sink;
  };
  struct Wanted {
    const char* kind;
    bool halved;
    const char *local, *groups, *conv_groups;
  };
  const Wanted all[] = {
      {"VULKAN", false, "[16,4,1]", "[4,3,1]", "[5,8,1]"},  // 8 features of 8 pixels
      {"MALI", false, "[8,2,1]", "[8,8,1]", "[3,16,1]"},    // 4 of 6
      {"MALI", true, "[8,2,1]", "[4,24,1]", "[5,16,1]"},    // 4 of 4
      {"ADRENO", false, "[32,2,1]", "[2,3,1]", "[5,8,1]"},  // 8 of 8
      {"ADRENO", true, "[32,2,1]", "[1,3,1]", "[5,8,1]"},
  };
  for (const Wanted& w : all) {
    CAPTURE(std::string(w.kind));
    CAPTURE(w.halved);
    seam::MemorySink sink, other;
    CHECK(local_of(made_for(product, w.kind, w.halved, sink)) == w.local);
    CHECK(groups_of(sink) == w.groups);
    CHECK(groups_of(made_for(conv, w.kind, w.halved, other)) == w.conv_groups);
  }
}

TEST_CASE("convolutions keep as many sums as the target's registers hold, and transforms that want more are not made") {
  const LimitsFile mali("", ", \"register_tile\": [8, 2, 6, 4, 4], \"gflops\": 1, \"gbytes\": 1000000, \"launch_us\": 0.001"), few("", ", \"register_tile\": [8, 2, 1, 4, 4]");
  const TextNet net = net_of({"(float[1,17,28,27] x) => (y) <float[19,17,3,3] w = {" + numbers(2907) + "}> { y = Conv<pads = [1, 1, 1, 1]>(x, w) }", {}});
  Halves halves;
  const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
  seam::MemorySink transformed, plain;
  CHECK(ways_of(made(halves, net, transformed, {seam::option("spirv.limits", mali.path)})).size() == 3);
  CHECK(transformed.files.at("subgraph_0.meta").find("/winograd2") != std::string::npos);
  CHECK(ways_of(made(halves, net, plain, {seam::option("spirv.limits", few.path)})).size() == 1);
  CHECK(off(ran(halves, transformed, in).at(0), wanted.at(0)) < kExact);
  CHECK(off(ran(halves, plain, in).at(0), wanted.at(0)) < kExact);
}

TEST_CASE("files of limits say what is wrong with a tile of registers") {
  const TextNet net = net_of({"(float[9,8] x, float[8,12] z) => (y) { y = MatMul(x, z) }", {}});
  Halves halves;
  const auto error = [&](const std::string& tile) {
    const LimitsFile target("", ", \"register_tile\": " + tile);
    seam::MemorySink sink;
    seam::Status status;
    CHECK(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", target.path)}) == OPTIMA_INVALID_ARGUMENT);
    return status.message;
  };
  CHECK(error("[8, 2, 6, 3, 4]").find("has 'register_tile' with 3 columns and 4 steps, wanted multiples of 4, at most 16") != std::string::npos);
  CHECK(error("[8, 2, 6, 4, 20]").find("with 4 columns and 20 steps") != std::string::npos);
  const LimitsFile many("", ", \"register_tile\": [32, 8, 4, 4, 4]");  // 256 invocations, of 128
  seam::MemorySink sink;
  CHECK(local_of(made(halves, net, sink, {seam::option("spirv.limits", many.path)})) == "[16,4,1]");
}

#endif
