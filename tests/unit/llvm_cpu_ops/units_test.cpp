// SPDX-License-Identifier: Apache-2.0
// Quantized units without products, through both halves of the plugin: element-wise, tables, pools, concatenation, movement, ends; in both
// layouts of codes and on all widths of vectors that the machine has.
#include <array>

#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

struct Steps {
  float scale;
  int zero;
  int32_t dtype = OPTIMA_U8;
};
constexpr Steps kFine{0.013f, 128}, kSigned{0.011f, -3, OPTIMA_I8}, kCoarse{0.07f, 120}, kPositive{0.009f, 0};

uint32_t zero_point(Net& net, const Steps& s) {
  if (s.dtype == OPTIMA_U8) return net.constant<uint8_t>({}, {static_cast<uint8_t>(s.zero)}, s.dtype);
  return net.constant<int8_t>({}, {static_cast<int8_t>(s.zero)}, s.dtype);
}
uint32_t quantize(Net& net, uint32_t x, const Steps& s) {
  return net.node("QuantizeLinear", 21, {x, net.constant<float>({}, {s.scale}, OPTIMA_F32), zero_point(net, s)}, net.dims(x), {}, s.dtype);
}
uint32_t dequantize(Net& net, uint32_t q, const Steps& s) {
  return net.node("DequantizeLinear", 21, {q, net.constant<float>({}, {s.scale}, OPTIMA_F32), zero_point(net, s)}, net.dims(q));
}
/// Through codes and back.
uint32_t coded(Net& net, uint32_t x, const Steps& s) { return dequantize(net, quantize(net, x, s), s); }
/// Reals whose codes lie with channels last: a pool leaves them so.
uint32_t pooled(Net& net, uint32_t x, const Steps& s) {
  const Dims spatial(net.dims(x).size() - 2, 1);
  return coded(net, net.node("MaxPool", 12, {coded(net, x, s)}, net.dims(x), {Net::ints("kernel_shape", spatial)}), s);
}

/// This machine's kernels, those of half the width, and, for tables, those that cannot permute bytes over whole vectors.
std::vector<std::vector<optima_option>> widths(bool tables = false) {
  std::vector<std::vector<optima_option>> all{{}, {seam::option("llvm_cpu.cpu", "haswell")}};
  if (tables) all.push_back({seam::option("llvm_cpu.cpu", "skylake-avx512")});
  return all;
}

/// Inputs of any size, some of them far outside the codes, NaN and infinite.
void make_rough(const Tensors& in) {
  std::mt19937 random(11);
  for (const auto& t : in)
    for (int64_t i = 0; i < t.elements(); ++i) {
      float& x = static_cast<float*>(const_cast<void*>(t.data))[i];
      x = static_cast<float>(static_cast<double>(random()) / 4294967296.0 * 4 - 2);
      if (random() % 61 == 0) x *= 1000;
      if (random() % 211 == 0) x = std::array{NAN, INFINITY, -INFINITY, -0.f}[random() % 4];
    }
}

/// Codes equal to the reference's, floats nearly, on every width, on one thread and on three.
void equals_reference(Net& net, bool rough = false, bool tables = false) {
  for (const auto& options : widths(tables)) {
    Bench bench;
    const auto c = compile(bench, net, options);
    INFO(c->status.message);
    REQUIRE(c->code == OPTIMA_OK);
    const Tensors in = random_inputs(*c);
    if (rough) make_rough(in);
    const Tensors want = optima::reference::run(c->model->raw, in), one = run(bench, *c, in, 1), three = run(bench, *c, in, 3, 2);
    for (size_t i = 0; i < want.size(); ++i) {
      CAPTURE(i);
      if (want[i].dtype == OPTIMA_F32) {
        CHECK(error(one[i], want[i]) <= 1e-6);
      } else {
        int64_t unequal = 0;
        for (uint64_t b = 0; b < want[i].size; ++b) unequal += static_cast<const char*>(one[i].data)[b] != static_cast<const char*>(want[i].data)[b];
        CHECK(unequal == 0);
      }
      CHECK(std::memcmp(one[i].data, three[i].data, want[i].size) == 0);
    }
  }
}

