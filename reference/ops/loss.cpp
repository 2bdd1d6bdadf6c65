// SPDX-License-Identifier: Apache-2.0
// reference/ops: losses over class scores [N, C, …] and class numbers [N, …].
#include <algorithm>
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// -log_prob of every target times its weight, reduced as the node asks. `log_prob` has the shape of the scores.
void likelihood(Call& c, const std::vector<double>& log_prob) {
  const Dims& d = c.in(0).dims;
  const Dims targets = shapes::target_dims(c);
  const std::vector<int64_t> target = load<int64_t>(c.in(1));
  const std::vector<double> weight = c.maybe(2) ? load<double>(c.in(2)) : std::vector<double>(static_cast<size_t>(d[1]), 1.0);
  if (static_cast<int64_t>(weight.size()) != d[1]) invalid("weights have " + std::to_string(weight.size()) + " elements, must be " + std::to_string(d[1]));
  const bool ignores = c.has("ignore_index");
  const int64_t ignored = c.integer("ignore_index", 0), inner = count(d, 2, d.size());
  std::vector<double> loss(target.size(), 0.0);
  double sum = 0, weights = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (ignores && target[i] == ignored) continue;
    if (target[i] < 0 || target[i] >= d[1]) invalid("a target is " + std::to_string(target[i]) + ", must be within " + std::to_string(d[1]));
    const auto at = static_cast<int64_t>(i);
    const double w = weight[static_cast<size_t>(target[i])];
    loss[i] = -w * log_prob[static_cast<size_t>((at / inner * d[1] + target[i]) * inner + at % inner)];
    sum += loss[i], weights += w;
  }
  const std::string how = c.text("reduction", "mean");
  if (how == "none") c.out(0, store(c.in(0).dtype, targets, loss));
  else if (how == "sum" || how == "mean") c.out(0, store<double>(c.in(0).dtype, {}, {how == "sum" ? sum : sum / weights}));
  else invalid("reduction is '" + how + "', must be none, sum or mean");
}

}  // namespace

void negative_log_likelihood_loss(Call& c) {
  likelihood(c, load<double>(c.in(0)));
}

void softmax_cross_entropy_loss(Call& c) {
  shapes::target_dims(c);  // judges the scores before they are read
  const Dims& d = c.in(0).dims;
  const int64_t inner = count(d, 2, d.size());
  std::vector<double> x = load<double>(c.in(0));
  for (int64_t line = 0; line < d[0] * inner; ++line) {
    double* at = x.data() + line / inner * d[1] * inner + line % inner;
    double top = -INFINITY, sum = 0;
    for (int64_t k = 0; k < d[1]; ++k) top = std::fmax(top, at[k * inner]);
    for (int64_t k = 0; k < d[1]; ++k) sum += std::exp(at[k * inner] - top);
    for (int64_t k = 0; k < d[1]; ++k) at[k * inner] -= top + std::log(sum);
  }
  likelihood(c, x);
  if (c.wants(1)) c.out(1, store(c.in(0).dtype, d, x));
}

}  // namespace optima::reference::ops
