// SPDX-License-Identifier: Apache-2.0
// Movers and gathers through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("transposes of every order and size of element") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 18, 20}), y = net.input({2, 3, 4, 5});
  for (const Dims& p : std::vector<Dims>{{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 1, 2}}) {
    const Dims in{3, 18, 20}, out{in[size_t(p[0])], in[size_t(p[1])], in[size_t(p[2])]};
    net.output(net.node("Transpose", 21, {x}, out, {Net::ints("perm", p)}));
  }
  net.output(net.node("Transpose", 21, {y}, {5, 4, 3, 2}));
  const uint32_t longs = net.node("Cast", 13, {x}, {3, 18, 20}, {Net::integer("to", OPTIMA_I64)}, OPTIMA_I64);
  net.output(net.node("Transpose", 21, {longs}, {20, 18, 3}, {}, OPTIMA_I64));
  net.output(net.node("Transpose", 21, {net.node("Less", 13, {x, x}, {3, 18, 20}, {}, OPTIMA_BOOL)}, {20, 18, 3}, {}, OPTIMA_BOOL));
  matches_reference(bench, net);
}

TEST_CASE("pixels of two to five colours become planes of one, and back, of any number of pixels") {
  Bench bench;
  for (const int64_t pixels : {1, 7, 8, 15, 16, 17, 31, 50, 24000}) {
    CAPTURE(pixels);
    Net net;
    for (const int64_t c : {2, 3, 4, 5}) {
      net.output(net.node("Transpose", 21, {net.input({2, c, pixels})}, {2, pixels, c}, {Net::ints("perm", {0, 2, 1})}));
      net.output(net.node("Transpose", 21, {net.input({pixels, c})}, {c, pixels}));
    }
    const uint32_t x = net.input({1, 8, pixels, 3});  // planes between which others lie, and pixels that are part of longer ones
    net.output(net.node("Concat", 13, {net.node("Transpose", 21, {x}, {1, 3, 8, pixels}, {Net::ints("perm", {0, 3, 1, 2})}), net.input({1, 2, 8, pixels})}, {1, 5, 8, pixels}, {Net::integer("axis", 1)}));
    net.output(net.node("Transpose", 21, {net.node("Slice", 13, {x, net.integers({1}), net.integers({3}), net.integers({3})}, {1, 8, pixels, 2})}, {2, pixels, 8, 1}));
    matches_reference(bench, net);
  }
}

TEST_CASE("slices forwards, backwards, stepped and empty-handed") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({4, 10, 7});
  net.output(net.node("Slice", 13, {x, net.integers({1, 2}), net.integers({3, 8}), net.integers({0, 1})}, {2, 6, 7}));
  net.output(net.node("Slice", 13, {x, net.integers({-1}), net.integers({-100}), net.integers({2}), net.integers({-2})}, {4, 10, 4}));
  net.output(net.node("Slice", 13, {x, net.integers({0, 0, 0}), net.integers({100, 100, 100})}, {4, 10, 7}));
  net.output(net.node("Slice", 13, {x, net.integers({9}), net.integers({0}), net.integers({1}), net.integers({-3})}, {4, 3, 7}));
  matches_reference(bench, net);
}

TEST_CASE("split and concat, plain and blocked") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 12, 5});
  const uint32_t part = net.node("Slice", 13, {x, net.integers({3}), net.integers({8}), net.integers({1})}, {2, 5, 5});
  net.output(net.node("Concat", 13, {x, part, x}, {2, 29, 5}, {Net::integer("axis", 1)}));
  net.output(net.node("Concat", 13, {x, x}, {2, 12, 10}, {Net::integer("axis", -1)}));
  const uint32_t image = net.input({2, 3, 6, 6});
  const uint32_t a = net.conv(image, 32, 3, 1, 1), b = net.conv(image, 16, 3, 1, 1), c = net.conv(image, 5, 3, 1, 1);
  net.output(net.conv(net.node("Concat", 13, {a, b, c}, {2, 53, 6, 6}, {Net::integer("axis", 1)}), 8, 1, 1, 0));
  net.output(net.node("Concat", 13, {c, a}, {2, 37, 6, 6}, {Net::integer("axis", 1)}));
  const uint32_t one = net.input({1, 3, 6, 6});
  net.output(net.node("Concat", 13, {net.conv(one, 32, 3, 1, 1), net.conv(one, 7, 3, 1, 1)}, {1, 39, 6, 6}, {Net::integer("axis", 1)}));
  matches_reference(bench, net);
}

