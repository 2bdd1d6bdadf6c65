// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: every convolution algorithm over many shapes, alone and with its fused neighbours.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

struct Random {
  std::mt19937 engine{11};
  int64_t operator()(int64_t low, int64_t high) { return low + static_cast<int64_t>(engine() % static_cast<uint32_t>(high - low + 1)); }
};

/// A convolution of any rank with its own numbers per dim.
uint32_t any_conv(Net& net, Random& pick, uint32_t x, int64_t group, int64_t oc) {
  const Dims in = net.dims(x);
  const size_t n = in.size() - 2;
  Dims kernel, stride, dilation, begin, end, out{in[0], oc};
  for (size_t d = 0; d < n; ++d) {
    kernel.push_back(pick(0, 3) ? pick(1, 3) : pick(1, 5)), stride.push_back(pick(1, 2)), dilation.push_back(pick(0, 3) ? 1 : 2);
    const int64_t reach = (kernel[d] - 1) * dilation[d] + 1;
    begin.push_back(pick(0, reach - 1)), end.push_back(std::max(pick(0, reach - 1), reach - in[d + 2] - begin[d]));
    out.push_back((in[d + 2] + begin[d] + end[d] - reach) / stride[d] + 1);
  }
  Dims pads = begin, weights{oc, in[1] / group};
  pads.insert(pads.end(), end.begin(), end.end());
  weights.insert(weights.end(), kernel.begin(), kernel.end());
  return net.node("Conv", 11, {x, net.weights(weights, -0.3f, 0.3f), net.weights({oc})}, out,
                  {Net::ints("kernel_shape", kernel), Net::ints("strides", stride), Net::ints("dilations", dilation), Net::ints("pads", pads), Net::integer("group", group)});
}

}  // namespace

TEST_CASE("convolutions of one to three dimensions, any stride, dilation, padding, groups and batch match the reference") {
  Bench bench;
  Random pick;
  for (int i = 0; i < rounds(40); ++i) {
    CAPTURE(i);
    const int64_t rank = pick(3, 5), group = pick(0, 2) ? 1 : pick(2, 5), ic = group * pick(1, group == 1 ? 40 : 9);
    const int64_t oc = group * pick(1, group == 1 ? 40 : 9);
    Dims in{pick(1, 3), ic};
    for (int64_t d = 2; d < rank; ++d) in.push_back(pick(1, rank == 5 ? 6 : 20));
    Net net(static_cast<uint32_t>(i + 1));
    net.output(any_conv(net, pick, net.input(in), group, oc));
    matches_reference(bench, net);
  }
}

TEST_CASE("images that caches do not hold are convolved block by block, and long rows in pieces, whatever hangs over a piece") {
  Bench bench;
  Net net;
  const auto conv = [&](const Dims& in, Dims weights, Dims kernel, Dims dilation, Dims pads, Dims out, int64_t group = 1) {
    return net.node("Conv", 11, {net.input(in), net.weights(weights, -0.05f, 0.05f), net.weights({weights[0]})}, out,
                    {Net::ints("kernel_shape", kernel), Net::ints("dilations", dilation), Net::ints("pads", pads), Net::integer("group", group)});
  };
  net.output(conv({2, 64, 70, 70}, {20, 64, 3, 3}, {3, 3}, {2, 1}, {2, 1, 1, 2}, {2, 20, 69, 71}));
  net.output(conv({1, 128, 2, 3000}, {18, 64, 1, 3}, {1, 3}, {1, 1}, {0, 1, 0, 1}, {1, 18, 2, 3000}, 2));
  net.output(conv({1, 520, 1100}, {8, 520, 3}, {3}, {70}, {75, 140}, {1, 8, 1175}));  // pieces of fewer pixels than hang over
  net.output(conv({1, 400, 34, 43}, {40, 400, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 40, 34, 43}));
  net.output(net.node("ConvTranspose", 11, {net.input({1, 128, 4200}), net.weights({128, 10, 3}, -0.05f, 0.05f)}, {1, 10, 8401}, {Net::ints("strides", {2})}));
  matches_reference(bench, net);
}

