// SPDX-License-Identifier: Apache-2.0
// Matrix products over random shapes, strides, tiles and epilogues against double loops.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include "plugins/llvm_cpu/kernels/matmul.hpp"

using namespace kernel_test;

namespace {

// B[K][N] as the artifact loader packs it: per group [k][blocks][VL], the last group narrower.
Guarded<float> packed(const std::vector<float>& b, int64_t K, int64_t N, int64_t nb) {
  const int64_t blocks = k::cdiv(N, k::VL);
  Guarded<float> out(blocks * k::VL * K);
  float* to = out.data();
  for (int64_t g = 0; g < blocks; g += nb)
    for (int64_t i = 0; i < K; ++i)
      for (int64_t n = g; n < std::min(blocks, g + nb); ++n)
        for (int64_t l = 0; l < k::VL; ++l) *to++ = n * k::VL + l < N ? b[size_t(i * N + n * k::VL + l)] : 0;
  return out;
}

double activation(k::Act act, double lo, double hi, double v) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  switch (act) {
    case k::Act::Relu: return std::max(v, 0.0);
    case k::Act::Clip: return std::min(hi, std::max(lo, v));
    case k::Act::Leaky: return v < 0 ? v * lo : v;
    case k::Act::Sigmoid: return sigmoid(v);
    case k::Act::Silu: return v * sigmoid(v);
    case k::Act::Tanh: return std::tanh(v);
    case k::Act::HardSigmoid: return std::min(1.0, std::max(0.0, v * lo + hi));
    case k::Act::HardSwish: return v * std::min(1.0, std::max(0.0, v * lo + hi));
    case k::Act::Gelu: return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    case k::Act::GeluTanh: return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    case k::Act::Mish: return v * std::tanh(std::log1p(std::exp(v)));
    default: return v;
  }
}

}  // namespace

TEST_CASE("matrix products agree with double loops for every shape, tile, mode and epilogue") {
  for (int i = 0; i < rounds(1500); ++i) {
    using Mode = k::MatmulB;
    const Mode mode = pick_up_to(Mode::InPlace);
    const int64_t b0 = pick(1, 2), b1 = pick(1, 3), mr = pick(1, 8), nb = pick(1, 3), mb = mr * pick(1, 4);
    const int64_t M = pick(1, 40), K = pick(1, 40), N = mode == Mode::InPlace ? k::VL * pick(1, 5) : pick(1, 5 * k::VL);
    const int64_t ep = pick(0, 15);
    const k::Act act = pick_up_to(k::Act::Mish);
    const float alpha = coin() ? 1.f : 0.5f, lo = act == k::Act::Clip ? -0.5f : 0.2f, hi = 0.5f;
    const bool ta = coin(), tb = mode == Mode::Dynamic && coin(), bcast_a = coin(), bcast_b = coin();
    Guarded<float> a = reals((bcast_a ? 1 : b0 * b1) * M * K), bias = reals(N), rowbias = reals(M), add = reals(b0 * b1 * M * N), res = reals(b0 * b1 * M * N);
    const int64_t nbatch = bcast_b ? 1 : b0 * b1;
    Guarded<float> b = reals(nbatch * K * N);
    const int64_t sa1 = bcast_a ? 0 : M * K, sbk = tb ? 1 : N, sbn = tb ? K : 1;
    int64_t sb1 = bcast_b ? 0 : K * N;
    Guarded<float> panels(mode == Mode::Packed ? nbatch * k::cdiv(N, k::VL) * k::VL * K : 1);
    if (mode == Mode::Packed) {
      const int64_t size = k::cdiv(N, k::VL) * k::VL * K;
      for (int64_t q = 0; q < nbatch; ++q) {
        const Guarded<float> one = packed(std::vector<float>(b.data() + q * K * N, b.data() + (q + 1) * K * N), K, N, nb);
        std::copy_n(one.data(), size, panels.data() + q * size);
      }
      sb1 = bcast_b ? 0 : size;
    }
    const int64_t units = b0 * b1 * k::cdiv(M, mb) * k::cdiv(k::cdiv(N, k::VL), nb);
    const Guarded<float> got = run<float>(b0 * b1 * M * N, units, K * nb * k::VL * 4, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {a.data(), mode == Mode::Packed ? panels.data() : b.data(), bias.data(), rowbias.data(), add.data(), res.data(), out};
      k_matmul({.mr = mr, .nb = nb, .mb = mb, .packed = mode == Mode::Packed, .in_place = mode == Mode::InPlace, .ahead = coin() ? 256 : 0, .epilogue = ep, .act = {act, lo, hi}, .alpha = alpha,
                .M = M, .N = N, .K = K, .sam = ta ? 1 : K, .sak = ta ? M : 1, .sbk = sbk, .sbn = sbn, .scm = N, .b1 = b1, .sa0 = sa1 * b1, .sa1 = sa1,
                .sb0 = sb1 * b1, .sb1 = sb1, .sc0 = M * N * b1, .sc1 = M * N}, args, u0, u1, s);
    });
    std::vector<double> want;
    for (int64_t q = 0; q < b0 * b1; ++q)
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < N; ++n) {
          double v = 0;
          for (int64_t x = 0; x < K; ++x)
            v += double(a[(bcast_a ? 0 : q) * M * K + (ta ? x * M + m : m * K + x)]) * b[(bcast_b ? 0 : q) * K * N + (tb ? n * K + x : x * N + n)];
          v = v * alpha + (ep & 1 ? bias[n] : 0) + (ep & 2 ? rowbias[m] : 0) + (ep & 4 ? add[(q * M + m) * N + n] : 0);
          want.push_back(activation(act, lo, hi, v) + (ep & 8 ? res[(q * M + m) * N + n] : 0));
        }
    INFO("mode " << mode << " M " << M << " N " << N << " K " << K << " tile " << mr << "x" << nb << " ep " << ep << " act " << act);
    REQUIRE(error_of(got, want, 1) < 1e-5);
  }
}
