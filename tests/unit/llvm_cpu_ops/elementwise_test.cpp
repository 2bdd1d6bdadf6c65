// SPDX-License-Identifier: Apache-2.0
// Element-wise operators through both halves of the plugin: alone, in chains, broadcast, in every type, in both layouts.
#include <cmath>
#include <limits>

#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

uint32_t cast(Net& net, uint32_t x, int32_t to) { return net.node("Cast", 13, {x}, net.dims(x), {Net::integer("to", to)}, to); }
uint32_t scaled(Net& net, uint32_t x, float by) { return net.node("Mul", 14, {x, net.constant<float>({}, {by}, OPTIMA_F32)}, net.dims(x)); }

}  // namespace

TEST_CASE("every unary operator on floats gives the reference's answer") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 37}), positive = net.node("Abs", 13, {x}, {3, 37}), wide = scaled(net, x, 5);
  net.output(positive), net.output(wide);
  for (const auto& [op, since] : std::vector<std::pair<const char*, int>>{
           {"Neg", 13}, {"Floor", 13}, {"Ceil", 13}, {"Round", 11}, {"Sign", 13}, {"Exp", 13}, {"Tanh", 13}, {"Sigmoid", 13}, {"Erf", 13},
           {"Softplus", 1}, {"Softsign", 1}, {"Sin", 7}, {"Cos", 7}, {"Atan", 7}, {"Sinh", 9}, {"Cosh", 9}, {"Asinh", 9}, {"Relu", 14},
           {"LeakyRelu", 16}, {"Elu", 6}, {"Celu", 12}, {"Selu", 6}, {"ThresholdedRelu", 10}, {"HardSigmoid", 6}, {"HardSwish", 14},
           {"Mish", 18}, {"Gelu", 20}, {"Shrink", 9}, {"Clip", 13}})
    net.output(net.same(op, since, wide));
  for (const auto& [op, since] : std::vector<std::pair<const char*, int>>{{"Sqrt", 13}, {"Reciprocal", 13}, {"Log", 13}})
    net.output(net.same(op, since, net.add(positive, net.constant<float>({1}, {0.01f}, OPTIMA_F32))));
  for (const auto& [op, since] : std::vector<std::pair<const char*, int>>{{"Asin", 7}, {"Acos", 7}, {"Atanh", 9}, {"Tan", 7}})
    net.output(net.same(op, since, scaled(net, x, 0.9f)));
  net.output(net.same("Gelu", 20, wide, {Net::text("approximate", "tanh")}));
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("binary operators broadcast in every way") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({2, 5, 1, 19}), y = net.input({5, 7, 1}), z = net.input({1}), w = net.input({19});
  const Dims out{2, 5, 7, 19};
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) net.output(net.node(op, 14, {x, y}, out));
  net.output(net.node("Add", 14, {z, x}, {2, 5, 1, 19}));
  net.output(net.node("Mul", 14, {w, y}, {5, 7, 19}));
  net.output(net.node("Max", 13, {x, y, w}, out));
  net.output(net.node("Min", 13, {y, x, z}, out));
  net.output(net.node("Mean", 13, {y, x, z}, out));
  net.output(net.node("PRelu", 16, {x, w}, {2, 5, 1, 19}));
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("comparisons, logic and where") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({4, 33}), y = net.input({33});
  std::vector<uint32_t> flags;
  for (const auto& [op, since] : std::vector<std::pair<const char*, int>>{{"Less", 13}, {"LessOrEqual", 16}, {"Greater", 13}, {"GreaterOrEqual", 16}, {"Equal", 19}})
    net.output(net.node(op, since, {x, y}, {4, 33}, {}, OPTIMA_BOOL)), flags.push_back(net.graph().outputs.back());
  for (const char* op : {"And", "Or", "Xor"}) net.output(net.node(op, 7, {flags[0], flags[4]}, {4, 33}, {}, OPTIMA_BOOL));
  const uint32_t no = net.node("Not", 1, {flags[0]}, {4, 33}, {}, OPTIMA_BOOL);
  net.output(no);
  net.output(net.node("Where", 16, {no, x, y}, {4, 33}));
  net.output(net.node("IsNaN", 20, {x}, {4, 33}, {}, OPTIMA_BOOL));
  net.output(net.node("IsInf", 20, {x}, {4, 33}, {}, OPTIMA_BOOL));
  matches_reference(bench, net);
}

