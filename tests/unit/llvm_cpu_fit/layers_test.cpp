// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: layers of open sizes, at sizes around vectors and tiles.
#include <limits>

#include "tests/unit/llvm_cpu_fit/open_net.hpp"

using namespace llvm_cpu_test;

namespace {

/// Images [n, channels, h, w].
std::vector<Shapes> images(int64_t channels) {
  std::vector<Shapes> out;
  for (const Dims& d : std::vector<Dims>{{1, 32, 32}, {1, 31, 33}, {8, 17, 15}, {1, 7, 7}, {1, 64, 1}, {2, 1, 1}, {1, 13, 97}, {3, 16, 48}, {1, 5, 3}, {1, 40, 41}})
    out.push_back({{d[0], channels, d[1], d[2]}});
  return out;
}

/// Rows [n, length, width].
std::vector<Shapes> rows(int64_t width) {
  std::vector<Shapes> out;
  for (const Dims& d : std::vector<Dims>{{1, 16}, {1, 1}, {1, 15}, {8, 17}, {1, 31}, {1, 64}, {2, 7}, {1, 97}, {3, 5}, {1, 2}}) out.push_back({{d[0], d[1], width}});
  return out;
}

}  // namespace

TEST_CASE("convolutions, pools and a head whose Reshape is computed from Shape") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 3, -1, -1});
  uint32_t v = net.op("Relu", 14, {net.conv2d(x, 3, 24, 3, 2)}, 4);
  v = net.op("Add", 14, {v, net.conv2d(v, 24, 24, 3, 1)}, 4);
  v = net.op("Clip", 13, {net.conv2d(v, 24, 24, 3, 1, 24), net.constant<float>({}, {0}, OPTIMA_F32), net.constant<float>({}, {6}, OPTIMA_F32)}, 4);
  v = net.op("MaxPool", 12, {v}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("pads", {1, 1, 1, 1}), Net::ints("strides", {1, 1})});
  v = net.conv2d(v, 24, 10, 1, 1);
  const uint32_t flat = net.op("Reshape", 21, {v, net.joined({net.size(v, 0), net.integers({10, -1})})}, 3);
  net.output(net.op("Transpose", 21, {flat}, 3, {Net::ints("perm", {0, 2, 1})}));
  net.output(net.op("GlobalAveragePool", 1, {v}, 4));
  right_at(bench, net, images(3));
}

TEST_CASE("convolutions of images that are smaller than tiles, of any batch") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 36, -1, -1});
  const uint32_t v = net.op("Relu", 14, {net.conv2d(x, 36, 72, 3, 2)}, 4);
  net.output(net.op("Add", 14, {v, net.conv2d(v, 72, 72, 3, 1, 2)}, 4));
  net.output(net.op("Relu", 14, {net.op("Add", 14, {v, net.conv2d(net.conv2d(v, 72, 40, 5, 1), 40, 72, 1, 1)}, 4)}, 4));
  const auto normalised = [&](uint32_t y) { return net.op("BatchNormalization", 15, {y, net.weights({40}), net.weights({40}), net.weights({40}), net.weights({40}, 0.5f, 2)}, 4); };
  const uint32_t w = normalised(net.op("Relu", 14, {net.conv2d(v, 72, 40, 3, 1)}, 4));
  net.output(net.op("Add", 14, {w, normalised(net.op("Relu", 14, {net.conv2d(w, 40, 40, 1, 1)}, 4))}, 4));
  const std::vector<image::Attr> apart = {Net::ints("kernel_shape", {3, 3}), Net::ints("dilations", {2, 3}), Net::ints("pads", {2, 4, 3, 3})};
  net.output(net.op("Conv", 11, {x, net.weights({20, 36, 3, 3}, -0.1f, 0.1f)}, 4, apart));
  net.output(net.op("ConvTranspose", 11, {x, net.weights({36, 20, 3, 3}, -0.1f, 0.1f), net.weights({20})}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 1})}));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 1, 1}, {1, 3, 3}, {7, 2, 2}, {15, 1, 1}, {2, 7, 7}, {3, 4, 5}, {1, 13, 26}, {4, 5, 27}, {1, 2, 9}, {2, 30, 3}, {5, 6, 20}})
    sizes.push_back({{d[0], 36, d[1], d[2]}});
  right_at(bench, net, sizes, {1e-4});
}

