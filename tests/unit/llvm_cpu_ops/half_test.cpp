// SPDX-License-Identifier: Apache-2.0
// 16-bit floats through both halves of the plugin: every family takes them and computes in f32; products of bf16 have kernels of their own.
#include <unistd.h>

#include "plugins/llvm_cpu/plan/half.hpp"
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

constexpr int32_t kHalves[] = {OPTIMA_F16, OPTIMA_BF16};

/// What a result may be off: the reference rounds after each operator, the plugin where a Cast or the caller is.
double step(int32_t type) { return type == OPTIMA_F16 ? 0x1p-10 : 0x1p-7; }

optima::reference::Tensor as_floats(const optima::reference::Tensor& t) {
  if (t.dtype != OPTIMA_F16 && t.dtype != OPTIMA_BF16) return t;
  void* data = nullptr;
  optima::reference::Tensor out = optima::reference::Tensor::make(OPTIMA_F32, t.dims, &data);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const uint16_t bits = static_cast<const uint16_t*>(t.data)[i];
    static_cast<float*>(data)[i] = t.dtype == OPTIMA_F16 ? optima::llvm_cpu::from_f16(bits) : optima::llvm_cpu::from_bf16(bits);
  }
  return out;
}

/// A net of f32 whose floats are then all of another type: values, inputs and outputs; constants are rounded.
struct HalfNet : Net {
  explicit HalfNet(int32_t type) : type_(type) {}
  uint32_t numbers(const Dims& dims, float low = -1, float high = 1) {
    std::vector<uint16_t> bits;
    for (const float v : random(count(dims), low, high)) bits.push_back(half_of(v));
    return constant<uint16_t>(dims, bits, type_);
  }
  uint32_t in(const Dims& dims) { return input(dims, type_); }
  uint32_t op(const std::string& name, int32_t since, const std::vector<uint32_t>& operands, const Dims& out, std::vector<image::Attr> attrs = {}) {
    return node(name, since, operands, out, std::move(attrs), type_);
  }
  uint32_t cast(uint32_t x, int32_t to) { return node("Cast", 13, {x}, dims(x), {integer("to", to)}, to); }

 private:
  /// Of numbers that are whole multiples of 2^-6 below 4, which both types hold.
  uint16_t half_of(float v) const {
    const float rounded = std::round(v * 64) / 64;
    if (type_ == OPTIMA_BF16) return optima::llvm_cpu::to_bf16(rounded);
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      if (optima::llvm_cpu::from_f16(static_cast<uint16_t>(bits)) == rounded) return static_cast<uint16_t>(bits);
    return 0;
  }
  int32_t type_;
};

Tensors half_inputs(const Compiled& c) {
  Tensors in = random_inputs(c);
  std::mt19937 random(5);
  for (auto& t : in)
    for (int64_t i = 0; i < t.elements() && t.dtype != OPTIMA_F32; ++i) {
      const float v = static_cast<float>(random() % 256) / 128 - 1;
      const uint16_t sign = v < 0 ? 0x8000 : 0;  // in f16: sixteenths, which are exact
      const auto sixteenths = static_cast<uint16_t>(std::fabs(v) * 16);
      int exponent = 0;
      const double fraction = std::frexp(sixteenths / 16.0, &exponent);
      const auto f16 = static_cast<uint16_t>(sixteenths ? sign | (exponent + 14) << 10 | (static_cast<int>(fraction * 2048) & 0x3FF) : 0);
      static_cast<uint16_t*>(const_cast<void*>(t.data))[i] = t.dtype == OPTIMA_BF16 ? optima::llvm_cpu::to_bf16(v) : f16;
    }
  return in;
}

/// Like matches_reference, of outputs of any float type; gives the artifact.
std::unique_ptr<Compiled> is_close(Bench& bench, Net& net, double tolerance, const std::vector<optima_option>& options = {}) {
  auto c = compile(bench, net, options);
  INFO(c->status.message);
  REQUIRE(c->code == OPTIMA_OK);
  const Tensors in = half_inputs(*c), want = optima::reference::run(c->model->raw, in), one = run(bench, *c, in, 1), three = run(bench, *c, in, 3, 2);
  for (size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(error(as_floats(one[i]), as_floats(want[i])) <= tolerance);
    CHECK(std::memcmp(one[i].data, three[i].data, want[i].size) == 0);
  }
  return c;
}

bool has_step(const Compiled& c, const std::string& label) {
  for (const auto& f : c.sink.files)
    if (f.first.ends_with(".meta") && f.second.find(label) != std::string::npos) return true;
  return false;
}

optima_option text_option(std::string_view name, std::string_view v) {
  optima_option o{};
  o.struct_size = sizeof o, o.type = OPTIMA_OPTION_STR, o.name = optima::seam::str(name), o.str = optima::seam::str(v);
  return o;
}

}  // namespace