TEST_CASE("depthwise convolutions of one to three dimensions, padded on any side, match the reference") {
  Bench bench;
  Random pick;
  for (int i = 0; i < rounds(24); ++i) {
    CAPTURE(i);
    const int64_t rank = pick(3, 5), channels = pick(2, 40);
    Dims in{pick(1, 2), channels};
    for (int64_t d = 2; d < rank; ++d) in.push_back(d == 2 && i % 2 ? 1 : pick(1, rank == 5 ? 5 : 14));
    Net net(static_cast<uint32_t>(i + 1));
    net.output(any_conv(net, pick, net.input(in), channels, channels));
    matches_reference(bench, net);
  }
}

TEST_CASE("a plane of depth that only end padding makes is computed") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 18, 1, 5, 5});
  net.output(net.node("Conv", 11, {x, net.weights({18, 1, 1, 3, 3}), net.weights({18})}, {1, 18, 3, 5, 5},
                      {Net::ints("kernel_shape", {1, 3, 3}), Net::ints("pads", {0, 1, 1, 2, 1, 1}), Net::integer("group", 18)}));
  net.output(net.node("Conv", 11, {x, net.weights({18, 18, 1, 1, 1}), net.weights({18})}, {1, 18, 2, 5, 5}, {Net::ints("pads", {0, 0, 0, 1, 0, 0})}));
  net.output(net.node("Conv", 11, {x, net.weights({20, 18, 1, 3, 3})}, {1, 20, 2, 5, 5}, {Net::ints("pads", {0, 1, 1, 1, 1, 1})}));
  net.output(net.node("AveragePool", 11, {x}, {1, 18, 2, 5, 5}, {Net::ints("kernel_shape", {1, 3, 3}), Net::ints("pads", {0, 1, 1, 1, 1, 1}), Net::integer("count_include_pad", 1)}));
  matches_reference(bench, net);
}

TEST_CASE("long rows of taps, as signal transforms have, compile in seconds and match the reference") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 1, 700}), y = net.input({1, 17, 300});
  net.output(net.node("Conv", 11, {x, net.weights({20, 1, 401}, -0.05f, 0.05f)}, {1, 20, 5}, {Net::ints("strides", {100}), Net::ints("pads", {51, 50})}));
  net.output(net.node("Conv", 11, {y, net.weights({17, 1, 65}, -0.1f, 0.1f)}, {1, 17, 300}, {Net::ints("pads", {32, 32}), Net::integer("group", 17)}));
  matches_reference(bench, net, 3e-5);
}

TEST_CASE("convolutions and pools of a single column, and of a single column of planes, match the reference") {
  Bench bench;
  Random pick;
  for (int i = 0; i < rounds(12); ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const bool deep = i % 3 == 2;  // [N, C, D, 1, 1] and [N, C, D, H, 1]
    const int64_t channels = pick(1, 40), oc = pick(1, 40), k = pick(1, 5), stride = pick(1, 2), begin = pick(0, k - 1), end = pick(0, k - 1), size = pick(5, 40);
    Dims in{pick(1, 2), channels, size, 1}, kernel{k, 1}, strides{stride, 1}, pads{begin, 0, end, 0}, out{in[0], oc, (size + begin + end - k) / stride + 1, 1};
    if (deep) {
      const int64_t rows = i % 2 ? 1 : 6;
      in = {in[0], channels, size, rows, 1}, kernel = {k, 1, 1}, strides = {stride, 1, 1}, pads = {begin, 0, 0, end, 0, 0}, out = {in[0], oc, out[2], rows, 1};
    }
    const uint32_t x = net.input(in);
    const std::vector<image::Attr> window{Net::ints("kernel_shape", kernel), Net::ints("strides", strides), Net::ints("pads", pads)};
    Dims weights{oc, channels};
    weights.insert(weights.end(), kernel.begin(), kernel.end());
    net.output(net.node("Conv", 11, {x, net.weights(weights, -0.3f, 0.3f), net.weights({oc})}, out, window));
    out[1] = channels;
    weights = {channels, 1};
    weights.insert(weights.end(), kernel.begin(), kernel.end());
    auto grouped = window;
    grouped.push_back(Net::integer("group", channels));
    net.output(net.node("Conv", 11, {x, net.weights(weights, -0.3f, 0.3f)}, out, grouped));
    net.output(net.node("MaxPool", 12, {x}, out, window));
    net.output(net.node("AveragePool", 11, {x}, out, window));
    matches_reference(bench, net);
  }
}