TEST_CASE("convolutions by weights that are computed") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 36, -1, -1}), by = net.input({36, 1, 1, 1});
  const auto scaled = [&](const Dims& dims) { return net.node("Mul", 14, {net.weights(dims, -0.2f, 0.2f), by}, dims); };
  const uint32_t a = net.op("Relu", 14, {net.op("Conv", 11, {x, scaled({36, 36, 3, 3}), net.op("Reshape", 21, {by, net.integers({36})}, 1)}, 4, {Net::ints("pads", {1, 1, 1, 1})})}, 4);
  net.output(net.op("Add", 14, {net.op("Conv", 11, {a, scaled({36, 1, 3, 3})}, 4, {Net::ints("pads", {1, 1, 1, 1}), Net::integer("group", 36)}), a}, 4));
  net.output(net.op("Conv", 11, {a, scaled({36, 9, 1, 1})}, 4, {Net::integer("group", 4)}));
  net.output(net.op("ConvTranspose", 11, {a, scaled({36, 20, 3, 3})}, 4, {Net::ints("strides", {2, 2})}));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 1, 1}, {7, 2, 2}, {2, 7, 7}, {1, 13, 26}, {4, 5, 27}, {2, 30, 3}}) sizes.push_back({{d[0], 36, d[1], d[2]}, {36, 1, 1, 1}});
  right_at(bench, net, sizes, {1e-4});
}

TEST_CASE("convolutions of volumes that are smaller than tiles") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 20, -1, -1, -1});
  const std::vector<image::Attr> attrs = {Net::ints("kernel_shape", {3, 3, 3}), Net::ints("strides", {1, 2, 1}), Net::ints("pads", {1, 1, 1, 1, 1, 1})};
  net.output(net.op("Conv", 11, {x, net.weights({40, 20, 3, 3, 3}, -0.05f, 0.05f), net.weights({40})}, 5, attrs));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 1, 1, 1}, {2, 2, 3, 5}, {1, 5, 5, 5}, {3, 1, 4, 2}, {1, 6, 7, 8}, {1, 2, 9, 30}}) sizes.push_back({{d[0], 20, d[1], d[2], d[3]}});
  right_at(bench, net, sizes, {1e-4});
}

TEST_CASE("attention of an open sequence") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 32});
  const auto heads = [&](std::vector<int64_t> perm) {
    const uint32_t p = net.op("MatMul", 13, {x, net.weights({32, 32}, -0.2f, 0.2f)}, 3);
    const uint32_t split = net.op("Reshape", 21, {p, net.joined({net.size(x, 0), net.size(x, 1), net.integers({4, 8})})}, 4);
    return net.op("Transpose", 21, {split}, 4, {Net::ints("perm", std::move(perm))});
  };
  const uint32_t q = heads({0, 2, 1, 3}), k = heads({0, 2, 3, 1}), u = heads({0, 2, 1, 3});
  const uint32_t s = net.op("Softmax", 13, {net.op("MatMul", 13, {q, k}, 4)}, 4, {Net::integer("axis", -1)});
  const uint32_t back = net.op("Transpose", 21, {net.op("MatMul", 13, {s, u}, 4)}, 4, {Net::ints("perm", {0, 2, 1, 3})});
  const uint32_t flat = net.op("Reshape", 21, {back, net.integers({0, 0, -1})}, 3);
  net.output(net.op("LayerNormalization", 17, {net.op("Add", 14, {flat, x}, 3), net.weights({32}), net.weights({32})}, 3));
  right_at(bench, net, rows(32));
}

TEST_CASE("a decoder whose mask is as long as its past and its new length, though one of a single element would do") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 16}), mask = net.input({-1, -1}), past = net.input({-1, 4, -1, 16});
  for (const uint32_t v : {x, mask, past}) net.named(v, 0, "batch");
  const uint32_t heads = net.op("Unsqueeze", 13, {x, net.integers({1})}, 4), new_keys = net.op("Mul", 14, {heads, net.weights({4, 1, 16})}, 4);
  const uint32_t keys = net.op("Concat", 13, {past, new_keys}, 4, {Net::integer("axis", 2)});
  const uint32_t scores = net.op("MatMul", 13, {new_keys, net.op("Transpose", 13, {keys}, 4, {Net::ints("perm", {0, 1, 3, 2})})}, 4);
  const uint32_t total = net.size(keys, 2), start = net.op("Sub", 14, {total, net.size(x, 1)}, 1, {}, OPTIMA_I64);
  std::vector<int64_t> causal(128 * 128);
  for (size_t i = 0; i < causal.size(); ++i) causal[i] = i % 128 <= i / 128;
  const uint32_t rows = net.op("Slice", 13, {net.constant<int64_t>({1, 1, 128, 128}, causal, OPTIMA_I64), start, total, net.integers({2})}, 4, {}, OPTIMA_I64);
  const uint32_t seen = net.op("Cast", 13, {net.op("Slice", 13, {rows, net.integers({0}), total, net.integers({3})}, 4, {}, OPTIMA_I64)}, 4, {Net::integer("to", OPTIMA_BOOL)}, OPTIMA_BOOL);
  const uint32_t left = net.op("Where", 16, {seen, scores, net.constant<float>({}, {-9}, OPTIMA_F32)}, 4);
  const uint32_t masked = net.op("Add", 14, {left, net.op("Unsqueeze", 13, {mask, net.integers({1, 2})}, 4)}, 4);
  net.output(net.op("MatMul", 13, {net.op("Softmax", 13, {masked}, 4, {Net::integer("axis", -1)}), keys}, 4));
  net.output(keys);
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 7, 2}, {1, 33, 5}, {1, 1, 40}, {4, 7, 33}, {2, 16, 1}, {1, 64, 64}, {3, 1, 9}})
    sizes.push_back({{d[0], d[1], 16}, {d[0], d[1] + d[2]}, {d[0], 4, d[2], 16}});
  right_at(bench, net, sizes);
}

