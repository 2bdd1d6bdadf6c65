// SPDX-License-Identifier: Apache-2.0
// Softmax, normalizations and reductions through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("softmax over each axis") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 17, 20});
  for (const int64_t axis : {0, 1, 2, -1}) {
    net.output(net.same("Softmax", 13, x, {Net::integer("axis", axis)}));
    net.output(net.same("LogSoftmax", 13, x, {Net::integer("axis", axis)}));
  }
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("layer, RMS, instance, group, Lp and local response normalization") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 6, 5, 7});
  net.output(net.node("LayerNormalization", 17, {x, net.weights({7}), net.weights({7})}, {2, 6, 5, 7}));
  net.output(net.node("LayerNormalization", 17, {x, net.weights({5, 7})}, {2, 6, 5, 7}, {Net::integer("axis", 2)}));
  net.output(net.node("InstanceNormalization", 6, {x, net.weights({6}), net.weights({6})}, {2, 6, 5, 7}));
  net.output(net.node("GroupNormalization", 21, {x, net.weights({6}), net.weights({6})}, {2, 6, 5, 7}, {Net::integer("num_groups", 3)}));
  net.output(net.same("LpNormalization", 1, x, {Net::integer("axis", 1), Net::integer("p", 2)}));
  net.output(net.same("LpNormalization", 1, x, {Net::integer("p", 1)}));
  net.output(net.same("LRN", 13, x, {Net::integer("size", 3)}));
  matches_reference(bench, net, 5e-6);
}

TEST_CASE("planes, groups and rows of one element are normalized inside their tensors") {
  Bench bench;
  for (const Dims& dims : {Dims{2, 6, 1, 1}, Dims{1, 18, 1}, Dims{3, 1, 1, 1}, Dims{1, 5, 1, 1, 1}}) {
    CAPTURE(count(dims));
    Net net;
    const uint32_t x = net.input(dims);
    const Dims channels{dims[1]};
    net.output(net.node("InstanceNormalization", 6, {x, net.weights(channels), net.weights(channels)}, dims));
    for (const int64_t groups : {int64_t{1}, dims[1]})
      net.output(net.node("GroupNormalization", 21, {x, net.weights(channels), net.weights(channels)}, dims, {Net::integer("num_groups", groups)}));
    net.output(net.node("LayerNormalization", 17, {x, net.weights({1}), net.weights({1})}, dims));
    net.output(net.node("RMSNormalization", 23, {x, net.weights({1})}, dims));
    for (const char* op : {"Softmax", "LogSoftmax"}) net.output(net.same(op, 13, x, {Net::integer("axis", -1)}));
    net.output(net.same("LpNormalization", 1, x));
    net.output(net.same("LRN", 13, x, {Net::integer("size", 3)}));
    matches_reference(bench, net, 5e-6);
  }
}

TEST_CASE("a row with something that is no number has no powers, wherever it stands, and the rows beside it have theirs") {
  Bench bench;
  for (const int64_t step : {1009, 211, 70}) {  // rows of 5, 16, 67 and 300 elements, by rows and by columns
    CAPTURE(step);
    Net net;
    for (const Dims& dims : {Dims{40, 5}, Dims{30, 16}, Dims{20, 67}, Dims{9, 300}, Dims{3, 40, 21}}) {
      const uint32_t x = net.input(dims);
      for (const char* op : {"Softmax", "LogSoftmax"}) net.output(net.same(op, 13, x, {Net::integer("axis", 1)}));
    }
    matches_reference(bench, net, 1e-5, {}, step);
  }
}

TEST_CASE("the largest and smallest integers of rows of any length, of planes and of columns") {
  Bench bench;
  Net net;
  for (const int32_t type : {OPTIMA_I32, OPTIMA_I64})
    for (const int64_t length : {1, 2, 7, 8, 15, 16, 17, 33, 50}) {
      const uint32_t real = net.node("Mul", 14, {net.input({5, 3, length}), net.constant<float>({}, {1e6f}, OPTIMA_F32)}, {5, 3, length});
      const uint32_t x = net.node("Cast", 21, {real}, {5, 3, length}, {Net::integer("to", type)}, type);
      for (const char* op : {"ReduceMax", "ReduceMin"}) {
        net.output(net.node(op, 20, {x, net.integers({2})}, {5, 3}, {Net::integer("keepdims", 0)}, type));
        net.output(net.node(op, 20, {x, net.integers({1, 2})}, {5}, {Net::integer("keepdims", 0)}, type));
        net.output(net.node(op, 20, {x, net.integers({1})}, {5, length}, {Net::integer("keepdims", 0)}, type));
      }
    }
  matches_reference(bench, net);
}