TEST_CASE("narrow groups of any width share vectors and match the reference, for 16 and 8 floats per vector") {
  Bench bench;
  Random pick;
  const std::vector<optima_option> haswell{seam::option("llvm_cpu.cpu", "haswell")};
  for (int i = 0; i < rounds(10); ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t group = pick(2, 13), ic = pick(2, 26), oc = pick(0, 1) ? ic : pick(2, 26);
    CAPTURE(group);
    CAPTURE(ic);
    CAPTURE(oc);
    const uint32_t x = net.input({pick(1, 2), group * ic, pick(5, 20), pick(5, 34)});
    const uint32_t a = any_conv(net, pick, x, group, group * oc);
    const uint32_t b = net.batch_norm(net.conv(a, group * oc, 3, 1, 1, group));
    net.output(net.same("Relu", 14, net.add(b, a)));
    matches_reference(bench, net, 3e-5, i % 2 ? haswell : std::vector<optima_option>());
  }
}

TEST_CASE("a NaN stays in its narrow group") {
  Bench bench;
  Net net;
  net.output(net.conv(net.input({1, 39, 6, 7}), 39, 3, 1, 1, 3));
  matches_reference(bench, net, 1e-5, {}, 500);
}

TEST_CASE("transposed convolutions of any stride, dilation, padding and groups match the reference") {
  Bench bench;
  Random pick;
  for (int i = 0; i < rounds(24); ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t rank = pick(3, 5), n = rank - 2, group = pick(0, 2) ? 1 : pick(2, 4), ic = group * pick(1, 20), ocg = pick(1, 20);
    Dims in{pick(1, 2), ic}, kernel, stride, dilation, begin, end, extra, out{in[0], group * ocg};
    for (int64_t d = 0; d < n; ++d) {
      in.push_back(pick(2, rank == 5 ? 4 : 9)), kernel.push_back(pick(1, 4)), stride.push_back(pick(1, 3)), dilation.push_back(pick(0, 2) ? 1 : 2);
      begin.push_back(pick(0, 1)), end.push_back(pick(0, 1)), extra.push_back(pick(0, std::max(stride.back(), dilation.back()) - 1));
      out.push_back(std::max<int64_t>(1, stride.back() * (in.back() - 1) + extra.back() + (kernel.back() - 1) * dilation.back() + 1 - begin.back() - end.back()));
    }
    Dims pads = begin, weights{ic, ocg};
    pads.insert(pads.end(), end.begin(), end.end()), weights.insert(weights.end(), kernel.begin(), kernel.end());
    net.output(net.node("ConvTranspose", 11, {net.input(in), net.weights(weights), net.weights({group * ocg})}, out,
                        {Net::ints("kernel_shape", kernel), Net::ints("strides", stride), Net::ints("dilations", dilation), Net::ints("pads", pads),
                         Net::ints("output_padding", extra), Net::integer("group", group)}));
    matches_reference(bench, net);
  }
}

TEST_CASE("3x3 convolutions by Winograd's method match the reference") {
  Bench bench;
  struct Layer {
    int64_t channels, out, size, batch;
  };
  for (const Layer l : {Layer{16, 32, 28, 1}, {33, 20, 13, 1}, {64, 64, 14, 1}, {64, 64, 14, 2}, {100, 50, 7, 1}, {24, 24, 57, 1}}) {
    CAPTURE(l.channels);
    CAPTURE(l.size);
    Net net;
    net.output(net.same("Relu", 14, net.conv(net.input({l.batch, l.channels, l.size, l.size}), l.out, 3, 1, 1)));
    matches_reference(bench, net, 3e-5);
  }
}