TEST_CASE("integers of every width: arithmetic, division by zero included, and shifts") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({50}), y = net.input({50});
  for (const int32_t t : {OPTIMA_I64, OPTIMA_I32, OPTIMA_I8, OPTIMA_U8}) {
    const bool with_sign = t != OPTIMA_U8;
    const uint32_t a = cast(net, scaled(net, with_sign ? x : net.same("Abs", 13, x), 100), t);
    const uint32_t b = cast(net, net.add(scaled(net, net.same("Abs", 13, y), 5), net.constant<float>({1}, {1}, OPTIMA_F32)), t);
    net.output(a), net.output(b);
    for (const char* op : {"Add", "Sub", "Mul", "Div"}) net.output(net.node(op, 14, {a, b}, {50}, {}, t));
    net.output(net.node("Mod", 13, {a, b}, {50}, {}, t));
    net.output(net.node("Max", 13, {a, b}, {50}, {}, t));
    net.output(net.node("Abs", 13, {a}, {50}, {}, t));
    net.output(net.node("Less", 13, {a, b}, {50}, {}, OPTIMA_BOOL));
    net.output(cast(net, a, OPTIMA_F32));
    net.output(cast(net, a, OPTIMA_BOOL));
    net.output(cast(net, a, OPTIMA_I64));
  }
  matches_reference(bench, net);
}

TEST_CASE("half and bfloat16 are stored as such") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 21});
  for (const int32_t t : {OPTIMA_F16, OPTIMA_BF16}) {
    const uint32_t h = cast(net, x, t);
    net.output(h);
    net.output(cast(net, h, OPTIMA_F32));
  }
  matches_reference(bench, net);
}

TEST_CASE("power takes the short way for small exponents and the long way else") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({40}), y = net.input({40}), positive = net.same("Abs", 13, x);
  net.output(positive);
  for (const float e : {2.f, 3.f, 0.5f, -1.f, -0.5f, 1.f, 2.5f, 0.f})
    net.output(net.node("Pow", 15, {net.add(positive, net.constant<float>({1}, {0.5f}, OPTIMA_F32)), net.constant<float>({}, {e}, OPTIMA_F32)}, {40}));
  net.output(net.node("Pow", 15, {positive, y}, {40}));
  net.output(net.node("Pow", 15, {x, net.constant<int64_t>({}, {3}, OPTIMA_I64)}, {40}));
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("a Gelu written out is one kernel") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({5, 300});
  uint32_t v = net.node("Div", 14, {x, net.constant<float>({}, {1.41421356f}, OPTIMA_F32)}, {5, 300});
  v = net.same("Erf", 13, v);
  v = net.node("Add", 14, {v, net.constant<float>({}, {1}, OPTIMA_F32)}, {5, 300});
  v = net.node("Mul", 14, {x, v}, {5, 300});
  v = net.node("Mul", 14, {v, net.constant<float>({}, {0.5f}, OPTIMA_F32)}, {5, 300});
  net.output(v);
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(kernels_of(*c) == 1);
  matches_reference(bench, net, 2e-6);
}

namespace {

/// x / 2 * (1 + erf(x / sqrt 2)): the half is a factor of the product (0), of x (1) or of the sum (2).
uint32_t written_gelu(Net& net, uint32_t x, int form, bool divides) {
  const Dims dims = net.dims(x);
  const auto number = [&](float v) { return net.constant<float>({}, {v}, OPTIMA_F32); };
  const auto mul = [&](uint32_t a, uint32_t b) { return net.node("Mul", 14, {a, b}, dims); };
  const uint32_t early = form == 1 ? mul(number(0.5f), x) : x;
  uint32_t v = net.same("Erf", 13, divides ? net.node("Div", 14, {x, number(1.41421356f)}, dims) : mul(x, number(0.70710678f)));
  v = net.node("Add", 14, {number(1), v}, dims);
  if (form == 2) v = mul(v, number(0.5f));
  v = mul(v, early);
  return form == 0 ? mul(v, number(0.5f)) : v;
}

}  // namespace

TEST_CASE("a Gelu written out in any order is the tail of its product, or part of its chain") {
  Bench bench;
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    Net product, chain;
    const uint32_t x = product.node("MatMul", 13, {product.input({6, 40}), product.weights({40, 50})}, {6, 50});
    product.output(written_gelu(product, product.node("Add", 14, {x, product.weights({50})}, {6, 50}), i % 3, i < 3));
    const auto c = compile(bench, product);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(kernels_of(*c) == 1);
    matches_reference(bench, product);
    chain.output(chain.same("Neg", 13, written_gelu(chain, chain.same("Abs", 13, chain.input({7, 33})), i % 3, i < 3)));
    const auto d = compile(bench, chain);
    REQUIRE(d->code == OPTIMA_OK);
    CHECK(kernels_of(*d) == 1);
    matches_reference(bench, chain, 2e-6);
  }
}