TEST_CASE("the operators Attention and RotaryEmbedding: by heads and flat, groups, caches, masks that hide whole rows, causal, softcap") {
  Bench bench;
  OpenNet net;
  const uint32_t q = net.input({-1, 4, -1, 20}), k = net.input({-1, 4, -1, 20}), v = net.input({-1, 4, -1, 12}), seen = net.input({-1, 1, -1, -1}, OPTIMA_BOOL);
  const uint32_t flat = net.input({-1, -1, 96}), cache = net.input({-1, 2, -1, 24}), places = net.input({-1, -1}, OPTIMA_I64);
  const uint32_t own = net.input({-1, -1, 48});  // two heads of keys for four of queries
  for (const uint32_t x : {q, k, v, seen, flat, cache, places, own}) net.named(x, 0, "n");
  for (const auto& [x, d] : std::vector<std::pair<uint32_t, size_t>>{{q, 2}, {seen, 2}, {flat, 1}, {places, 1}, {own, 1}}) net.named(x, d, "s");
  for (const auto& [x, d] : std::vector<std::pair<uint32_t, size_t>>{{k, 2}, {v, 2}, {seen, 3}}) net.named(x, d, "t");
  const auto attention = [&](const std::vector<uint32_t>& in, std::vector<image::Attr> attrs, size_t outputs, size_t rank) {
    for (const uint32_t out : net.nodes("Attention", 23, in, std::vector<std::pair<Dims, int32_t>>(outputs, {Dims(rank, -1), OPTIMA_F32}))) net.output(out);
    net.graph().nodes.back().attrs = std::move(attrs);
  };
  attention({q, k, v}, {}, 1, 4);
  attention({q, k, v, seen}, {Net::real("scale", 0.5)}, 1, 4);
  const uint32_t nothing = net.constant<float>({}, {0}, OPTIMA_F32), hidden = net.constant<float>({}, {-std::numeric_limits<float>::infinity()}, OPTIMA_F32);
  attention({q, k, v, net.op("Where", 16, {seen, nothing, hidden}, 4)}, {Net::real("softcap", 0.75), Net::integer("is_causal", 1)}, 1, 4);
  const uint32_t lowest = net.constant<float>({}, {std::numeric_limits<float>::lowest()}, OPTIMA_F32);  // hides nothing where all of a row is so low
  attention({q, k, v, net.op("Where", 16, {seen, nothing, lowest}, 4)}, {}, 1, 4);
  for (const uint32_t y : net.nodes("Attention", 24, {flat, own, own, OPTIMA_NONE, cache, cache}, {{Dims(3, -1), OPTIMA_F32}, {Dims(4, -1), OPTIMA_F32}, {Dims(4, -1), OPTIMA_F32}})) net.output(y);
  net.graph().nodes.back().attrs = {Net::integer("q_num_heads", 4), Net::integer("kv_num_heads", 2), Net::integer("is_causal", 1)};
  const uint32_t angles = net.weights({2, 6});
  net.output(net.op("RotaryEmbedding", 23, {flat, angles, angles, places}, 3, {Net::integer("num_heads", 8)}));
  net.output(net.op("RotaryEmbedding", 23, {flat, angles, angles, places}, 3, {Net::integer("num_heads", 4), Net::integer("rotary_embedding_dim", 12), Net::integer("interleaved", 1)}));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 16, 16, 7}, {1, 1, 1, 4}, {2, 5, 9, 0}, {1, 33, 2, 20}, {3, 1, 40, 63}, {1, 2, 1, 3}})
    sizes.push_back({{d[0], 4, d[1], 20}, {d[0], 4, d[2], 20}, {d[0], 4, d[2], 12}, {d[0], 1, d[1], d[2]}, {d[0], d[1], 96}, {d[0], 2, d[3], 24}, {d[0], d[1]}, {d[0], d[1], 48}});
  right_at(bench, net, sizes);
}

