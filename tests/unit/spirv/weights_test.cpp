// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: the file of weights.
#include <doctest/doctest.h>

#ifdef SPIRV_PLUGIN

#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

TEST_CASE("equal constants lie in the file of weights once, and others beside them") {
  const std::string one = numbers(300), other = "7" + numbers(300).substr(numbers(300).find(','));
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g (float[1,300] x) => (a, b, c, d) <float[300] p = {" + one + "}, float[300] q = {" + one + "}, float[1,300] r = {" + other + "}, float[1,300] s = {" + one +
                    "}> { a = Add(x, p) b = Mul(x, q) c = Sub(x, r) d = Max(x, s) }");
  Halves halves;
  seam::MemorySink sink;
  const Tensors in = numbers_for(net.packed.raw, false), wanted = reference::run(net.packed.raw, in), got = ran(halves, made(halves, net, sink, {}), in);
  constexpr size_t kRoom = 1280;  // 300 floats, up to the next multiple of 256
  CHECK(sink.files.at("subgraph_0.weights").size() == 2 * kRoom);
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(off(got.at(k), wanted[k]) < 1e-6);
}

#endif