TEST_CASE("images of 16-bit floats are convolved, pooled, resized and normalised") {
  for (const int32_t t : kHalves) {
    Bench bench;
    HalfNet net(t);
    const uint32_t x = net.in({1, 20, 9, 9});
    const auto pads = Net::ints("pads", {1, 1, 1, 1});
    const uint32_t conv = net.op("Conv", 11, {x, net.numbers({24, 20, 3, 3}, -.1f, .1f), net.numbers({24})}, {1, 24, 9, 9}, {pads});
    const uint32_t norm = net.op("BatchNormalization", 15, {conv, net.numbers({24}), net.numbers({24}), net.numbers({24}), net.numbers({24}, 1, 2)}, {1, 24, 9, 9});
    const uint32_t relu = net.op("Relu", 14, {norm}, {1, 24, 9, 9});
    const uint32_t depthwise = net.op("Conv", 11, {relu, net.numbers({24, 1, 3, 3}, -.3f, .3f)}, {1, 24, 9, 9}, {pads, Net::integer("group", 24)});
    net.output(net.op("MaxPool", 12, {depthwise}, {1, 24, 4, 4}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})}));
    net.output(net.op("AveragePool", 11, {relu}, {1, 24, 4, 4}, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2})}));
    net.output(net.op("GlobalAveragePool", 1, {relu}, {1, 24, 1, 1}));
    net.output(net.op("ConvTranspose", 11, {relu, net.numbers({24, 8, 2, 2}, -.1f, .1f)}, {1, 8, 18, 18}, {Net::ints("strides", {2, 2})}));
    const uint32_t scales = net.constant<float>({4}, {1, 1, 2, 2}, OPTIMA_F32);
    net.output(net.op("Resize", 13, {x, OPTIMA_NONE, scales}, {1, 20, 18, 18}, {Net::text("mode", "linear")}));
    net.output(net.op("InstanceNormalization", 6, {x, net.numbers({20}), net.numbers({20})}, {1, 20, 9, 9}));
    is_close(bench, net, 4 * step(t));
  }
}

TEST_CASE("regions of 16-bit floats are pooled, their taps deformed, blocks and maxima put back") {
  for (const int32_t t : kHalves) {
    Bench bench;
    HalfNet net(t);
    const uint32_t x = net.in({2, 16, 9, 9}), boxes = net.numbers({5, 4}, 0, 3), pictures = net.integers({0, 1, 1, 0, 1});
    net.output(net.op("RoiAlign", 16, {x, boxes, pictures}, {5, 16, 2, 2}, {Net::integer("output_height", 2), Net::integer("output_width", 2), Net::real("spatial_scale", 2)}));
    net.output(net.op("MaxRoiPool", 1, {x, net.numbers({5, 5}, 0, 1)}, {5, 16, 2, 2}, {Net::ints("pooled_shape", {2, 2}), Net::real("spatial_scale", 8)}));
    net.output(net.op("DeformConv", 19, {x, net.numbers({8, 16, 3, 3}, -.1f, .1f), net.in({2, 18, 7, 7}), net.numbers({8})}, {2, 8, 7, 7}));
    net.output(net.op("Col2Im", 18, {net.in({1, 8, 12}), net.integers({4, 5}), net.integers({2, 2})}, {1, 2, 4, 5}));
    net.output(net.op("MaxUnpool", 11, {net.in({1, 1, 2, 2}), net.constant<int64_t>({1, 1, 2, 2}, {0, 3, 9, 14}, OPTIMA_I64)}, {1, 1, 4, 4}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})}));
    is_close(bench, net, 4 * step(t));
  }
}

TEST_CASE("rows of 16-bit floats are multiplied, normalised and reduced") {
  for (const int32_t t : kHalves) {
    Bench bench;
    HalfNet net(t);
    const uint32_t x = net.in({2, 10, 48}), y = net.in({2, 48, 10});
    const uint32_t scores = net.op("MatMul", 13, {x, y}, {2, 10, 10});
    const uint32_t shares = net.op("Softmax", 13, {scores}, {2, 10, 10});
    net.output(scores), net.output(shares);
    const uint32_t wide = net.op("MatMul", 13, {x, net.numbers({48, 30}, -.2f, .2f)}, {2, 10, 30});
    net.output(net.op("Gelu", 20, {net.op("Add", 14, {wide, net.numbers({30})}, {2, 10, 30})}, {2, 10, 30}));
    net.output(net.op("LayerNormalization", 17, {x, net.numbers({48}), net.numbers({48})}, {2, 10, 48}));
    net.output(net.op("ReduceMean", 13, {x}, {2, 10, 1}, {Net::ints("axes", {2})}));
    const uint32_t flat = net.op("Reshape", 14, {x, net.integers({20, 48})}, {20, 48});
    net.output(net.op("Gemm", 13, {flat, net.numbers({7, 48}, -.2f, .2f), net.numbers({7})}, {20, 7}, {Net::integer("transB", 1)}));
    is_close(bench, net, 6 * step(t));
  }
}

