// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: transposes through shared memory.
#include <doctest/doctest.h>

#ifdef SPIRV_PLUGIN

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

TEST_CASE("transposes through shared memory are the reference's for dims of any size, and elements by themselves where it does not pay") {
  const std::vector<size_t> tile{2}, plain{1};
  const Multiplied all[] = {
      {"(float[33,65] x) => (y) { y = Transpose(x) }", tile},
      {"(float[64,32] x) => (y) { y = Transpose(x) }", tile},                                        // whole tiles
      {"(float[3,31,2,17] x) => (y) { t = Transpose<perm = [0, 2, 3, 1]>(x) y = Neg(t) }", tile},    // two axes become one
      {"(float[17,3,37] x, float[37,1,1] r) => (y) { t = Transpose<perm = [2, 1, 0]>(x) y = Add(t, r) }", tile},
      {"(float[2,40,3,33] x) => (y) { y = Transpose<perm = [2, 3, 0, 1]>(x) }", tile},
      {"(float[2,5,19,23] x) => (y) { y = Transpose<perm = [3, 0, 2, 1]>(x) }", plain},              // the last has five
      {"(float[4,18,20] x) => (y) { y = Transpose<perm = [1, 0, 2]>(x) }", plain},                   // neighbours stay neighbours
      {"(float[2,7,19,1,23] x) => (y) { y = Transpose<perm = [4, 0, 3, 1, 2]>(x) }", tile},          // 133 and 23
      {"(int64[21,34] x) => (y) { y = Transpose(x) }", tile},
      {"(float[15,40] x) => (y) { y = Transpose(x) }", plain},
  };
  const LimitsFile card("", ", \"invocations\": 256, \"size\": [256, 256, 64], \"product_tile\": [16, 8, 4, 4, 16]"), few("", ", \"product_tile\": [16, 8, 4, 4, 16]");
  const Validation validation;
  for (const Multiplied& m : all) {
    CAPTURE(m.text);
    const TextNet net = net_of(m);
    Halves halves;
    seam::MemorySink sink, only, watched, watched_only, halved, plain_only;
    const optima_option limits = seam::option("spirv.limits", card.path);
    const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in);
    CHECK(ways_of(made(halves, net, sink, {limits})) == m.ways);
    CHECK(ways_of(made(halves, net, plain_only, {seam::option("spirv.limits", few.path)})) == plain);  // 128 invocations
    CHECK(off(ran(halves, sink, in).at(0), wanted.at(0)) == 0);
    if (m.ways == plain) continue;
    CHECK(off(ran(halves, without_plain_ways(sink, only), in).at(0), wanted.at(0)) == 0);
    CHECK(off(ran(halves, without_plain_ways(made(halves, net, watched, {limits, guarded()}), watched_only), in).at(0), wanted.at(0)) == 0);
    CHECK(off(ran(halves, made(halves, net, halved, {limits, seam::option("spirv.precision", "f16")}), in).at(0), wanted.at(0)) < kHalves);
  }
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());
}

#endif
