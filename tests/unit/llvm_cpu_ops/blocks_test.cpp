// SPDX-License-Identifier: Apache-2.0
// Codes with a scale per block, of 4, 8 and 16 bits, and products with matrices of them, through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_ops/codes_net.hpp"

using namespace llvm_cpu_test;

namespace {

std::string noise(int64_t bytes) {
  std::string out;
  for (int64_t i = 0; i < bytes; ++i) out += static_cast<char>(i * 89 + i / 7);
  return out;
}
uint32_t codes(Net& net, const Dims& dims, int32_t dtype) {
  const std::string all = noise(count(dims) * optima_dtype_bits(dtype) / 8);
  return net.constant<char>(dims, {all.begin(), all.end()}, dtype);
}

struct Matrix {
  int64_t K, N, block;  ///< block 0: a scale per column
  int32_t dtype;
  bool by_columns, zeros;
};
/// W [K, N]: dequantized codes, transposed where they lie by columns.
uint32_t weights(Net& net, const Matrix& m) {
  const Dims dims = m.by_columns ? Dims{m.N, m.K} : Dims{m.K, m.N};
  Dims scales = dims;
  scales[m.by_columns ? 1 : 0] = (m.K + m.block - 1) / std::max<int64_t>(1, m.block);
  if (m.block == 0) scales = {m.N};
  const int64_t axis = m.by_columns == (m.block > 0) ? 1 : 0;
  std::vector<uint32_t> in{codes(net, dims, m.dtype), net.weights(scales, 0.01f, 0.05f)};
  if (m.zeros) in.push_back(codes(net, scales, m.dtype));
  std::vector<optima::image::Attr> attrs{Net::integer("axis", axis)};
  if (m.block) attrs.push_back(Net::integer("block_size", m.block));
  const uint32_t w = net.node("DequantizeLinear", 21, in, dims, attrs);
  return m.by_columns ? net.node("Transpose", 21, {w}, {m.K, m.N}, {Net::ints("perm", {1, 0})}) : w;
}

}  // namespace

TEST_CASE("codes of 4 and 16 bits and of blocks become floats") {
  Bench bench;
  Net net;
  for (const int32_t type : {OPTIMA_U4, OPTIMA_I4, OPTIMA_U8, OPTIMA_I8, OPTIMA_U16, OPTIMA_I16}) {
    const auto add = [&](const Dims& dims, const Dims& scales, std::vector<optima::image::Attr> attrs) {
      const uint32_t x = codes(net, dims, type), s = net.weights(scales, 0.01f, 0.05f);
      net.output(net.node("DequantizeLinear", 21, {x, s, codes(net, scales.empty() ? Dims{2} : scales, type)}, dims, attrs));
      net.output(net.node("DequantizeLinear", 21, {x, s}, dims, attrs));
    };
    add({3, 10, 4}, {3, 4, 4}, {Net::integer("axis", 1), Net::integer("block_size", 3)});
    add({3, 10, 4}, {4}, {Net::integer("axis", -1)});
    add({70, 100}, {70, 4}, {Net::integer("axis", 1), Net::integer("block_size", 32)});
  }
  matches_reference(bench, net);
}

TEST_CASE("floats become codes of 4 and 16 bits and of blocks") {
  Bench bench;
  Net net;
  for (const int32_t type : {OPTIMA_U4, OPTIMA_I4, OPTIMA_U8, OPTIMA_I8, OPTIMA_U16, OPTIMA_I16}) {
    const uint32_t x = net.input({6, 40});
    const auto add = [&](const Dims& scales, std::vector<optima::image::Attr> attrs) {
      net.output(net.node("QuantizeLinear", 21, {x, net.weights(scales, 0.01f, 0.05f), codes(net, scales, type)}, {6, 40}, attrs, type));
    };
    add({6, 3}, {Net::integer("axis", 1), Net::integer("block_size", 16)});
    add({6}, {Net::integer("axis", 0)});
  }
  matches_reference(bench, net);
}

