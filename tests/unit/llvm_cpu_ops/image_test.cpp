// SPDX-License-Identifier: Apache-2.0
// Resize, unusual pooling and recurrent layers through both halves of the plugin.
#include <limits>

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

TEST_CASE("nearest pixels of codes that no QuantizeLinear stands behind, as QLinearConv makes them") {
  Bench bench;
  Net net;
  const uint32_t none = net.constant<float>({0}, {}, OPTIMA_F32), twice = net.constant<float>({4}, {1, 1, 2, 2}, OPTIMA_F32);
  for (const int32_t type : {OPTIMA_U8, OPTIMA_I8})
    for (const int64_t channels : {3, 20}) {
      const uint32_t x = net.input({2, channels, 5, 7}, type);
      net.output(net.node("Resize", 19, {x, none, twice}, {2, channels, 10, 14}, {Net::text("coordinate_transformation_mode", "asymmetric"), Net::text("nearest_mode", "floor")}, type));
      net.output(net.node("Resize", 19, {x, none, none, net.integers({2, channels, 3, 11})}, {2, channels, 3, 11}, {}, type));
      net.output(net.node("Resize", 13, {net.input({2, channels, 9}, type), none, none, net.integers({2, channels, 4})}, {2, channels, 4}, {}, type));
    }
  matches_reference(bench, net);
  for (const char* mode : {"nearest", "linear"}) {
    Net one;
    one.output(one.node("Resize", 19, {one.input({1, 3, 5, 7}, OPTIMA_U8), OPTIMA_NONE, one.constant<float>({4}, {1, 1, 2, 2}, OPTIMA_F32)}, {1, 3, 10, 14}, {Net::text("mode", mode)}, OPTIMA_U8));
    const auto c = compile(bench, one);
    CHECK((c->code == OPTIMA_OK && has_kernel(*c, "pick_pixels")) == (std::string_view(mode) == "nearest"));
  }
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

TEST_CASE("points of a grid are nearest elements and shares of four, inside of a picture and outside, where a place is no number, and on edges") {
  Bench bench;
  Net net;
  const float none = std::numeric_limits<float>::quiet_NaN(), far = std::numeric_limits<float>::infinity();
  const uint32_t x = net.input({2, 3, 5, 7}), one = net.input({1, 20, 1, 1});
  const uint32_t around = net.node("Mul", 14, {net.input({2, 9, 15, 2}), net.constant<float>({}, {3}, OPTIMA_F32)}, {2, 9, 15, 2});
  const uint32_t inside = net.node("Mul", 14, {net.input({2, 8, 8, 2}), net.constant<float>({}, {0.4f}, OPTIMA_F32)}, {2, 8, 8, 2});
  const uint32_t edges = net.constant<float>({1, 3, 4, 2}, {-1, -1, 1, 1, 0, 0, -1, 1, none, 0, 0, none, far, -far, -2, 2, 1e30f, 0.25f, -7.5f, 3, 0.5f, -0.5f, 1.0001f, -1.0001f}, OPTIMA_F32);
  for (const int version : {16, 20})
    for (const char* mode : {version == 16 ? "bilinear" : "linear", "nearest"})
      for (const char* padding : {"zeros", "border", "reflection"})
        for (const int corners : {0, 1}) {
          const std::vector<image::Attr> how{Net::text("mode", mode), Net::text("padding_mode", padding), Net::integer("align_corners", corners)};
          net.output(net.node("GridSample", version, {x, around}, {2, 3, 9, 15}, how));
          net.output(net.node("GridSample", version, {x, inside}, {2, 3, 8, 8}, how));
          net.output(net.node("GridSample", version, {one, edges}, {1, 20, 3, 4}, how));
        }
  matches_reference(bench, net);
}

TEST_CASE("what lies outside of a picture is zero, whatever its first element is") {
  Bench bench;
  Net net;
  std::vector<float> picture(2 * 4 * 4, 1);
  picture[0] = picture[16] = std::numeric_limits<float>::infinity();
  const uint32_t x = net.constant<float>({1, 2, 4, 4}, picture, OPTIMA_F32);
  net.output(net.node("GridSample", 20, {x, net.constant<float>({1, 1, 3, 2}, {1, 1, 5, 5, 0.3f, 0.9f}, OPTIMA_F32)}, {1, 2, 1, 3}, {Net::text("mode", "linear")}));
  matches_reference(bench, net);
}
