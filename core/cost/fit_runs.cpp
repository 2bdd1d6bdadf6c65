// SPDX-License-Identifier: Apache-2.0
#include "core/cost/fit_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace optima {
namespace {

constexpr double kSampleSpread = 0.05, kLeastOfGuess = 0.05;
constexpr int kMostRounds = 8;
constexpr size_t kShared = 3;  // launch, byte in, byte out
// Standard deviations before the fit, wide: any launch up to some ms, any rate above some 0.1 GB/s.
constexpr std::array<double, kShared> kSharedSpread = {1e3, 1e-3, 1e-3};

using Vector = std::vector<double>;

double square(double x) { return x * x; }

// Symmetric, positive definite; row by row.
class Matrix {
 public:
  explicit Matrix(size_t rows) : rows_(rows), at_(rows * rows, 0) {}
  double& operator()(size_t i, size_t j) { return at_[i * rows_ + j]; }

  // Solves this * x = b by Cholesky's factors, which replace the matrix.
  Vector solve(Vector b) {
    for (size_t j = 0; j < rows_; ++j)
      for (size_t i = j; i < rows_; ++i) {
        double sum = (*this)(i, j);
        for (size_t k = 0; k < j; ++k) sum -= (*this)(i, k) * (*this)(j, k);
        (*this)(i, j) = i == j ? std::sqrt(sum) : sum / (*this)(j, j);
      }
    for (size_t i = 0; i < rows_; ++i) {
      for (size_t k = 0; k < i; ++k) b[i] -= (*this)(i, k) * b[k];
      b[i] /= (*this)(i, i);
    }
    for (size_t i = rows_; i-- > 0;) {
      for (size_t k = i + 1; k < rows_; ++k) b[i] -= (*this)(k, i) * b[k];
      b[i] /= (*this)(i, i);
    }
    return b;
  }

 private:
  size_t rows_;
  Vector at_;
};

class Fitter {
 public:
  Fitter(std::vector<NodeGuess> guesses, const std::vector<RunSample>& samples) : guesses_(std::move(guesses)), samples_(samples) {
    inside_.resize(guesses_.size());
    for (uint32_t s = 0; s < samples.size(); ++s)
      for (uint32_t n : samples[s].nodes) inside_[n].push_back(s);
  }

  RunFit run() {
    RunFit out;
    for (int round = 0; round < kMostRounds && (out.nodes.empty() || hold_at_least(out)); ++round) out = once();
    hold_at_least(out);
    out.off = off(out);
    return out;
  }

 private:
  // Nodes that came out below their least are set to it for good; false when there are none.
  bool hold_at_least(RunFit& fit) {
    bool any = false;
    for (size_t n = 0; n < guesses_.size(); ++n) {
      const double least = kLeastOfGuess * guesses_[n].microseconds;
      if (guesses_[n].spread == 0 || fit.nodes[n] >= least) continue;
      guesses_[n] = {least, 0};
      fit.nodes[n] = least;
      any = true;
    }
    return any;
  }

  RunFit once() {
    prepare();
    std::array<bool, kShared> free = {true, true, true};
    Vector weights;
    std::array<double, kShared> shared{};
    for (bool again = true; again;) {  // a launch or rate that comes out negative is 0
      weights = solve(free);
      shared = {};
      for (size_t k = 0; k < kShared; ++k)
        for (size_t s = 0; free[k] && s < samples_.size(); ++s) shared[k] += square(kSharedSpread[k]) * factor(s, k) * weights[s];
      const auto least = static_cast<size_t>(std::min_element(shared.begin(), shared.end()) - shared.begin());
      again = shared[least] < 0;
      if (again) free[least] = false;
    }
    RunFit out{{}, shared[0], shared[1], shared[2], 0};
    for (size_t n = 0; n < guesses_.size(); ++n) {
      out.nodes.push_back(guesses_[n].microseconds);
      for (uint32_t s : inside_[n]) out.nodes[n] += variance(n) * weights[s];
    }
    return out;
  }

  void prepare() {
    const size_t count = samples_.size();
    left_.clear();
    for (const RunSample& s : samples_) left_.push_back(s.microseconds);
    common_.assign(count * count, 0);
    for (size_t n = 0; n < guesses_.size(); ++n)
      for (uint32_t a : inside_[n]) {
        left_[a] -= guesses_[n].microseconds;
        for (uint32_t b : inside_[n]) common_[a * count + b] += variance(n);
      }
  }

  double variance(size_t n) const { return square(guesses_[n].spread * guesses_[n].microseconds); }
  double factor(size_t s, size_t k) const { return k == 0 ? 1 : k == 1 ? samples_[s].bytes_in : samples_[s].bytes_out; }

  Vector solve(const std::array<bool, kShared>& free) const {
    const size_t count = samples_.size();
    Matrix m(count);
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b) {
        m(a, b) = common_[a * count + b];
        for (size_t k = 0; k < kShared; ++k)
          if (free[k]) m(a, b) += square(kSharedSpread[k]) * factor(a, k) * factor(b, k);
      }
      m(a, a) += square(kSampleSpread * samples_[a].microseconds);
    }
    return m.solve(left_);
  }

  double off(const RunFit& fit) const {
    double sum = 0;
    for (const RunSample& s : samples_) {
      double us = fit.launch_us + s.bytes_in * fit.us_per_byte_in + s.bytes_out * fit.us_per_byte_out;
      for (uint32_t n : s.nodes) us += fit.nodes[n];
      sum += std::abs(us / s.microseconds - 1);
    }
    return samples_.empty() ? 0 : sum / static_cast<double>(samples_.size());
  }

  std::vector<NodeGuess> guesses_;
  const std::vector<RunSample>& samples_;
  std::vector<std::vector<uint32_t>> inside_;  // by node: samples that it is in
  Vector left_;    // by sample: what the guesses do not explain
  Vector common_;  // by pair of samples: variance of the nodes that are in both
};

}  // namespace

RunFit fit_runs(const std::vector<NodeGuess>& guesses, const std::vector<RunSample>& samples) { return Fitter(guesses, samples).run(); }

}  // namespace optima