TEST_CASE("the operators Attention and RotaryEmbedding of an open number of heads, of every type") {
  Bench bench;
  for (const auto& [type, tolerance] : {std::pair(OPTIMA_F32, 1e-5), std::pair(OPTIMA_F16, 2e-3), std::pair(OPTIMA_BF16, 2e-2)}) {
    CAPTURE(type);
    OpenNet net;
    const uint32_t q = net.input({-1, -1, -1, 20}, type), k = net.input({-1, -1, -1, 20}, type), v = net.input({-1, -1, -1, 12}, type), seen = net.input({-1, 1, -1, -1}, OPTIMA_BOOL);
    const uint32_t pairs = net.input({-1, -1, -1, 12}, type), angles = net.input({-1, -1, 6}, type), bias = net.input({-1, -1}, type);
    for (const uint32_t x : {q, k, v, seen, pairs}) net.named(x, 0, "n");
    for (const auto& [x, d] : std::vector<std::pair<uint32_t, size_t>>{{q, 2}, {seen, 2}, {pairs, 2}, {angles, 1}, {bias, 0}}) net.named(x, d, "s");
    for (const uint32_t x : {q, k, v}) net.named(x, 1, "h");
    for (const auto& [x, d] : std::vector<std::pair<uint32_t, size_t>>{{k, 2}, {v, 2}, {seen, 3}, {bias, 1}}) net.named(x, d, "t");
    for (const uint32_t mask : {OPTIMA_NONE, seen, bias}) {
      const std::vector<image::Attr> attrs{Net::real("scale", 0.5), Net::integer("is_causal", mask == OPTIMA_NONE ? 1 : 0)};
      net.output(net.op("Attention", 23, mask == OPTIMA_NONE ? std::vector{q, k, v} : std::vector{q, k, v, mask}, 4, attrs, type));
    }
    for (const uint32_t out : net.nodes("Attention", 23, {q, k, v, OPTIMA_NONE, k, v}, std::vector<std::pair<Dims, int32_t>>(3, {Dims(4, -1), type}))) net.output(out);
    net.output(net.op("RotaryEmbedding", 23, {pairs, angles, angles}, 4, {}, type));
    std::vector<Shapes> sizes;
    for (const Dims& d : std::vector<Dims>{{1, 4, 16, 16}, {2, 3, 3, 7}, {1, 6, 1, 20}, {1, 1, 33, 2}})
      sizes.push_back({{d[0], d[1], d[2], 20}, {d[0], d[1], d[3], 20}, {d[0], d[1], d[3], 12}, {d[0], 1, d[2], d[3]}, {d[0], d[1], d[2], 12}, {1, d[2], 6}, {d[2], d[3]}});
    right_at(bench, net, sizes, {.tolerance = tolerance});
  }
}

TEST_CASE("products of two open matrices, and one with a bias") {
  Bench bench;
  OpenNet net;
  const uint32_t a = net.input({-1, -1}), b = net.input({-1, -1});
  net.output(net.op("MatMul", 13, {a, b}, 2));
  net.output(net.op("Gemm", 13, {a, b, net.constant<float>({1}, {0.5f}, OPTIMA_F32)}, 2));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{16, 16, 16}, {1, 1, 1}, {15, 17, 31}, {64, 3, 33}, {1, 97, 1}, {7, 1, 48}, {33, 64, 15}, {2, 2, 2}, {5, 13, 80}, {48, 48, 1}})
    sizes.push_back({{d[0], d[1]}, {d[1], d[2]}});
  right_at(bench, net, sizes, {.has_reference_steps = true});  // samples have M, N and K alike
}

TEST_CASE("Gemm with a number for each row that is computed, as squared distances have it, of one row, too") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 12}), squares = net.op("ReduceSumSquare", 18, {x, net.integers({1})}, 2);
  for (const int64_t columns : {5, 1})
    net.output(net.op("Gemm", 13, {x, net.weights({columns, 12}), squares}, 2, {Net::real("alpha", -2), Net::integer("transB", 1)}));
  right_at(bench, net, {{{1, 12}}, {{2, 12}}, {{33, 12}}});
}

TEST_CASE("Einsums of open sizes") {
  Bench bench;
  OpenNet net;
  const uint32_t a = net.input({-1, -1, 3, 16}), b = net.input({-1, -1, 3, 16});
  const uint32_t scores = net.op("Einsum", 12, {a, b}, 4, {Net::text("equation", "bqhd,bkhd->bhqk")});
  net.output(net.op("Einsum", 12, {scores, b}, 4, {Net::text("equation", "bhqk,bkhd->bqhd")}));
  net.output(net.op("Einsum", 12, {a, net.weights({3, 16, 20})}, 3, {Net::text("equation", "bqhd,hdo->bqo")}));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 7, 9}, {2, 1, 33}, {1, 64, 1}, {3, 16, 17}, {1, 1, 1}}) sizes.push_back({{d[0], d[1], 3, 16}, {d[0], d[2], 3, 16}});
  right_at(bench, net, sizes);
}

TEST_CASE("Resize by sizes computed from the Shape of another value") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 4, -1, -1});
  const uint32_t small = net.conv2d(x, 4, 8, 3, 2);
  const uint32_t sizes = net.joined({net.op("Slice", 13, {net.shape(small), net.integers({0}), net.integers({2})}, 1, {}, OPTIMA_I64),
                                     net.op("Slice", 13, {net.shape(x), net.integers({2}), net.integers({4})}, 1, {}, OPTIMA_I64)});
  const uint32_t none = net.constant<float>({0}, {}, OPTIMA_F32);
  for (const char* mode : {"nearest", "linear"}) {
    const uint32_t up = net.op("Resize", 19, {small, none, none, sizes}, 4, {Net::text("mode", mode), Net::text("coordinate_transformation_mode", "asymmetric"), Net::text("nearest_mode", "floor")});
    net.output(net.op("Concat", 13, {up, x}, 4, {Net::integer("axis", 1)}));
  }
  right_at(bench, net, images(4));
}

