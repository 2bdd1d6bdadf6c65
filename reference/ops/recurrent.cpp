// SPDX-License-Identifier: Apache-2.0
// reference/ops: LSTM, GRU and RNN, by the equations of the ONNX operator pages. A whole sequence is computed in double.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

using Row = std::vector<double>;
using Activation = std::function<double(double)>;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Kind {
  const char* name;
  bool alpha, beta;
  double default_alpha, default_beta;
  double (*run)(double x, double a, double b);
};
constexpr Kind kKinds[] = {
    {"relu", false, false, 0, 0, [](double x, double, double) { return x > 0 ? x : 0; }},
    {"tanh", false, false, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"sigmoid", false, false, 0, 0, [](double x, double, double) { return logistic(x); }},
    {"affine", true, true, 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"leakyrelu", true, false, 0.01, 0, [](double x, double a, double) { return x >= 0 ? x : a * x; }},
    {"thresholdedrelu", true, false, 1, 0, [](double x, double a, double) { return x >= a ? x : 0; }},
    {"scaledtanh", true, true, 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }},
    {"hardsigmoid", true, true, 0.2, 0.5, [](double x, double a, double b) { return std::fmin(std::fmax(a * x + b, 0), 1); }},
    {"elu", true, false, 1, 0, [](double x, double a, double) { return x >= 0 ? x : a * std::expm1(x); }},
    {"softsign", false, false, 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"softplus", false, false, 0, 0, [](double x, double, double) { return std::log1p(std::exp(x)); }},
};

const Kind* find_kind(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  return kind == std::end(kKinds) ? nullptr : kind;
}

/// `defaults` per direction; alphas and betas are used up in order by the functions that have them.
std::vector<Activation> activations(const Call& c, std::vector<std::string> defaults, size_t directions) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (c.has("activations") && !c.texts("activations")->empty()) {
    const size_t needed = names.size();
    names = *c.texts("activations");
    if (names.size() < needed) invalid("activations has " + std::to_string(names.size()) + " names, must be " + std::to_string(needed));
    names.resize(needed);  // the schema's default of RNN has two names for any direction
  }
  const Row alphas = c.has("activation_alpha") ? *c.reals("activation_alpha") : Row{}, betas = c.has("activation_beta") ? *c.reals("activation_beta") : Row{};
  size_t a = 0, b = 0;
  std::vector<Activation> out;
  for (const std::string& name : names) {
    const Kind* kind = find_kind(name);
    if (!kind) unsupported("activation '" + name + "' is unknown");
    const double alpha = kind->alpha && a < alphas.size() ? alphas[a++] : kind->default_alpha;
    const double beta = kind->beta && b < betas.size() ? betas[b++] : kind->default_beta;
    out.push_back([run = kind->run, alpha, beta](double x) { return run(x, alpha, beta); });
  }
  return out;
}

/// Inputs that the three operators share. Everything inside is [direction][…] whatever the layout.
struct Sequence : shapes::SequenceShape {
  Sequence(const Call& c, int64_t gates) : SequenceShape(c, gates) {
    input = load<double>(c.in(0)), weight = load<double>(c.in(1)), recurrence = load<double>(c.in(2));
    bias = rows(c, 3, {directions, 2 * gates * hidden});
    lengths.assign(static_cast<size_t>(batch), steps);
    if (c.maybe(4)) lengths = load<int64_t>(c.in(4));
    if (static_cast<int64_t>(lengths.size()) != batch) invalid("sequence_lens has " + std::to_string(lengths.size()) + " elements, must be " + std::to_string(batch));
    for (int64_t n : lengths)
      if (n < 0 || n > steps) invalid("a sequence has length " + std::to_string(n) + ", must be within " + std::to_string(steps));
    clip = c.has("clip") ? c.real("clip", 0) : 0;
  }

  /// An optional input, zeros of these dims when absent.
  static Row rows(const Call& c, uint32_t k, const Dims& dims) {
    if (!c.maybe(k)) return Row(static_cast<size_t>(count(dims)), 0.0);
    return load<double>(c.in(k));
  }
  size_t state_at(int64_t d, int64_t b) const { return static_cast<size_t>((by_batch ? b * directions + d : d * batch + b) * hidden); }
  size_t output_at(int64_t t, int64_t d, int64_t b) const {
    return static_cast<size_t>((by_batch ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) * hidden);
  }

  double bounded(double x) const { return clip > 0 ? std::fmax(-clip, std::fmin(clip, x)) : x; }

  /// W·x + Wb of one gate's row.
  double from_input(int64_t d, int64_t b, int64_t t, int64_t row) const {
    const double* w = weight.data() + (d * gates * hidden + row) * width;
    const double* x = input.data() + (by_batch ? b * steps + t : t * batch + b) * width;
    double sum = bias[static_cast<size_t>(d * 2 * gates * hidden + row)];
    for (int64_t k = 0; k < width; ++k) sum += w[k] * x[k];
    return sum;
  }
  double recurrent_bias(int64_t d, int64_t row) const { return bias[static_cast<size_t>((d * 2 + 1) * gates * hidden + row)]; }
  /// R·h of one gate's row.
  double from_state(int64_t d, int64_t row, const double* h) const {
    const double* r = recurrence.data() + (d * gates * hidden + row) * hidden;
    double sum = 0;
    for (int64_t k = 0; k < hidden; ++k) sum += r[k] * h[k];
    return sum;
  }

