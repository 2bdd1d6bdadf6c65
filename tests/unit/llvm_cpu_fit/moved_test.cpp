// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: plans that were moved from size to size, beside plans that were made for these sizes.
#include "tests/unit/llvm_cpu_fit/same_legs.hpp"

using namespace llvm_cpu_test;
using optima::reference::Tensor;

namespace {

/// Moves one leg through all sizes, the first of them again behind the others, and compares it with a new one at each. Returns how often it was moved.
int moved_through(const cpu::Fitter& fitter, std::vector<Shapes> sizes) {
  using Keep = cpu::Fitter::Keep;
  sizes.push_back(sizes.front());
  std::unique_ptr<cpu::Leg> leg;
  int count = 0;
  for (const Shapes& shapes : sizes) {
    std::string text;
    for (const Dims& dims : shapes) text += cpu::to_text(dims);
    CAPTURE(text);
    const auto wanted = fitter.first(shapes, Keep::HowItWasMade);
    cpu::Moved moved;
    if (leg && fitter.move(*leg, fitter.inputs_of(shapes), moved)) ++count;
    else leg = fitter.first(shapes, Keep::HowItWasMade);
    CHECK(difference(fitter, *leg, *wanted) == "");
  }
  return count;
}

int moved_through(Net& net, const std::vector<Shapes>& sizes, int64_t vector_width = 16) {
  const auto model = net.model();
  const cpu::Target target = target_of(vector_width);
  return moved_through(cpu::Fitter(model->raw, target, true), sizes);
}

/// One layer of a decoder: rows x[n, t, 32] attend to themselves and to a cache k, v[n, 4, past, 8] that grows by them.
struct Decoder {
  OpenNet net;
  Decoder() {
    const uint32_t x = net.input({-1, -1, 32}), k = net.input({-1, 4, -1, 8}), v = net.input({-1, 4, -1, 8});
    const uint32_t norm = net.op("LayerNormalization", 17, {x, net.weights({32}), net.weights({32})}, 3);
    const uint32_t key = grown(k, norm, x), value = grown(v, norm, x);
    const uint32_t turned = net.op("Transpose", 21, {key}, 4, {Net::ints("perm", {0, 1, 3, 2})});
    uint32_t score = net.op("MatMul", 13, {heads(norm, x), turned}, 4);
    score = net.op("Mul", 14, {score, net.constant<float>({}, {0.35f}, OPTIMA_F32)}, 4);
    score = net.op("Where", 16, {seen(x, key), score, net.constant<float>({}, {-1e9f}, OPTIMA_F32)}, 4);
    const uint32_t mixed = net.op("MatMul", 13, {net.op("Softmax", 13, {score}, 4, {Net::integer("axis", -1)}), value}, 4);
    const uint32_t rows = net.op("Transpose", 21, {mixed}, 4, {Net::ints("perm", {0, 2, 1, 3})});
    const uint32_t flat = net.op("Reshape", 21, {rows, net.joined({net.size(x, 0), net.size(x, 1), net.integers({32})})}, 3);
    const uint32_t sum = net.op("Add", 14, {x, net.op("MatMul", 13, {flat, net.weights({32, 32}, -0.2f, 0.2f)}, 3)}, 3);
    const uint32_t wide = net.op("Gelu", 20, {net.op("MatMul", 13, {sum, net.weights({32, 64}, -0.2f, 0.2f)}, 3)}, 3);
    net.output(net.op("Add", 14, {sum, net.op("MatMul", 13, {wide, net.weights({64, 32}, -0.2f, 0.2f)}, 3)}, 3));
    net.output(key), net.output(value);
  }
  /// [n, 4, t, 8] of rows that are as many as those of x.
  uint32_t heads(uint32_t rows, uint32_t x) {
    const uint32_t p = net.op("MatMul", 13, {rows, net.weights({32, 32}, -0.2f, 0.2f)}, 3);
    const uint32_t split = net.op("Reshape", 21, {p, net.joined({net.size(x, 0), net.size(x, 1), net.integers({4, 8})})}, 4);
    return net.op("Transpose", 21, {split}, 4, {Net::ints("perm", {0, 2, 1, 3})});
  }
  uint32_t grown(uint32_t cache, uint32_t rows, uint32_t x) { return net.op("Concat", 13, {cache, heads(rows, x)}, 4, {Net::integer("axis", 2)}); }
  /// Whether row i of t may look at row j of all: of numbers that sizes alone decide.
  uint32_t seen(uint32_t x, uint32_t key) {
    const auto scalar = [&](uint32_t of, int64_t d) { return net.op("Gather", 13, {net.shape(of), net.constant<int64_t>({}, {d}, OPTIMA_I64)}, 0, {}, OPTIMA_I64); };
    const uint32_t all = scalar(key, 2), zero = net.constant<int64_t>({}, {0}, OPTIMA_I64), one = net.constant<int64_t>({}, {1}, OPTIMA_I64);
    const uint32_t first = net.op("Sub", 14, {all, scalar(x, 1)}, 0, {}, OPTIMA_I64);
    const uint32_t column = net.op("Range", 11, {zero, all, one}, 1, {}, OPTIMA_I64), row = net.op("Range", 11, {first, all, one}, 1, {}, OPTIMA_I64);
    const uint32_t upright = net.op("Unsqueeze", 13, {row, net.integers({1})}, 2, {}, OPTIMA_I64);
    return net.op("LessOrEqual", 16, {column, upright}, 2, {}, OPTIMA_BOOL);
  }
};

Shapes of_decoder(int64_t n, int64_t t, int64_t past) { return {{n, t, 32}, {n, 4, past, 8}, {n, 4, past, 8}}; }

}  // namespace

