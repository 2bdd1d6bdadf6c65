// SPDX-License-Identifier: Apache-2.0
// Naive, but not absurd: the oracle must be usable on a real network.
#include <doctest/doctest.h>

#include <cstdio>
#include <ctime>

#include "tests/unit/reference/node.hpp"

using namespace optima::test;

namespace {

struct Layer {
  int64_t in, out, kernel, stride, size, times;
};
/// ResNet-18 at 224 x 224.
constexpr Layer kLayers[] = {{3, 64, 7, 2, 224, 1},    {64, 64, 3, 1, 56, 4},    {64, 128, 3, 2, 56, 1},  {128, 128, 3, 1, 28, 3}, {64, 128, 1, 2, 56, 1},  {128, 256, 3, 2, 28, 1},
                             {256, 256, 3, 1, 14, 3}, {128, 256, 1, 2, 28, 1}, {256, 512, 3, 2, 14, 1}, {512, 512, 3, 1, 7, 3},  {256, 512, 1, 2, 14, 1}};

Tensor pattern(Ints dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  std::vector<float> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  return f32(std::move(dims), x);
}

}  // namespace

TEST_CASE("the convolutions of ResNet-18 take seconds, not minutes") {
  double seconds = 0, macs = 0;
  for (const Layer& l : kLayers) {
    const Tensor x = pattern({1, l.in, l.size, l.size}), w = pattern({l.out, l.in, l.kernel, l.kernel});
    const int64_t pad = l.kernel / 2;
    const std::clock_t start = std::clock();  // processor time: other work on the machine does not count
    const Tensor y = OneNode("Conv", 11).list("pads", {pad, pad, pad, pad}).list("strides", {l.stride, l.stride})({x, w});
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    CHECK(y.dims == Ints{1, l.out, l.size / l.stride, l.size / l.stride});
    seconds += took * static_cast<double>(l.times);
    macs += static_cast<double>(y.elements() * l.in * l.kernel * l.kernel * l.times);
  }
  std::printf("convolutions of ResNet-18 on the reference: %.1f s for %.2f GMAC\n", seconds, macs / 1e9);
  CHECK(seconds < 120);
}
