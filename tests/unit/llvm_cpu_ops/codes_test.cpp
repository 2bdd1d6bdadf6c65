// SPDX-License-Identifier: Apache-2.0
// Quantized units through both halves of the plugin: codes in, codes or floats out, against the reference on the same graph.
#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_ops/codes_net.hpp"

using namespace llvm_cpu_test;

namespace {

CodeSteps any_step(Chance& r, float about) {
  const int32_t dtype = r.once_in(2) ? OPTIMA_U8 : OPTIMA_I8;
  const int32_t low = dtype == OPTIMA_U8 ? 0 : -128;
  return {dtype, about * (0.5f + static_cast<float>(r(0, 1000)) / 1000), static_cast<int32_t>(r.once_in(3) ? r.of({low, low + 128, low + 255}) : r(low, low + 255))};
}

Tensors code_inputs(const Compiled& c, uint32_t seed, int fill = -1) {
  Tensors in = random_inputs(c, seed);
  std::mt19937 random(seed);
  for (auto& t : in)
    if (t.dtype == OPTIMA_U8 || t.dtype == OPTIMA_I8)
      for (uint64_t i = 0; i < t.size; ++i) static_cast<uint8_t*>(const_cast<void*>(t.data))[i] = static_cast<uint8_t>(fill < 0 ? random() : static_cast<uint32_t>(fill));
  return in;
}

/// How many codes differ from the reference's.
struct Tally {
  int64_t codes = 0, off = 0;
};

int code(const optima::reference::Tensor& t, int64_t i) {
  return t.dtype == OPTIMA_U8 ? static_cast<const uint8_t*>(t.data)[i] : static_cast<const int8_t*>(t.data)[i];
}

/// One code in 10^5 may be a step away.
void few_differ(const Tally& tally) {
  MESSAGE(tally.off << " of " << tally.codes << " codes differ by a step");
  CHECK(tally.off * 100000 <= tally.codes + 100000);
}

void compare(const optima::reference::Tensor& got, const optima::reference::Tensor& want, Tally& tally) {
  if (want.dtype == OPTIMA_F32) {
    CHECK(error(got, want) <= 1e-5);
    return;
  }
  int worst = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const int d = std::abs(code(got, i) - code(want, i));
    worst = std::max(worst, d), tally.off += d != 0;
  }
  tally.codes += want.elements();
  CHECK(worst <= 1);
}

/// Compiles, runs on 1 and 3 threads (equal bytes wanted), compares with the reference. `kernel`: must be among the artifact's.
void check_codes(Bench& bench, Net& net, Tally& tally, const std::string& kernel, uint32_t seed, int fill = -1, const std::vector<optima_option>& options = {}) {
#ifdef LLVM_CPU_GENERAL
  static_cast<void>(bench), static_cast<void>(tally), static_cast<void>(kernel), static_cast<void>(seed), static_cast<void>(fill);
  return general_is_literal(net, 0, options);
#endif
  const auto c = compile(bench, net, options);
  INFO(c->status.message);
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(has_kernel(*c, kernel + "_"));
  const Tensors in = code_inputs(*c, seed, fill);
  const Tensors want = optima::reference::run(c->model->raw, in), one = run(bench, *c, in, 1), three = run(bench, *c, in, 3, 2);
  for (size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    compare(one[i], want[i], tally);
    CHECK(std::memcmp(one[i].data, three[i].data, want[i].size) == 0);
  }
}

/// What follows a product: returns the value that leaves the net. `about`: a scale that covers the result.
uint32_t any_tail(CodesNet& net, Chance& r, uint32_t y, float about) {
  const auto other = [&] {
    const CodeSteps s = any_step(r, about);
    return net.dequantize(net.input(net.dims(y), s.dtype), s);
  };
  if (r.once_in(4)) {
    const CodeSteps s = any_step(r, about);
    y = net.dequantize(net.quantize(y, s), s);
  }
  switch (r(0, 7)) {
    case 0: y = net.same("Relu", 14, y); break;
    case 1: y = net.node("Clip", 13, {y, net.constant<float>({}, {0}, OPTIMA_F32), net.constant<float>({}, {about * 60}, OPTIMA_F32)}, net.dims(y)); break;
    case 2: y = net.add(y, other()); break;
    case 3: y = net.same("Relu", 14, net.add(other(), y)); break;
    case 4: y = net.node("Mul", 14, {y, other()}, net.dims(y)); break;
    case 5: y = net.same("LeakyRelu", 16, y, {Net::real("alpha", 0.125)}); break;
    case 6: y = net.node("Mul", 14, {y, net.same("Sigmoid", 13, y)}, net.dims(y)); break;
    default: break;
  }
  if (r.once_in(6)) return y;
  return net.quantize(y, any_step(r, about));
}

