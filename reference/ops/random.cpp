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
  explicit Random(const Call& c) : engine_(seed_of(c)) {}

  /// At least 0, below 1.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  /// Mean 0 and deviation 1 (G. Box and M. Muller, "A note on the generation of random normal deviates", 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.28318530717958647693 * uniform());
  }

 private:
  static uint64_t seed_of(const Call& c) {
    static std::atomic<uint64_t> fresh{(uint64_t{std::random_device{}()} << 32) | std::random_device{}()};
    if (!c.has("seed")) return fresh += 0x9E3779B97F4A7C15;
    const double seed = c.real("seed", 0);
    uint64_t bits = 0;
    std::memcpy(&bits, &seed, sizeof bits);
    return bits;
  }

  std::mt19937_64 engine_;
};

template <class F>
void fill(Call& c, F&& f) {
  const Type made = shapes::random_type(c);
  Random random(c);
  std::vector<double> out(static_cast<size_t>(count(made.dims)));
  for (double& e : out) e = f(random);
  c.out(0, store(made.dtype, made.dims, out));
}

}  // namespace

bool is_random(std::string_view op) {
  return op == "Bernoulli" || op == "Multinomial" || op == "RandomNormal" || op == "RandomNormalLike" || op == "RandomUniform" || op == "RandomUniformLike";
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
  Random random(c);
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

}  // namespace optima::reference::ops