TEST_CASE("the plan of a decoder is moved from token to token, and is what planning for each comes to") {
  Decoder d;
  std::vector<Shapes> sizes;
  for (int64_t past = 1; past < 140; ++past) sizes.push_back(of_decoder(1, 1, past));
  CHECK(moved_through(d.net, sizes) >= 130);
  CHECK(moved_through(d.net, sizes, 8) >= 130);
}

TEST_CASE("a plan that is moved to sizes that decide something otherwise is made anew, and is right behind them") {
  Decoder d;
  std::mt19937 random(11);
  std::vector<Shapes> sizes;
  for (int k = 0; k < 150; ++k) sizes.push_back(of_decoder(1 + random() % 3, random() % 4 ? 1 : 1 + random() % 40, random() % 5 ? random() % 600 : random() % 3 * 1023));
  sizes.push_back(of_decoder(2, 0, 5)), sizes.push_back(of_decoder(0, 1, 5)), sizes.push_back(of_decoder(1, 1, 0)), sizes.push_back(of_decoder(1, 1, 1));
  CHECK(moved_through(d.net, sizes) > 20);
}

TEST_CASE("rows, images and matrices: moved or not, a plan is that of its size") {
  std::mt19937 random(5);
  const auto upto = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
  OpenNet rows;
  const uint32_t x = rows.input({-1, -1, 24});
  rows.output(rows.op("ReduceMean", 18, {x, rows.integers({1})}, 3));
  rows.output(rows.op("Concat", 13, {x, rows.op("Sigmoid", 13, {x}, 3)}, 3, {Net::integer("axis", 1)}));
  rows.output(rows.op("Expand", 13, {rows.op("ReduceMax", 18, {x, rows.integers({1})}, 3), rows.shape(x)}, 3));
  rows.output(rows.op("Slice", 13, {x, rows.integers({0}), rows.op("Div", 14, {rows.size(x, 1), rows.integers({2})}, 1, {}, OPTIMA_I64), rows.integers({1})}, 3));
  OpenNet images;
  const uint32_t y = images.input({-1, 3, -1, -1});
  uint32_t v = images.op("Relu", 14, {images.conv2d(y, 3, 24, 3, 2)}, 4);
  v = images.op("Concat", 13, {images.conv2d(v, 24, 16, 3, 1), v}, 4, {Net::integer("axis", 1)});
  images.output(images.op("GlobalAveragePool", 1, {v}, 4));
  OpenNet matrices;
  const uint32_t a = matrices.input({-1, -1}), b = matrices.input({-1, -1});
  const uint32_t product = matrices.op("MatMul", 13, {a, b}, 2);
  matrices.output(matrices.op("Softmax", 13, {matrices.op("Add", 14, {product, matrices.op("Relu", 14, {product}, 2)}, 2)}, 2));
  std::vector<Shapes> of_rows, of_images, of_matrices;
  for (int k = 0; k < 60; ++k) {
    of_rows.push_back({{upto(3), upto(80), 24}});
    of_images.push_back({{upto(2), 3, 4 + upto(40), 4 + upto(40)}});
    const int64_t inner = upto(50);
    of_matrices.push_back({{upto(50), inner}, {inner, upto(50)}});
  }
  CHECK(moved_through(rows, of_rows) > 0);
  CHECK(moved_through(images, of_images) > 0);
  CHECK(moved_through(matrices, of_matrices) > 0);
}