int64_t reach(int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; }

/// A convolution in `rank - 2` dimensions with everything at random.
uint32_t any_conv(CodesNet& net, Chance& r, size_t spatial, bool depthwise) {
  const int64_t group = depthwise ? r.of({3, 8, 16, 30, 64, 72}) : r.once_in(4) ? r.of({2, 3, 4}) : 1;
  const int64_t ic = depthwise ? 1 : r.of({1, 3, 4, 5, 16, 17, 40}), oc = depthwise ? 1 : r.of({1, 3, 8, 16, 20, 33, 80});
  Dims in{r(1, 2), ic * group}, weights{oc * group, ic}, out{in[0], oc * group}, kernel, strides, dilations, begin, end;
  for (size_t d = 0; d < spatial; ++d) {
    kernel.push_back(r(1, 4)), strides.push_back(r(1, 3)), dilations.push_back(r.once_in(3) ? r(1, 3) : 1);
    begin.push_back(r.once_in(2) ? 0 : r(0, kernel[d])), end.push_back(r.once_in(2) ? 0 : r(0, kernel[d]));
    const int64_t least = std::max<int64_t>(1, reach(kernel[d], dilations[d]) - begin[d] - end[d]);
    in.push_back(std::max(least, r(1, spatial > 2 ? 6 : 20)));
    out.push_back((in.back() + begin[d] + end[d] - reach(kernel[d], dilations[d])) / strides[d] + 1);
    weights.push_back(kernel[d]);
  }
  const CodeSteps x = any_step(r, 0.02f);
  std::vector<float> scales;
  std::vector<uint32_t> operands{net.dequantize(net.input(in, x.dtype), x), net.weights_of_codes(weights, 0, r, scales)};
  if (r.once_in(3)) operands.push_back(net.weights({oc * group}));
  else if (r.once_in(2)) operands.push_back(net.bias_of_codes(scales, x.scale, r));
  begin.insert(begin.end(), end.begin(), end.end());
  const uint32_t y = net.node("Conv", 11, operands, out, {Net::ints("kernel_shape", kernel), Net::ints("strides", strides), Net::ints("dilations", dilations),
                                                          Net::ints("pads", begin), Net::integer("group", group)});
  return y;
}

}  // namespace

TEST_CASE("convolutions of codes agree with the reference: any kernel, stride, dilation, padding, group, zero point and tail") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (uint32_t seed = 1; seed <= static_cast<uint32_t>(rounds(options.empty() ? 60 : 16)); ++seed) {
      CAPTURE(seed);
      Chance r(seed);
      CodesNet net(seed);
      const uint32_t y = any_conv(net, r, r.once_in(4) ? static_cast<size_t>(r(1, 3)) : 2, seed % 4 == 0);
      net.output(any_tail(net, r, y, 0.02f));
      check_codes(bench, net, tally, "codes", seed, -1, options);
    }
  });
  few_differ(tally);
}