  /// step(d, b, t, h) advances the state h of one sequence in place; gives Y and Y_h.
  template <class Step>
  void run(Call& c, Row h, Step&& step) const {
    Row out(static_cast<size_t>(count(output_dims())), 0.0);
    for (int64_t d = 0; d < directions; ++d)
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t n = lengths[static_cast<size_t>(b)], i = 0; i < n; ++i) {
          const int64_t t = d == 1 || reverse_first ? n - 1 - i : i;
          double* state = h.data() + state_at(d, b);
          step(d, b, t, state);
          std::copy(state, state + hidden, out.begin() + static_cast<ptrdiff_t>(output_at(t, d, b)));
        }
    c.out(0, store(c.in(0).dtype, output_dims(), out));
    c.out(1, store(c.in(0).dtype, state_dims(), h));
  }

  double clip = 0;
  Row input, weight, recurrence, bias;
  std::vector<int64_t> lengths;
};

}  // namespace

bool is_activation(std::string name) { return find_kind(std::move(name)) != nullptr; }

void rnn(Call& c) {
  const Sequence s(c, 1);
  const std::vector<Activation> f = activations(c, {"Tanh"}, static_cast<size_t>(s.directions));
  Row next(static_cast<size_t>(s.hidden));
  s.run(c, Sequence::rows(c, 5, s.state_dims()), [&](int64_t d, int64_t b, int64_t t, double* h) {
    for (int64_t j = 0; j < s.hidden; ++j)
      next[static_cast<size_t>(j)] = f[static_cast<size_t>(d)](s.bounded(s.from_input(d, b, t, j) + s.from_state(d, j, h) + s.recurrent_bias(d, j)));
    std::copy(next.begin(), next.end(), h);
  });
}

/// Gates in the order update z, reset r, hidden h.
void gru(Call& c) {
  const Sequence s(c, 3);
  const std::vector<Activation> f = activations(c, {"Sigmoid", "Tanh"}, static_cast<size_t>(s.directions));
  const bool linear_first = c.integer("linear_before_reset", 0) != 0;
  const int64_t n = s.hidden;
  Row z(static_cast<size_t>(n)), r(z), reset(z), next(z);
  s.run(c, Sequence::rows(c, 5, s.state_dims()), [&](int64_t d, int64_t b, int64_t t, double* h) {
    const Activation &gate = f[static_cast<size_t>(2 * d)], &hide = f[static_cast<size_t>(2 * d + 1)];
    for (int64_t j = 0; j < n; ++j) {
      const auto k = static_cast<size_t>(j);
      z[k] = gate(s.bounded(s.from_input(d, b, t, j) + s.from_state(d, j, h) + s.recurrent_bias(d, j)));
      r[k] = gate(s.bounded(s.from_input(d, b, t, n + j) + s.from_state(d, n + j, h) + s.recurrent_bias(d, n + j)));
      reset[k] = r[k] * h[k];
    }
    for (int64_t j = 0; j < n; ++j) {
      const auto k = static_cast<size_t>(j);
      const double x = s.from_input(d, b, t, 2 * n + j), bias = s.recurrent_bias(d, 2 * n + j);
      const double sum = linear_first ? x + r[k] * (s.from_state(d, 2 * n + j, h) + bias) : x + s.from_state(d, 2 * n + j, reset.data()) + bias;
      next[k] = (1 - z[k]) * hide(s.bounded(sum)) + z[k] * h[k];
    }
    std::copy(next.begin(), next.end(), h);
  });
}

/// Gates in the order input i, output o, forget f, cell c; peepholes in the order i, o, f.
void lstm(Call& c) {
  const Sequence s(c, 4);
  const std::vector<Activation> f = activations(c, {"Sigmoid", "Tanh", "Tanh"}, static_cast<size_t>(s.directions));
  const bool coupled = c.integer("input_forget", 0) != 0;
  const int64_t n = s.hidden;
  Row cell = Sequence::rows(c, 6, s.state_dims());
  const Row peep = Sequence::rows(c, 7, {s.directions, 3 * n});
  Row next(static_cast<size_t>(n));
  s.run(c, Sequence::rows(c, 5, s.state_dims()), [&](int64_t d, int64_t b, int64_t t, double* h) {
    const Activation *act = f.data() + 3 * d;
    double* state = cell.data() + s.state_at(d, b);
    const double* p = peep.data() + d * 3 * n;
    const auto raw = [&](int64_t gate, int64_t j) { return s.from_input(d, b, t, gate * n + j) + s.from_state(d, gate * n + j, h) + s.recurrent_bias(d, gate * n + j); };
    for (int64_t j = 0; j < n; ++j) {
      const double before = state[j];
      const double in = act[0](s.bounded(raw(0, j) + p[j] * before));
      const double forget = coupled ? 1 - in : act[0](s.bounded(raw(2, j) + p[2 * n + j] * before));
      state[j] = forget * before + in * act[1](s.bounded(raw(3, j)));
      next[static_cast<size_t>(j)] = act[0](s.bounded(raw(1, j) + p[n + j] * state[j])) * act[2](state[j]);
    }
    std::copy(next.begin(), next.end(), h);
  });
  c.out(2, store(c.in(0).dtype, s.state_dims(), cell));
}

}  // namespace optima::reference::ops