TEST_CASE("Concat, Slice, Split, Expand and Range of computed sizes") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 6});
  const uint32_t length = net.size(x, 1), zero = net.constant<int64_t>({}, {0}, OPTIMA_I64), one = net.constant<int64_t>({}, {1}, OPTIMA_I64);
  const uint32_t scalar = net.op("Squeeze", 21, {length}, 0, {}, OPTIMA_I64);
  const uint32_t places = net.op("Range", 11, {zero, scalar, one}, 1, {}, OPTIMA_I64);
  const uint32_t half = net.op("Div", 14, {net.op("Add", 14, {length, net.integers({1})}, 1, {}, OPTIMA_I64), net.integers({2})}, 1, {}, OPTIMA_I64);
  const uint32_t head = net.op("Slice", 13, {x, net.integers({0}), half, net.integers({1})}, 3);
  const uint32_t wide = net.op("Expand", 13, {net.op("Cast", 19, {places}, 1, {Net::integer("to", OPTIMA_F32)}), net.joined({net.integers({3}), length})}, 2);
  net.output(net.op("Concat", 13, {x, head, x}, 3, {Net::integer("axis", 1)}));
  net.output(wide);
  net.output(net.op("Gather", 13, {x, places}, 3, {Net::integer("axis", 1)}));
  const uint32_t rest = net.op("Sub", 14, {length, half}, 1, {}, OPTIMA_I64);
  const auto parts = net.nodes("Split", 18, {x, net.joined({half, rest})}, {{Dims(3, -1), OPTIMA_F32}, {Dims(3, -1), OPTIMA_F32}});
  net.graph().nodes.back().attrs = {Net::integer("axis", 1)};
  net.output(net.op("Neg", 13, {parts[0]}, 3));
  net.output(parts[1]);
  net.output(net.op("Pad", 21, {x, net.joined({net.integers({0}), half, net.integers({0, 0, 1, 2})})}, 3));
  net.output(net.op("Tile", 13, {x, net.joined({net.integers({2}), net.integers({1, 2})})}, 3));
  right_at(bench, net, rows(6));
}

TEST_CASE("reductions, over open dims and along them") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 20});
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"})
    for (const int64_t axis : {0, 1, 2}) net.output(net.op(type, std::string(type) == "ReduceSum" ? 13 : 18, {x, net.integers({axis})}, 3));
  net.output(net.op("ArgMax", 13, {x}, 3, {Net::integer("axis", 1)}, OPTIMA_I64));
  net.output(net.op("CumSum", 14, {x, net.constant<int64_t>({}, {1}, OPTIMA_I64)}, 3));
  net.output(net.op("Softmax", 13, {x}, 3, {Net::integer("axis", 1)}));
  right_at(bench, net, rows(20));
}

TEST_CASE("pools, a normalization and a transposed convolution of open images") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 8, -1, -1});
  net.output(net.op("AveragePool", 22, {x}, 4, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2}), Net::integer("ceil_mode", 1), Net::ints("pads", {1, 1, 1, 1})}));
  net.output(net.op("MaxPool", 12, {x}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2}), Net::ints("pads", {1, 1, 1, 1})}));
  net.output(net.op("InstanceNormalization", 6, {x, net.weights({8}), net.weights({8})}, 4));
  net.output(net.op("ConvTranspose", 11, {x, net.weights({8, 5, 2, 2})}, 4, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})}));
  right_at(bench, net, images(8), {1e-4});
}

TEST_CASE("pools of images smaller than their windows, by less than a stride") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 8, -1, -1});
  const uint32_t v = net.op("MaxPool", 12, {net.conv2d(x, 8, 20, 3, 1)}, 4, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})});
  net.output(net.op("AveragePool", 22, {net.conv2d(v, 20, 20, 3, 1)}, 4, {Net::ints("kernel_shape", {3, 2}), Net::ints("strides", {3, 2})}));
  net.output(net.op("LpPool", 22, {x}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {3, 3})}));
  right_at(bench, net, images(8), {.tolerance = 1e-4});
}

TEST_CASE("an LSTM and a GRU of an open sequence") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 6});
  net.nodes("LSTM", 14, {x, net.weights({1, 40, 6}), net.weights({1, 40, 10}), net.weights({1, 80})}, {{Dims(4, -1), OPTIMA_F32}, {Dims(3, -1), OPTIMA_F32}, {Dims(3, -1), OPTIMA_F32}});
  image::Node& lstm = net.graph().nodes.back();
  lstm.attrs = {Net::integer("hidden_size", 10)};
  for (const uint32_t v : std::vector<uint32_t>(lstm.outputs)) net.output(v);
  net.output(net.op("GRU", 14, {x, net.weights({2, 30, 6}), net.weights({2, 30, 10})}, 4, {Net::integer("hidden_size", 10), Net::text("direction", "bidirectional")}));
  right_at(bench, net, rows(6), {1e-4});
}