TEST_CASE("products of codes with constant weights agree with the reference: odd sizes, either type, bias, addends and rank") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (uint32_t seed = 1; seed <= static_cast<uint32_t>(rounds(options.empty() ? 40 : 10)); ++seed) {
      CAPTURE(seed);
      Chance r(seed + 1000);
      CodesNet net(seed);
      const int64_t K = r.of({1, 3, 4, 16, 30, 64, 257}), N = r.of({1, 2, 15, 16, 17, 48, 130});
      const bool gemm = r.once_in(2), transposed = gemm && r.once_in(2);
      const Dims in = gemm || r.once_in(2) ? Dims{r(1, 40), K} : Dims{r(1, 3), r(1, 20), K};
      Dims out = in;
      out.back() = N;
      const CodeSteps x = any_step(r, 0.02f);
      std::vector<float> scales;
      std::vector<uint32_t> operands{net.dequantize(net.input(in, x.dtype), x), net.weights_of_codes(transposed ? Dims{N, K} : Dims{K, N}, transposed ? 0 : 1, r, scales)};
      if (gemm && r.once_in(2)) operands.push_back(r.once_in(2) ? net.weights({N}) : net.bias_of_codes(scales, x.scale, r));
      const uint32_t y = net.node(gemm ? "Gemm" : "MatMul", 13, operands, out, gemm ? std::vector<image::Attr>{Net::integer("transB", transposed)} : std::vector<image::Attr>{});
      net.output(any_tail(net, r, !gemm && r.once_in(2) ? net.node("Add", 14, {net.weights({N}), y}, out) : y, 0.02f));
      check_codes(bench, net, tally, "codes", seed, -1, options);
    }
  });
  few_differ(tally);
}

TEST_CASE("products of two computed operands of codes agree with the reference: batches that broadcast, either type, any zero point and tail") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (uint32_t seed = 1; seed <= static_cast<uint32_t>(rounds(options.empty() ? 30 : 8)); ++seed) {
      CAPTURE(seed);
      Chance r(seed + 3000);
      CodesNet net(seed);
      const int64_t M = r.of({1, 3, 5, 16, 33, 70, 300}), K = r.of({1, 3, 4, 30, 64, 66, 128, 200}), N = r.of({1, 2, 15, 16, 17, 40, 64, 100});
      Dims in{M, K}, weights{K, N}, out{M, N};
      const auto batch = [&](int64_t a, int64_t b) {
        if (a) in.insert(in.begin(), a);
        if (b) weights.insert(weights.begin(), b);
        out.insert(out.begin(), std::max(a, b));
      };
      const int64_t heads = r(1, 3), images = r(1, 2);
      if (r.once_in(2)) batch(heads, r.once_in(3) ? 1 : heads);
      else if (r.once_in(2)) batch(r.once_in(2) ? 1 : heads, heads);
      if (out.size() == 3 && r.once_in(2)) batch(images, r.once_in(3) ? 0 : r.once_in(2) ? 1 : images);
      const float about = 0.01f * std::sqrt(static_cast<float>(K));
      const CodeSteps x = any_step(r, 0.02f), w = r.once_in(3) ? CodeSteps{OPTIMA_U8, 0.01f, 128} : any_step(r, 0.02f);
      const uint32_t y = net.node("MatMul", 13, {net.dequantize(net.input(in, x.dtype), x), net.dequantize(net.input(weights, w.dtype), w)}, out);
      net.output(any_tail(net, r, r.once_in(3) ? net.node("Mul", 14, {y, net.constant<float>({}, {0.125f}, OPTIMA_F32)}, out) : y, about));
      check_codes(bench, net, tally, "codes_matmul", seed, -1, options);
    }
  });
  MESSAGE(tally.off << " of " << tally.codes << " codes differ by a step");
  CHECK(tally.off * 100000 <= tally.codes + 100000);
}

TEST_CASE("Gemm of two computed operands of codes agrees with the reference: either one transposed, alpha and C") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (uint32_t seed = 1; seed <= static_cast<uint32_t>(rounds(options.empty() ? 16 : 4)); ++seed) {
      CAPTURE(seed);
      Chance r(seed + 4000);
      CodesNet net(seed);
      const int64_t M = r.of({1, 3, 16, 33}), K = r.of({1, 3, 30, 64, 70, 128}), N = r.of({1, 15, 16, 40});
      const bool ta = r.once_in(2), tb = r.once_in(2);
      const CodeSteps x = any_step(r, 0.02f), w = any_step(r, 0.02f);
      std::vector<uint32_t> operands{net.dequantize(net.input(ta ? Dims{K, M} : Dims{M, K}, x.dtype), x),
                                     net.dequantize(net.input(tb ? Dims{N, K} : Dims{K, N}, w.dtype), w)};
      if (r.once_in(2)) operands.push_back(r.once_in(2) ? net.weights({N}) : net.input({M, N}));
      const uint32_t y = net.node("Gemm", 13, operands, {M, N}, {Net::integer("transA", ta), Net::integer("transB", tb), Net::real("alpha", r.once_in(2) ? 1.f : -0.25f)});
      net.output(any_tail(net, r, y, 0.01f * std::sqrt(static_cast<float>(K))));
      check_codes(bench, net, tally, "codes_matmul", seed, -1, options);
    }
  });
  MESSAGE(tally.off << " of " << tally.codes << " codes differ by a step");
  CHECK(tally.off * 100000 <= tally.codes + 100000);
}