TEST_CASE("channel shuffle: split, convolve, concatenate, shuffle") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 3, 8, 8});
  const uint32_t a = net.same("Relu", 14, net.conv(x, 29, 1, 1, 0)), b = net.same("Relu", 14, net.conv(x, 29, 3, 1, 1));
  uint32_t v = net.node("Concat", 13, {a, b}, {1, 58, 8, 8}, {Net::integer("axis", 1)});
  v = net.node("Reshape", 21, {v, net.integers({1, 2, 29, 8, 8})}, {1, 2, 29, 8, 8});
  v = net.node("Transpose", 21, {v}, {1, 29, 2, 8, 8}, {Net::ints("perm", {0, 2, 1, 3, 4})});
  v = net.node("Reshape", 21, {v, net.integers({1, 58, 8, 8})}, {1, 58, 8, 8});
  net.output(net.conv(v, 10, 1, 1, 0));
  matches_reference(bench, net);
}

TEST_CASE("expand, tile, depth to space and back") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 1, 5}), y = net.input({2, 12, 3, 4});
  net.output(net.node("Expand", 13, {x, net.integers({2, 3, 4, 5})}, {2, 3, 4, 5}));
  net.output(net.node("Tile", 13, {x, net.integers({2, 3, 2})}, {6, 3, 10}));
  net.output(net.node("DepthToSpace", 13, {y}, {2, 3, 6, 8}, {Net::integer("blocksize", 2)}));
  net.output(net.node("DepthToSpace", 13, {y}, {2, 3, 6, 8}, {Net::integer("blocksize", 2), Net::text("mode", "CRD")}));
  net.output(net.node("SpaceToDepth", 13, {net.input({1, 3, 4, 6})}, {1, 12, 2, 3}, {Net::integer("blocksize", 2)}));
  matches_reference(bench, net);
}

TEST_CASE("gathers and scatters") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({6, 9, 4});
  net.output(net.node("Gather", 13, {x, net.integers({0, -1, 3, 3})}, {4, 9, 4}));
  net.output(net.node("Gather", 13, {x, net.constant<int64_t>({2, 2}, {0, 8, -2, 4}, OPTIMA_I64)}, {6, 2, 2, 4}, {Net::integer("axis", 1)}));
  net.output(net.node("Gather", 13, {x, net.constant<int32_t>({}, {2}, OPTIMA_I32)}, {6, 9}, {Net::integer("axis", 2)}));
  net.output(net.node("GatherElements", 13, {x, net.constant<int64_t>({2, 3, 2}, {0, 1, 2, 3, 4, -1, 8, 0, 5, 6, 7, 1}, OPTIMA_I64)}, {2, 3, 2}, {Net::integer("axis", 1)}));
  net.output(net.node("GatherND", 13, {x, net.constant<int64_t>({2, 2}, {0, 1, -1, 8}, OPTIMA_I64)}, {2, 4}));
  net.output(net.node("ScatterElements", 18, {x, net.constant<int64_t>({1, 2, 2}, {0, 5, 2, 2}, OPTIMA_I64), net.weights({1, 2, 2})}, {6, 9, 4}));
  net.output(net.node("ScatterND", 18, {x, net.constant<int64_t>({2, 1}, {4, -1}, OPTIMA_I64), net.weights({2, 9, 4})}, {6, 9, 4}));
  net.output(net.node("OneHot", 11, {net.integers({0, 2, -1}), net.constant<int64_t>({}, {4}, OPTIMA_I64), net.constant<float>({2}, {-1, 2}, OPTIMA_F32)}, {3, 4}));
  net.output(net.same("Trilu", 14, x, {Net::integer("upper", 0)}));
  matches_reference(bench, net);
}

TEST_CASE("updates that meet are joined in their order, by rows of one index and of many, in parallel over what cannot meet") {
  Bench bench;
  Net net;
  const auto places = [&](const Dims& dims, int64_t size, int64_t run) {
    std::vector<int64_t> all;
    for (const float x : net.random(count(dims), 0, 0.999f)) all.push_back(all.size() % static_cast<size_t>(run) ? all.back() : static_cast<int64_t>(x * 2 * static_cast<float>(size)) - size);
    return net.constant<int64_t>(dims, all, OPTIMA_I64);
  };
  for (const char* how : {"none", "add", "mul", "max", "min"}) {
    const std::vector<image::Attr> joined{Net::text("reduction", how), Net::integer("axis", 0)}, last{Net::text("reduction", how), Net::integer("axis", -1)};
    net.output(net.node("ScatterElements", 18, {net.input({7, 200}), places({90, 200}, 7, 200), net.input({90, 200})}, {7, 200}, joined));
    net.output(net.node("ScatterElements", 18, {net.input({7, 50}), places({90, 37}, 7, 1), net.input({90, 37})}, {7, 50}, joined));
    net.output(net.node("ScatterElements", 18, {net.input({300, 3}), places({290, 11}, 3, 1), net.input({290, 11})}, {300, 3}, last));
    net.output(net.node("ScatterND", 18, {net.input({5, 4, 300}), places({33, 1, 1}, 5, 1), net.input({33, 1, 4, 300})}, {5, 4, 300}, {Net::text("reduction", how)}));
  }
  net.output(net.node("GatherElements", 13, {net.input({12, 8, 30}), places({12, 8, 64}, 30, 1)}, {12, 8, 64}, {Net::integer("axis", 2)}));
  net.output(net.node("GatherElements", 13, {net.input({9, 5, 30}), places({4, 5, 30}, 9, 30)}, {4, 5, 30}, {Net::integer("axis", 0)}));
  matches_reference(bench, net);
}