TEST_CASE("winograd is not used when the user asks for direct convolution") {
  Bench bench;
  Net net;
  net.output(net.conv(net.input({1, 64, 14, 14}), 64, 3, 1, 1));
  const auto with = compile(bench, net), without = compile(bench, net, {number_option("llvm_cpu.winograd", 0)});
  const auto has = [](const Compiled& c, const char* family) {
    return std::any_of(c.sink.files.begin(), c.sink.files.end(), [&](const auto& f) { return f.first.rfind(family, 0) == 0; });
  };
  CHECK(has(*with, "winograd_"));
  CHECK_FALSE(has(*without, "winograd_"));
  CHECK(has(*without, "conv_"));
  matches_reference(bench, net, 1e-5, {number_option("llvm_cpu.winograd", 0)});
}

TEST_CASE("1x1 and depthwise convolutions match the reference") {
  Bench bench;
  Random pick;
  for (int i = 0; i < 16; ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t ic = pick(1, 100), size = pick(1, 30), k = pick(0, 1) ? 3 : 5, stride = pick(1, 2);
    const uint32_t x = net.input({pick(1, 2), ic, size, size});
    net.output(net.conv(x, pick(1, 100), 1, 1, 0));
    if (ic > 1) net.output(net.conv(x, ic, k, stride, k / 2, ic));
    matches_reference(bench, net);
  }
}

TEST_CASE("batch normalisation, activation and residual become part of the convolution") {
  Bench bench;
  struct Activation {
    const char* op;
    int32_t since;
  };
  for (const Activation act : {Activation{"Relu", 14}, {"LeakyRelu", 16}, {"Sigmoid", 13}, {"Tanh", 13}, {"HardSigmoid", 6}, {"HardSwish", 14}}) {
    CAPTURE(std::string(act.op));
    Net net;
    const uint32_t x = net.input({1, 20, 12, 12});
    const uint32_t a = net.same("Relu", 14, net.batch_norm(net.conv(x, 40, 3, 1, 1, 1, false)));
    const uint32_t b = net.batch_norm(net.conv(a, 40, 3, 1, 1));
    net.output(net.same(act.op, act.since, net.add(b, a)));
    const auto c = compile(bench, net);
    CHECK(c->code == OPTIMA_OK);
    matches_reference(bench, net, 3e-5);
  }
}

TEST_CASE("constants around an activation, and hard swish written out, become part of the convolution") {
  Bench bench;
  for (int i = 0; i < rounds(8); ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t channels = i % 2 ? 20 : 32, group = i % 4 == 3 ? channels : 1;
    const uint32_t x = net.input({1, channels, 12, 12});
    const Dims dims{1, channels, 12, 12};
    const auto number = [&](float v) { return net.constant<float>({}, {v}, OPTIMA_F32); };
    const auto binary = [&](const char* op, uint32_t a, uint32_t b) { return net.node(op, 14, {a, b}, dims); };
    uint32_t v = net.conv(x, channels, i < 4 ? 3 : 1, 1, i < 4 ? 1 : 0, group);
    v = binary("Add", number(0.25f), binary("Mul", v, i % 2 ? net.weights({channels, 1, 1}) : number(1.5f)));
    v = binary("Sub", binary("Div", v, number(0.8f)), net.weights({1, channels, 1, 1}));
    const uint32_t limited = net.node("Clip", 13, {binary("Add", v, number(3)), number(0), number(6)}, dims);
    v = i % 2 ? binary("Div", binary("Mul", v, limited), number(6)) : binary("Mul", binary("Mul", number(1.f / 6), limited), v);
    v = binary("Add", binary("Mul", v, number(-1.25f)), number(0.5f));
    net.output(i % 3 ? net.add(v, x) : v);
    const auto c = compile(bench, net);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(kernels_of(*c) == 3);  // to blocked, the convolution, to plain
    matches_reference(bench, net, 3e-5);
  }
}