TEST_CASE("Gemm of codes with constant weights takes alpha, beta and a transposed first operand") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (uint32_t seed = 1; seed <= static_cast<uint32_t>(rounds(options.empty() ? 12 : 4)); ++seed) {
      CAPTURE(seed);
      Chance r(seed + 5000);
      CodesNet net(seed);
      const int64_t M = r.of({1, 3, 16, 33}), K = r.of({3, 30, 64, 70}), N = r.of({1, 16, 40});
      const bool ta = seed % 2 == 0;
      const CodeSteps x = any_step(r, 0.02f);
      std::vector<float> scales;
      std::vector<uint32_t> operands{net.dequantize(net.input(ta ? Dims{K, M} : Dims{M, K}, x.dtype), x), net.weights_of_codes({K, N}, 1, r, scales)};
      if (r.once_in(2)) operands.push_back(r.once_in(2) ? net.weights({N}) : net.bias_of_codes(scales, x.scale, r));
      const uint32_t y = net.node("Gemm", 13, operands, {M, N},
                                  {Net::integer("transA", ta), Net::real("alpha", r.once_in(3) ? 1.f : -0.25f), Net::real("beta", r.once_in(2) ? 1.f : 0.5f)});
      net.output(any_tail(net, r, y, 0.02f));
      check_codes(bench, net, tally, "codes", seed, -1, options);
    }
  });
  MESSAGE(tally.off << " of " << tally.codes << " codes differ by a step");
  CHECK(tally.off * 100000 <= tally.codes + 100000);
}

TEST_CASE("products of two computed operands of codes use a matrix unit where there is one and rows are long enough") {
  Bench bench;
  const CodeSteps x{OPTIMA_U8, 0.02f, 117}, w{OPTIMA_U8, 0.02f, 128};
  for (const int64_t K : {32, 64}) {
    CodesNet net(1);
    net.output(net.node("MatMul", 13, {net.dequantize(net.input({2, 16, K}, OPTIMA_U8), x), net.dequantize(net.input({2, K, 20}, OPTIMA_U8), w)}, {2, 16, 20}));
    const auto c = compile(bench, net, {seam::option("llvm_cpu.cpu", "sapphirerapids")});
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(has_kernel(*c, "codes_matmul_amx") == (K == 64));
    CHECK_FALSE(has_kernel(*c, "codes_sums"));  // B's zero point is 0 once its codes are signed
  }
}

TEST_CASE("Softmax and layer normalization read and write codes by themselves") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (uint32_t seed = 1; seed <= (rounds(4) < 4 ? 2u : 4u); ++seed) {  // from floats, from codes, and again
      CAPTURE(seed);
      Chance r(seed + 6000);
      for (const char* op : {"Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization"}) {
        CAPTURE(op);
        CodesNet net(seed);
        const std::string name = op;
        const Dims dims{r(1, 3), r(1, 9), r.of({1, 5, 16, 33, 64})};
        const bool from_codes = seed % 2 == 0, to_codes = !from_codes || seed == 4;
        const CodeSteps x = any_step(r, 0.03f), y = any_step(r, name == "Softmax" ? 0.004f : 0.02f);
        const uint32_t in = from_codes ? net.dequantize(net.input(dims, x.dtype), x) : net.input(dims);
        std::vector<uint32_t> operands{in};
        if (!name.ends_with("Softmax")) operands.push_back(net.weights({dims[2]}));
        if (name == "LayerNormalization") operands.push_back(net.weights({dims[2]}));
        const uint32_t out = net.node(op, name.ends_with("Softmax") ? 13 : name == "LayerNormalization" ? 17 : 23, operands, dims, {Net::integer("axis", -1)});
        net.output(to_codes ? net.quantize(out, y) : out);
        check_codes(bench, net, tally, name.ends_with("Softmax") ? "softmax" : "norm", seed, -1, options);
        const auto c = compile(bench, net, options);
        CHECK_FALSE(has_kernel(*c, "elementwise"));  // no step before or behind it
      }
    }
  });
  MESSAGE(tally.off << " of " << tally.codes << " codes differ by a step");
  CHECK(tally.off * 100000 <= tally.codes + 100000);
}

