// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/second_order.hpp"

#include <algorithm>
#include <cmath>

namespace optima::detail {
namespace {

constexpr double kDamping = 0.01;

double* row(std::vector<double>& m, size_t n, size_t i) { return m.data() + i * n; }

void damp(std::vector<double>& gram, size_t n) {
  double mean = 0;
  for (size_t i = 0; i < n; ++i) mean += gram[i * n + i] / static_cast<double>(n);
  const double add = mean > 0 ? mean * kDamping : 1;
  for (size_t i = 0; i < n; ++i) gram[i * n + i] += add;
}

// In place: gram = LT L with L lower triangular; what is above is not read again. Whole rows are subtracted, which compilers make vectors of.
void factor(std::vector<double>& gram, size_t n) {
  for (size_t j = n; j-- > 0;) {
    double* lj = row(gram, n, j);
    const double root = std::sqrt(std::max(lj[j], 1e-300));
    for (size_t i = 0; i <= j; ++i) lj[i] /= root;
    for (size_t i = 0; i < j; ++i) {
      double* rest = row(gram, n, i);
      const double by = lj[i];
      for (size_t k = 0; k <= i; ++k) rest[k] -= by * lj[k];
    }
  }
}

// The inverse of LT, an upper triangle: its rows say how an input's error is spread.
std::vector<double> inverse(std::vector<double>& l, size_t n) {
  std::vector<double> out(n * n);
  for (size_t i = n; i-- > 0;) {
    double* to = row(out, n, i);
    to[i] = 1;
    for (size_t k = i + 1; k < n; ++k) {
      const double* other = row(out, n, k);
      const double by = l[k * n + i];
      for (size_t j = k; j < n; ++j) to[j] -= by * other[j];
    }
    for (size_t j = i; j < n; ++j) to[j] /= l[i * n + i];
  }
  return out;
}

// One output's weights over all inputs.
class Row {
 public:
  Row(const Product& p, Encoding& encoding, const std::vector<double>& spread) : p_(p), encoding_(encoding), index_(p.dims, encoding.axis, encoding.block), spread_(spread) {}

  void round(int64_t output, const std::vector<float>& weights, std::vector<int32_t>& codes) {
    const auto n = static_cast<size_t>(p_.inputs);
    rest_.resize(n);
    for (size_t i = 0; i < n; ++i) rest_[i] = static_cast<double>(weights[at(output, i)]);
    for (size_t i = 0; i < n; ++i) {
      const size_t e = at(output, i);
      const auto k = static_cast<size_t>(index_.of(static_cast<int64_t>(e)));
      if (encoding_.block > 0 && i % static_cast<size_t>(encoding_.block) == 0) scale_block(k, i);
      codes[e] = nearest_code(static_cast<float>(rest_[i]), encoding_.scale[k], 0, encoding_.dtype);
      const double* to = spread_.data() + i * n;
      const double lost = (rest_[i] - codes[e] * static_cast<double>(encoding_.scale[k])) / to[i];
      for (size_t j = i + 1; j < n; ++j) rest_[j] -= lost * to[j];
    }
  }

 private:
  size_t at(int64_t output, size_t input) const {
    const auto behind = static_cast<size_t>(elements_behind(p_.dims, p_.inner_axis));
    return p_.inner_axis < p_.axis ? input * static_cast<size_t>(p_.outputs) + static_cast<size_t>(output)
                                   : static_cast<size_t>(output) * static_cast<size_t>(p_.inputs) * behind + input * behind;
  }
  void scale_block(size_t k, size_t first) {
    const size_t end = std::min(first + static_cast<size_t>(encoding_.block), rest_.size());
    double most = 0;
    for (size_t i = first; i < end; ++i) most = std::max(most, std::fabs(rest_[i]));
    if (most > 0) encoding_.scale[k] = std::max(static_cast<float>(most) / 7.0f, 1e-30f);
  }

  const Product& p_;
  Encoding& encoding_;
  const ScaleIndex index_;
  const std::vector<double>& spread_;
  std::vector<double> rest_;  // by input: the weight with what was lost before it
};

}  // namespace

bool may_round_second_order(const Product& p) { return !p.windowed && p.axis >= 0 && p.inputs * p.outputs == elements_behind(p.dims, -1); }

WeightCodes round_second_order(const Product& p, const std::vector<float>& weights, Encoding encoding, std::vector<double> gram) {
  const auto n = static_cast<size_t>(p.inputs);
  damp(gram, n);
  factor(gram, n);
  const std::vector<double> spread = inverse(gram, n);
  WeightCodes out;
  out.codes.resize(weights.size());
  Row one(p, encoding, spread);
  for (int64_t o = 0; o < p.outputs; ++o) one.round(o, weights, out.codes);
  out.encoding = std::move(encoding);
  return out;
}

}  // namespace optima::detail