namespace {

/// As detectors of text are made: steps down, parts that are gated, sizes joined from fine and coarse in blocks, one joined whole inside another.
void detector(OpenNet& net) {
  const uint32_t x = net.input({-1, 3, -1, -1});
  const auto act = [&](uint32_t v) { return net.op("HardSwish", 14, {v}, 4); };
  const auto joined = [&](uint32_t a, uint32_t b) { return net.op("Concat", 13, {a, b}, 4, {Net::integer("axis", 1)}); };
  const auto like = [&](uint32_t v, uint32_t of, int64_t channels) {
    const uint32_t area = net.op("Slice", 13, {net.shape(of), net.integers({2}), net.integers({4})}, 1, {}, OPTIMA_I64);
    const uint32_t sizes = net.joined({net.size(of, 0), net.integers({channels}), area});
    return net.op("Resize", 19, {v, OPTIMA_NONE, OPTIMA_NONE, sizes}, 4);
  };
  const uint32_t a = act(net.conv2d(x, 3, 32, 3, 2)), b = act(net.conv2d(net.conv2d(a, 32, 32, 3, 2, 32), 32, 64, 1, 1)), c = net.conv2d(b, 64, 32, 3, 2);
  const uint32_t gate = net.op("Sigmoid", 13, {net.conv2d(net.op("GlobalAveragePool", 1, {b}, 4), 64, 64, 1, 1)}, 4);
  const uint32_t fine = net.op("Mul", 14, {b, gate}, 4);
  const uint32_t inner = joined(net.conv2d(fine, 64, 16, 3, 1), like(c, fine, 32));
  const uint32_t whole = joined(inner, net.conv2d(fine, 64, 20, 1, 1));
  net.output(net.op("Sigmoid", 13, {net.conv2d(like(net.conv2d(whole, 68, 24, 3, 1), a, 24), 24, 1, 3, 1)}, 4));
}

/// As readers of text are made: columns of a picture become rows of features, which a product turns to letters.
void reader(OpenNet& net) {
  const uint32_t x = net.input({-1, 3, 16, -1});
  uint32_t v = net.op("Relu", 14, {net.conv2d(x, 3, 24, 3, 2)}, 4);
  v = net.op("Add", 14, {v, net.conv2d(net.op("Relu", 14, {net.conv2d(v, 24, 48, 1, 1)}, 4), 48, 24, 3, 1)}, 4);
  v = net.op("AveragePool", 19, {v}, 4, {Net::ints("kernel_shape", {8, 1}), Net::ints("strides", {8, 1})});
  const uint32_t rows = net.op("Transpose", 21, {net.op("Squeeze", 13, {v, net.integers({2})}, 3)}, 3, {Net::ints("perm", {0, 2, 1})});
  net.output(net.op("Softmax", 13, {net.op("Add", 14, {net.op("MatMul", 13, {rows, net.weights({24, 40}, -0.3f, 0.3f)}, 3), net.weights({40})}, 3)}, 3));
}

}  // namespace