TEST_CASE("no sum of codes saturates: the largest activations times the largest weights") {
  Bench bench;
  Tally tally;
  on_all_processors([&](const std::vector<optima_option>& options) {
    for (const int32_t dtype : {OPTIMA_U8, OPTIMA_I8}) {
      CAPTURE(dtype);
      CodesNet net(1);
      Chance r(1);
      const CodeSteps x{dtype, 0.01f, dtype == OPTIMA_U8 ? 0 : -128}, y{OPTIMA_U8, 100.f, 0};
      std::vector<float> scales;
      const uint32_t in = net.dequantize(net.input({1, 64, 6, 6}, dtype), x);
      net.output(net.quantize(net.node("Conv", 11, {in, net.weights_of_codes({32, 64, 3, 3}, 0, r, scales, true)}, {1, 32, 4, 4}), y));
      net.output(net.node("Conv", 11, {in, net.weights_of_codes({64, 1, 3, 3}, 0, r, scales, true)}, {1, 64, 4, 4}, {Net::integer("group", 64)}));
      check_codes(bench, net, tally, "codes_depthwise", 1, dtype == OPTIMA_U8 ? 255 : 127, options);
    }
  });
  CHECK(tally.off == 0);
}

TEST_CASE("without VNNI a 3x3 convolution between codes is computed in floats, which is faster; with it on codes") {
  Bench bench;
  const auto net = [] {
    CodesNet n(5);
    Chance r(5);
    const CodeSteps x{OPTIMA_U8, 0.02f, 117}, y{OPTIMA_U8, 0.2f, 30};
    std::vector<float> scales;
    const uint32_t conv = n.node("Conv", 11, {n.dequantize(n.input({1, 16, 14, 14}, OPTIMA_U8), x), n.weights_of_codes({16, 16, 3, 3}, 0, r, scales)}, {1, 16, 14, 14},
                                 {Net::ints("pads", {1, 1, 1, 1})});
    n.output(n.quantize(conv, y));
    return n;
  };
  const auto has = [&](const char* features, const std::string& kernel) {
    CodesNet n = net();
    const auto c = compile(bench, n, {seam::option("llvm_cpu.cpu", "x86-64-v3"), seam::option("llvm_cpu.features", features)});
    REQUIRE(c->code == OPTIMA_OK);
    return has_kernel(*c, kernel + "_");
  };
  CHECK(has("", "winograd"));
  CHECK_FALSE(has("", "codes_conv"));
  CHECK(has("+avxvnni", "codes_conv"));
}

TEST_CASE("weights that come through DequantizeLinear serve kernels on floats, too") {
  Bench bench;
  CodesNet net(3);
  Chance r(3);
  std::vector<float> scales;
  const uint32_t x = net.input({1, 24, 9, 9});
  const uint32_t y = net.node("Conv", 11, {x, net.weights_of_codes({20, 24, 3, 3}, 0, r, scales), net.weights({20})}, {1, 20, 9, 9}, {Net::ints("pads", {1, 1, 1, 1})});
  net.output(net.node("ConvTranspose", 11, {y, net.weights_of_codes({20, 8, 2, 2}, 1, r, scales)}, {1, 8, 18, 18}, {Net::ints("strides", {2, 2})}));
  const uint32_t rows = net.input({5, 33});
  net.output(net.node("MatMul", 13, {rows, net.weights_of_codes({33, 19}, 1, r, scales)}, {5, 19}));
  matches_reference(bench, net);
}