std::string label_of(const Compiled& c, const std::string& part) {
  for (const auto& [name, bytes] : c.sink.files)
    if (name.ends_with(".meta"))
      if (const size_t at = bytes.find(part); at != std::string::npos) return bytes.substr(at, part.size());
  return "";
}

}  // namespace

TEST_CASE("codes are those of a division, for any float and any scale") {
  Net net;
  const uint32_t x = net.input({3, 4099});
  for (const float scale : {1.f, 0.5f, 0.1f, 0.0123456f, 3.7e-5f, 1.9f, 1e-6f, 7e4f, 1e-35f, 3e33f})
    for (const int32_t dtype : {OPTIMA_U8, OPTIMA_I8}) net.output(quantize(net, x, {scale, dtype == OPTIMA_U8 ? 117 : -5, dtype}));
  const uint32_t each = net.constant<float>({3}, {0.01f, 0.02f, 1e-33f}, OPTIMA_F32), zeros = net.constant<int8_t>({3}, {0, 7, -128}, OPTIMA_I8);
  const uint32_t q = net.node("QuantizeLinear", 21, {x, each, zeros}, {3, 4099}, {Net::integer("axis", 0)}, OPTIMA_I8);
  net.output(q);
  net.output(net.node("DequantizeLinear", 21, {q, each, zeros}, {3, 4099}, {Net::integer("axis", -2)}));
  equals_reference(net, true);
}

TEST_CASE("codes of 16 bits are computed in floats") {
  Net net;
  const uint32_t x = net.input({3, 77});
  const auto through = [&](int32_t dtype, uint32_t zero) {
    const uint32_t scale = net.constant<float>({}, {0.00013f}, OPTIMA_F32), q = net.node("QuantizeLinear", 21, {x, scale, zero}, {3, 77}, {}, dtype);
    net.output(q);
    net.output(net.same("Tanh", 13, net.node("DequantizeLinear", 21, {q, scale, zero}, {3, 77})));
  };
  through(OPTIMA_I16, net.constant<int16_t>({}, {-300}, OPTIMA_I16));
  through(OPTIMA_U16, net.constant<uint16_t>({}, {33000}, OPTIMA_U16));
  equals_reference(net, true);
}

TEST_CASE("floats become codes with channels last, and those become floats, from and to any layout") {
  for (const Dims& dims : std::vector<Dims>{{2, 3, 5, 7}, {1, 40, 9, 9}, {2, 16, 1, 3}, {1, 5, 200}, {1, 33, 3, 2, 11}, {1, 4, 4, 4}}) {
    Net net;
    const uint32_t x = net.input(dims);
    const Dims spatial(dims.size() - 2, 1);
    for (const Steps& s : {kFine, kSigned}) {
      net.output(pooled(net, x, s));
      const uint32_t convolved = dims.size() == 4 ? net.conv(x, dims[1], 1, 1, 0) : x;  // blocked floats
      net.output(pooled(net, convolved, s));
      if (dims.size() == 4) net.output(net.conv(pooled(net, x, s), 8, 1, 1, 0));
    }
    std::vector<float> scale;
    std::vector<uint8_t> zero;
    for (int64_t c = 0; c < dims[1]; ++c) scale.push_back(0.01f + 0.001f * static_cast<float>(c)), zero.push_back(static_cast<uint8_t>(100 + c));
    const uint32_t each = net.constant<float>({dims[1]}, scale, OPTIMA_F32), zeros = net.constant<uint8_t>({dims[1]}, zero, OPTIMA_U8);
    net.output(net.node("DequantizeLinear", 21, {net.node("QuantizeLinear", 21, {x, each, zeros}, dims, {}, OPTIMA_U8), each, zeros}, dims));
    for (const auto& options : widths()) {
      Bench bench;
      matches_reference(bench, net, 2e-2, options);  // the convolutions' own error may move a code
    }
  }
}

