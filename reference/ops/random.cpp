// SPDX-License-Identifier: Apache-2.0
// reference/ops: random numbers. A node with a seed makes the same ones in every run and on every machine; without one they are new each time.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// The library's distributions differ between its makers, its engines do not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  /// At least 0, below 1.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  /// Mean 0 and deviation 1 (G. Box and M. Muller, "A note on the generation of random normal deviates", 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.28318530717958647693 * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

uint64_t fresh_seed() {
  static std::atomic<uint64_t> fresh{(uint64_t{std::random_device{}()} << 32) | std::random_device{}()};
  return fresh += 0x9E3779B97F4A7C15;
}

/// The operator's seed is a real number.
Random random_of(const Call& c) {
  if (!c.has("seed")) return Random(fresh_seed());
  const double seed = c.real("seed", 0);
  uint64_t bits = 0;
  std::memcpy(&bits, &seed, sizeof bits);
  return Random(bits);
}

template <class F>
void fill(Call& c, F&& f) {
  const Type made = shapes::random_type(c);
  Random random = random_of(c);
  std::vector<double> out(static_cast<size_t>(count(made.dims)));
  for (double& e : out) e = f(random);
  c.out(0, store(made.dtype, made.dims, out));
}

}  // namespace

bool is_random(std::string_view op, uint32_t inputs) {
  return (op == "Dropout" && inputs > 2) || op == "Bernoulli" || op == "Multinomial" || op == "RandomNormal" || op == "RandomNormalLike" || op == "RandomUniform" || op == "RandomUniformLike";
}

void random_normal(Call& c) {
  const double mean = c.real("mean", 0), scale = c.real("scale", 1);
  fill(c, [&](Random& r) { return mean + scale * r.normal(); });
}

void random_uniform(Call& c) {
  const double low = c.real("low", 0), high = c.real("high", 1);
  fill(c, [&](Random& r) { return low + (high - low) * r.uniform(); });
}

void bernoulli(Call& c) {
  const std::vector<double> p = load<double>(c.in(0));
  size_t at = 0;
  fill(c, [&](Random& r) { return r.uniform() < p[at++] ? 1.0 : 0.0; });
}

/// Classes by the sums of their probabilities up to each; what input 0 has are logarithms of these, give or take a term that all share.
void multinomial(Call& c) {
  const Type made = shapes::multinomial_type(c);
  const std::vector<double> x = load<double>(c.in(0));
  const auto classes = static_cast<size_t>(c.in(0).dims[1]), samples = static_cast<size_t>(made.dims[1]);
  Random random = random_of(c);
  std::vector<int64_t> out;
  std::vector<double> sums(classes);
  for (size_t row = 0; row < static_cast<size_t>(made.dims[0]); ++row) {
    const double* at = x.data() + row * classes;
    const double top = *std::max_element(at, at + classes);
    double sum = 0;
    for (size_t k = 0; k < classes; ++k) sums[k] = sum += std::exp(at[k] - top);
    for (size_t s = 0; s < samples; ++s) {
      const auto found = std::upper_bound(sums.begin(), sums.end() - 1, random.uniform() * sum);
      out.push_back(found - sums.begin());
    }
  }
  c.out(0, store(made.dtype, made.dims, out));
}

/// Drops nothing unless it trains. Its seed is a whole number.
void dropout(Call& c) {
  const double ratio = c.maybe(1) ? scalar_real(c.in(1), "ratio") : c.real("ratio", 0.5);
  const int32_t mask = c.version() < 10 ? c.in(0).dtype : static_cast<int32_t>(OPTIMA_BOOL);
  std::vector<uint64_t> kept(static_cast<size_t>(c.in(0).elements()), 1);
  if (!c.maybe(2) || scalar_int(c.in(2), "training_mode") == 0 || ratio == 0) {
    c.out(0, c.in(0));
  } else {
    if (!(ratio > 0 && ratio < 1)) invalid("ratio is " + std::to_string(ratio) + ", must be at least 0 and below 1");
    Random random(c.has("seed") ? static_cast<uint64_t>(c.integer("seed", 0)) : fresh_seed());
    std::vector<double> x = load<double>(c.in(0));
    for (size_t k = 0; k < x.size(); ++k) kept[k] = random.uniform() >= ratio, x[k] = kept[k] ? x[k] / (1 - ratio) : 0;
    c.out(0, store(c.in(0).dtype, c.in(0).dims, x));
  }
  if (c.wants(1)) c.out(1, store(mask, c.in(0).dims, kept));
}

}  // namespace optima::reference::ops