TEST_CASE("a number by which a product is scaled, as attention does, is part of the product; of a Gemm, after an addition or an activation it is none") {
  Bench bench;
  const auto number = [](Net& net, float v) { return net.constant<float>({}, {v}, OPTIMA_F32); };
  const Dims dims{2, 3, 9, 21};
  const auto product = [&](Net& net) { return net.node("MatMul", 13, {net.input({2, 3, 9, 16}), net.input({2, 3, 16, 21})}, dims); };
  Net scaled, twice, late, gemm;
  uint32_t v = scaled.node("Div", 14, {product(scaled), number(scaled, 5.7f)}, dims);
  scaled.output(scaled.same("Relu", 14, scaled.node("Add", 14, {v, scaled.input(dims)}, dims)));
  v = twice.node("Mul", 14, {number(twice, -0.3f), product(twice)}, dims);
  twice.output(twice.same("Sigmoid", 13, twice.node("Add", 14, {twice.node("Div", 14, {v, number(twice, 4)}, dims), twice.weights({21})}, dims)));
  late.output(late.node("Mul", 14, {late.same("Sigmoid", 13, product(late)), number(late, 3)}, dims));
  late.output(late.node("Mul", 14, {late.node("Add", 14, {product(late), late.input(dims)}, dims), number(late, 3)}, dims));
  late.output(late.node("Div", 14, {number(late, 3), product(late)}, dims));
  gemm.output(gemm.node("Mul", 14, {gemm.node("Gemm", 13, {gemm.input({7, 16}), gemm.weights({16, 21}), gemm.weights({21})}, {7, 21}), number(gemm, 3)}, {7, 21}));
  for (const auto& [net, kernels] : std::vector<std::pair<Net*, size_t>>{{&scaled, 1}, {&twice, 1}, {&late, 0}, {&gemm, 0}}) {
    const auto c = compile(bench, *net);
    REQUIRE(c->code == OPTIMA_OK);
    if (kernels) CHECK(kernels_of(*c) == kernels);
    matches_reference(bench, *net, 1e-5);
  }
}

TEST_CASE("a Gelu whose parts others read, or with other numbers, is computed as it stands") {
  Bench bench;
  Net net;
  const uint32_t x = net.same("Neg", 13, net.input({5, 30}));
  const auto number = [&](float v) { return net.constant<float>({}, {v}, OPTIMA_F32); };
  for (const float half : {0.5f, 0.25f}) {
    const uint32_t erf = net.same("Erf", 13, net.node("Div", 14, {x, number(1.41421356f)}, {5, 30})), sum = net.node("Add", 14, {erf, number(1)}, {5, 30});
    net.output(net.node("Mul", 14, {net.node("Mul", 14, {x, sum}, {5, 30}), number(half)}, {5, 30}));
    if (half == 0.5f) net.output(sum);
  }
  const uint32_t y = net.same("Abs", 13, net.input({5, 30})), erf = net.same("Erf", 13, net.node("Div", 14, {y, number(2)}, {5, 30}));
  net.output(net.node("Mul", 14, {net.node("Mul", 14, {y, net.node("Add", 14, {erf, number(1)}, {5, 30})}, {5, 30}), number(0.5f)}, {5, 30}));
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("large operands are cut into units") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({50021}), y = net.input({3, 20000}), z = net.input({20000});
  net.output(net.node("Exp", 13, {x}, {50021}));
  net.output(net.node("Add", 14, {y, z}, {3, 20000}));
  matches_reference(bench, net, 2e-6);
}

TEST_CASE("blocked tensors stay blocked through chains, with per-channel and per-pixel operands") {
  Bench bench;
  for (const int64_t channels : {16, 21}) {
    Net net;
    const uint32_t x = net.input({2, 3, 8, 8}), gate = net.input({2, channels, 1, 1}), plane = net.input({2, 1, 8, 8});
    const uint32_t c = net.conv(x, channels, 3, 1, 1);
    uint32_t v = net.node("Mul", 14, {c, gate}, {2, channels, 8, 8});
    v = net.node("Add", 14, {v, plane}, {2, channels, 8, 8});
    v = net.node("Mul", 14, {v, net.weights({channels, 1, 1})}, {2, channels, 8, 8});
    v = net.node("PRelu", 16, {v, net.weights({channels, 1, 1})}, {2, channels, 8, 8});
    net.output(v);
    net.output(net.batch_norm(net.same("Exp", 13, c)));
    matches_reference(bench, net);
  }
}