TEST_CASE("what follows codes of any width in floats computes with them, and may end in such codes") {
  Bench bench;
  Net net;
  for (const int32_t type : {OPTIMA_U4, OPTIMA_I4, OPTIMA_U16, OPTIMA_I16, OPTIMA_U8}) {
    const uint32_t scale = net.constant<float>({}, {0.5f}, OPTIMA_F32), x = net.input({4, 10});
    const uint32_t q = net.node("QuantizeLinear", 21, {net.same("Relu", 14, x), net.weights({4, 2}, 0.1f, 0.2f), codes(net, {4, 2}, type)}, {4, 10},
                                {Net::integer("axis", 1), Net::integer("block_size", 5)}, type);
    const uint32_t y = net.node("DequantizeLinear", 21, {codes(net, {4, 10}, type), scale}, {4, 10}), z = net.node("DequantizeLinear", 21, {q, scale}, {4, 10});
    net.output(net.same("Sigmoid", 13, net.add(y, z)));
  }
  matches_reference(bench, net);
}

TEST_CASE("products with matrices of codes, few rows and many, whatever the blocks") {
  Bench bench;
  for (const int32_t type : {OPTIMA_U4, OPTIMA_I4, OPTIMA_U8, OPTIMA_I8}) {
    CAPTURE(type);
    Net net;
    for (const bool by_columns : {true, false})
      for (const bool zeros : {true, false})
        for (const auto& [K, N, block] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{128, 50, 32}, {96, 20, 16}, {70, 34, 32}, {64, 48, 0}})
          for (const int64_t M : {1, 3, 8, 20}) net.output(net.node("MatMul", 13, {net.input({1, M, K}), weights(net, {K, N, block, type, by_columns, zeros})}, {1, M, N}));
    matches_reference(bench, net);
  }
}

namespace {

/// make(net, type) makes products that read codes of 4 bits as they lie, by k_block_rows and without `other`, on vectors of every width.
template <class Make>
void reads_codes_as_they_lie(Make make, const char* other) {
  Bench bench;
  for (const char* cpu : {"", "haswell"})
    for (const int32_t type : {OPTIMA_U4, OPTIMA_I4}) {
      CAPTURE(cpu);
      CAPTURE(type);
      Net net;
      make(net, type);
      const std::vector<optima_option> options{seam::option("llvm_cpu.cpu", cpu)};
      const auto c = compile(bench, net, options);
      REQUIRE(c->code == OPTIMA_OK);
      CHECK(has_kernel(*c, "block_rows"));
      CHECK_FALSE(has_kernel(*c, other));
      matches_reference(bench, net, 1e-5, options);
    }
}

}  // namespace

TEST_CASE("blocks whose scales are 0 or below, of any part of a word's lanes and of several, on vectors of every width") {
  std::vector<float> steps(50 * 32);
  for (size_t k = 0; k < steps.size(); ++k) steps[k] = k % 7 == 0 ? 0 : k % 3 == 0 ? -0.02f : 0.03f;
  const auto products = [&](Net& net, int32_t type) {
    for (const auto& [K, block] : std::vector<std::pair<int64_t, int64_t>>{{512, 16}, {256, 32}, {256, 64}, {256, 128}, {512, 256}, {384, 384}, {96, 32}, {96, 24}, {256, 8}})
      for (const bool zeros : {false, true}) {
        const Dims grid{50, K / block};
        std::vector<uint32_t> in{codes(net, {50, K}, type), net.constant<float>(grid, {steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count(grid))}, OPTIMA_F32)};
        if (zeros) in.push_back(codes(net, grid, type));
        const uint32_t w = net.node("DequantizeLinear", 21, in, {50, K}, {Net::integer("axis", 1), Net::integer("block_size", block)});
        const uint32_t turned = net.node("Transpose", 21, {w}, {K, 50}, {Net::ints("perm", {1, 0})});
        for (const int64_t M : {1, 2, 4, 7, 12}) net.output(net.node("MatMul", 13, {net.input({M, K}), turned}, {M, 50}));
      }
  };
  reads_codes_as_they_lie(products, "dequantize_blocks");
}

