// SPDX-License-Identifier: Apache-2.0
// What detectors and segmenters add to convolutions, through both halves of the plugin: regions of interest, deformable convolutions, blocks and maxima put back.
#include <limits>

#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN(), kFar = std::numeric_limits<float>::infinity();

/// Inside, over edges, outside, of one point, turned round, larger than the picture, and of no number.
const std::vector<float> kBoxes = {1, 2, 9, 7, -3, 4, 5, 30, -50, -50, -40, -40, 3, 3, 3, 3, 9, 7, 2, 1, -90, -90, 90, 90, 0, 0, 13, 11, 90, 90, 99, 99, kNone, 0, 5, 5, 0, 0, 5, kNone, 1, 1, kFar, 4};
constexpr int64_t kCount = 11;

uint32_t boxes_of(Net& net) { return net.constant<float>({kCount, 4}, kBoxes, OPTIMA_F32); }
uint32_t pictures_of(Net& net) { return net.integers({0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1}); }

uint32_t scaled(Net& net, const Dims& dims, float by) { return net.node("Mul", 14, {net.input(dims), net.constant<float>({}, {by}, OPTIMA_F32)}, dims); }

}  // namespace

TEST_CASE("regions of interest are means or largest shares of samples: few, many, and as many as a region has elements") {
  Bench bench;
  Net net;
  const uint32_t boxes = boxes_of(net), pictures = pictures_of(net), wide = net.input({2, 32, 11, 13}), uneven = net.input({2, 19, 11, 13});
  for (const char* mode : {"avg", "max"})
    for (const char* how : {"half_pixel", "output_half_pixel"})
      for (const int64_t samples : {0, 2, 9}) {
        const std::vector<image::Attr> attrs{Net::text("mode", mode), Net::text("coordinate_transformation_mode", how), Net::integer("sampling_ratio", samples), Net::integer("output_height", 3),
                                             Net::integer("output_width", 4), Net::real("spatial_scale", 0.5)};
        net.output(net.node("RoiAlign", 16, {samples == 2 ? wide : uneven, boxes, pictures}, {kCount, samples == 2 ? 32 : 19, 3, 4}, attrs));
      }
  net.output(net.node("RoiAlign", 10, {uneven, boxes, pictures}, {kCount, 19, 1, 1}));
  net.output(net.node("RoiAlign", 16, {net.conv(wide, 24, 3, 1, 1), boxes, pictures}, {kCount, 24, 2, 2}, {Net::integer("output_height", 2), Net::integer("output_width", 2)}));
  net.output(net.node("RoiAlign", 16, {wide, net.constant<float>({0, 4}, {}, OPTIMA_F32), net.constant<int64_t>({0}, {}, OPTIMA_I64)}, {0, 32, 1, 1}));
  matches_reference(bench, net);
}

TEST_CASE("regions are pooled to their largest elements, and 0 where they have none") {
  Bench bench;
  Net net;
  std::vector<float> regions;
  for (int64_t r = 0; r < kCount; ++r) {
    regions.push_back(static_cast<float>(r % 2) + (r % 3 == 0 ? 0.5f : 0));
    regions.insert(regions.end(), kBoxes.begin() + 4 * r, kBoxes.begin() + 4 * r + 4);
  }
  const uint32_t boxes = net.constant<float>({kCount, 5}, regions, OPTIMA_F32);
  for (const int64_t channels : {3, 16, 40}) {
    const uint32_t x = net.input({2, channels, 11, 13});
    net.output(net.node("MaxRoiPool", 1, {x, boxes}, {kCount, channels, 3, 2}, {Net::ints("pooled_shape", {3, 2})}));
    net.output(net.node("MaxRoiPool", 1, {x, boxes}, {kCount, channels, 7, 1}, {Net::ints("pooled_shape", {7, 1}), Net::real("spatial_scale", 0.25)}));
  }
  matches_reference(bench, net);
}