TEST_CASE("element-wise units in both layouts give the reference's codes") {
  for (const bool last : {false, true}) {
    CAPTURE(last);
    for (const Dims& dims : std::vector<Dims>{{2, 20, 5, 7}, {1, 3, 6, 6}, {1, 64, 33}}) {
      Net net;
      const uint32_t x = net.input(dims), y = net.input(dims), f = net.input(dims);
      const auto made = [&](uint32_t v, const Steps& s) { return last ? pooled(net, v, s) : coded(net, v, s); };
      for (const char* op : {"Add", "Sub", "Mul", "Div"}) net.output(quantize(net, net.node(op, 14, {made(x, kFine), made(y, kSigned)}, dims), kCoarse));
      net.output(quantize(net, net.node("Max", 13, {made(x, kFine), made(y, kFine)}, dims), kSigned));
      net.output(quantize(net, net.add(made(x, kFine), f), kFine));  // codes and floats
      net.output(net.same("Relu", 14, net.add(made(x, kFine), made(y, kSigned))));
      net.output(quantize(net, net.same("Relu", 14, coded(net, net.add(made(x, kFine), made(y, kSigned)), kCoarse)), kPositive));
      const Dims channels = dims.size() == 4 ? Dims{dims[1], 1, 1} : Dims{dims[1], 1};
      net.output(quantize(net, net.node("Mul", 14, {made(x, kFine), net.weights(channels)}, dims), kFine));
      net.output(quantize(net, net.node("Add", 14, {made(x, kFine), coded(net, net.weights(channels), kSigned)}, dims), kFine));
      Dims one(dims.size(), 1);
      one[0] = dims[0], one[1] = dims[1];
      const uint32_t gate = net.node("GlobalAveragePool", 1, {made(y, kFine)}, one);
      net.output(quantize(net, net.node("Mul", 14, {made(x, kFine), coded(net, gate, kSigned)}, dims), kFine));
      net.output(quantize(net, net.node("Mul", 14, {made(x, kFine), net.constant<float>({1}, {0.37f}, OPTIMA_F32)}, dims), kSigned));
      const uint32_t h = coded(net, net.same("Sigmoid", 13, made(x, kFine)), kPositive);
      net.output(quantize(net, net.node("Mul", 14, {made(x, kFine), h}, dims), kSigned));
      equals_reference(net, true);
    }
  }
}

TEST_CASE("a chain on one value of codes is a table equal to the reference for all 256 codes") {
  std::mt19937 random(3);
  for (int round = 0; round < 6; ++round) {
    Net net(static_cast<uint32_t>(round));
    std::vector<float> all;
    const bool with_sign = round % 2;
    const Steps in{0.004f + 0.00001f * static_cast<float>(random() % 4000), with_sign ? 9 : 121, with_sign ? OPTIMA_I8 : OPTIMA_U8};
    for (int code = 0; code < 256; ++code) all.push_back(static_cast<float>(code - (with_sign ? 128 : 0) - in.zero) * in.scale);
    const uint32_t x = net.input({1, 4, 8, 8}), codes = net.constant<float>({1, 4, 8, 8}, all, OPTIMA_F32);
    const uint32_t q = quantize(net, net.add(codes, net.node("Mul", 14, {x, net.constant<float>({}, {0}, OPTIMA_F32)}, {1, 4, 8, 8})), in);
    const Dims dims = net.dims(q);
    const auto out = [&] { return Steps{0.002f + 0.00001f * static_cast<float>(random() % 3000), 90}; };
    for (const auto& [op, since] : std::vector<std::pair<const char*, int>>{
             {"Neg", 13}, {"Abs", 13}, {"Exp", 13}, {"Tanh", 13}, {"Sigmoid", 13}, {"Erf", 13}, {"Softplus", 1}, {"Softsign", 1}, {"Sin", 7}, {"Cos", 7},
             {"Atan", 7}, {"Sinh", 9}, {"Cosh", 9}, {"Asinh", 9}, {"Relu", 14}, {"LeakyRelu", 16}, {"Elu", 6}, {"Celu", 12}, {"Selu", 6},
             {"ThresholdedRelu", 10}, {"HardSigmoid", 6}, {"HardSwish", 14}, {"Mish", 18}, {"Gelu", 20}, {"Shrink", 9}, {"Sqrt", 13}, {"Log", 13},
             {"Reciprocal", 13}, {"Floor", 13}, {"Round", 11}, {"Sign", 13}}) {
      CAPTURE(op);
      net.output(quantize(net, net.same(op, since, dequantize(net, q, in)), out()));
    }
    net.output(quantize(net, net.same("Gelu", 20, dequantize(net, q, in), {Net::text("approximate", "tanh")}), out()));
    net.output(quantize(net, dequantize(net, q, in), out()));
    net.output(quantize(net, net.same("Tanh", 13, coded(net, net.same("Sigmoid", 13, dequantize(net, q, in)), kFine)), out()));
    const uint32_t lo = net.constant<float>({}, {-0.11f}, OPTIMA_F32), hi = net.constant<float>({}, {0.3f}, OPTIMA_F32);
    net.output(quantize(net, net.node("Clip", 13, {dequantize(net, q, in), lo, hi}, dims), out()));
    net.output(quantize(net, net.node("Mul", 14, {dequantize(net, q, in), net.same("Sigmoid", 13, dequantize(net, q, in))}, dims), out()));
    net.output(quantize(net, net.same("HardSwish", 14, pooled(net, dequantize(net, q, in), in)), {0.01f, 3, OPTIMA_I8}));
    Bench bench;
    CHECK(label_of(*compile(bench, net), "table ") == "table ");
    equals_reference(net, false, true);
  }
}

