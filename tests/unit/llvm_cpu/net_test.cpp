// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: whole nets through both halves of the plugin against the reference.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("a digit net of conv, relu, pool and gemm gives the reference's answer") {
  Bench bench;
  Net net;
  uint32_t x = net.input({1, 1, 28, 28});
  x = net.same("Relu", 14, net.conv(x, 8, 5, 1, 2));
  x = net.node("MaxPool", 12, {x}, {1, 8, 14, 14}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})});
  x = net.same("Relu", 14, net.conv(x, 16, 5, 1, 2));
  x = net.node("MaxPool", 12, {x}, {1, 16, 4, 4}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {3, 3})});
  x = net.node("Flatten", 13, {x}, {1, 256}, {Net::integer("axis", 1)});
  x = net.node("Gemm", 13, {x, net.weights({256, 10}), net.weights({10})}, {1, 10});
  net.output(x);
  matches_reference(bench, net);
}