TEST_CASE("floats of 16 bits") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 32}, OPTIMA_F16);
  std::mt19937 random(3);
  const auto w = random_tensor(OPTIMA_F16, {32, 24}, random);
  const auto* bits = static_cast<const uint16_t*>(w.data);
  const uint32_t p = net.op("MatMul", 13, {x, net.constant<uint16_t>({32, 24}, std::vector<uint16_t>(bits, bits + 32 * 24), OPTIMA_F16)}, 3, {}, OPTIMA_F16);
  net.output(net.op("Softmax", 13, {p}, 3, {}, OPTIMA_F16));
  net.output(net.op("Sigmoid", 13, {net.op("Add", 14, {p, p}, 3, {}, OPTIMA_F16)}, 3, {}, OPTIMA_F16));
  right_at(bench, net, rows(32), {4e-3});
}

TEST_CASE("codes of 8 bits between QuantizeLinear and DequantizeLinear") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 3, -1, -1});
  const auto scale = [&](float s) { return net.constant<float>({}, {s}, OPTIMA_F32); };
  const uint32_t zero = net.constant<uint8_t>({}, {128}, OPTIMA_U8);
  const auto pass = [&](uint32_t v, float s) {
    const uint32_t q = net.op("QuantizeLinear", 21, {v, scale(s), zero}, 4, {}, OPTIMA_U8);
    return net.op("DequantizeLinear", 21, {q, scale(s), zero}, 4);
  };
  std::vector<int8_t> codes(16 * 3 * 9);
  for (size_t k = 0; k < codes.size(); ++k) codes[k] = static_cast<int8_t>(k * 37 % 255);
  const uint32_t w = net.op("DequantizeLinear", 21, {net.constant<int8_t>({16, 3, 3, 3}, codes, OPTIMA_I8), scale(0.01f), net.constant<int8_t>({}, {0}, OPTIMA_I8)}, 4);
  const uint32_t v = net.op("Conv", 11, {pass(x, 0.01f), w}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("pads", {1, 1, 1, 1})});
  net.output(pass(net.op("Relu", 14, {v}, 4), 0.1f));
  right_at(bench, net, images(3), {0.03});
}

TEST_CASE("weights of 4 bits") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 32});
  std::vector<uint8_t> packed(32 * 16 / 2);
  for (size_t k = 0; k < packed.size(); ++k) packed[k] = static_cast<uint8_t>(k * 73);
  const uint32_t w = net.op("DequantizeLinear", 21, {net.constant<uint8_t>({32, 16}, packed, OPTIMA_I4), net.weights({2, 16}, 0.01f, 0.1f)}, 2,
                            {Net::integer("axis", 0), Net::integer("block_size", 16)});
  net.output(net.op("MatMul", 13, {x, w}, 3));
  right_at(bench, net, rows(32), {1e-4});
}

TEST_CASE("sizes of zero: everything is empty, and the next run is right") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 6});
  net.output(net.op("Relu", 14, {net.op("MatMul", 13, {x, net.weights({6, 5})}, 3)}, 3));
  net.output(net.op("Concat", 13, {x, x}, 3, {Net::integer("axis", 1)}));
  net.output(net.op("ReduceSum", 13, {x, net.integers({1})}, 3));
  right_at(bench, net, {{{1, 4, 6}}, {{0, 4, 6}}, {{2, 0, 6}}, {{1, 5, 6}}, {{0, 0, 6}}, {{3, 1, 6}}}, {.has_reference_steps = true});  // no sample is empty
}

TEST_CASE("an input of seven open dims, all of which cannot be of a likely size at once") {
  Bench bench;
  OpenNet net;
  net.output(net.op("Relu", 14, {net.op("Softsign", 1, {net.input(Dims(7, -1))}, 7)}, 7));
  right_at(bench, net, {{{2, 3, 1, 2, 1, 5, 2}}, {{1, 1, 1, 1, 1, 1, 1}}});
}

TEST_CASE("an index that is known and lies outside is refused when it is run, at fixed sizes and where sizes decide") {
  OpenNet open, fixed, tuples;
  open.output(open.op("Gather", 13, {open.input({-1, 2}), open.integers({70, -1})}, 2));
  fixed.output(fixed.node("GatherElements", 13, {fixed.input({3, 2}), fixed.constant<int64_t>({1, 2}, {0, -4}, OPTIMA_I64)}, {1, 2}));
  tuples.output(tuples.node("ScatterND", 18, {tuples.input({3, 4}), tuples.constant<int64_t>({1, 2}, {0, 4}, OPTIMA_I64), tuples.input({1})}, {3, 4}));
  Bench bench;
  std::mt19937 random(1);
  const auto came_of = [&](OpenNet& net, const std::vector<Shapes>& sizes) {
    const auto c = compile(bench, net);
    REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
    OpenSession session(bench, *c, 1);
    REQUIRE_MESSAGE(session.code == OPTIMA_OK, session.message);
    std::vector<std::string> out;
    for (const Shapes& shapes : sizes) {
      Tensors inputs;
      for (const Dims& dims : shapes) inputs.push_back(random_tensor(OPTIMA_F32, dims, random));
      const Came came = session.run(inputs);
      CHECK((came.code == OPTIMA_OK) == came.message.empty());
      out.push_back(came.message);
    }
    return out;
  };
  const std::vector<std::string> sizes = came_of(open, {{{71, 2}}, {{70, 2}}, {{90, 2}}});
  CHECK(sizes[0] == "");
  CHECK_MESSAGE(sizes[1].find("an index is 70, must be within 70") != std::string::npos, sizes[1]);
  CHECK(sizes[2] == "");
  CHECK(came_of(fixed, {{{3, 2}}})[0].find("an index is -4, must be within 3") != std::string::npos);
  CHECK(came_of(tuples, {{{3, 4}, {1}}})[0].find("an index is 4, must be within 4") != std::string::npos);
}

