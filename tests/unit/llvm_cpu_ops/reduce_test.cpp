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

TEST_CASE("sums of many numbers of one sign lose a few roundings, not one with each number") {
  Bench bench;
  Net net;
  const int64_t many = 5003;
  const uint32_t rows = net.input({1, 3, many}), columns = net.input({2, many, 19}), image = net.input({1, 20, 83, 90});
  net.output(net.node("ReduceSumSquare", 18, {rows, net.integers({-1})}, {1, 3, 1}));
  net.output(net.node("ReduceSumSquare", 18, {columns, net.integers({1})}, {2, 1, 19}));
  net.output(net.node("ReduceL1", 18, {columns, net.integers({0, 1})}, {1, 1, 19}));
  net.output(net.node("ReduceL2", 18, {image, net.integers({2, 3})}, {1, 20, 1, 1}));
  net.output(net.node("GlobalAveragePool", 1, {net.same("Abs", 13, net.conv(image, 17, 1, 1, 0))}, {1, 17, 1, 1}));
  matches_reference(bench, net, 4e-7);
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
  const uint32_t wide = net.input({2, 9, 150}), whole = net.node("Cast", 13, {wide}, {2, 9, 150}, {Net::integer("to", OPTIMA_I64)}, OPTIMA_I64);
  for (const int64_t how : {0, 1, 2, 3}) {
    const std::vector<image::Attr> attrs{Net::integer("exclusive", how & 1), Net::integer("reverse", how >> 1)};
    for (const int64_t axis : {0, 1, 2}) net.output(net.node("CumSum", 14, {axis == 1 ? whole : wide, net.constant<int64_t>({}, {axis}, OPTIMA_I64)}, {2, 9, 150}, attrs, axis == 1 ? OPTIMA_I64 : OPTIMA_F32));
  }
  net.output(net.node("TopK", 11, {x, net.integers({4})}, {3, 4, 6}, {Net::integer("axis", 1)}));
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("NaN wins wherever the largest or smallest is looked for") {
  Bench bench;
  Net net;
  const Dims dims{2, 20, 6, 5};
  const uint32_t x = net.input(dims), doubles = net.node("Cast", 13, {x}, dims, {Net::integer("to", OPTIMA_F64)}, OPTIMA_F64);
  const Dims pooled{2, 20, 5, 4}, one{2, 20, 1, 1};
  net.output(net.node("MaxPool", 12, {x}, pooled, {Net::ints("kernel_shape", {2, 2})}));
  net.output(net.node("GlobalMaxPool", 1, {x}, one));
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    net.output(net.node(op, 20, {x, net.integers({2, 3})}, one));
    net.output(net.node(op, 20, {x, net.integers({1})}, {2, 1, 6, 5}));
    net.output(net.node("Cast", 13, {net.node(op, 20, {doubles, net.integers({3})}, {2, 20, 6, 1}, {}, OPTIMA_F64)}, {2, 20, 6, 1}, {Net::integer("to", OPTIMA_F32)}));
  }
  for (const char* op : {"ArgMax", "ArgMin"})
    for (const int64_t last : {0, 1}) {
      net.output(net.node(op, 13, {x}, {2, 1, 6, 5}, {Net::integer("axis", 1), Net::integer("select_last_index", last)}, OPTIMA_I64));
      net.output(net.node(op, 13, {doubles}, {2, 20, 6, 1}, {Net::integer("axis", 3), Net::integer("select_last_index", last)}, OPTIMA_I64));
    }
  for (const int64_t largest : {0, 1}) net.output(net.node("TopK", 11, {x, net.integers({4})}, {2, 4, 6, 5}, {Net::integer("axis", 1), Net::integer("largest", largest)}));
  const uint32_t zero = net.constant<float>({1}, {0}, OPTIMA_F32), top = net.constant<float>({}, {0.5f}, OPTIMA_F32);
  for (const char* op : {"Max", "Min"}) net.output(net.node(op, 13, {x, zero}, dims)), net.output(net.node(op, 13, {zero, x}, dims));
  net.output(net.same("Relu", 14, x));
  net.output(net.node("Clip", 13, {x, net.constant<float>({}, {-0.5f}, OPTIMA_F32), top}, dims));
  matches_reference(bench, net, 1e-6, {}, 7);
}

TEST_CASE("places of the largest and smallest: rows of vectors and what is left of them, many neighbours, ties, NaN, nothing but NaN") {
  Bench bench;
  for (const int64_t nan_step : {0, 7, 1}) {
    Net net;
    for (const Dims& dims : std::vector<Dims>{{9, 100}, {4, 16}, {4, 17}, {4, 3}, {1, 257}, {2, 5, 70}, {1, 20, 131}}) {
      const uint32_t x = net.same("Round", 11, net.node("Mul", 14, {net.input(dims), net.constant<float>({}, {3}, OPTIMA_F32)}, dims));
      Dims out = dims;
      out[1] = 1;
      for (const char* op : {"ArgMax", "ArgMin"})
        for (const int64_t last : {0, 1}) net.output(net.node(op, 13, {x}, out, {Net::integer("axis", 1), Net::integer("select_last_index", last)}, OPTIMA_I64));
    }
    matches_reference(bench, net, 0, {}, nan_step);
  }
}

TEST_CASE("max pooling tells where its elements stood, also of NaN") {
  for (const int64_t nan_step : {0, 5}) {
    Bench bench;
    Net net;
    const uint32_t x = net.input({2, 3, 5, 6});
    net.output(net.node("MaxPool", 12, {x}, {2, 3, 4, 4}, {Net::ints("kernel_shape", {2, 3})}));
    image::Node& pool = net.graph().nodes.back();
    image::Value where = net.graph().values.back();
    where.name = "where", where.dtype = OPTIMA_I64;
    net.graph().values.push_back(where);
    pool.outputs.push_back(static_cast<uint32_t>(net.graph().values.size() - 1));
    net.output(pool.outputs.back());
    matches_reference(bench, net, 1e-6, {}, nan_step);
  }
}

TEST_CASE("the mean of integers is that of their sum, however large") {
  Bench bench;
  Net net;
  const uint32_t x = net.constant<int32_t>({2, 3}, {2000000000, 2000000000, 1999999999, -2000000000, -2000000000, 7}, OPTIMA_I32);
  net.output(net.node("ReduceMean", 18, {x, net.integers({1})}, {2, 1}, {}, OPTIMA_I32));
  matches_reference(bench, net);
}
