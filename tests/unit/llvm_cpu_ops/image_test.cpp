// SPDX-License-Identifier: Apache-2.0
// Resize, unusual pooling and recurrent layers through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("resize in every mode and coordinate rule") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 2, 5, 7}), none = net.constant<float>({0}, {}, OPTIMA_F32);
  const uint32_t sizes = net.integers({1, 2, 8, 5});
  for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"})
    for (const char* mode : {"nearest", "linear", "cubic"})
      net.output(net.node("Resize", 19, {x, none, none, sizes}, {1, 2, 8, 5}, {Net::text("mode", mode), Net::text("coordinate_transformation_mode", coordinates)}));
  for (const char* nearest : {"floor", "ceil", "round_prefer_ceil"})
    net.output(net.node("Resize", 19, {x, none, net.constant<float>({4}, {1, 1, 2, 2}, OPTIMA_F32)}, {1, 2, 10, 14},
                        {Net::text("coordinate_transformation_mode", "asymmetric"), Net::text("nearest_mode", nearest)}));
  net.output(net.node("Resize", 19, {x, none, net.constant<float>({4}, {1, 1, 1.5f, 2.3f}, OPTIMA_F32)}, {1, 2, 7, 16}, {Net::text("mode", "cubic"), Net::integer("exclude_outside", 1)}));
  matches_reference(bench, net, 4e-6);
}

TEST_CASE("resize keeps a blocked tensor blocked") {
  Bench bench;
  Net net;
  const uint32_t none = net.constant<float>({0}, {}, OPTIMA_F32);
  const uint32_t c = net.conv(net.input({1, 3, 6, 6}), 20, 3, 1, 1);
  const uint32_t big = net.node("Resize", 19, {c, none, none, net.integers({1, 20, 12, 12})}, {1, 20, 12, 12}, {Net::text("mode", "linear")});
  net.output(net.conv(big, 8, 3, 1, 1));
  matches_reference(bench, net);
}

TEST_CASE("pooling that the blocked kernels leave over") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 3, 9, 10});
  net.output(net.node("LpPool", 18, {x}, {2, 3, 4, 5}, {Net::ints("kernel_shape", {3, 2}), Net::ints("strides", {2, 2}), Net::integer("p", 2)}));
  net.output(net.node("AveragePool", 19, {x}, {2, 3, 5, 6}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2}), Net::ints("pads", {1, 1, 1, 1}),
                                                            Net::integer("ceil_mode", 1), Net::integer("count_include_pad", 1)}));
  net.output(net.node("GlobalLpPool", 2, {x}, {2, 3, 1, 1}, {Net::integer("p", 2)}));
  matches_reference(bench, net);
}

TEST_CASE("pools whose only window reaches over the end") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 20, 1, 5}), plain = net.input({1, 3, 2, 2});
  const std::vector<image::Attr> window{Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {3, 3})};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    net.output(net.node(op, 22, {plain}, {1, 3, 1, 1}, window));
    net.output(net.node(op, 22, {net.conv(x, 20, 1, 1, 0)}, {2, 20, 1, 3}, {Net::ints("kernel_shape", {2, 1}), Net::ints("strides", {2, 2})}));
  }
  matches_reference(bench, net);
}
