// SPDX-License-Identifier: Apache-2.0
// reference/shapes: LSTM, GRU and RNN.

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

SequenceShape::SequenceShape(const Call& c, int64_t of_gates) : gates(of_gates) {
  const Dims &x = c.in(0).dims, &w = c.in(1).dims, &r = c.in(2).dims;
  by_batch = c.integer("layout", 0) != 0;
  const std::string way = c.text("direction", "forward");
  if (way != "forward" && way != "reverse" && way != "bidirectional") invalid("direction is '" + way + "', must be forward, reverse or bidirectional");
  reverse_first = way == "reverse";
  directions = way == "bidirectional" ? 2 : 1;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) invalid("inputs have shapes " + show(x) + ", " + show(w) + " and " + show(r) + ", must have rank 3");
  steps = x[by_batch ? 1 : 0], batch = x[by_batch ? 0 : 1], width = x[2], hidden = r[2];
  if (hidden < 1 || hidden > 1 << 24 || w != Dims{directions, gates * hidden, width} || r != Dims{directions, gates * hidden, hidden})
    invalid("weights have shapes " + show(w) + " and " + show(r) + ", must be " + show({directions, gates * hidden, width}) + " and " + show({directions, gates * hidden, hidden}));
  if (c.integer("hidden_size", hidden) != hidden) invalid("hidden_size is " + std::to_string(c.integer("hidden_size", 0)) + ", the weights say " + std::to_string(hidden));
  const auto fits = [&](uint32_t k, const Dims& dims) {
    if (c.maybe(k) && c.in(k).dims != dims) invalid("input " + std::to_string(k) + " has shape " + show(c.in(k).dims) + ", must be " + show(dims));
  };
  fits(3, {directions, 2 * gates * hidden}), fits(5, state_dims());
  if (gates == 4) fits(6, state_dims()), fits(7, {directions, 3 * hidden});
}

}  // namespace shapes

namespace rules {

namespace {

void sequence(const Call& c, Inference& to, int64_t gates) {
  const shapes::SequenceShape s(c, gates);
  give(c, to, 0, c.in(0).dtype, s.output_dims());
  give(c, to, 1, c.in(0).dtype, s.state_dims());
  if (gates == 4) give(c, to, 2, c.in(0).dtype, s.state_dims());
}

}  // namespace

void lstm(const Call& c, Inference& to) { sequence(c, to, 4); }
void gru(const Call& c, Inference& to) { sequence(c, to, 3); }
void rnn(const Call& c, Inference& to) { sequence(c, to, 1); }

}  // namespace rules
}  // namespace optima::reference