TEST_CASE("16-bit floats are moved, gathered, filled and run through recurrent cells") {
  for (const int32_t t : kHalves) {
    Bench bench;
    HalfNet net(t);
    const uint32_t x = net.in({5, 2, 6});
    net.output(net.op("Transpose", 13, {x}, {6, 2, 5}, {Net::ints("perm", {2, 1, 0})}));
    net.output(net.op("Concat", 13, {x, x}, {5, 4, 6}, {Net::integer("axis", 1)}));
    net.output(net.op("Gather", 13, {net.numbers({9, 4}), net.integers({8, 0, 3})}, {3, 4}));
    net.output(net.op("Pad", 13, {x, net.integers({0, 1, 0, 0, 0, 2})}, {5, 3, 8}));
    net.output(net.op("ScatterElements", 16, {x, net.constant<int64_t>({1, 1, 2}, {0, 3}, OPTIMA_I64), net.numbers({1, 1, 2})}, {5, 2, 6}));
    const auto half = net.constant<uint16_t>({1}, {static_cast<uint16_t>(t == OPTIMA_F16 ? 0x4100 : 0x4020)}, t);
    net.output(net.op("Add", 14, {x, half}, {5, 2, 6}));
    const uint32_t cells = net.op("LSTM", 14, {x, net.numbers({1, 16, 6}, -.3f, .3f), net.numbers({1, 16, 4}, -.3f, .3f)}, {5, 1, 2, 4}, {Net::integer("hidden_size", 4)});
    net.output(cells);
    is_close(bench, net, 4 * step(t));
  }
}

TEST_CASE("mixed models cast between 16-bit floats and f32, and a Cast rounds") {
  for (const int32_t t : kHalves) {
    Bench bench;
    HalfNet net(t);
    const uint32_t x = net.input({3, 40}), h = net.cast(x, t);
    const uint32_t product = net.op("MatMul", 13, {h, net.numbers({40, 24})}, {3, 24});
    const uint32_t wide = net.cast(product, OPTIMA_F32);
    net.output(net.add(wide, net.weights({24})));
    net.output(net.cast(h, OPTIMA_F32));  // equal to the last bit
    const auto c = is_close(bench, net, 4 * step(t));
    const Tensors in = half_inputs(*c), want = optima::reference::run(c->model->raw, in), got = run(bench, *c, in);
    CHECK(std::memcmp(got[1].data, want[1].data, want[1].size) == 0);
  }
}

TEST_CASE("a large f16 value stays what it is between nodes, as it does where f16 models are computed in f32") {
  Bench bench;
  HalfNet net(OPTIMA_F16);
  const uint32_t x = net.in({32}), square = net.op("Mul", 14, {net.constant<uint16_t>({1}, {0x7BFF}, OPTIMA_F16), x}, {32});  // up to 65504
  const uint32_t sum = net.op("Add", 14, {square, square}, {32});                                                              // infinite in f16
  net.output(net.op("Mul", 14, {sum, net.constant<uint16_t>({1}, {0x2C00}, OPTIMA_F16)}, {32}));                               // a sixteenth
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  const Tensors in = half_inputs(*c), got = run(bench, *c, in);
  for (int64_t i = 0; i < 32; ++i) CHECK(std::isfinite(static_cast<const float*>(as_floats(got[0]).data)[i]));
}

namespace {

/// Targets of each way to multiply bf16 that this machine can run.
std::vector<std::vector<optima_option>> ways() {
  std::vector<std::vector<optima_option>> out{{}, {text_option("llvm_cpu.features", "-amx-bf16,-avx512bf16")}};
  if (__builtin_cpu_supports("avx512bf16")) out.push_back({text_option("llvm_cpu.cpu", "znver4")});
  else MESSAGE("SKIP: this processor has no AVX512-BF16");
  return out;
}

uint32_t bf16_product(HalfNet& net, uint32_t x, int64_t rows, int64_t inner, int64_t columns) {
  const uint32_t h = net.cast(x, OPTIMA_BF16);
  return net.cast(net.op("MatMul", 13, {h, net.numbers({inner, columns}, -.25f, .25f)}, {rows, columns}), OPTIMA_F32);
}

}  // namespace

