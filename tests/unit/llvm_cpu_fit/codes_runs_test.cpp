// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: quantized nets of open sizes, run: codes are those of the reference but for a step, and no step is the reference's.
#include <functional>

#include "tests/unit/llvm_cpu_fit/kernels_for.hpp"
#include "tests/unit/llvm_cpu_fit/open_codes.hpp"

using namespace llvm_cpu_test;

namespace {

constexpr Judge kOneStep{.steps = 1};

/// Batches and lengths by a seed, small ones more often, with ones among them.
std::vector<Shapes> random_rows(int64_t channels, uint32_t seed) {
  std::mt19937 random(seed);
  const auto size = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most)); };
  std::vector<Shapes> out{{{1, 1, channels}}};
  for (const int64_t most : {2, 4, 9, 20, 64, 200, 400}) out.push_back({{size(3), size(most), channels}});
  return out;
}
std::vector<Shapes> random_images(int64_t channels, uint32_t seed) {
  std::mt19937 random(seed);
  const auto size = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most)); };
  std::vector<Shapes> out;
  for (const int64_t most : {6, 12, 20, 40, 64, 90}) out.push_back({{size(2), channels, 2 + size(most), 2 + size(most)}});
  return out;
}

}  // namespace

TEST_CASE("activations on codes with quantized constants, between quantized layers") {
  using Made = std::function<uint32_t(OpenCodes&, uint32_t)>;
  const auto two = [](const char* op, OpenCodes& n, uint32_t a, uint32_t b) { return n.coded(n.op(op, 14, {a, b}, 3), 3); };
  const auto erf = [two](OpenCodes& n, uint32_t x) {
    const uint32_t scaled = two("Div", n, x, n.number(1.4f));
    return two("Add", n, n.coded(n.op("Erf", 13, {scaled}, 3), 3), n.number(1));
  };
  const std::pair<const char*, Made> all[] = {
      {"x * (x + 1)", [two](OpenCodes& n, uint32_t x) { return two("Mul", n, x, two("Add", n, x, n.number(1))); }},
      {"erf(x / 1.4) + 1", erf},
      {"gelu", [two, erf](OpenCodes& n, uint32_t x) { return two("Mul", n, two("Mul", n, x, erf(n, x)), n.number(0.5f)); }},
      {"x times channels", [two](OpenCodes& n, uint32_t x) { return two("Mul", n, x, n.matrix({32}, 0.01f)); }},
      {"x * sigmoid(x)", [two](OpenCodes& n, uint32_t x) { return two("Mul", n, x, n.coded(n.op("Sigmoid", 13, {x}, 3), 3)); }}};
  uint32_t seed = 1;
  for (const auto& [name, made] : all) {
    CAPTURE(name);
    Bench bench;
    OpenCodes net;
    const uint32_t x = net.coded(net.linear(net.input({-1, -1, 48}), 3, 48, 32), 3);
    net.output(net.quantized(net.linear(made(net, x), 3, 32, 24), 3));
    right_at(bench, net, random_rows(48, seed++), kOneStep);
    kernels_for(net, random_rows(48, seed));
  }
}

TEST_CASE("a sum of codes and a number of codes is a table") {
  Bench bench;
  OpenCodes net;
  const uint32_t x = net.decoded(net.input({-1, -1, 32}, OPTIMA_U8), 3);
  net.output(net.quantized(net.op("Add", 14, {x, net.number(1)}, 3), 3));
  CHECK(has_kernel(*compile(bench, net), "table"));
}

TEST_CASE("convolutions on codes whose weights are few, their result as it is and with channels last") {
  struct Shape {
    int64_t ic, oc, k, stride, group;
  };
  uint32_t seed = 30;
  for (const Shape& s : {Shape{32, 32, 1, 1, 1}, Shape{3, 16, 3, 1, 1}, Shape{3, 20, 3, 2, 1}, Shape{16, 16, 3, 1, 16}, Shape{4, 10, 2, 2, 1}})
    for (const bool channels_last : {false, true}) {
      CAPTURE(s.ic);
      CAPTURE(channels_last);
      Bench bench;
      OpenCodes net;
      uint32_t v = net.coded(net.layer(net.input({-1, s.ic, -1, -1}), s.ic, s.oc, s.k, s.stride, s.group), 4);
      if (channels_last) v = net.op("Transpose", 21, {v}, 4, {Net::ints("perm", {0, 2, 3, 1})});
      net.output(net.quantized(v, 4));
      right_at(bench, net, random_images(s.ic, seed++), kOneStep);
      CHECK_MESSAGE(has_kernel(*compile(bench, net), "codes_"), "it is computed in floats");
      kernels_for(net, random_images(s.ic, seed));
    }
}

TEST_CASE("codes of a float convolution, moved in every way, at open sizes") {
  const std::pair<const char*, std::vector<image::Attr>> moves[] = {{"Transpose", {Net::ints("perm", {0, 2, 3, 1})}}, {"Transpose", {Net::ints("perm", {0, 1, 3, 2})}},
                                                                    {"Transpose", {Net::ints("perm", {0, 3, 1, 2})}}, {"Flatten", {}},
                                                                    {"MaxPool", {Net::ints("kernel_shape", {1, 1})}}};
  for (const auto& [op, attrs] : moves)
    for (const int64_t channels : {32, 20}) {
      CAPTURE(op);
      Bench bench;
      OpenCodes net;
      const size_t rank = std::string(op) == "Flatten" ? 2 : 4;
      const uint32_t v = net.coded(net.conv2d(net.input({-1, 8, -1, -1}), 8, channels, 3, 1), 4);
      net.output(net.quantized(net.op(op, 21, {v}, rank, attrs), rank));
      right_at(bench, net, random_images(8, 50), kOneStep);
    }
}

TEST_CASE("batches of one pixel, of codes that a Transpose only renames") {
  Bench bench;
  OpenCodes net;
  const uint32_t v = net.coded(net.layer(net.input({-1, 8, -1, -1}), 8, 24, 3, 2), 4);
  net.output(net.quantized(net.op("Transpose", 21, {v}, 4, {Net::ints("perm", {0, 2, 3, 1})}), 4));
  const std::vector<Shapes> sizes{{{4, 8, 1, 1}}, {{2, 8, 2, 2}}, {{1, 8, 1, 1}}, {{5, 8, 2, 1}}};
  right_at(bench, net, sizes, kOneStep);
  kernels_for(net, sizes);
}

TEST_CASE("normalisations with equal numbers have kernels: that they are equal is chance") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 24, -1});
  const auto fresh = [&](uint32_t v) {  // as before training
    const std::vector<float> ones(24, 1), zeros(24, 0);
    const auto numbers = [&](const std::vector<float>& all) { return net.constant<float>({24}, all, OPTIMA_F32); };
    return net.op("BatchNormalization", 15, {v, numbers(ones), numbers(zeros), numbers(zeros), numbers(ones)}, 3, {Net::real("epsilon", 1e-5)});
  };
  net.output(net.op("Tanh", 13, {fresh(net.op("Exp", 13, {fresh(x)}, 3))}, 3));
  right_at(bench, net, {{{1, 24, 9}}, {{2, 24, 4}}, {{3, 24, 33}}});
  kernels_for(net, {{{1, 24, 9}}, {{2, 24, 4}}, {{3, 24, 33}}});
}
