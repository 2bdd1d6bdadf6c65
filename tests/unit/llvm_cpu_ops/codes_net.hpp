// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_ops: nets with quantized values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/llvm_cpu/session.hpp"

namespace llvm_cpu_test {

/// What a test leaves to chance, the same for equal seeds.
struct Chance {
  std::mt19937 engine;
  explicit Chance(uint32_t seed) : engine(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return low + static_cast<int64_t>(engine() % static_cast<uint32_t>(high - low + 1)); }
  int64_t of(std::initializer_list<int64_t> all) { return all.begin()[(*this)(0, static_cast<int64_t>(all.size()) - 1)]; }
  bool once_in(int64_t n) { return (*this)(1, n) == 1; }
};

/// A scale with its zero point.
struct CodeSteps {
  int32_t dtype;
  float scale;
  int32_t zero;
};

/// A net with quantized values.
struct CodesNet : Net {
  explicit CodesNet(uint32_t seed) : Net(seed) {}
  uint32_t zero_point(const CodeSteps& s) {
    return s.dtype == OPTIMA_U8 ? constant<uint8_t>({}, {static_cast<uint8_t>(s.zero)}, OPTIMA_U8) : constant<int8_t>({}, {static_cast<int8_t>(s.zero)}, OPTIMA_I8);
  }
  uint32_t dequantize(uint32_t codes, const CodeSteps& s) { return node("DequantizeLinear", 21, {codes, constant<float>({}, {s.scale}, OPTIMA_F32), zero_point(s)}, dims(codes)); }
  uint32_t quantize(uint32_t x, const CodeSteps& s) {
    return node("QuantizeLinear", 21, {x, constant<float>({}, {s.scale}, OPTIMA_F32), zero_point(s)}, dims(x), {}, s.dtype);
  }
  /// Signed codes behind a DequantizeLinear with a scale per index of `axis`; `scales` gets them.
  uint32_t weights_of_codes(const Dims& d, int64_t axis, Chance& r, std::vector<float>& scales, bool extreme = false) {
    std::vector<int8_t> codes(static_cast<size_t>(llvm_cpu_test::count(d)));
    for (int8_t& c : codes) c = static_cast<int8_t>(extreme ? 127 : r(-127, 127));
    const int64_t channels = d[static_cast<size_t>(axis)];
    scales.clear();
    for (int64_t i = 0; i < channels; ++i) scales.push_back(0.001f * static_cast<float>(r(1, 30)));
    return node("DequantizeLinear", 21, {constant<int8_t>(d, codes, OPTIMA_I8), constant<float>({channels}, scales, OPTIMA_F32)}, d, {integer("axis", axis)});
  }
  /// A convolution of codes with kernel / 2 of padding, its Relu, and codes again. `x`: reals behind a DequantizeLinear.
  uint32_t coded_layer(uint32_t x, int64_t out, int64_t kernel, int64_t stride, int64_t group, Chance& r) {
    const Dims in = dims(x);
    std::vector<float> scales;
    const uint32_t weights = weights_of_codes({out, in[1] / group, kernel, kernel}, 0, r, scales);
    const auto size = [&](size_t d) { return (in[d] + kernel / 2 * 2 - kernel) / stride + 1; };
    const uint32_t y = node("Conv", 11, {x, weights, this->weights({out})}, {in[0], out, size(2), size(3)},
                            {ints("kernel_shape", {kernel, kernel}), ints("strides", {stride, stride}), ints("pads", Dims(4, kernel / 2)), integer("group", group)});
    return quantize(same("Relu", 14, y), {OPTIMA_U8, 0.05f, 0});
  }
  uint32_t bias_of_codes(const std::vector<float>& scales, float x_scale, Chance& r) {
    std::vector<int32_t> codes;
    std::vector<float> steps;
    for (const float s : scales) codes.push_back(static_cast<int32_t>(r(-20000, 20000))), steps.push_back(s * x_scale);
    const Dims d{static_cast<int64_t>(codes.size())};
    return node("DequantizeLinear", 21, {constant<int32_t>(d, codes, OPTIMA_I32), constant<float>(d, steps, OPTIMA_F32)}, d, {integer("axis", 0)});
  }
};

/// A processor to compile for, by the ways there are to multiply bytes, and whether this machine runs its code.
struct Processor {
  const char *cpu, *features;
  bool here;
  std::vector<optima_option> options() const {
    if (!*cpu) return {};
    return {seam::option("llvm_cpu.cpu", cpu), seam::option("llvm_cpu.features", features)};
  }
};
inline std::vector<Processor> processors() {
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return {{"", "", true},  // this one
          {"x86-64-v4", "", wide},
          {"x86-64-v4", "+avx512vnni", wide && __builtin_cpu_supports("avx512vnni") != 0},
          {"x86-64-v3", "", true},
          {"x86-64-v3", "+avxvnni", __builtin_cpu_supports("avxvnni") != 0}};
}

template <class F>
void on_all_processors(F f) {
  for (const Processor& p : processors()) {
    CAPTURE(p.cpu);
    CAPTURE(p.features);
    if (p.here) f(p.options());
    else MESSAGE("SKIP: this processor runs no code for " << std::string(p.cpu) + p.features);
  }
}

}  // namespace llvm_cpu_test