namespace {

/// Layers of the same nodes on inputs of their own, which grow alike or apart, and layers that differ from these in one attribute, or in one number alone.
struct Layers {
  OpenNet net;
  int count = 0;
  uint32_t layer(float alpha, float scale, int64_t last) {
    const uint32_t x = net.input({-1, -1, 16}), by = net.constant<float>({}, {scale}, OPTIMA_F32);
    const uint32_t soft = net.op("Softmax", 13, {net.op("Mul", 14, {x, by}, 3)}, 3, {Net::integer("axis", -1)});
    const uint32_t leaky = net.op("LeakyRelu", 16, {net.op("Sub", 14, {soft, x}, 3)}, 3, {Net::real("alpha", alpha)});
    const uint32_t sum = net.op("Add", 14, {x, net.op("MatMul", 13, {leaky, net.weights({16, 16}, -0.2f, 0.2f)}, 3)}, 3);
    ++count;
    return net.op("Reshape", 21, {sum, net.joined({net.size(x, 0), net.integers({-1, last})})}, 3);
  }
  Layers() {
    for (int k = 0; k < 3; ++k) net.output(layer(0.1f, 0.5f, 8));
    net.output(layer(0.2f, 0.5f, 8)), net.output(layer(0.1f, 0.25f, 8)), net.output(layer(0.1f, 0.5f, 4));
    for (int k = 0; k < 2; ++k) net.output(layer(0.1f, 0.5f, 8));
  }
};

}  // namespace

TEST_CASE("layers that are alike are moved as one, and each comes to what it comes to by itself, where their sizes part too") {
  Layers all;
  std::mt19937 random(23);
  std::vector<Shapes> sizes;
  for (int k = 0; k < 120; ++k) {
    const auto upto = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
    const int64_t n = upto(3), t = upto(60);
    Shapes shapes(static_cast<size_t>(all.count), {n, t, 16});
    for (Dims& dims : shapes)
      if (k % 3 && random() % 3 == 0) dims = {upto(3), upto(60), 16};
    sizes.push_back(shapes);
  }
  CHECK(moved_through(all.net, sizes) > 60);
}

TEST_CASE("nets that find and read text are moved through random sizes, back and forth and to sides of one") {
  std::mt19937 random(17);
  const auto upto = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
  std::vector<Shapes> pictures, lines;
  for (int k = 0; k < 160; ++k) {
    const int64_t whole = random() % 4 ? 8 : 1;  // finders are given multiples
    pictures.push_back({{random() % 8 ? 1 : 2, 3, random() % 8 ? upto(200) * whole : upto(3), random() % 8 ? upto(200) * whole : upto(3)}});
    lines.push_back({{random() % 8 ? 1 : upto(3), 3, 16, random() % 8 ? upto(400) : upto(3)}});
    if (k % 5 == 4) pictures.push_back(pictures[pictures.size() - 3]), lines.push_back(lines[lines.size() - 3]);
  }
  for (const int64_t vector_width : {8, 16}) {
    OpenNet finds, reads;
    detector(finds), reader(reads);
    CHECK(moved_through(finds, pictures, vector_width) > 20);
    CHECK(moved_through(reads, lines, vector_width) > 60);
  }
}