TEST_CASE("rows of a cache from a place of each batch on, past its end from the front where it is circular") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 3, 5, 4}), one = net.input({2, 3, 1, 4}), rows = net.input({2, 3, 3, 4}), bytes = net.input({2, 6, 3}, OPTIMA_U8);
  const auto begin = [&](int64_t a, int64_t b) { return net.integers({a, b}); };
  net.output(net.node("TensorScatter", 24, {x, one, begin(4, 0)}, {2, 3, 5, 4}));
  net.output(net.node("TensorScatter", 24, {x, rows, begin(2, 1)}, {2, 3, 5, 4}));
  net.output(net.node("TensorScatter", 24, {x, rows, begin(4, 3)}, {2, 3, 5, 4}, {Net::text("mode", "circular")}));
  net.output(net.node("TensorScatter", 24, {x, rows}, {2, 3, 5, 4}));
  net.output(net.node("TensorScatter", 24, {bytes, net.input({2, 2, 3}, OPTIMA_U8), begin(4, 2)}, {2, 6, 3}, {Net::integer("axis", 1)}, OPTIMA_U8));
  net.output(net.node("TensorScatter", 24, {x, net.input({2, 3, 5, 1}), begin(3, 0)}, {2, 3, 5, 4}, {Net::integer("axis", 3)}));
  matches_reference(bench, net);
}

TEST_CASE("pads of every mode") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 4, 5}), pads = net.integers({0, 1, 2, 1, 3, 0});
  net.output(net.node("Pad", 21, {x, pads}, {3, 8, 7}));
  net.output(net.node("Pad", 21, {x, pads, net.constant<float>({}, {7}, OPTIMA_F32)}, {3, 8, 7}));
  net.output(net.node("Pad", 21, {x, net.integers({0, -1, 2, 0, 1, -3})}, {2, 4, 4}));
  for (const char* mode : {"reflect", "edge", "wrap"})
{
    const std::vector<image::Attr> how{Net::text("mode", mode)};
    net.output(net.node("Pad", 21, {x, net.integers({0, 1, 2, 0, 3, 1})}, {2, 8, 8}, how));
    net.output(net.node("Pad", 21, {x, net.integers({1, 3, 4, 1, 0, 4})}, {4, 7, 13}, how));
    net.output(net.node("Pad", 21, {x, net.integers({0, 0, 0, 0, 0, 0})}, {2, 4, 5}, how));
    net.output(net.node("Pad", 21, {x, net.integers({2, 7, 11, 5, 0, 6})}, {9, 11, 22}, how));  // more than there is
    net.output(net.node("Pad", 21, {x, net.integers({0, -1, 2, 0, 2, -1})}, {2, 5, 6}, how));
    net.output(net.node("Pad", 21, {net.node("Cast", 13, {x}, {2, 4, 5}, {Net::integer("to", OPTIMA_I64)}, OPTIMA_I64), net.integers({0, 0, 1, 0, 2, 1})}, {2, 6, 7}, how, OPTIMA_I64));
  }
  matches_reference(bench, net);
}

TEST_CASE("shapes, ranges and constants of shape that were not folded") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 4, 5});
  net.output(net.node("Shape", 21, {x}, {3}, {}, OPTIMA_I64));
  net.output(net.node("Shape", 21, {x}, {1}, {Net::integer("start", -2), Net::integer("end", -1)}, OPTIMA_I64));
  net.output(net.node("Size", 21, {x}, {}, {}, OPTIMA_I64));
  net.output(net.node("Range", 11, {net.constant<int64_t>({}, {3}, OPTIMA_I64), net.constant<int64_t>({}, {12}, OPTIMA_I64), net.constant<int64_t>({}, {2}, OPTIMA_I64)}, {5}, {}, OPTIMA_I64));
  net.output(net.node("ConstantOfShape", 21, {net.integers({3, 2})}, {3, 2}));
  matches_reference(bench, net);
}

TEST_CASE("planes are turned in blocks, the last of which go over the ones before, whatever is left of them") {
  Bench bench;
  Net net;
  for (const Dims& dims : {Dims{3, 30, 20}, Dims{2, 16, 17}, Dims{2, 21, 37}, Dims{2, 47, 24}, Dims{1, 8, 15}, Dims{1, 100, 19}, Dims{2, 33, 64}})
    net.output(net.node("Transpose", 21, {net.input(dims)}, {dims[0], dims[2], dims[1]}, {Net::ints("perm", {0, 2, 1})}));
  matches_reference(bench, net, 0);
}