TEST_CASE("pools of codes give the reference's codes, whatever their windows") {
  struct Window {
    Dims in, out, kernel, stride, pads;
    int64_t ceil, include;
  };
  for (const Window& w : std::vector<Window>{{{2, 20, 9, 11}, {5, 6}, {3, 3}, {2, 2}, {1, 1, 1, 1}, 0, 0},
                                             {{1, 3, 8, 8}, {4, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, 0, 0},
                                             {{1, 80, 7, 7}, {4, 3}, {3, 3}, {2, 2}, {1, 0, 1, 1}, 0, 1},
                                             {{1, 130, 6, 6}, {3, 3}, {3, 3}, {2, 2}, {0, 0, 0, 0}, 1, 0},
                                             {{1, 18, 6, 6}, {4, 4}, {3, 3}, {2, 2}, {1, 1, 1, 1}, 1, 1},
                                             {{1, 48, 2, 5}, {1, 2}, {3, 3}, {3, 2}, {0, 0, 0, 0}, 0, 0},
                                             {{1, 48, 5, 5}, {5, 5}, {5, 5}, {1, 1}, {2, 2, 2, 2}, 0, 1}}) {
    Net net;
    const uint32_t x = net.input(w.in);
    const Dims out{w.in[0], w.in[1], w.out[0], w.out[1]}, one{w.in[0], w.in[1], 1, 1};
    std::vector<image::Attr> attrs{Net::ints("kernel_shape", w.kernel), Net::ints("strides", w.stride), Net::ints("pads", w.pads), Net::integer("ceil_mode", w.ceil)};
    for (const Steps& s : {kFine, kSigned}) {
      for (const Steps& to : {s, kCoarse}) {
        net.output(quantize(net, net.node("MaxPool", 12, {coded(net, x, s)}, out, attrs), to));
        std::vector<image::Attr> more = attrs;
        more.push_back(Net::integer("count_include_pad", w.include));
        net.output(quantize(net, net.node("AveragePool", 19, {pooled(net, x, s)}, out, more), to));
        net.output(quantize(net, net.node("GlobalAveragePool", 1, {pooled(net, x, s)}, one), to));
        net.output(quantize(net, net.node("GlobalMaxPool", 1, {coded(net, x, s)}, one), to));
        net.output(quantize(net, net.node("ReduceMean", 18, {pooled(net, x, s), net.integers({2, -1})}, one), to));
        if (w.in[1] % 16) continue;  // such means are computed in floats, whose ties may fall to either side
        const uint32_t flat = net.node("ReduceMean", 18, {pooled(net, x, s), net.integers({3, 2})}, {w.in[0], w.in[1]}, {Net::integer("keepdims", 0)});
        net.output(quantize(net, flat, to));
      }
    }
    Bench bench;
    CHECK(label_of(*compile(bench, net), "AveragePool of codes") != "");
    equals_reference(net);
  }
}

TEST_CASE("concatenations of codes: in place, beside each other, through tables, along any axis") {
  for (const int64_t axis : {int64_t{1}, int64_t{2}, int64_t{-1}}) {
    CAPTURE(axis);
    for (const bool last : {false, true}) {
      Net net;
      const auto dims = [&](int64_t c, int64_t h, int64_t w) { return Dims{2, c, h, w}; };
      const auto join = [&](const std::vector<Dims>& parts, const std::vector<Steps>& steps, const Steps& whole) {
        Dims out = parts[0];
        std::vector<uint32_t> in;
        const size_t a = static_cast<size_t>(axis < 0 ? axis + 4 : axis);
        out[a] = 0;
        for (size_t k = 0; k < parts.size(); ++k) {
          const uint32_t x = net.input(parts[k]);
          in.push_back(last ? pooled(net, x, steps[k]) : coded(net, x, steps[k]));
          out[a] += parts[k][a];
        }
        const uint32_t q = quantize(net, net.node("Concat", 13, in, out, {Net::integer("axis", axis)}), whole);
        net.output(q);
        net.output(quantize(net, net.node("MaxPool", 12, {dequantize(net, q, whole)}, out, {Net::ints("kernel_shape", {1, 1})}), kCoarse));
      };
      const auto along = [&](int64_t a, int64_t b) { return axis == 1 ? dims(a, 3, 5) : axis == 2 ? dims(20, b, 5) : dims(20, 3, b); };
      join({along(16, 2), along(32, 3), along(7, 4)}, {kFine, kFine, kFine}, kFine);
      join({along(16, 2), along(32, 3), along(7, 4)}, {kSigned, kSigned, kSigned}, kSigned);
      join({along(16, 2), along(5, 1)}, {kFine, kSigned}, kCoarse);
      join({along(3, 2), along(20, 3), along(1, 1)}, {kFine, kCoarse, kFine}, kFine);
      join({along(1, 1), along(2, 1)}, {kFine, kFine}, kFine);
      equals_reference(net);
    }
  }
}

TEST_CASE("what is read besides its concatenation is read where it lies") {
  Net net;
  const Dims half{1, 32, 6, 6}, all{1, 64, 6, 6};
  const uint32_t x = net.input(half), y = net.input(half);
  const uint32_t a = pooled(net, x, kFine), b = pooled(net, y, kFine);
  const uint32_t sum = coded(net, net.add(a, b), kFine);
  const uint32_t whole = coded(net, net.node("Concat", 13, {a, sum}, all, {Net::integer("axis", 1)}), kFine);
  net.output(whole);
  net.output(quantize(net, net.same("HardSwish", 14, a), kSigned));
  net.output(quantize(net, net.node("AveragePool", 19, {sum}, {1, 32, 3, 3}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})}), kFine));
  net.output(net.conv(sum, 4, 1, 1, 0));
  net.output(quantize(net, net.node("MaxPool", 12, {whole}, {1, 64, 5, 5}, {Net::ints("kernel_shape", {2, 2})}), kFine));
  equals_reference(net);
}

