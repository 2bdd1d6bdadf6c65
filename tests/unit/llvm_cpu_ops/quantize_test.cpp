// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("quantize and dequantize along an axis and as a whole") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 5, 9});
  const uint32_t scale = net.weights({5}, 0.01f, 0.05f), one = net.constant<float>({}, {0.02f}, OPTIMA_F32);
  const uint32_t zero = net.constant<int8_t>({5}, {1, -2, 3, 0, 5}, OPTIMA_I8), byte = net.constant<uint8_t>({}, {128}, OPTIMA_U8);
  const uint32_t q = net.node("QuantizeLinear", 21, {x, scale, zero}, {2, 5, 9}, {Net::integer("axis", 1)}, OPTIMA_I8);
  const uint32_t p = net.node("QuantizeLinear", 21, {x, one, byte}, {2, 5, 9}, {}, OPTIMA_U8);
  net.output(q), net.output(p);
  net.output(net.node("DequantizeLinear", 21, {q, scale, zero}, {2, 5, 9}, {Net::integer("axis", 1)}));
  net.output(net.node("DequantizeLinear", 21, {p, one, byte}, {2, 5, 9}));
  matches_reference(bench, net);
}