TEST_CASE("what is normalised after an activation is part of the convolution, whatever its algorithm, groups and channels") {
  Bench bench;
  struct Layer {
    int64_t channels, size, kernel, group;
    bool transposed;
  };
  for (const Layer l : {Layer{20, 9, 5, 1, false}, {64, 14, 3, 1, false}, {40, 12, 1, 1, false}, {20, 12, 3, 20, false}, {24, 9, 3, 8, false}, {40, 9, 3, 2, false}, {64, 9, 3, 4, false}, {20, 7, 2, 1, true}})
    for (const bool biased : {true, false}) {
      CAPTURE(l.channels);
      CAPTURE(l.kernel);
      CAPTURE(l.group);
      CAPTURE(biased);
      Net net(static_cast<uint32_t>(l.channels + biased));
      const uint32_t x = net.input({2, l.channels, l.size, l.size});
      const int64_t out = l.transposed ? 2 * l.size : l.size;
      const Dims dims{2, l.channels, out, out};
      const auto binary = [&](const char* op, uint32_t a, uint32_t b) { return net.node(op, 14, {a, b}, dims); };
      uint32_t v = l.transposed ? net.node("ConvTranspose", 11, {x, net.weights({l.channels, l.channels, 2, 2})}, dims, {Net::ints("strides", {2, 2})})
                                : net.conv(x, l.channels, l.kernel, 1, l.kernel / 2, l.group, biased);
      v = net.same("Relu", 14, biased ? net.batch_norm(v) : v);
      if (l.size == 9) v = binary("Mul", v, net.constant<float>({}, {0.5f}, OPTIMA_F32));
      v = binary("Sub", net.batch_norm(v), net.weights({l.channels, 1, 1}));
      v = binary("Add", v, net.constant<float>({}, {0.25f}, OPTIMA_F32));
      net.output(biased && !l.transposed ? net.add(v, x) : v);
      const auto c = compile(bench, net);
      REQUIRE(c->code == OPTIMA_OK);
      CHECK(kernels_of(*c) == 3);  // to blocked, the convolution, to plain
      matches_reference(bench, net, 3e-5);
    }
}

TEST_CASE("constants that do not follow the channels, or stand between a result and others that read it, are steps of their own") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 20, 6, 20});
  const auto mul = [&](uint32_t a, uint32_t b) { return net.node("Mul", 14, {a, b}, {1, 20, 6, 20}); };
  const uint32_t a = net.conv(x, 20, 3, 1, 1);
  net.output(mul(a, net.weights({20})));                                    // along W
  const uint32_t b = net.conv(x, 20, 3, 1, 1), scaled = mul(b, net.weights({20, 1, 1}));
  net.output(b), net.output(net.same("Relu", 14, scaled));
  const uint32_t c = net.same("Relu", 14, net.conv(x, 20, 1, 1, 0));
  net.output(net.same("Sigmoid", 13, mul(c, net.weights({20, 1, 1}))));     // behind the activation, before another one
  net.output(net.same("Tanh", 13, mul(net.same("Relu", 14, net.conv(x, 20, 1, 1, 0)), net.constant<float>({1}, {0.3f}, OPTIMA_F32))));
  matches_reference(bench, net, 3e-5);
}