TEST_CASE("batch normalization alone, of any rank") {
  Bench bench;
  Net net;
  net.output(net.batch_norm(net.input({2, 5, 3, 4})));
  net.output(net.batch_norm(net.input({3, 20})));
  net.output(net.batch_norm(net.input({2, 4, 3, 2, 5})));
  matches_reference(bench, net);
}

namespace {

template <class T>
void integer_powers(Net& net, int32_t dtype) {
  const auto constant = [&](const std::vector<T>& v) { return net.constant<T>({static_cast<int64_t>(v.size())}, v, dtype); };
  const T minus = static_cast<T>(-1);
  const uint32_t base = constant({static_cast<T>(5003), 3, 2, static_cast<T>(-7), 0, 1, minus, static_cast<T>(201), 11});
  const uint32_t by = constant({2, 5, 7, 3, 0, minus, 3, 4, 63});
  net.output(net.node("Pow", 15, {base, by}, {9}, {}, dtype));
  for (const int64_t e : {0, 1, 2, 3, 4, 7, 31})
    net.output(net.node("Pow", 15, {base, net.constant<int64_t>({}, {e}, OPTIMA_I64)}, {9}, {}, dtype));
  if (std::is_signed_v<T>)  // beyond 64 bits the reference, which goes through double, does not wrap
    net.output(net.node("Pow", 15, {base, net.constant<float>({1}, {3}, OPTIMA_F32)}, {9}, {}, dtype));
}

}  // namespace

TEST_CASE("powers of integers are exact, and wrap, in every integer type") {
  Bench bench;
  Net net;
  integer_powers<int8_t>(net, OPTIMA_I8), integer_powers<int16_t>(net, OPTIMA_I16), integer_powers<int32_t>(net, OPTIMA_I32), integer_powers<int64_t>(net, OPTIMA_I64);
  integer_powers<uint8_t>(net, OPTIMA_U8), integer_powers<uint16_t>(net, OPTIMA_U16), integer_powers<uint32_t>(net, OPTIMA_U32), integer_powers<uint64_t>(net, OPTIMA_U64);
  matches_reference(bench, net);
}

TEST_CASE("a power of integers by fractions, and the square of a number that no float holds") {
  Bench bench;
  Net net;
  const uint32_t base = net.constant<int32_t>({4}, {5003, 16, 27, 2}, OPTIMA_I32);
  net.output(net.node("Pow", 15, {base, net.constant<int32_t>({4}, {2, 2, 2, 30}, OPTIMA_I32)}, {4}, {}, OPTIMA_I32));
  net.output(net.node("Pow", 15, {base, net.constant<float>({4}, {2, 0.5f, -1, 0.5f}, OPTIMA_F32)}, {4}, {}, OPTIMA_I32));
  matches_reference(bench, net);
  const auto c = compile(bench, net);
  const Tensors out = run(bench, *c, {});
  const auto* square = static_cast<const int32_t*>(out[0].data);
  const auto* other = static_cast<const int32_t*>(out[1].data);
  CHECK(square[0] == 25030009);
  CHECK(square[3] == 1 << 30);
  CHECK(other[0] == 25030009);
  CHECK(other[1] == 4);
  CHECK(other[3] == 1);
}

TEST_CASE("a bound that is not given does not bound, not even infinity") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 4, 3, 3}), inf = net.node("Div", 14, {x, net.constant<float>({}, {0}, OPTIMA_F32)}, {1, 4, 3, 3});
  const uint32_t zero = net.constant<float>({}, {0}, OPTIMA_F32);
  net.output(net.node("Clip", 13, {inf, zero}, {1, 4, 3, 3}));
  net.output(net.node("Clip", 13, {net.node("MatMul", 13, {inf, net.weights({3, 3}, 1, 2)}, {1, 4, 3, 3}), zero}, {1, 4, 3, 3}));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  const Tensors in = random_inputs(*c), out = run(bench, *c, in), want = optima::reference::run(c->model->raw, in);
  for (size_t k = 0; k < out.size(); ++k) {
    CAPTURE(k);
    for (int64_t i = 0; i < 36; ++i) {
      const float got = static_cast<const float*>(out[k].data)[i], wanted = static_cast<const float*>(want[k].data)[i];
      CHECK((got == wanted || (std::isnan(got) && std::isnan(wanted))));
    }
  }
}

TEST_CASE("the zero point of 32-bit numbers is taken away exactly") {
  Bench bench;
  Net net;
  const uint32_t x = net.constant<int32_t>({3}, {16777217, -16777219, 5}, OPTIMA_I32), zero = net.constant<int32_t>({}, {16777216}, OPTIMA_I32);
  net.output(net.node("DequantizeLinear", 21, {x, net.constant<float>({}, {0.5f}, OPTIMA_F32), zero}, {3}));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(static_cast<const float*>(run(bench, *c, {})[0].data)[0] == 0.5f);
}