TEST_CASE("movement between equal steps moves the codes, in both layouts") {
  for (const Steps& s : {kFine, kSigned})
    for (const bool last : {false, true}) {
      CAPTURE(last);
      Net net;
      const Dims dims{2, 36, 4, 6};
      const uint32_t x = net.input(dims), v = last ? pooled(net, x, s) : coded(net, x, s);
      const auto moved = [&](const std::string& op, int32_t since, std::vector<uint32_t> more, const Dims& out, std::vector<image::Attr> attrs = {}) {
        more.insert(more.begin(), v);
        const uint32_t q = quantize(net, net.node(op, since, more, out, std::move(attrs)), s);
        net.output(q);
        if (out.size() == 4) net.output(net.node("MaxPool", 12, {dequantize(net, q, s)}, out, {Net::ints("kernel_shape", {1, 1})}));
      };
      moved("Reshape", 14, {net.integers({2, 864})}, {2, 864});
      moved("Flatten", 13, {}, {2, 864});
      moved("Transpose", 13, {}, {2, 4, 6, 36}, {Net::ints("perm", {0, 2, 3, 1})});
      moved("Transpose", 13, {}, {36, 2, 6, 4}, {Net::ints("perm", {1, 0, 3, 2})});
      moved("Slice", 13, {net.integers({3, 1}), net.integers({30, 5}), net.integers({1, 3})}, {2, 27, 4, 4});
      moved("Slice", 13, {net.integers({-1, 5}), net.integers({-100, 0}), net.integers({2, 3}), net.integers({-1, -2})}, {2, 36, 4, 3});
      moved("DepthToSpace", 13, {}, {2, 9, 8, 12}, {Net::integer("blocksize", 2)});
      moved("DepthToSpace", 13, {}, {2, 9, 8, 12}, {Net::integer("blocksize", 2), Net::text("mode", "CRD")});
      moved("SpaceToDepth", 13, {}, {2, 144, 2, 3}, {Net::integer("blocksize", 2)});
      moved("Tile", 13, {net.integers({1, 2, 1, 1})}, {2, 72, 4, 6});
      moved("Pad", 21, {net.integers({0, 0, 1, 2, 0, 0, 0, 1})}, {2, 36, 5, 9});
      moved("Pad", 21, {net.integers({0, 2, 0, 0, 0, 1, 0, -1}), net.constant<float>({}, {0.5f}, OPTIMA_F32)}, {2, 39, 4, 5});
      moved("Pad", 21, {net.integers({0, 0, 1, 2, 0, 0, 0, 1})}, {2, 36, 5, 9}, {Net::text("mode", "reflect")});
      const uint32_t none = OPTIMA_NONE, twice = net.constant<float>({4}, {1, 1, 2, 2}, OPTIMA_F32);
      moved("Resize", 19, {none, twice}, {2, 36, 8, 12}, {Net::text("mode", "nearest"), Net::text("coordinate_transformation_mode", "asymmetric"), Net::text("nearest_mode", "floor")});
      moved("Resize", 19, {none, none, net.integers({2, 36, 7, 5})}, {2, 36, 7, 5}, {Net::text("mode", "nearest")});
      equals_reference(net);
    }
}