TEST_CASE("convolutions whose weights or biases are computed have kernels and match the reference, whatever groups, taps and tails") {
  Bench bench;
  Random pick;
  for (int i = 0; i < rounds(16); ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t group = i % 4 == 1 ? pick(2, 5) : 1, ic = group * pick(1, 40), oc = i % 4 == 2 ? ic : group * pick(1, 40), k = pick(1, 4), size = pick(4, 20), stride = pick(1, 2);
    const bool depthwise = i % 4 == 2, transposed = i % 4 == 3;
    const int64_t groups = depthwise ? ic : group, out = transposed ? (size - 1) * stride + k : (size - k) / stride + 1;
    const uint32_t x = net.input({pick(1, 2), ic, size, size});
    const Dims weights = transposed ? Dims{ic, oc, k, k} : Dims{oc, ic / groups, k, k};
    std::vector<uint32_t> operands{x, i % 5 == 4 ? net.weights(weights) : net.input(weights)};
    if (i % 5 != 0) operands.push_back(i % 2 ? net.weights({oc}) : net.input({oc}));
    uint32_t v = net.node(transposed ? "ConvTranspose" : "Conv", 11, operands, {net.dims(x)[0], oc, out, out}, {Net::ints("strides", {stride, stride}), Net::integer("group", groups)});
    if (i % 3 == 0) v = net.batch_norm(v);
    v = net.same("Relu", 14, v);
    if (i % 3 == 1) v = net.batch_norm(v);
    net.output(i % 2 ? net.add(v, net.input(net.dims(v))) : v);
    const auto c = compile(bench, net);
    REQUIRE(c->code == OPTIMA_OK);
    size_t packs = 0;
    for (const auto& f : c->sink.files) packs += f.first.rfind("weights_", 0) == 0;
    CHECK((packs > 0) != (i % 5 == 4 && i % 2));
    matches_reference(bench, net, 3e-5);
  }
}

TEST_CASE("weights below the smallest normal float count as zeros, and the caller's arithmetic keeps such numbers") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 32, 9, 9});
  const uint32_t a = net.node("Conv", 11, {x, net.weights({32, 1, 3, 3}, -1e-39f, 1e-39f)}, {1, 32, 9, 9}, {Net::ints("pads", {1, 1, 1, 1}), Net::integer("group", 32)});
  net.output(a);
  net.output(net.add(net.conv(a, 32, 1, 1, 0), net.conv(x, 32, 1, 1, 0)));
  matches_reference(bench, net);
  volatile float tiny = 1e-39f, half = 0.5f;
  CHECK(tiny * half != 0);
  const auto c = compile(bench, net);
  const Tensors out = run(bench, *c, random_inputs(*c), 2);
  const float* first = static_cast<const float*>(out[0].data);
  CHECK(std::all_of(first, first + 32 * 81, [](float v) { return v == 0; }));
}

TEST_CASE("the same convolutions are right on processors with 8 floats per vector") {
  Bench bench;
  Random pick;
  const std::vector<optima_option> haswell{seam::option("llvm_cpu.cpu", "haswell")};
  for (int i = 0; i < rounds(10); ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t ic = pick(1, 40), oc = pick(1, 40), size = pick(5, 20);
    const uint32_t x = net.input({pick(1, 2), ic, size, size});
    net.output(any_conv(net, pick, x, 1, oc));
    net.output(net.conv(x, oc, 3, 1, 1));
    net.output(net.conv(x, oc, 1, 1, 0));
    if (ic > 1) net.output(net.same("Relu", 14, net.conv(x, ic, 3, 2, 1, ic)));
    matches_reference(bench, net, 3e-5, haswell);
  }
}

TEST_CASE("a gate after a convolution and an addition after its activation are fused and right") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 32, 9, 9});
  const uint32_t a = net.conv(x, 32, 1, 1, 0);
  const uint32_t s = net.same("Sigmoid", 13, a);
  const uint32_t silu = net.node("Mul", 14, {a, s}, net.dims(a));
  const uint32_t b = net.same("Relu", 14, net.conv(silu, 32, 3, 1, 1, 32));
  net.output(net.add(b, silu));
  matches_reference(bench, net, 3e-5);
}

TEST_CASE("an Identity is no step, between convolutions, behind a pool and at the end") {
  Bench bench;
  Net net;
  const auto same = [&](uint32_t v) { return net.same("Identity", 14, v); };
  const uint32_t a = net.same("Relu", 14, same(net.conv(net.input({1, 32, 9, 9}), 32, 1, 1, 0)));
  const uint32_t pool = same(net.node("MaxPool", 12, {same(a)}, {1, 32, 9, 9}, {Net::ints("kernel_shape", {3, 3}), Net::ints("pads", {1, 1, 1, 1})}));
  net.output(same(net.add(net.conv(pool, 32, 1, 1, 0), pool)));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(kernels_of(*c) == 5);  // to blocked, two convolutions, the pool, to plain
  matches_reference(bench, net);
}

