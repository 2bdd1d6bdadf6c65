// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: models on codes of open sizes: kernels that samples wanted do sizes that no sample had.
#include "tests/unit/llvm_cpu_fit/kernels_for.hpp"
#include "tests/unit/llvm_cpu_fit/open_codes.hpp"

using namespace llvm_cpu_test;

TEST_CASE("an image net on codes has kernels at every batch, height and width") {
  OpenCodes net;
  const uint32_t x = net.input({-1, 3, -1, -1});
  uint32_t v = net.op("Relu", 14, {net.layer(x, 3, 24, 3, 2)}, 4);
  v = net.op("MaxPool", 12, {net.coded(v, 4)}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("pads", {1, 1, 1, 1}), Net::ints("strides", {2, 2})});
  const uint32_t skip = net.layer(v, 24, 40, 1, 2);
  v = net.layer(net.op("Relu", 14, {net.layer(v, 24, 40, 3, 2)}, 4), 40, 40, 3, 1);
  v = net.op("Relu", 14, {net.op("Add", 14, {net.coded(v, 4), net.coded(skip, 4)}, 4)}, 4);
  v = net.layer(net.layer(v, 40, 40, 5, 1, 40), 40, 24, 3, 1, 2);
  v = net.op("GlobalAveragePool", 1, {net.coded(v, 4)}, 4);
  net.output(net.quantized(v, 4));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 1, 1}, {8, 17, 19}, {2, 5, 7}, {3, 1, 90}, {1, 41, 11}, {5, 224, 224}, {64, 2, 2}, {1, 6, 1}}) sizes.push_back({{d[0], 3, d[1], d[2]}});
  kernels_for(net, sizes);
}

TEST_CASE("attention on codes and dynamic products have kernels at every sequence and batch") {
  OpenCodes net;
  const uint32_t x = net.input({-1, -1, 64});
  const auto heads = [&](std::vector<int64_t> perm) {
    const uint32_t p = net.op("MatMul", 13, {net.coded(x, 3), net.matrix({64, 64})}, 3);
    const uint32_t split = net.op("Reshape", 21, {p, net.joined({net.size(x, 0), net.size(x, 1), net.integers({2, 32})})}, 4);
    return net.coded(net.op("Transpose", 21, {split}, 4, {Net::ints("perm", std::move(perm))}), 4);
  };
  const uint32_t q = heads({0, 2, 1, 3}), k = heads({0, 2, 3, 1}), u = heads({0, 2, 1, 3});
  const uint32_t s = net.op("Softmax", 13, {net.op("MatMul", 13, {q, k}, 4)}, 4, {Net::integer("axis", -1)});
  const uint32_t back = net.op("Transpose", 21, {net.op("MatMul", 13, {net.coded(s, 4), u}, 4)}, 4, {Net::ints("perm", {0, 2, 1, 3})});
  const uint32_t flat = net.op("Reshape", 21, {back, net.integers({0, 0, -1})}, 3);
  net.output(net.dynamic_product(flat, 64, 50));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 1}, {7, 1}, {3, 2}, {1, 3}, {1, 4}, {6, 11}, {2, 63}, {1, 65}, {1, 384}, {16, 40}}) sizes.push_back({{d[0], d[1], 64}});
  kernels_for(net, sizes);
}