TEST_CASE("regions of open pictures, as many as there are, and deformed convolutions") {
  Bench bench;
  OpenNet net;
  const uint32_t x = net.input({-1, 32, -1, -1}), boxes = net.input({-1, 4}), offset = net.input({-1, 18, -1, -1});
  const uint32_t first = net.op("Cast", 13, {net.op("Floor", 13, {net.op("Abs", 13, {net.op("ReduceMin", 18, {boxes, net.integers({1})}, 1, {Net::integer("keepdims", 0)})}, 1)}, 1)}, 1,
                                {Net::integer("to", OPTIMA_I64)}, OPTIMA_I64);
  const uint32_t pictures = net.op("Mul", 14, {first, net.integers({0})}, 1, {}, OPTIMA_I64);
  const uint32_t deformed = net.op("DeformConv", 19, {x, net.weights({20, 32, 3, 3}, -0.1f, 0.1f), offset, net.weights({20})}, 4, {Net::ints("pads", {1, 1, 1, 1})});
  const uint32_t seen = net.op("Relu", 14, {deformed}, 4);
  net.output(net.op("RoiAlign", 16, {seen, boxes, pictures}, 4, {Net::integer("output_height", 3), Net::integer("output_width", 2), Net::real("spatial_scale", 6)}));
  net.output(net.op("MaxRoiPool", 1, {seen, net.op("Concat", 13, {net.op("Unsqueeze", 13, {net.op("Cast", 13, {pictures}, 1, {Net::integer("to", OPTIMA_F32)}), net.integers({1})}, 2), boxes}, 2, {Net::integer("axis", 1)})}, 4,
                    {Net::ints("pooled_shape", {2, 2}), Net::real("spatial_scale", 6)}));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 16, 16, 4}, {1, 7, 9, 1}, {2, 8, 5, 17}, {1, 31, 33, 100}, {1, 1, 1, 3}, {3, 20, 16, 0}}) sizes.push_back({{d[0], 32, d[1], d[2]}, {d[3], 4}, {d[0], 18, d[1], d[2]}});
  right_at(bench, net, sizes);
}

TEST_CASE("blocks of open pictures and maxima are put back") {
  Bench bench;
  OpenNet net;
  const uint32_t blocks = net.input({-1, 18, -1}), image = net.input({-1, -1});
  net.output(net.op("Col2Im", 18, {blocks, net.shape(image), net.integers({3, 3})}, 4, {Net::ints("pads", {1, 1, 1, 1})}));
  net.output(net.op("Col2Im", 18, {net.op("Relu", 14, {blocks}, 3), net.joined({net.size(image, 0), net.size(image, 1)}), net.integers({3, 3})}, 4, {Net::ints("pads", {1, 1, 1, 1})}));
  const uint32_t x = net.input({-1, 3, -1, -1});
  const std::vector<uint32_t> pooled = net.nodes("MaxPool", 12, {x}, {{Dims(4, -1), OPTIMA_F32}, {Dims(4, -1), OPTIMA_I64}});
  net.graph().nodes.back().attrs = {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})};
  net.output(net.op("MaxUnpool", 11, pooled, 4, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})}));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 16, 16}, {1, 7, 9}, {2, 8, 5}, {1, 31, 33}, {1, 1, 1}, {3, 20, 16}}) sizes.push_back({{d[0], 18, d[1] * d[2]}, {d[1], d[2]}, {d[0], 3, 2 * d[1], 2 * d[2]}});
  right_at(bench, net, sizes);
}

