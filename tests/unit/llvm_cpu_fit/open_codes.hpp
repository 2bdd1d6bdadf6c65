// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: quantized nets of open sizes.
#pragma once

#include "tests/unit/llvm_cpu_fit/open_net.hpp"

namespace llvm_cpu_test {

class OpenCodes : public OpenNet {
 public:
  using OpenNet::OpenNet;
  uint32_t quantized(uint32_t x, size_t rank) { return op("QuantizeLinear", 21, {x, step(0.05f), byte(3)}, rank, {}, OPTIMA_U8); }
  uint32_t decoded(uint32_t q, size_t rank) { return op("DequantizeLinear", 21, {q, step(0.05f), byte(3)}, rank); }
  uint32_t coded(uint32_t x, size_t rank) { return decoded(quantized(x, rank), rank); }
  /// Weights, `scale` from code to code.
  uint32_t matrix(const Dims& dims, float scale = 0.01f) { return node("DequantizeLinear", 21, {codes(dims), step(scale)}, dims); }
  /// A single number on codes, as quantizers leave the constants of activations that are written out.
  uint32_t number(float v) { return node("DequantizeLinear", 21, {byte(255), step(v / 255), byte(0)}, {}); }
  uint32_t layer(uint32_t x, int64_t ic, int64_t oc, int64_t k, int64_t s, int64_t group = 1) {
    return op("Conv", 11, {coded(x, 4), matrix({oc, ic / group, k, k}), weights({oc})}, 4,
              {ints("kernel_shape", {k, k}), ints("strides", {s, s}), ints("pads", Dims(4, k / 2)), integer("group", group)});
  }
  /// A product with K x N, its bias by itself as quantizers have it; not quantized again.
  uint32_t linear(uint32_t x, size_t rank, int64_t K, int64_t N) {
    const uint32_t product = op("MatMul", 13, {coded(x, rank), matrix({K, N}, 0.002f)}, rank);
    return op("Add", 14, {coded(product, rank), matrix({N}, 0.004f)}, rank);
  }
  /// What dynamic quantization makes of a product with K x N.
  uint32_t dynamic_product(uint32_t x, int64_t K, int64_t N) {
    const auto made = nodes("DynamicQuantizeLinear", 11, {x}, {{Dims(3, -1), OPTIMA_U8}, {{}, OPTIMA_F32}, {{}, OPTIMA_U8}});
    const uint32_t sums = op("MatMulInteger", 10, {made[0], codes({K, N}), made[2], constant<int8_t>({}, {0}, OPTIMA_I8)}, 3, {}, OPTIMA_I32);
    const uint32_t scale = node("Mul", 14, {made[1], step(0.01f)}, {});
    return op("Mul", 14, {op("Cast", 13, {sums}, 3, {integer("to", OPTIMA_F32)}), scale}, 3);
  }

 private:
  uint32_t step(float scale) { return constant<float>({}, {scale}, OPTIMA_F32); }
  uint32_t byte(uint8_t v) { return constant<uint8_t>({}, {v}, OPTIMA_U8); }
  uint32_t codes(const Dims& dims) {
    std::vector<int8_t> all(static_cast<size_t>(count(dims)));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int8_t>(static_cast<int64_t>(i * 37 % 251) - 125);
    return constant<int8_t>(dims, all, OPTIMA_I8);
  }
};

}  // namespace llvm_cpu_test
