// SPDX-License-Identifier: Apache-2.0
// Products of codes against loops over integers, in every way that the machine multiplies bytes.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include "plugins/llvm_cpu/kernels/codes_conv.hpp"
#include "plugins/llvm_cpu/kernels/codes_depthwise.hpp"
#include "plugins/llvm_cpu/kernels/codes_matmul.hpp"

using namespace kernel_test;

namespace {

#ifdef __aarch64__
constexpr bool kUnsigned = false;
std::vector<k::Dot> dots() { return {k::Dot::Signed, k::Dot::Widened}; }
#else
constexpr bool kUnsigned = true;
std::vector<k::Dot> dots() {
  std::vector<k::Dot> all{k::Dot::Pairs};
  __builtin_cpu_init();
  if (VW == 16 && __builtin_cpu_supports("avx512vnni")) all.push_back(k::Dot::Vnni);
  if (VW == 8 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) all.push_back(k::Dot::Vnni);
  return all;
}
#endif

int64_t activation(const Guarded<uint8_t>& x, int64_t i) { return kUnsigned ? int64_t{x[i]} : int64_t{static_cast<int8_t>(x[i])}; }
k::Stored stored() { return kUnsigned ? k::Stored::Unsigned : k::Stored::Signed; }

/// A tail that only quantizes: scale 1, zero point `zero`.
k::CodesTail bare(bool floats) {
  k::CodesTail t{};
  t.stored = floats ? k::Stored::Floats : stored(), t.in_steps = 1;
  return t;
}
Guarded<float> numbers_of(int zero) {
  Guarded<float> n(k::kEndNumbers);
  const float lo = kUnsigned ? 0.f : -128.f, hi = kUnsigned ? 255.f : 127.f, z = static_cast<float>(zero);
  n[0] = n[1] = 1, n[2] = lo - z, n[3] = hi - z, n[4] = z, n[5] = n[6] = n[7] = 0;
  return n;
}
double code_of(double v, int zero) {
  const double lo = kUnsigned ? 0 : -128, hi = kUnsigned ? 255 : 127;
  return std::min(hi, std::max(lo, std::nearbyint(v) + zero));
}
double stored_code(const Guarded<uint8_t>& x, int64_t i) { return static_cast<double>(activation(x, i)); }

}  // namespace