TEST_CASE("deformable convolutions read between elements, and zeros outside and where a place is no number") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 32, 7, 9}), w = net.weights({20, 32, 3, 3}, -0.2f, 0.2f), bias = net.weights({20});
  const auto pads = Net::ints("pads", {1, 1, 1, 1});
  for (const int64_t groups : {1, 2})
    for (const float far : {0.0f, 0.4f, 3.0f, 40.0f}) {
      const uint32_t offset = scaled(net, {2, 18 * groups, 7, 9}, far), mask = net.input({2, 9 * groups, 7, 9});
      net.output(net.node("DeformConv", 19, {x, w, offset, bias, mask}, {2, 20, 7, 9}, {pads, Net::integer("offset_group", groups)}));
      net.output(net.node("DeformConv", 22, {x, w, offset}, {2, 20, 7, 9}, {pads, Net::integer("offset_group", groups)}));
      net.output(net.node("DeformConv", 22, {x, w, offset, OPTIMA_NONE, mask}, {2, 20, 7, 9}, {pads, Net::integer("offset_group", groups)}));
    }
  std::vector<float> places = net.random(12 * 5 * 4, -2, 2);
  for (size_t i = 0; i < places.size(); i += 7) places[i] = i % 3 == 0 ? kNone : i % 3 == 1 ? kFar : -1e30f;
  const uint32_t odd = net.constant<float>({1, 12, 5, 4}, places, OPTIMA_F32);
  net.output(net.node("DeformConv", 19, {net.input({1, 16, 9, 7}), net.weights({5, 16, 2, 3}), odd}, {1, 5, 5, 4},
                      {Net::ints("strides", {2, 2}), Net::ints("dilations", {2, 1}), Net::ints("pads", {1, 2, 2, 1}), Net::ints("kernel_shape", {2, 3})}));
  net.output(net.node("DeformConv", 19, {net.input({3, 16, 30, 31}), net.weights({33, 16, 1, 1}), scaled(net, {3, 2, 30, 31}, 2)}, {3, 33, 30, 31}));
  matches_reference(bench, net);
  matches_reference(bench, net, 1e-5, {}, 501);
}

TEST_CASE("blocks are put back where a window took them from, on pictures and lines") {
  Bench bench;
  Net net;
  const auto put_back = [&](const Dims& image, const Dims& block, const Dims& strides, const Dims& dilations, const Dims& pads, const Dims& along) {
    Dims out{2, 3};
    out.insert(out.end(), image.begin(), image.end());
    const uint32_t x = net.input({2, 3 * count(block), count(along)});
    net.output(net.node("Col2Im", 18, {x, net.integers(image), net.integers(block)}, out, {Net::ints("strides", strides), Net::ints("dilations", dilations), Net::ints("pads", pads)}));
  };
  put_back({20, 37}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {20, 37});
  put_back({20, 37}, {3, 5}, {2, 2}, {2, 1}, {0, 1, 1, 2}, {9, 18});
  put_back({6, 8}, {2, 4}, {2, 4}, {1, 1}, {0, 0, 0, 0}, {3, 2});
  put_back({3, 2}, {2, 2}, {1, 1}, {1, 1}, {5, 4, 3, 6}, {10, 11});  // some places are all outside
  put_back({40}, {3}, {1}, {1}, {2, 1}, {41});
  put_back({50}, {16}, {5}, {1}, {3, 2}, {8});
  net.output(net.node("Col2Im", 18, {net.input({1, 8, 6}), net.integers({3, 4}), net.integers({2, 2})}, {1, 2, 3, 4}));
  matches_reference(bench, net);
}

TEST_CASE("maxima are put back at their indices, the last of those that have one") {
  Bench bench;
  Net net;
  const auto kernel = Net::ints("kernel_shape", {2, 2}), strides = Net::ints("strides", {2, 2});
  std::vector<int64_t> places(24);
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i * 37 % 96);
  places[5] = places[9] = places[20];
  const uint32_t x = net.input({1, 2, 3, 4}), indices = net.constant<int64_t>({1, 2, 3, 4}, places, OPTIMA_I64);
  net.output(net.node("MaxUnpool", 11, {x, indices}, {1, 2, 6, 8}, {kernel, strides}));
  net.output(net.node("MaxUnpool", 11, {x, indices, net.integers({1, 2, 6, 8})}, {1, 2, 6, 8}, {kernel, strides}));
  net.output(net.node("MaxUnpool", 9, {net.input({0, 2, 5}), net.constant<int64_t>({0, 2, 5}, {}, OPTIMA_I64)}, {0, 2, 15}, {Net::ints("kernel_shape", {3}), Net::ints("strides", {3})}));
  matches_reference(bench, net);
}
