// SPDX-License-Identifier: Apache-2.0
// Softmax, normalizations and reductions against double-precision loops over random shapes.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include "plugins/llvm_cpu/kernels/norm.hpp"
#include "plugins/llvm_cpu/kernels/reduce.hpp"
#include "plugins/llvm_cpu/kernels/softmax.hpp"

using namespace kernel_test;

namespace {

constexpr k::RowEnds kFloats{k::Stored::Floats, k::Stored::Floats};

std::vector<double> naive_softmax(const Guarded<float>& in, bool log, int64_t outer, int64_t len, int64_t inner) {
  std::vector<double> out(static_cast<size_t>(in.size()));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      double top = -INFINITY, sum = 0;
      for (int64_t i = 0; i < len; ++i) top = std::max(top, double(in[(o * len + i) * inner + j]));
      for (int64_t i = 0; i < len; ++i) sum += std::exp(in[(o * len + i) * inner + j] - top);
      for (int64_t i = 0; i < len; ++i) {
        const int64_t at = (o * len + i) * inner + j;
        out[size_t(at)] = log ? in[at] - top - std::log(sum) : std::exp(in[at] - top) / sum;
      }
    }
  return out;
}

Guarded<float> softmax(const Guarded<float>& in, bool log, int64_t outer, int64_t len, int64_t inner) {
  const int64_t units = inner == 1 ? outer : outer * k::cdiv(inner, k::VL);
  return run<float>(in.size(), units, 0, [&](float* out, int64_t u0, int64_t u1, char* scratch) {
    void* args[] = {const_cast<float*>(in.data()), out, nullptr};
    k_softmax({.log = log, .len = len, .inner = inner, .ends = kFloats}, args, u0, u1, scratch);
  });
}

using Op = k::ReduceOp;

double naive_reduce(Op op, const std::vector<double>& x) {
  double sum = 0, top = -INFINITY, least = INFINITY, prod = 1, l1 = 0, squares = 0, exps = 0;
  for (double v : x) sum += v, top = std::max(top, v), least = std::min(least, v), prod *= v, l1 += std::fabs(v), squares += v * v;
  for (double v : x) exps += std::exp(v - top);
  const double all[] = {sum, sum / double(x.size()), top, least, prod, l1, std::sqrt(squares), squares, std::log(sum), std::log(exps) + top};
  return all[int64_t(op)];
}

struct Reduction {
  Dims kept{1, 1, 1, 1}, kept_step{0, 0, 0, 0}, gone{1, 1, 1, 1}, gone_step{0, 0, 0, 0};
  k::ReduceDims literals() const { return {literal<4>(kept), literal<4>(kept_step), literal<4>(gone), literal<4>(gone_step)}; }
};

// Dims that alternate between kept and reduced, as a lowering lays them out.
Reduction random_reduction(Dims& dims, bool last_reduced) {
  const int64_t rank = pick(1, 6);
  dims.assign(size_t(rank), 1);
  for (int64_t& d : dims) d = pick(1, 5);
  dims.back() = pick(2, 70);
  const Dims step = strides(dims);
  Reduction r;
  size_t kept = last_reduced ? 3 : 4, gone = last_reduced ? 4 : 4;
  for (size_t i = dims.size(); i-- > 0;) {
    const bool reduced = ((dims.size() - 1 - i) % 2 == 0) == last_reduced;
    if (reduced) --gone, r.gone[gone] = dims[i], r.gone_step[gone] = step[i];
    else --kept, r.kept[kept] = dims[i], r.kept_step[kept] = step[i];
  }
  return r;
}

template <class T>
std::vector<double> naive(const Reduction& r, Op op, const Guarded<T>& in) {
  std::vector<double> out;
  Dims at(4, 0);
  do {
    std::vector<double> x;
    Dims g(4, 0);
    do {
      int64_t i = 0;
      for (size_t q = 0; q < 4; ++q) i += at[q] * r.kept_step[q] + g[q] * r.gone_step[q];
      x.push_back(double(in[i]));
    } while (next(g, r.gone));
    out.push_back(naive_reduce(op, x));
  } while (next(at, r.kept));
  return out;
}

}  // namespace

TEST_CASE("softmax and log softmax over any axis agree with double loops") {
  for (int i = 0; i < rounds(300); ++i) {
    const int64_t outer = pick(1, 6), len = pick(1, 70), inner = coin() ? 1 : pick(2, 40);
    const Guarded<float> in = reals(outer * len * inner, -20, 20);
    const bool log = coin();
    REQUIRE(error_of(softmax(in, log, outer, len, inner), naive_softmax(in, log, outer, len, inner)) < 2e-6);
  }
}

TEST_CASE("softmax of masked rows ignores minus infinity") {
  for (int64_t len : {5, 16, 33}) {
    Guarded<float> in = reals(2 * len);
    for (int64_t i = len / 2; i < len; ++i) in[i] = -INFINITY;
    REQUIRE(error_of(softmax(in, false, 2, len, 1), naive_softmax(in, false, 2, len, 1)) < 2e-6);
  }
}