TEST_CASE("a region of a picture that there is not, and a maximum without a place, are errors of that run, and the next one is right") {
  std::mt19937 random(1);
  const auto pictures = [](const char* op, int64_t last) {
    std::vector<double> all(op == std::string("MaxRoiPool") ? 10 : 2, 0);
    all[all.size() == 10 ? 5 : 1] = static_cast<double>(last);
    return all.size() == 10 ? optima::reference::store<double>(OPTIMA_F32, {2, 5}, all) : optima::reference::store<double>(OPTIMA_I64, {2}, all);
  };
  for (const char* op : {"RoiAlign", "MaxRoiPool"})
    for (const bool is_open : {false, true}) {
      CAPTURE(op);
      CAPTURE(is_open);
      const bool aligns = op == std::string("RoiAlign");
      Bench bench;
      OpenNet net;
      const int64_t count = is_open ? -1 : 2;
      const uint32_t x = net.input({3, 20, 5, 5});
      if (aligns) net.output(net.node(op, 16, {x, net.weights({2, 4}), net.input({count}, OPTIMA_I64)}, {count, 20, 1, 1}));
      else net.output(net.node(op, 1, {x, net.input({count, 5})}, {count, 20, 2, 2}, {Net::ints("pooled_shape", {2, 2})}));
      const auto c = compile(bench, net);
      REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
      for (const int threads : {1, 2}) {
        OpenSession session(bench, *c, threads);
        REQUIRE_MESSAGE(session.code == OPTIMA_OK, session.message);
        Tensors inputs{random_tensor(OPTIMA_F32, {3, 20, 5, 5}, random), pictures(op, 0)};
        for (const int64_t index : {2, 3, 0, -1, 1000000, 1}) {
          inputs[1] = pictures(op, index);
          const Came came = session.run(inputs);
          const bool is_inside = index >= 0 && index < 3;
          CHECK((came.code == OPTIMA_OK) == is_inside);
          const std::string wanted = is_inside ? "" : "an index is " + std::to_string(index) + ", must be within 3";
          CHECK_MESSAGE(came.message.find(wanted) != std::string::npos, came.message);
          CHECK(came.message.empty() == is_inside);
        }
      }
    }
  Bench bench;
  OpenNet net;
  net.output(net.node("MaxUnpool", 11, {net.input({1, 1, 2}), net.input({1, 1, 2}, OPTIMA_I64)}, {1, 1, 4}, {Net::ints("kernel_shape", {2}), Net::ints("strides", {2})}));
  const auto c = compile(bench, net);
  REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
  OpenSession session(bench, *c, 2);
  const auto run = [&](int64_t last) {
    return session.run({optima::reference::store<double>(OPTIMA_F32, {1, 1, 2}, {5, 7}), optima::reference::store<int64_t>(OPTIMA_I64, {1, 1, 2}, {0, last})}).message;
  };
  CHECK(run(4).find("an index is 4, must be within 4") != std::string::npos);
  CHECK(run(-1).find("an index is -1, must be within 4") != std::string::npos);
  CHECK(run(3) == "");
}

TEST_CASE("an index that comes with the data and lies outside is an error of that run, and the next one is right") {
  std::mt19937 random(1);
  const auto indices = [](const Dims& dims, int64_t last) {
    std::vector<int64_t> all(static_cast<size_t>(optima::reference::count(dims)), 0);
    all.back() = last;
    return optima::reference::store<int64_t>(OPTIMA_I64, dims, all);
  };
  const auto check = [&](const char* op, const Dims& data, const Dims& places, const Dims& updates, bool is_open) {
    CAPTURE(op);
    CAPTURE(is_open);
    Bench bench;
    OpenNet net;
    const auto dims = [&](Dims d) {
      if (is_open) d.front() = -1;
      return d;
    };
    std::vector<uint32_t> operands{net.input(dims(data)), net.input(dims(places), OPTIMA_I64)};
    if (!updates.empty()) operands.push_back(net.input(dims(updates)));
    net.output(net.node(op, 13, operands, dims(updates.empty() ? Dims{places.front(), data.back()} : data)));
    const auto c = compile(bench, net);
    REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
    for (const int threads : {1, 2}) {
      OpenSession session(bench, *c, threads);
      REQUIRE_MESSAGE(session.code == OPTIMA_OK, session.message);
      Tensors inputs{random_tensor(OPTIMA_F32, data, random), indices(places, 3)};
      if (!updates.empty()) inputs.push_back(random_tensor(OPTIMA_F32, updates, random));
      for (const int64_t index : {3, -4, 2, 1000000, -3}) {
        inputs[1] = indices(places, index);
        const Came came = session.run(inputs);
        const bool is_inside = index >= -3 && index < 3;
        CHECK((came.code == OPTIMA_OK) == is_inside);
        const std::string wanted = is_inside ? "" : "an index is " + std::to_string(index) + ", must be within 3";
        CHECK_MESSAGE(came.message.find(wanted) != std::string::npos, came.message);
        CHECK(came.message.empty() == is_inside);
        CHECK((came.node == OPTIMA_NONE) == is_inside);
      }
    }
  };
  for (const bool is_open : {false, true}) {
    check("Gather", {3, 5}, {7}, {}, is_open);
    check("GatherElements", {3, 5}, {3, 5}, {}, is_open);
    check("GatherND", {3, 5}, {7, 1}, {}, is_open);
    check("ScatterElements", {3, 5}, {3, 5}, {3, 5}, is_open);
    check("ScatterND", {3, 5}, {7, 1}, {7, 5}, is_open);
  }
}