TEST_CASE("codes of blocked floats, whose only reader takes them from where floats lie") {
  struct Move {
    const char* op;
    Dims out;
    std::vector<image::Attr> attrs;
    std::vector<int64_t> numbers;
  };
  const Move moves[] = {{"Transpose", {2, 6, 6, 32}, {Net::ints("perm", {0, 2, 3, 1})}, {}},
                        {"Transpose", {2, 32, 6, 6}, {Net::ints("perm", {0, 1, 3, 2})}, {}},
                        {"Reshape", {2, 32, 36}, {}, {2, 32, 36}},
                        {"Reshape", {2, 16, 72}, {}, {2, 16, 72}},
                        {"Flatten", {2, 1152}, {}, {}},
                        {"DepthToSpace", {2, 8, 12, 12}, {Net::integer("blocksize", 2)}, {}},
                        {"ReduceMax", {2, 32, 1, 1}, {}, {2, 3}}};
  for (const Steps& s : {kFine, kSigned})
    for (const Move& m : moves) {
      CAPTURE(m.op);
      CAPTURE(m.out.size());
      Net net;
      std::vector<uint32_t> in{coded(net, net.conv(net.input({2, 8, 6, 6}), 32, 3, 1, 1), s)};
      if (!m.numbers.empty()) in.push_back(net.integers(m.numbers));
      net.output(quantize(net, net.node(m.op, 18, in, m.out, m.attrs), s));
      equals_reference(net);
    }
}

TEST_CASE("a split of codes is one, whose results are read before the others are quantized") {
  for (const int64_t axis : {int64_t{1}, int64_t{3}})
    for (const bool last : {false, true}) {
      Net net;
      const Dims dims{2, 24, 3, 6};
      const uint32_t x = net.input(dims), v = last ? pooled(net, x, kSigned) : coded(net, x, kSigned);
      Dims a = dims, b = dims;
      a[static_cast<size_t>(axis)] = 5, b[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)] - 5;
      const uint32_t first = net.node("Split", 18, {v, net.integers({5, b[static_cast<size_t>(axis)]})}, a, {Net::integer("axis", axis)});
      const uint32_t second = net.same("Identity", 14, first);  // takes a place in the list of values; the Split makes it
      net.graph().nodes.pop_back();
      net.graph().nodes.back().outputs.push_back(second);
      auto& value = net.graph().values[second];
      value.dims->clear();
      for (const int64_t d : b) value.dims->push_back({d, ""});
      net.output(quantize(net, net.same("Tanh", 13, coded(net, first, kSigned)), kFine));
      net.output(quantize(net, net.same("Sigmoid", 13, coded(net, second, kSigned)), kFine));
      equals_reference(net);
    }
}
