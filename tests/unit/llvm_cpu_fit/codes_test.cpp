// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: models on codes of open sizes: kernels that samples wanted do sizes that no sample had.
#include <algorithm>

#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "plugins/llvm_cpu/fit/sampler.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

using namespace llvm_cpu_test;

namespace {

namespace cpu = optima::llvm_cpu;

class OpenCodes : public OpenNet {
 public:
  uint32_t quantized(uint32_t x, size_t rank) { return op("QuantizeLinear", 21, {x, step(0.05f), byte(3)}, rank, {}, OPTIMA_U8); }
  uint32_t coded(uint32_t x, size_t rank) { return op("DequantizeLinear", 21, {quantized(x, rank), step(0.05f), byte(3)}, rank); }
  uint32_t matrix(const Dims& dims) { return node("DequantizeLinear", 21, {codes(dims), step(0.01f)}, dims); }
  uint32_t layer(uint32_t x, int64_t ic, int64_t oc, int64_t k, int64_t s, int64_t group = 1) {
    return op("Conv", 11, {coded(x, 4), matrix({oc, ic / group, k, k}), weights({oc})}, 4,
              {ints("kernel_shape", {k, k}), ints("strides", {s, s}), ints("pads", Dims(4, k / 2)), integer("group", group)});
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

/// CPUs that multiply bytes in each of the ways that x86-64 has, and an Arm. Nothing is run.
std::vector<cpu::Target> targets() {
  using optima::llvm_cpu::Bf16;
  const std::string x86 = "x86_64-unknown-linux-gnu";
  return {{x86, "", "", 8, 16, Bf16::None, 1, k::Dot::Pairs, false, false},
          {x86, "", "", 16, 32, Bf16::None, 1, k::Dot::Vnni, false, false},
          {x86, "", "", 16, 32, Bf16::None, 1, k::Dot::Vnni, true, true},
          {"aarch64-unknown-linux-gnu", "", "", 4, 32, Bf16::None, 1, k::Dot::Signed, false, false}};
}

/// Kernels are made for the sizes that the sampler takes; at these no node may be left to the reference.
void kernels_for(Net& net, const std::vector<Shapes>& sizes) {
  const auto model = net.model();
  for (const cpu::Target& target : targets()) {
    const std::vector<cpu::KernelSpec> made = cpu::sample(model->raw, target, true).kernels;
    const cpu::Fitter fitter(model->raw, target, true, [&](const cpu::KernelSpec& spec) {
      return std::any_of(made.begin(), made.end(), [&](const cpu::KernelSpec& k) { return cpu::matches(k, spec); });
    });
    CAPTURE(target.triple + " " + std::to_string(target.vector_width) + (target.amx ? " amx" : ""));
    for (const Shapes& shapes : sizes) {
      CAPTURE(shapes[0].back());
      const auto leg = fitter.first(shapes);
      CHECK(cpu::names_of(model->raw, cpu::nodes_by_reference(leg->draft)) == "");
    }
  }
}

}  // namespace

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
