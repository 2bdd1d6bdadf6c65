// SPDX-License-Identifier: Apache-2.0
// Reductions and scans through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("reductions over every combination of axes") {
  Bench bench;
  const Dims dims{2, 3, 4, 18};
  Net net;
  const uint32_t x = net.input(dims);
  for (int mask = 1; mask < 16; ++mask) {
    Dims axes, out;
    for (int64_t d = 0; d < 4; ++d) {
      if (mask >> d & 1) axes.push_back(d);
      else out.push_back(dims[size_t(d)]);
    }
    net.output(net.node("ReduceSum", 13, {x, net.integers(axes)}, out, {Net::integer("keepdims", 0)}));
    if (mask % 3 == 0) net.output(net.node("ReduceMax", 20, {x, net.integers(axes)}, out, {Net::integer("keepdims", 0)}));
  }
  for (const char* op : {"ReduceMean", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"})
    net.output(net.node(op, 18, {x, net.integers({1, -1})}, {2, 1, 4, 1}));
  net.output(net.node("ReduceSum", 13, {x}, {1, 1, 1, 1}));
  net.output(net.node("ReduceSum", 13, {x}, dims, {Net::integer("noop_with_empty_axes", 1)}));
  matches_reference(bench, net, 4e-6);
}

TEST_CASE("pixels of blocked tensors are reduced where they lie") {
  Bench bench;
  Net net;
  const uint32_t c = net.same("Relu", 14, net.conv(net.input({2, 3, 6, 7}), 21, 1, 1, 0));
  net.output(net.node("ReduceMean", 18, {c, net.integers({2, 3})}, {2, 21, 1, 1}));
  net.output(net.node("ReduceMax", 20, {c, net.integers({-1, -2})}, {2, 21, 1, 1}));
  const uint32_t flat = net.node("ReduceMean", 18, {c, net.integers({2, 3})}, {2, 21}, {Net::integer("keepdims", 0)});
  net.output(flat);
  matches_reference(bench, net);
}

TEST_CASE("arg, top-k and cumulative sums") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 11, 6});
  net.output(net.node("ArgMax", 13, {x}, {3, 1, 6}, {Net::integer("axis", 1)}, OPTIMA_I64));
  net.output(net.node("ArgMin", 13, {x}, {3, 11}, {Net::integer("axis", 2), Net::integer("keepdims", 0)}, OPTIMA_I64));
  net.output(net.node("CumSum", 14, {x, net.constant<int64_t>({}, {1}, OPTIMA_I64)}, {3, 11, 6}));
  net.output(net.node("CumSum", 14, {x, net.constant<int64_t>({}, {-1}, OPTIMA_I64)}, {3, 11, 6}, {Net::integer("exclusive", 1), Net::integer("reverse", 1)}));
  net.output(net.node("TopK", 11, {x, net.integers({4})}, {3, 4, 6}, {Net::integer("axis", 1)}));
  matches_reference(bench, net, 2e-6);
}