TEST_CASE("softmax gives 0 where no normal number would do") {
  for (const int64_t inner : {1, 3}) {
    Guarded<float> in(20 * inner);
    for (int64_t i = 0; i < 20 * inner; ++i) in[i] = i / inner == 7 ? 0.f : i / inner == 8 ? -1e9f : -95.f;
    const Guarded<float> out = softmax(in, false, 1, 20, inner);
    for (int64_t i = 0; i < 20 * inner; ++i) CHECK(out[i] == (i / inner == 7 ? 1.f : 0.f));
  }
}

TEST_CASE("softmax between codes agrees with double loops") {
  for (int i = 0; i < rounds(200); ++i) {
    const int64_t rows = pick(1, 5), len = pick(1, 70);
    const bool from = coin(), to = !from || coin(), log = coin();
    const Guarded<uint8_t> codes = integers<uint8_t>(rows * len, 0, 255);
    Guarded<float> in = reals(rows * len, -8, 8), numbers(k::kRowNumbers);
    numbers[0] = 0.05f, numbers[1] = 117, numbers[2] = log ? 0.06f : 1.f / 255, numbers[3] = 1 / numbers[2], numbers[4] = log ? 200 : 0;
    if (from) for (int64_t j = 0; j < in.size(); ++j) in[j] = (static_cast<float>(codes[j]) - numbers[1]) * numbers[0];
    const k::Softmax l{.log = log, .len = len, .inner = 1, .ends = {from ? k::Stored::Unsigned : k::Stored::Floats, to ? k::Stored::Unsigned : k::Stored::Floats}};
    const Guarded<uint8_t> got = run<uint8_t>(rows * len * (to ? 1 : 4), rows, to ? len * 4 : 0, [&](uint8_t* out, int64_t u0, int64_t u1, char* scratch) {
      void* args[] = {from ? static_cast<void*>(const_cast<uint8_t*>(codes.data())) : in.data(), out, numbers.data()};
      k_softmax(l, args, u0, u1, scratch);
    });
    const std::vector<double> want = naive_softmax(in, log, rows, len, 1);
    for (size_t j = 0; j < want.size(); ++j) {
      float real = 0;
      if (!to) std::memcpy(&real, got.data() + j * 4, sizeof real);
      const double code = std::min(255., std::max(0., std::nearbyint(want[j] / numbers[2]) + numbers[4]));
      const double off = to ? std::abs(code - got[static_cast<int64_t>(j)]) : std::abs(static_cast<double>(real) - want[j]) * 3e4;
      REQUIRE(off <= 1);
    }
  }
}

TEST_CASE("softmax of a row with NaN is NaN") {
  Guarded<float> in = reals(20);
  in[3] = NAN;
  const Guarded<float> out = softmax(in, false, 1, 20, 1);
  for (int64_t i = 0; i < 20; ++i) CHECK(std::isnan(out[i]));
}

TEST_CASE("layer, instance, group and RMS normalization agree with double loops") {
  for (int i = 0; i < rounds(300); ++i) {
    const int64_t kind = pick(0, 2), groups = pick(1, 4), channels = kind == 1 ? 1 : pick(1, 5), space = pick(1, 60);
    const int64_t len = kind == 0 ? space : channels * space, period = kind == 0 ? 1 : groups;
    const int64_t per_row = kind == 0 ? len : channels, span = kind == 0 ? 1 : space, rows = pick(1, 3) * period;
    const bool rms = kind == 0 && coin(), has_scale = coin(), has_bias = coin();
    const Guarded<float> x = reals(rows * len, -1, 3), scale = reals(period * per_row), bias = reals(period * per_row);
    const Guarded<float> got = run<float>(rows * len, rows, 0, [&](float* out, int64_t u0, int64_t u1, char* scratch) {
      void* args[] = {const_cast<float*>(x.data()), has_scale ? const_cast<float*>(scale.data()) : nullptr,
                      has_bias ? const_cast<float*>(bias.data()) : nullptr, out, nullptr};
      k_norm({.rms = rms, .has_scale = has_scale, .has_bias = has_bias, .epsilon = 1e-5f, .len = len, .period = period, .channels = per_row, .span = span, .ends = kFloats}, args, u0, u1, scratch);
    });
    std::vector<double> want;
    for (int64_t r = 0; r < rows; ++r) {
      double mean = 0, square = 0;
      for (int64_t j = 0; j < len && !rms; ++j) mean += x[r * len + j] / double(len);
      for (int64_t j = 0; j < len; ++j) square += (x[r * len + j] - mean) * (x[r * len + j] - mean) / double(len);
      for (int64_t j = 0; j < len; ++j) {
        const int64_t c = r % period * per_row + j / span;
        want.push_back((x[r * len + j] - mean) / std::sqrt(square + 1e-5) * (has_scale ? scale[c] : 1) + (has_bias ? bias[c] : 0));
      }
    }
    REQUIRE(error_of(got, want) < (len < 3 ? 1e-3 : 3e-6));
  }
}

