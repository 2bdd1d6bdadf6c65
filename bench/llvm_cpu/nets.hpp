// SPDX-License-Identifier: Apache-2.0
// bench/llvm_cpu: networks and layers to time, with random weights.
#pragma once

#include "tests/unit/llvm_cpu/session.hpp"

namespace llvm_cpu_bench {

using llvm_cpu_test::Dims;
using llvm_cpu_test::Net;

inline uint32_t conv_bn_relu(Net& n, uint32_t x, int64_t oc, int64_t k, int64_t s, int64_t pad, bool relu = true) {
  const uint32_t y = n.batch_norm(n.conv(x, oc, k, s, pad, 1, false));
  return relu ? n.same("Relu", 14, y) : y;
}

/// Ends with global average pooling and a fully connected layer.
inline void classify(Net& n, uint32_t x, int64_t channels) {
  const uint32_t g = n.node("GlobalAveragePool", 1, {x}, {1, channels, 1, 1});
  const uint32_t f = n.node("Flatten", 13, {g}, {1, channels}, {Net::integer("axis", 1)});
  n.output(n.node("Gemm", 13, {f, n.weights({1000, channels}), n.weights({1000})}, {1, 1000}, {Net::integer("transB", 1), Net::real("alpha", 1), Net::real("beta", 1)}));
}

inline uint32_t stem(Net& n) {
  const uint32_t x = conv_bn_relu(n, n.input({1, 3, 224, 224}), 64, 7, 2, 3);
  return n.node("MaxPool", 12, {x}, {1, 64, 56, 56}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2}), Net::ints("pads", {1, 1, 1, 1})});
}

inline void resnet18(Net& n) {
  uint32_t x = stem(n);
  for (const int64_t c : {64, 128, 256, 512})
    for (int b = 0; b < 2; ++b) {
      const int64_t s = c > 64 && b == 0 ? 2 : 1;
      const uint32_t y = conv_bn_relu(n, conv_bn_relu(n, x, c, 3, s, 1), c, 3, 1, 1, false);
      const uint32_t skip = s == 2 ? conv_bn_relu(n, x, c, 1, 2, 0, false) : x;
      x = n.same("Relu", 14, n.add(y, skip));
    }
  classify(n, x, 512);
}

inline void resnet50(Net& n) {
  uint32_t x = stem(n);
  const int depth[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int b = 0; b < depth[stage]; ++b) {
      const int64_t c = int64_t{64} << stage, s = stage > 0 && b == 0 ? 2 : 1;
      const uint32_t y = conv_bn_relu(n, conv_bn_relu(n, conv_bn_relu(n, x, c, 1, 1, 0), c, 3, s, 1), 4 * c, 1, 1, 0, false);
      const uint32_t skip = b == 0 ? conv_bn_relu(n, x, 4 * c, 1, s, 0, false) : x;
      x = n.same("Relu", 14, n.add(y, skip));
    }
  classify(n, x, 2048);
}

inline void mobilenet_v2(Net& n) {
  const auto relu6 = [&](uint32_t v) { return n.node("Clip", 13, {v, n.constant<float>({}, {0}, OPTIMA_F32), n.constant<float>({}, {6}, OPTIMA_F32)}, n.dims(v)); };
  const auto conv = [&](uint32_t v, int64_t oc, int64_t k, int64_t s, int64_t group) { return n.batch_norm(n.conv(v, oc, k, s, k / 2, group, false)); };
  uint32_t x = relu6(conv(n.input({1, 3, 224, 224}), 32, 3, 2, 1));
  const int64_t blocks[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const auto& [t, c, repeat, stride] : blocks)
    for (int64_t b = 0; b < repeat; ++b) {
      const int64_t in = n.dims(x)[1], hidden = in * t, s = b == 0 ? stride : 1;
      uint32_t y = t == 1 ? x : relu6(conv(x, hidden, 1, 1, 1));
      y = conv(relu6(conv(y, hidden, 3, s, hidden)), c, 1, 1, 1);
      x = s == 1 && in == c ? n.add(y, x) : y;
    }
  classify(n, relu6(conv(x, 1280, 1, 1, 1)), 1280);
}

inline void squeezenet(Net& n) {
  const auto conv = [&](uint32_t v, int64_t oc, int64_t k, int64_t s, int64_t pad) { return n.same("Relu", 14, n.conv(v, oc, k, s, pad)); };
  const auto pool = [&](uint32_t v) {
    const Dims d = n.dims(v);
    return n.node("MaxPool", 12, {v}, {1, d[1], (d[2] - 2) / 2 + 0, (d[3] - 2) / 2 + 0}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2})});
  };
  uint32_t x = pool(conv(n.input({1, 3, 224, 224}), 64, 3, 2, 0));
  const int64_t fires[][2] = {{16, 64}, {16, 64}, {0, 0}, {32, 128}, {32, 128}, {0, 0}, {48, 192}, {48, 192}, {64, 256}, {64, 256}};
  for (const auto& [squeeze, expand] : fires) {
    if (squeeze == 0) {
      x = pool(x);
      continue;
    }
    const uint32_t s = conv(x, squeeze, 1, 1, 0), a = conv(s, expand, 1, 1, 0), b = conv(s, expand, 3, 1, 1);
    const Dims d = n.dims(a);
    x = n.node("Concat", 13, {a, b}, {1, 2 * expand, d[2], d[3]}, {Net::integer("axis", 1)});
  }
  x = conv(x, 1000, 1, 1, 0);
  n.output(n.node("GlobalAveragePool", 1, {x}, {1, 1000, 1, 1}));
}

}  // namespace llvm_cpu_bench