TEST_CASE("products of bf16 of every number of rows and columns, with their tails") {
  for (const auto& options : ways())
    for (const int64_t rows : {1, 7, 13, 16, 20, 32, 45, 300}) {
      CAPTURE(rows);
      Bench bench;
      HalfNet net(OPTIMA_BF16);
      const uint32_t x = net.input({rows, 96});
      for (const int64_t columns : {5, 16, 33, 100}) {
        const uint32_t y = bf16_product(net, x, rows, 96, columns);
        const uint32_t biased = net.node("Add", 14, {y, net.weights({columns})}, {rows, columns});
        net.output(net.node("Add", 14, {net.node("Gelu", 20, {biased}, {rows, columns}), net.input({rows, columns})}, {rows, columns}));
      }
      const uint32_t b = net.op("Gemm", 13, {net.cast(x, OPTIMA_BF16), net.numbers({19, 96}, -.25f, .25f), net.numbers({19})}, {rows, 19}, {Net::integer("transB", 1)});
      net.output(net.node("Relu", 14, {net.cast(b, OPTIMA_F32)}, {rows, 19}));
      is_close(bench, net, 2 * step(OPTIMA_BF16), options);
    }
}

TEST_CASE("convolutions of bf16 with windows, steps and borders, with their tails") {
  for (const auto& options : ways())
    for (const int64_t size : {7, 14, 23, 40}) {
      CAPTURE(size);
      Bench bench;
      HalfNet net(OPTIMA_BF16);
      const uint32_t x = net.input({2, 64, size, size}), h = net.cast(net.same("Relu", 14, net.conv(x, 64, 1, 1, 0)), OPTIMA_BF16);
      const auto conv = [&](int64_t oc, int64_t k, int64_t s, int64_t pad, int64_t dilation) {
        const int64_t out = (size + 2 * pad - (k - 1) * dilation - 1) / s + 1;
        const uint32_t y = net.op("Conv", 11, {h, net.numbers({oc, 64, k, k}, -.06f, .06f), net.numbers({oc})}, {2, oc, out, out},
                                  {Net::ints("strides", {s, s}), Net::ints("pads", {pad, pad, pad, pad}), Net::ints("dilations", {dilation, dilation})});
        return net.cast(y, OPTIMA_F32);
      };
      net.output(net.same("Relu", 14, net.add(conv(64, 3, 1, 1, 1), x)));
      net.output(net.batch_norm(conv(48, 1, 1, 0, 1)));
      net.output(conv(40, 3, 2, 1, 1));
      net.output(conv(32, 1, 2, 0, 1));
      net.output(conv(16, 3, 1, 2, 2));
      is_close(bench, net, 2 * step(OPTIMA_BF16), options);
    }
}

TEST_CASE("products of bf16 take their own kernels where the target has them, and no rounded copy is written before") {
  Bench bench;
  HalfNet net(OPTIMA_BF16);
  const uint32_t x = net.input({40, 64}), image = net.input({1, 32, 8, 8});
  net.output(bf16_product(net, x, 40, 64, 32));
  net.output(net.cast(net.op("Conv", 11, {net.cast(net.same("Relu", 14, net.conv(image, 32, 1, 1, 0)), OPTIMA_BF16), net.numbers({32, 32, 1, 1})}, {1, 32, 8, 8}), OPTIMA_F32));
  const auto without = compile(bench, net, {text_option("llvm_cpu.features", "-amx-bf16,-avx512bf16")});
  CHECK(!has_step(*without, "matmul bf16"));
  CHECK(has_step(*without, "matmul 40x64x32"));
  const auto dots = compile(bench, net, {text_option("llvm_cpu.cpu", "znver4")});
  const auto tiles = compile(bench, net, {text_option("llvm_cpu.cpu", "sapphirerapids")});
  for (const Compiled* c : {dots.get(), tiles.get()}) {
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(has_step(*c, "matmul bf16 40x64x32"));
    CHECK(has_step(*c, "conv bf16 32->32"));
    CHECK(!has_step(*c, "from bf16"));
  }
  CHECK(has_step(*tiles, "amx-bf16"));
  CHECK(!has_step(*dots, "amx-bf16"));
}

TEST_CASE("codes that are known without a run become bf16 for a product that reads bf16") {
  for (const auto& options : ways()) {
    Bench bench;
    HalfNet net(OPTIMA_BF16);
    std::vector<int8_t> codes;
    for (int i = 0; i < 40 * 64; ++i) codes.push_back(static_cast<int8_t>(i * 37 % 251 - 125));
    const uint32_t scale = net.constant<uint16_t>({}, {optima::llvm_cpu::to_bf16(0x1p-7f)}, OPTIMA_BF16);
    const uint32_t x = net.op("DequantizeLinear", 21, {net.constant<int8_t>({40, 64}, codes, OPTIMA_I8), scale}, {40, 64});
    const uint32_t y = net.cast(net.op("MatMul", 13, {x, net.numbers({64, 32}, -.25f, .25f)}, {40, 32}), OPTIMA_F32);
    net.output(net.add(y, net.input({40, 32})));
    is_close(bench, net, 2 * step(OPTIMA_BF16), options);
  }
}