TEST_CASE("a few rows by a matrix of 4 bits that lies by rows, on vectors of every width") {
  const auto products = [](Net& net, int32_t type) {
    for (const auto& [K, block] : std::vector<std::pair<int64_t, int64_t>>{{64, 16}, {100, 32}, {96, 96}, {48, 0}})
      for (const bool zeros : {false, true})
        for (const int64_t M : {1, 2, 3, 8}) net.output(net.node("MatMul", 13, {net.input({M, K}), weights(net, {K, 256, block, type, false, zeros})}, {M, 256}));
  };
  reads_codes_as_they_lie(products, "block_panels");
}

TEST_CASE("a matrix of 4 bits stays codes in the package, and is read as it lies where rows are few") {
  Bench bench;
  for (const int64_t M : {1, 8, 9}) {
    Net net;
    net.output(net.node("MatMul", 13, {net.input({M, 128}), weights(net, {128, 64, 32, OPTIMA_U4, true, true})}, {M, 64}));
    const auto c = compile(bench, net);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(has_kernel(*c, "block_rows") == (M <= 8));
    CHECK(has_kernel(*c, "block_panels") == (M > 8));
    for (const auto& [name, bytes] : c->sink.files) CHECK_MESSAGE((!name.ends_with(".constants") || bytes.size() < 128 * 64 / 2), name);
  }
}

TEST_CASE("a constant matrix of codes is known through a Transpose that names no order, too") {
  Bench bench;
  Net net;
  const uint32_t w = net.node("DequantizeLinear", 21, {codes(net, {48, 64}, OPTIMA_I8), net.weights({48}, 0.01f, 0.05f)}, {48, 64}, {Net::integer("axis", 0)});
  net.output(net.node("MatMul", 13, {net.input({100, 64}), net.node("Transpose", 21, {w}, {64, 48})}, {100, 48}));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(std::count_if(c->sink.files.begin(), c->sink.files.end(), [](const auto& f) { return f.first.ends_with(".so"); }) == 1);  // the product
  matches_reference(bench, net);
}

namespace {

/// The product x W, whose first operand the model allows to be rounded to bytes.
uint32_t loose_product(Net& net, uint32_t x, uint32_t w, const Dims& dims) {
  const uint32_t y = net.node("MatMul", 13, {x, w}, dims);
  net.graph().nodes.back().flags |= OPTIMA_NODE_ROUNDS_TO_BYTES;
  return y;
}
/// x [M, K] in blocks, each of which is rounded to 127 steps of its largest magnitude.
uint32_t rounded(Net& net, uint32_t x, int64_t M, int64_t K, int64_t block) {
  const Dims blocks{M, K / block, block}, each{M, K / block, 1};
  const uint32_t parted = net.node("Reshape", 21, {x, net.constant<int64_t>({3}, {M, K / block, block}, OPTIMA_I64)}, blocks);
  const uint32_t most = net.node("ReduceMax", 18, {net.same("Abs", 13, parted), net.constant<int64_t>({1}, {2}, OPTIMA_I64)}, each);
  const uint32_t times = net.node("Div", 14, {net.constant<float>({}, {127}, OPTIMA_F32), most}, each);
  const uint32_t codes = net.same("Round", 11, net.node("Mul", 14, {parted, times}, blocks));
  return net.node("Reshape", 21, {net.node("Div", 14, {codes, times}, blocks), net.constant<int64_t>({2}, {M, K}, OPTIMA_I64)}, {M, K});
}

const std::vector<std::pair<int64_t, int64_t>> kLengthsAndBlocks{{256, 16}, {256, 32}, {128, 64}, {384, 128}, {512, 256}};

}  // namespace

TEST_CASE("where a model allows it, rows are rounded to bytes, block by block: products with codes of 4 and 8 bits on all processors that multiply bytes") {
  Bench bench;
  on_all_processors([&](const std::vector<optima_option>& options) {
    const double tolerance = 1e-5;
    for (const int32_t type : {OPTIMA_U4, OPTIMA_U8})
      for (const bool zeros : {false, true}) {
        CAPTURE(type);
        CAPTURE(zeros);
        Net net;
        for (const auto& [K, block] : kLengthsAndBlocks)
          for (const int64_t M : {1, 2, 3, 5, 8, 9, 14}) {
            const uint32_t w = weights(net, {K, 50, block, type, true, zeros});
            net.output(loose_product(net, rounded(net, net.input({M, K}), M, K, block), w, {M, 50}));
          }
        matches_reference(bench, net, tolerance, options);
      }
  });
}