TEST_CASE("products of rows of codes agree with loops in every tile") {
  for (int i = 0; i < rounds(300); ++i) {
    for (const k::Dot dot : dots()) {
      const bool pairs = dot == k::Dot::Pairs;
      const int64_t M = pick(1, 20), N = pick(1, 5 * VW), quads = pick(1, 20), K = quads * 4, OCB = pick(1, 4), WT = pick(1, 6), vl = VW, nb = (N + vl - 1) / vl;
      const Guarded<uint8_t> x = integers<uint8_t>(M * K, 0, 255);
      const Guarded<int8_t> w = integers<int8_t>(N * K, -128, 127);
      std::vector<char> packed;  // [group of blocks][quads][OCB][VL][4], as pairs [quads][2][OCB][VL][2] of 16 bits
      for (int64_t b0 = 0; b0 < nb; b0 += OCB)
        for (int64_t q = 0; q < quads; ++q)
          for (int64_t odd = 0; odd < (pairs ? 2 : 1); ++odd)
            for (int64_t n = b0 * vl; n < std::min(nb, b0 + OCB) * vl; ++n)
              for (int64_t j = odd; j < 4; j += pairs ? 2 : 1) {
                const int8_t v = n < N ? w[n * K + q * 4 + j] : int8_t{0};
                packed.push_back(static_cast<char>(v));
                if (pairs) packed.push_back(static_cast<char>(v < 0 ? -1 : 0));
              }
      Guarded<float> scale(nb * vl);
      Guarded<int32_t> bias(nb * vl);
      for (int64_t o = 0; o < nb * vl; ++o) scale[o] = o < N ? real(0.0001f, 0.001f) : NAN, bias[o] = static_cast<int32_t>(pick(-1000, 1000));
      const int zero = static_cast<int>(kUnsigned ? pick(0, 255) : pick(-128, 127));
      Guarded<float> numbers = numbers_of(zero);
      k::CodesConv l{};
      l.dot = dot, l.by_tiles = coin(), l.OCB = OCB, l.WT = WT, l.tail = bare(false), l.G = 1, l.OC = N, l.quads = quads, l.runs = {1, 1, 1}, l.N = 1;
      l.tail.natural = coin();
      l.out = {1, 1, M}, l.in_step = {0, 0, K}, l.out_pixel = N;
      const int64_t units = l.by_tiles ? (M + WT - 1) / WT : (nb + OCB - 1) / OCB;
      const Guarded<uint8_t> got = run<uint8_t>(M * N, units, 0, [&](uint8_t* out, int64_t u0, int64_t u1, char* s) {
        void* args[13] = {const_cast<uint8_t*>(x.data()), packed.data(), scale.data(), bias.data(), nullptr, numbers.data(), out};
        k_codes_conv(l, args, u0, u1, s);
      });
      int64_t wrong = 0;
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < N; ++n) {
          int64_t sum = bias[n];
          for (int64_t q = 0; q < K; ++q) sum += activation(x, m * K + q) * w[n * K + q];
          wrong += stored_code(got, m * N + n) != code_of(static_cast<double>(static_cast<float>(sum) * scale[n]), zero);
        }
      CAPTURE(static_cast<int64_t>(dot));
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("products of two computed matrices of codes agree with loops: any steps of the second, batches and zero points") {
  for (int i = 0; i < rounds(200); ++i) {
    for (const k::Dot dot : dots()) {
      const int64_t batches = pick(1, 3), M = pick(1, 20), N = pick(1, 5 * VW), K = pick(1, 9 * VW), quads = (K + 3) / 4, OCB = pick(1, 4), WT = pick(1, 6), vl = VW;
      const bool by_columns = coin(), flip = coin(), shared = coin(), rows = coin();
      Guarded<uint8_t> a(batches * M * quads * 4);  // bytes past K count nothing
      for (uint8_t& x : a) x = static_cast<uint8_t>(pick(0, 255));
      for (int64_t m = 0; m < batches * M; ++m)
        for (int64_t q = K; q < quads * 4; ++q) a[m * quads * 4 + q] = 0;
      const Guarded<uint8_t> b = integers<uint8_t>((shared ? 1 : batches) * K * N, 0, 255);
      Guarded<int32_t> zeros(k::kProductNumbers), terms(batches * M);
      zeros[0] = static_cast<int32_t>(pick(-128, 255)), zeros[1] = rows ? static_cast<int32_t>(pick(-128, 127)) : 0;
      const k::CodesSums sums{.is_signed = !kUnsigned, .K = K, .step = quads * 4};
      void* sum_args[] = {a.data(), zeros.data(), terms.data()};
      k_codes_sums(sums, sum_args, 0, batches * M, nullptr);
      Guarded<float> scale(1), numbers = numbers_of(3);
      scale[0] = 0.0002f;
      k::CodesMatmul l{};
      l.dot = dot, l.OCB = OCB, l.WT = WT, l.mb = WT * pick(1, 3), l.tail = bare(false), l.has_rows = rows, l.M = M, l.N = N, l.quads = quads;
      l.b = {K, by_columns ? 1 : N, by_columns ? K : 1, flip ? 0x80 : 0}, l.b1 = batches, l.ra1 = M, l.sb1 = shared ? 0 : K * N;
      const int64_t units = batches * ((M + l.mb - 1) / l.mb) * (((N + vl - 1) / vl + OCB - 1) / OCB), scratch = OCB * vl * (4 + quads * (dot == k::Dot::Pairs ? 8 : 4));
      const Guarded<uint8_t> got = run<uint8_t>(batches * M * N, units, scratch, [&](uint8_t* out, int64_t u0, int64_t u1, char* s) {
        void* args[13] = {a.data(), const_cast<uint8_t*>(b.data()), zeros.data(), scale.data(), rows ? terms.data() : nullptr, numbers.data(), out};
        k_codes_matmul(l, args, u0, u1, s);
      });
      int64_t wrong = 0;
      for (int64_t m = 0; m < batches * M; ++m)
        for (int64_t n = 0; n < N; ++n) {
          int64_t sum = 0;
          for (int64_t q = 0; q < K; ++q) {
            const uint8_t code = b[m / M * l.sb1 + q * l.b.sbk + n * l.b.sbn] ^ static_cast<uint8_t>(l.b.flip);
            sum += (activation(a, m * quads * 4 + q) - zeros[0]) * (static_cast<int8_t>(code) - zeros[1]);
          }
          wrong += stored_code(got, m * N + n) != code_of(static_cast<double>(static_cast<float>(sum) * scale[0]), 3);
        }
      CAPTURE(static_cast<int64_t>(dot));
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("depthwise convolutions of codes agree with loops") {
  for (int i = 0; i < rounds(200); ++i) {
    for (const k::Dot dot : dots()) {
      const bool pairs = dot == k::Dot::Pairs;
      const int64_t C = pick(5, 90), pixel = (C + 15) / 16 * 16, KH = pick(1, 6), KW = pick(1, 4), S = pick(1, 3), D = pick(1, 2), OH = pick(1, 3), OW = pick(1, 7);
      const int64_t H = (OH - 1) * S + (KH - 1) * D + 1, W = (OW - 1) * S + (KW - 1) * D + 1, vl = VW, block = vl * 4, blocks = (C + block - 1) / block;
      Guarded<uint8_t> x = integers<uint8_t>(H * W * pixel + 256, 0, 255);
      const Guarded<int8_t> w = integers<int8_t>(C * KH * KW, -128, 127);
      const auto channel = [&](int64_t b, int64_t j, int64_t q) { return b * block + q / 4 * 16 + j * 4 + q % 4; };
      std::string packed;
      Guarded<float> scale(blocks * block);
      Guarded<int32_t> bias(blocks * block);
      for (int64_t b = 0; b < blocks; ++b) {
        for (int64_t j = 0; j < 4; ++j)
          for (int64_t q = 0; q < vl; ++q) {
            const int64_t c = channel(b, j, q);
            scale[b * block + j * vl + q] = c < C ? 0.001f * static_cast<float>(c % 7 + 1) : NAN, bias[b * block + j * vl + q] = static_cast<int32_t>(c);
          }
        for (int64_t r = 0; r < KH; r += 4)
          for (int64_t kw = 0; kw < KW; ++kw)
            for (int64_t odd = 0; odd < (pairs ? 2 : 1); ++odd)
              for (int64_t j = 0; j < 4; ++j)
                for (int64_t q = 0; q < vl; ++q)
                  for (int64_t t = odd; t < 4; t += pairs ? 2 : 1) {
                    const int64_t c = channel(b, j, q);
                    const int8_t v = c < C && r + t < KH ? w[(c * KH + r + t) * KW + kw] : int8_t{0};
                    packed += static_cast<char>(v);
                    if (pairs) packed += static_cast<char>(v < 0 ? -1 : 0);
                  }
      }
      Guarded<float> numbers = numbers_of(3);
      k::CodesDepthwise l{};
      l.dot = dot, l.WT = pick(1, 4), l.tail = bare(coin()), l.joins = coin(), l.C = C, l.N = 1, l.out = {1, OH, OW}, l.kernel = {1, KH, KW};
      l.in_step = {0, S * W * pixel, S * pixel}, l.tap_step = {0, D * W * pixel, 0}, l.stride = S, l.dilation = D, l.pixel = pixel, l.out_pixel = pixel;
      const bool floats = l.tail.stored == k::Stored::Floats;
      const std::vector<uint8_t> before(static_cast<size_t>(OH * OW * pixel * 4), 0);
      const Guarded<uint8_t> got = run<uint8_t>(OH * OW * pixel * (floats ? 4 : 1), OH, 0, [&](uint8_t* out, int64_t u0, int64_t u1, char* s) {
        void* args[13] = {x.data(), packed.data(), scale.data(), bias.data(), nullptr, numbers.data(), out};
        k_codes_depthwise(l, args, u0, u1, s);
      }, before.data());
      int64_t wrong = 0;
      for (int64_t y = 0; y < OH; ++y)
        for (int64_t z = 0; z < OW; ++z)
          for (int64_t c = 0; c < C; ++c) {
            int64_t sum = c;
            for (int64_t kh = 0; kh < KH; ++kh)
              for (int64_t kw = 0; kw < KW; ++kw) sum += activation(x, ((y * S + kh * D) * W + z * S + kw * D) * pixel + c) * w[(c * KH + kh) * KW + kw];
            const float v = static_cast<float>(sum) * (0.001f * static_cast<float>(c % 7 + 1));
            const int64_t at = (y * OW + z) * pixel + c;
            float stored_float;
            std::memcpy(&stored_float, got.data() + (floats ? at * 4 : 0), sizeof stored_float);
            wrong += floats ? stored_float != v : stored_code(got, at) != code_of(static_cast<double>(v), 3);
          }
      CAPTURE(static_cast<int64_t>(dot));
      REQUIRE(wrong == 0);
    }
  }
}