TEST_CASE("runs of pictures of ever new sizes are right, where the latest plan is moved and where the oldest is") {
  Bench bench;
  OpenNet finds, reads;
  detector(finds), reader(reads);
  std::vector<Shapes> pictures, lines;
  for (int64_t k = 1; k < 22; ++k)
    for (int64_t times = 0; times < 1 + k / 2 % 2; ++times) pictures.push_back({{1, 3, 8 * (1 + k % 5), 8 * k}}), lines.push_back({{1, 3, 16, 9 * k}});
  for (int64_t k = 1; k < 22; ++k)  // each is wanted, and there are more of them than are kept
    for (int times = 0; times < 2; ++times) lines.push_back({{1, 3, 16, 9 * k + 4}});
  right_at(bench, finds, pictures);
  right_at(bench, reads, lines);
}

TEST_CASE("channels in blocks, whose passage to rows is free in a batch of one alone, are planned anew where that changes") {
  OpenNet net;
  const uint32_t x = net.input({-1, 3, -1, -1});
  const uint32_t pooled = net.op("GlobalAveragePool", 1, {net.op("Relu", 14, {net.conv2d(x, 3, 20, 3, 1)}, 4)}, 4);
  net.output(net.op("MatMul", 13, {net.op("Reshape", 21, {pooled, net.integers({-1, 20})}, 2), net.weights({20, 4})}, 2));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{1, 9, 9}, {3, 9, 9}, {1, 8, 9}, {2, 20, 7}}) sizes.push_back({{d[0], 3, d[1], d[2]}});
  const auto model = net.model();
  const cpu::Target target = target_of(16);
  const cpu::Fitter fitter(model->raw, target, false);
  CHECK(moved_through(fitter, sizes) == 0);
  CHECK(moved_through(fitter, {sizes[0], sizes[2], {{1, 3, 30, 31}}}) == 3);
  Bench bench;
  right_at(bench, net, sizes);
}

TEST_CASE("codes and 16-bit floats are planned anew for each size") {
  OpenNet halves;
  const uint32_t x = halves.input({-1, -1, 32}, OPTIMA_F16);
  halves.output(halves.op("Sigmoid", 13, {halves.op("Add", 14, {x, x}, 3, {}, OPTIMA_F16)}, 3, {}, OPTIMA_F16));
  CHECK(moved_through(halves, {{{1, 5, 32}}, {{1, 6, 32}}, {{2, 7, 32}}}) == 0);
  OpenNet codes;
  const uint32_t y = codes.input({-1, 16}), scale = codes.constant<float>({}, {0.1f}, OPTIMA_F32), zero = codes.constant<uint8_t>({}, {128}, OPTIMA_U8);
  codes.output(codes.op("DequantizeLinear", 21, {codes.op("QuantizeLinear", 21, {y, scale, zero}, 2, {}, OPTIMA_U8), scale, zero}, 2));
  CHECK(moved_through(codes, {{{1, 16}}, {{6, 16}}, {{7, 16}}}) == 0);
}

TEST_CASE("runs of growing sizes are right, and those that come back, on one and on three threads") {
  Bench bench;
  Decoder d;
  on_threads(bench, d.net, {1, 3}, [](OpenSession& session, const Compiled& c) {
    std::vector<Shapes> sizes{of_decoder(1, 16, 0)};
    for (int64_t past = 16; past < 50; ++past) sizes.push_back(of_decoder(1, 1, past));
    for (const int64_t past : {40, 20, 40, 20, 1100, 1101, 1102, 3, 4, 5}) sizes.push_back(of_decoder(1, 1, past));
    for (size_t k = 0; k < sizes.size(); ++k) {
      CAPTURE(k);
      const Tensors in = random_tensors(c, sizes[k], static_cast<uint32_t>(k)), want = optima::reference::run(c.model->raw, in);
      session.asks_first = k % 2;
      const Came came = session.run(in);
      REQUIRE_MESSAGE(came.code == OPTIMA_OK, came.message);
      for (size_t o = 0; o < want.size(); ++o) CHECK(far(came.outputs[o], want[o], 1e-5) == "");
    }
  });
}