#ifndef LLVM_CPU_GENERAL
namespace {

/// Those whose kernels multiply bytes.
bool multiplies_bytes(Bench& bench, const std::vector<optima_option>& options) {
  Net net;
  net.output(loose_product(net, net.input({1, 128}), weights(net, {128, 32, 32, OPTIMA_U4, true, false}), {1, 32}));
  const auto c = compile(bench, net, options);
  REQUIRE(c->code == OPTIMA_OK);
  return has_kernel(*c, "byte_rows");
}

}  // namespace

TEST_CASE("rows that are rounded to bytes are rounded to the nearest of 127 steps of their block's largest magnitude") {
  Bench bench;
  int with_bytes = 0;
  on_all_processors([&](const std::vector<optima_option>& options) {
    const bool bytes = multiplies_bytes(bench, options);
    with_bytes += bytes;
    for (const auto& [K, block] : kLengthsAndBlocks)
      for (const int64_t M : {1, 7, 14}) {
        CAPTURE(K);
        CAPTURE(M);
        Net net;
        const uint32_t x = net.input({M, K}), w = weights(net, {K, 50, block, OPTIMA_U4, true, true});
        net.output(loose_product(net, x, w, {M, 50}));
        net.output(net.node("MatMul", 13, {rounded(net, x, M, K, block), w}, {M, 50}));
        net.output(net.node("MatMul", 13, {x, w}, {M, 50}));
        const auto c = compile(bench, net, options);
        REQUIRE(c->code == OPTIMA_OK);
        const Tensors out = run(bench, *c, random_inputs(*c));
        CHECK(error(out[0], out[bytes ? 1 : 2]) <= 1e-5);
        if (bytes) CHECK(error(out[0], out[2]) > 1e-4);  // they are rounded
      }
  });
  if (__builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni")) CHECK(with_bytes > 0);
}

TEST_CASE("nobody rounds to bytes but where the model allows it, and not against the user's word") {
  Bench bench;
  const std::vector<optima_option> vnni{seam::option("llvm_cpu.cpu", "x86-64-v4"), seam::option("llvm_cpu.features", "+avx512vnni")};
  CHECK(multiplies_bytes(bench, vnni));
  CHECK_FALSE(multiplies_bytes(bench, {vnni[0], vnni[1], number_option("llvm_cpu.rounds_to_bytes", 0)}));
  CHECK_FALSE(multiplies_bytes(bench, {seam::option("llvm_cpu.cpu", "x86-64-v3")}));
  for (const bool allowed : {false, true}) {
    Net net;
    const uint32_t x = net.input({9, 128}), w = weights(net, {128, 32, 32, OPTIMA_U4, true, false});
    net.output(allowed ? loose_product(net, x, w, {9, 32}) : net.node("MatMul", 13, {x, w}, {9, 32}));
    const auto c = compile(bench, net, vnni);
    REQUIRE(c->code == OPTIMA_OK);
    CHECK(has_kernel(*c, "byte_panels") == allowed);
  }
}

TEST_CASE("rows of zeros, and such as hold infinities or no numbers, go through bytes as far as they go") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({3, 128});
  net.output(loose_product(net, x, weights(net, {128, 32, 32, OPTIMA_U4, true, true}), {3, 32}));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  Tensors in = random_inputs(*c);
  auto* data = static_cast<float*>(const_cast<void*>(in[0].data));
  std::fill_n(data, 128, 0.f);
  data[128 + 5] = NAN;
  data[256 + 64] = INFINITY;
  const Tensors out = run(bench, *c, in);
  const auto* y = static_cast<const float*>(out[0].data);
  for (int n = 0; n < 32; ++n) {
    CHECK(y[n] == 0);
    CHECK(std::isnan(y[32 + n]));
    CHECK_FALSE(std::isfinite(y[64 + n]));
  }
}
#endif