TEST_CASE("blocked images keep their layout where only their space is reshaped, and become pixels of channels in one step") {
  Bench bench;
  for (const int64_t channels : {3, 16, 21, 48}) {
    CAPTURE(channels);
    Net net;
    const uint32_t a = net.conv(net.input({2, 16, 6, 10}), channels, 1, 1, 0);
    const uint32_t shape = net.constant<int64_t>({3}, {2, channels, 60}, OPTIMA_I64);
    const uint32_t flat = net.node("Reshape", 14, {a, shape}, {2, channels, 60});
    net.output(net.node("Transpose", 13, {flat}, {2, 60, channels}, {Net::ints("perm", {0, 2, 1})}));
    net.output(net.node("Transpose", 13, {a}, {2, 6, 10, channels}, {Net::ints("perm", {0, 2, 3, 1})}));
    net.output(net.node("Transpose", 13, {a}, {2, channels, 10, 6}, {Net::ints("perm", {0, 1, 3, 2})}));
    const uint32_t back = net.node("Reshape", 14, {net.same("Relu", 14, flat), net.constant<int64_t>({4}, {2, channels, 4, 15}, OPTIMA_I64)}, {2, channels, 4, 15});
    net.output(net.conv(back, 20, 3, 1, 1));
    matches_reference(bench, net);
  }
}

TEST_CASE("pooling of blocked activations matches the reference") {
  Bench bench;
  Random pick;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    Net net(static_cast<uint32_t>(i + 1));
    const int64_t rank = pick(3, 5), n = rank - 2;
    Dims in{pick(1, 2), pick(1, 40)}, kernel, stride, begin, end, out;
    for (int64_t d = 0; d < n; ++d) {
      in.push_back(pick(3, rank == 5 ? 6 : 20)), kernel.push_back(pick(1, 3)), stride.push_back(pick(1, 2));
      begin.push_back(pick(0, kernel.back() - 1)), end.push_back(pick(0, kernel.back() - 1));
    }
    out = {in[0], in[1]};
    for (size_t d = 0; d < static_cast<size_t>(n); ++d) out.push_back((in[d + 2] + begin[d] + end[d] - kernel[d]) / stride[d] + 1);
    Dims pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    const uint32_t x = net.input(in);
    const std::vector<image::Attr> attrs{Net::ints("kernel_shape", kernel), Net::ints("strides", stride), Net::ints("pads", pads)};
    net.output(net.node("MaxPool", 12, {x}, out, attrs));
    auto average = attrs;
    average.push_back(Net::integer("count_include_pad", pick(0, 1)));
    net.output(net.node("AveragePool", 11, {x}, out, average));
    Dims one{in[0], in[1]};
    one.resize(static_cast<size_t>(rank), 1);
    net.output(net.node("GlobalAveragePool", 1, {x}, one));
    net.output(net.node("GlobalMaxPool", 1, {x}, one));
    matches_reference(bench, net);
  }
}

TEST_CASE("channels of convolutions are joined in place, by blocks, and across block borders") {
  Bench bench;
  struct Join {
    int64_t batch, a, b, c;
  };
  for (const Join j : {Join{1, 16, 32, 7}, {1, 5, 20, 40}, {2, 16, 16, 16}, {2, 3, 17, 30}, {1, 1, 1, 1}}) {
    CAPTURE(j.b);
    Net net;
    const uint32_t x = net.input({j.batch, 16, 9, 9});
    const uint32_t a = net.conv(x, j.a, 1, 1, 0), b = net.conv(x, j.b, 3, 1, 1), c = net.conv(x, j.c, 1, 1, 0);
    const uint32_t ab = net.node("Concat", 13, {a, b}, {j.batch, j.a + j.b, 9, 9}, {Net::integer("axis", 1)});
    const uint32_t all = net.node("Concat", 13, {ab, c, a}, {j.batch, 2 * j.a + j.b + j.c, 9, 9}, {Net::integer("axis", 1)});
    net.output(net.conv(all, 8, 1, 1, 0));
    net.output(all);
    matches_reference(bench, net, 3e-5);
  }
}