TEST_CASE("Lp normalization agrees with double loops, zero rows give zero") {
  for (int i = 0; i < rounds(200); ++i) {
    const int64_t p = pick(1, 2), outer = pick(1, 4), len = pick(1, 40), inner = coin() ? 1 : pick(2, 40);
    Guarded<float> x = reals(outer * len * inner);
    if (i % 10 == 0) std::fill(x.begin(), x.end(), 0.f);
    const Guarded<float> got = run<float>(x.size(), outer * k::cdiv(inner, k::VL), 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {x.data(), out};
      k_lp_norm({.p = p, .len = len, .inner = inner}, args, u0, u1, s);
    });
    std::vector<double> want(size_t(x.size()));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < inner; ++j) {
        double s = 0;
        for (int64_t q = 0; q < len; ++q) s += std::pow(std::fabs(x[(o * len + q) * inner + j]), double(p));
        s = p == 1 ? s : std::sqrt(s);
        for (int64_t q = 0; q < len; ++q) want[size_t((o * len + q) * inner + j)] = s == 0 ? 0 : x[(o * len + q) * inner + j] / s;
      }
    REQUIRE(error_of(got, want) < 2e-6);
  }
}

TEST_CASE("LRN agrees with double loops") {
  for (int i = 0; i < rounds(200); ++i) {
    const int64_t n = pick(1, 2), c = pick(1, 12), inner = pick(1, 40), size = pick(1, 7);
    const float alpha = real(0, 1), beta = i % 3 == 0 ? 0.75f : i % 3 == 1 ? 0.5f : real(0, 2), bias = real(1, 2);
    const Guarded<float> x = reals(n * c * inner);
    const Guarded<float> got = run<float>(x.size(), n * c, 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {const_cast<float*>(x.data()), out};
      k_lrn({.size = size, .alpha = alpha, .beta = beta, .bias = bias, .channels = c, .inner = inner}, args, u0, u1, s);
    });
    std::vector<double> want;
    for (int64_t b = 0; b < n; ++b)
      for (int64_t q = 0; q < c; ++q)
        for (int64_t j = 0; j < inner; ++j) {
          double s = 0;
          for (int64_t w = std::max<int64_t>(0, q - (size - 1) / 2); w <= std::min(c - 1, q + size / 2); ++w) s += std::pow(double(x[(b * c + w) * inner + j]), 2);
          want.push_back(x[(b * c + q) * inner + j] / std::pow(bias + double(alpha) / double(size) * s, double(beta)));
        }
    REQUIRE(error_of(got, want) < 2e-6);
  }
}

TEST_CASE("float reductions over alternating axes agree with double loops") {
  for (int i = 0; i < rounds(600); ++i) {
    const bool last = coin();
    const Op op = pick_up_to(Op::LogSumExp);
    Dims dims;
    const Reduction r = random_reduction(dims, last);
    const Guarded<float> in = reals(product(dims), op == Op::LogSum ? 0.1f : op == Op::Prod ? 0.8f : -2, op == Op::Prod ? 1.2f : 2);
    const int64_t outs = product(r.kept), units = last ? outs : outs / r.kept[3] * k::cdiv(r.kept[3], k::VL);
    const Guarded<float> got = run<float>(outs, units, 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {const_cast<float*>(in.data()), out};
      k_reduce({.op = op, .dims = r.literals()}, args, u0, u1, s);
    });
    INFO("op " << int64_t(op) << " last " << last);
    REQUIRE(error_of(got, naive(r, op, in), op == Op::Prod ? 1 : 1e-1) < (op == Op::Prod ? 2e-5 : 4e-6));
  }
}

TEST_CASE("integer reductions are exact") {
  for (int i = 0; i < rounds(200); ++i) {
    const Op ops[] = {Op::Sum, Op::Max, Op::Min, Op::Prod, Op::L1, Op::SumSquare}, op = ops[pick(0, 5)];
    Dims dims;
    const Reduction r = random_reduction(dims, coin());
    const Guarded<int64_t> in = op == Op::Prod ? integers<int64_t>(product(dims), 1, 1) : integers<int64_t>(product(dims), -9, 9);
    const Guarded<int64_t> got = run<int64_t>(product(r.kept), product(r.kept), 0, [&](int64_t* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {const_cast<int64_t*>(in.data()), out};
      k_reduce_any({.dtype = OPTIMA_I64, .op = op, .dims = r.literals()}, args, u0, u1, s);
    });
    REQUIRE(error_of(got, naive(r, op, in)) == 0);
  }
}

TEST_CASE("log-sum-exp of minus infinity is minus infinity") {
  Guarded<float> in(3);
  for (float& x : in) x = -INFINITY;
  Guarded<float> out(1);
  void* args[] = {in.data(), out.data()};
  k_reduce({.op = Op::LogSumExp, .dims = {{1, 1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 3}, {0, 0, 0, 1}}}, args, 0, 1, nullptr);
  CHECK(out[0] == -INFINITY);
}
