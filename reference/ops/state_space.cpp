// SPDX-License-Identifier: Apache-2.0
// reference/ops: operators of models that carry a state from token to token in place of a cache, by the text of the ONNX operator pages.
#include <algorithm>
#include <cmath>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

using shapes::LinearAttentionShape;

/// One step of one head: the state [key, value] fades, is corrected by what it holds of the key already, and takes the value up.
void take_step(const LinearAttentionShape& s, double* state, const double* key, const double* value, const double* fade, int64_t fade_step, double rate) {
  for (int64_t i = 0; i < s.key && fade; ++i)
    for (int64_t j = 0; j < s.value; ++j) state[i * s.value + j] *= std::exp(fade[i * fade_step]);
  std::vector<double> fresh(value, value + s.value);
  if (s.corrects)
    for (int64_t j = 0; j < s.value; ++j) {
      double held = 0;
      for (int64_t i = 0; i < s.key; ++i) held += state[i * s.value + j] * key[i];
      fresh[static_cast<size_t>(j)] = rate * (value[j] - held);
    }
  for (int64_t i = 0; i < s.key; ++i)
    for (int64_t j = 0; j < s.value; ++j) state[i * s.value + j] += key[i] * fresh[static_cast<size_t>(j)];
}

}  // namespace

void linear_attention(Call& c) {
  const LinearAttentionShape s = shapes::linear_attention_shape(c);
  const std::vector<double> q = load<double>(c.in(0)), k = load<double>(c.in(1)), v = load<double>(c.in(2));
  std::vector<double> state = c.maybe(3) ? load<double>(c.in(3)) : std::vector<double>(static_cast<size_t>(count(s.state())), 0.0);
  const std::vector<double> decay = s.decays ? load<double>(c.in(4)) : std::vector<double>(), beta = s.corrects ? load<double>(c.in(5)) : std::vector<double>();
  const int64_t by_key = s.decays && c.in(4).dims[2] != s.heads ? s.key : 1;  // numbers of decay a head
  const bool one_rate = s.corrects && c.in(5).dims[2] != s.heads;
  const double asked = c.real("scale", 0), scale = asked == 0 ? 1 / std::sqrt(static_cast<double>(s.key)) : asked;
  const int64_t shared = s.q_heads / s.heads;
  std::vector<double> out(static_cast<size_t>(count(s.out())), 0.0);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t t = 0; t < s.length; ++t)
      for (int64_t h = 0; h < s.heads; ++h) {
        const int64_t token = b * s.length + t, head = token * s.heads + h;
        double* held = state.data() + (b * s.heads + h) * s.key * s.value;
        take_step(s, held, k.data() + head * s.key, v.data() + head * s.value, s.decays ? decay.data() + head * by_key : nullptr, by_key == 1 ? 0 : 1,
                  s.corrects ? beta[static_cast<size_t>(one_rate ? token : head)] : 0);
        for (int64_t r = h * shared; r < (h + 1) * shared; ++r)
          for (int64_t j = 0; j < s.value; ++j) {
            double& to = out[static_cast<size_t>((token * s.q_heads + r) * s.value + j)];
            for (int64_t i = 0; i < s.key; ++i) to += scale * q[static_cast<size_t>((token * s.q_heads + r) * s.key + i)] * held[i * s.value + j];
          }
      }
  c.out(0, store(c.in(0).dtype, s.out(), out));
  if (c.wants(1)) c.out(1, store(c.in(c.maybe(3) ? 3 : 0).dtype, s.state(), state));
}

/// A depthwise convolution over what went before and the input, one after the other; the last of both are the next call's past.
void causal_conv_with_state(Call& c) {
  const Dims state = shapes::conv_state_dims(c), &d = c.in(0).dims;
  const int64_t past = state[2], taps = past + 1, length = d[2], whole = past + length;
  const std::vector<double> x = load<double>(c.in(0)), w = load<double>(c.in(1));
  const std::vector<double> before = c.maybe(3) ? load<double>(c.in(3)) : std::vector<double>(static_cast<size_t>(count(state)), 0.0);
  const std::vector<double> bias = c.maybe(2) ? load<double>(c.in(2)) : std::vector<double>(static_cast<size_t>(d[1]), 0.0);
  const bool gated = c.text("activation", "none") != "none";
  std::vector<double> out, after, line(static_cast<size_t>(whole));
  for (int64_t row = 0; row < d[0] * d[1]; ++row) {
    std::copy_n(before.begin() + row * past, past, line.begin());
    std::copy_n(x.begin() + row * length, length, line.begin() + past);
    const double* weight = w.data() + row % d[1] * taps;
    for (int64_t t = 0; t < length; ++t) {
      double sum = bias[static_cast<size_t>(row % d[1])];
      for (int64_t k = 0; k < taps; ++k) sum += weight[k] * line[static_cast<size_t>(t + k)];
      out.push_back(gated ? sum / (1 + std::exp(-sum)) : sum);
    }
    after.insert(after.end(), line.end() - past, line.end());
  }
  c.out(0, store(c.in(0).dtype, d, out));
  if (c.wants(1)) c.out(1, store(c.in(0).dtype, state, after));
}

}  // namespace optima::reference::ops