#ifndef LLVM_CPU_GENERAL
namespace {

/// The nearest that the type holds, cut; 0 for what is no number.
template <class To>
To nearest_whole(double x) {
  if (std::isnan(x)) return 0;
  if (x >= std::ldexp(1.0, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
  return x <= static_cast<double>(std::numeric_limits<To>::min()) ? std::numeric_limits<To>::min() : static_cast<To>(x);
}

template <class From, class To>
void becomes_nearest(Bench& bench, const std::vector<From>& numbers, int32_t from, int32_t to) {
  CAPTURE(to);
  const Dims dims{static_cast<int64_t>(numbers.size())};
  Net net;
  const uint32_t x = net.input(dims, from);
  net.output(net.node("Cast", 21, {x}, dims, {Net::integer("to", to)}, to));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  Tensors in = random_inputs(*c);
  std::copy(numbers.begin(), numbers.end(), static_cast<From*>(const_cast<void*>(in[0].data)));
  const Tensors out = run(bench, *c, in);
  for (size_t i = 0; i < numbers.size(); ++i) CHECK_MESSAGE(static_cast<const To*>(out[0].data)[i] == nearest_whole<To>(static_cast<double>(numbers[i])), numbers[i]);
}
template <class From>
void becomes_nearest(Bench& bench, const std::vector<From>& numbers, int32_t from) {
  becomes_nearest<From, int32_t>(bench, numbers, from, OPTIMA_I32);
  becomes_nearest<From, int64_t>(bench, numbers, from, OPTIMA_I64);
  becomes_nearest<From, uint32_t>(bench, numbers, from, OPTIMA_U32);
  becomes_nearest<From, uint64_t>(bench, numbers, from, OPTIMA_U64);
}

}  // namespace

TEST_CASE("floats that no integer of the type holds become the nearest one, and what is no number 0") {
  Bench bench;
  std::vector<float> singles{0, INFINITY, -INFINITY, NAN};
  for (const float x : {0.9f, 1e9f, 2147483520.f, 2147483648.f, 2147483904.f, 4294967040.f, 4294967296.f, 9223371487098961920.f, 9223372036854775808.f, 18446742974197923840.f,
                        18446744073709551616.f, 1e30f})
    singles.push_back(x), singles.push_back(-x);
  std::vector<double> doubles(singles.begin(), singles.end());
  for (const double x : {2147483646.9, 2147483647.5, 2147483648.9, 4294967295.5, 9223372036854774784.0, 18446744073709549568.0}) doubles.push_back(x), doubles.push_back(-x);
  becomes_nearest(bench, singles, OPTIMA_F32);
  becomes_nearest(bench, doubles, OPTIMA_F64);
}

TEST_CASE("quotients and remainders of 32 bits are exact at the ends of what there is, and nothing traps") {
  Bench bench;
  std::vector<int32_t> a, b;
  for (const int32_t x : {INT32_MIN, INT32_MIN + 1, -65537, -7, -1, 0, 1, 6, 46341, INT32_MAX - 1, INT32_MAX})
    for (const int32_t y : {INT32_MIN, -46341, -3, -1, 0, 1, 2, 3, 65536, INT32_MAX - 1, INT32_MAX}) a.push_back(x), b.push_back(y);
  const Dims dims{static_cast<int64_t>(a.size())};
  Net net;
  const uint32_t x = net.input(dims, OPTIMA_I32), y = net.input(dims, OPTIMA_I32);
  net.output(net.node("Div", 14, {x, y}, dims, {}, OPTIMA_I32));
  net.output(net.node("Mod", 13, {x, y}, dims, {Net::integer("fmod", 1)}, OPTIMA_I32));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  Tensors in = random_inputs(*c);
  std::copy(a.begin(), a.end(), static_cast<int32_t*>(const_cast<void*>(in[0].data)));
  std::copy(b.begin(), b.end(), static_cast<int32_t*>(const_cast<void*>(in[1].data)));
  const Tensors out = run(bench, *c, in);
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t p = a[i], q = b[i];
    CAPTURE(p);
    CAPTURE(q);
    CHECK(static_cast<const int32_t*>(out[0].data)[i] == static_cast<int32_t>(q ? p / q : 0));
    CHECK(static_cast<const int32_t*>(out[1].data)[i] == static_cast<int32_t>(q ? p % q : 0));
  }
}
#endif
