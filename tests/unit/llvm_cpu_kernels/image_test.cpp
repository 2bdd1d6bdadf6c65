// SPDX-License-Identifier: Apache-2.0
// Resizing along an axis, general pooling and recurrent layers against double loops.
#include "tests/unit/llvm_cpu_kernels/harness.hpp"

#include "plugins/llvm_cpu/kernels/pool_plain.hpp"
#include "plugins/llvm_cpu/kernels/resize.hpp"
#include "plugins/llvm_cpu/kernels/rnn.hpp"

using namespace kernel_test;

namespace {

/// A table of an axis: index and weight of result q and tap t at [q * taps + t], and both as kernels read those of single elements.
struct Table {
  Table(int64_t size, int64_t length, int64_t taps)
      : index(integers<int32_t>(length * taps, 0, static_cast<int32_t>(size) - 1)), weight(reals(length * taps)), of_singles(taps * (length + k::cdiv(length, k::VL))), turned(length * taps) {
    if (coin()) std::sort(index.begin(), index.end());  // as axes have them: neighbours take neighbours
    const int64_t vectors = k::cdiv(length, k::VL);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t q = 0; q < length; ++q) of_singles[t * length + q] = index[q * taps + t], turned[t * length + q] = weight[q * taps + t];
    for (int64_t v = 0; v < vectors; ++v) {
      bool near = length >= k::VL;
      for (int64_t t = 0; t < taps; ++t) {
        int32_t &first = of_singles[taps * length + t * vectors + v], *begin = &of_singles[t * length + std::max<int64_t>(0, std::min(v * k::VL, length - k::VL))];
        const auto [least, most] = std::minmax_element(begin, begin + std::min(k::VL, length));
        first = std::max<int32_t>(0, std::min(*least, static_cast<int32_t>(size - k::VL)));
        near = near && *most - first < k::VL;
      }
      if (!near) of_singles[taps * length + v] = -1;
    }
  }
  Guarded<int32_t> index;
  Guarded<float> weight;
  Guarded<int32_t> of_singles;
  Guarded<float> turned;
};

/// [outer][size][inner] -> [outer][length][inner].
std::vector<double> resized(const std::vector<double>& in, const Table& t, int64_t outer, int64_t size, int64_t length, int64_t taps, int64_t inner) {
  std::vector<double> out;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t q = 0; q < length; ++q)
      for (int64_t j = 0; j < inner; ++j) {
        double v = 0;
        for (int64_t k = 0; k < taps; ++k) v += double(t.weight[q * taps + k]) * in[static_cast<size_t>((o * size + t.index[q * taps + k]) * inner + j)];
        out.push_back(v);
      }
  return out;
}
std::vector<double> doubles(const Guarded<float>& g) { return {g.data(), g.data() + g.size()}; }

}  // namespace

TEST_CASE("an axis is resized by its table") {
  for (int i = 0; i < rounds(400); ++i) {
    const int64_t outer = pick(1, 20), size = pick(1, coin() ? 9 : 60), length = pick(1, 70), inner = coin() ? 1 : pick(2, 50), taps = pick(1, 5);
    const Guarded<float> in = reals(outer * size * inner);
    Table t(size, length, taps);
    const Guarded<float> got = run<float>(outer * length * inner, inner > 1 ? outer * length : outer, 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {const_cast<float*>(in.data()), inner > 1 ? t.index.data() : t.of_singles.data(), inner > 1 ? t.weight.data() : t.turned.data(), out};
      k_resize({.taps = taps, .size = size, .length = length, .inner = inner}, args, u0, u1, s);
    });
    REQUIRE(error_of(got, resized(doubles(in), t, outer, size, length, taps, inner)) < 1e-6);
  }
}

TEST_CASE("two axes of an image are resized in one walk by their tables") {
  for (int i = 0; i < rounds(200); ++i) {
    const int64_t planes = pick(1, 3), height = pick(1, 12), width = pick(1, coin() ? 9 : 50), out_height = pick(1, 30), out_width = pick(1, 60);
    const int64_t inner = coin() ? 1 : k::VL, taps_y = pick(1, 4), taps_x = pick(1, 5);
    const Guarded<float> in = reals(planes * height * width * inner);
    Table y(height, out_height, taps_y), x(width, out_width, taps_x);
    if (coin()) std::fill(y.weight.begin(), y.weight.end(), 1.0f);  // copies of rows
    const uint64_t scratch = static_cast<uint64_t>(k::kResizedRows * width * inner) * sizeof(float);
    const Guarded<float> got = run<float>(planes * out_height * out_width * inner, planes * k::cdiv(out_height, k::kResizedRows), scratch, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {const_cast<float*>(in.data()), y.index.data(), y.weight.data(), inner > 1 ? x.index.data() : x.of_singles.data(), inner > 1 ? x.weight.data() : x.turned.data(), out};
      k_resize_plane({.taps_y = taps_y, .taps_x = taps_x, .height = height, .width = width, .out_height = out_height, .out_width = out_width, .inner = inner}, args, u0, u1, s);
    });
    const std::vector<double> between = resized(doubles(in), y, planes, height, out_height, taps_y, width * inner);
    REQUIRE(error_of(got, resized(between, x, planes * out_height, width, out_width, taps_x, inner)) < 2e-6);
  }
}

namespace {

struct Axis {
  int64_t size, window, step, dilation, pad, pad_end, out;
};
Axis axis(bool used) {
  if (!used) return {1, 1, 1, 1, 0, 0, 1};
  for (;;) {
    Axis a{pick(1, 12), pick(1, 4), pick(1, 3), pick(1, 2), 0, 0, 0};
    a.pad = pick(0, a.window - 1), a.pad_end = pick(0, a.window - 1);
    const int64_t room = a.size + a.pad + a.pad_end - (a.window - 1) * a.dilation - 1;
    if (room < 0) continue;
    a.out = (room + (coin() ? a.step - 1 : 0)) / a.step + 1;  // ceil_mode half of the time
    if ((a.out - 1) * a.step - a.pad >= a.size) --a.out;      // no window starts in the end padding
    if (a.out > 0) return a;
  }
}

}  // namespace

TEST_CASE("pooling agrees with double loops: any rank, window, stride, dilation, padding, ceil mode") {
  for (int i = 0; i < rounds(600); ++i) {
    const Axis z = axis(i % 3 == 0), y = axis(i % 3 < 2), x = axis(true);
    using Mode = k::PoolMode;
    const Mode mode = pick_up_to(Mode::Lp);
    const int64_t planes = pick(1, 3), p = pick(1, 3);
    const Guarded<float> in = reals(planes * z.size * y.size * x.size);
    const int64_t outs = planes * z.out * y.out * x.out;
    Guarded<int64_t> where(outs);
    const Guarded<float> got = run<float>(outs, planes * z.out * y.out, 0, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {const_cast<float*>(in.data()), out, where.data()};
      k_pool_plain({.mode = mode, .p = p, .has_indices = mode == Mode::Max, .in = {z.size, y.size, x.size}, .out = {z.out, y.out, x.out},
                    .kernel = {z.window, y.window, x.window}, .stride = {z.step, y.step, x.step}, .dilation = {z.dilation, y.dilation, x.dilation},
                    .begin = {z.pad, y.pad, x.pad}, .end = {z.pad_end, y.pad_end, x.pad_end}}, args, u0, u1, s);
    });
    std::vector<double> want;
    for (int64_t n = 0; n < planes; ++n)
      for (int64_t a = 0; a < z.out; ++a)
        for (int64_t b = 0; b < y.out; ++b)
          for (int64_t c = 0; c < x.out; ++c) {
            double top = -INFINITY, sum = 0, powers = 0;
            int64_t inside = 0, padded = 0;
            for (int64_t dz = 0; dz < z.window; ++dz)
              for (int64_t dy = 0; dy < y.window; ++dy)
                for (int64_t dx = 0; dx < x.window; ++dx) {
                  const int64_t u = a * z.step - z.pad + dz * z.dilation, v = b * y.step - y.pad + dy * y.dilation, w = c * x.step - x.pad + dx * x.dilation;
                  if (u < z.size + z.pad_end && v < y.size + y.pad_end && w < x.size + x.pad_end) ++padded;
                  if (u < 0 || v < 0 || w < 0 || u >= z.size || v >= y.size || w >= x.size) continue;
                  const double e = in[((n * z.size + u) * y.size + v) * x.size + w];
                  ++inside, sum += e, top = std::max(top, e), powers += std::pow(std::fabs(e), double(p));
                }
            want.push_back(mode == Mode::Max ? top : mode == Mode::Average ? (inside ? sum / double(inside) : 0) : mode == Mode::AverageWithPad ? (padded ? sum / double(padded) : 0) : std::pow(powers, 1. / double(p)));
          }
    INFO("mode " << int64_t(mode));
    REQUIRE(error_of(got, want) < 2e-6);
    if (mode == Mode::Max)
      for (int64_t q = 0; q < outs; ++q) REQUIRE((std::isinf(got[q]) || in[where[q]] == got[q]));
  }
}

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
using Row = std::vector<double>;

// H R' of one gate: r is [width / VL][hidden][VL] with gate q at q * padded.
double product(const float* r, int64_t padded, int64_t hidden, int64_t gate, int64_t j, const Row& h) {
  double s = 0;
  for (int64_t q = 0; q < hidden; ++q) s += double(r[((gate * padded + j) / k::VL * hidden + q) * k::VL + j % k::VL]) * h[size_t(q)];
  return s;
}

}  // namespace

TEST_CASE("LSTM, GRU and RNN steps agree with double loops") {
  for (int i = 0; i < rounds(200); ++i) {
    using Kind = k::RnnKind;
    const Kind kind = pick_up_to(Kind::Lstm);
    const int64_t gates = kind == Kind::Lstm ? 4 : kind == Kind::Gru ? 3 : 1, seq = pick(1, 5), batch = pick(1, coin() ? 3 : 11), dirs = pick(1, 2), hidden = pick(1, coin() ? 20 : 70);
    const int64_t rows = coin() ? 1 : 4;
    const int64_t padded = k::cdiv(hidden, k::VL) * k::VL, width = gates * padded, reverse = dirs == 2 ? 2 : pick(0, 1), before = pick(0, 1);
    const bool initial = coin(), lengths = coin(), peepholes = kind == Kind::Lstm && coin(), hidden_bias = kind == Kind::Gru && coin();
    Guarded<float> x = reals(seq * batch * dirs * width), r = reals(dirs * hidden * width, -0.5f, 0.5f), rb = reals(dirs * width);
    Guarded<float> h0 = reals(dirs * batch * hidden), c0 = reals(dirs * batch * hidden), p = reals(dirs * 3 * hidden);
    Guarded<int32_t> len = integers<int32_t>(batch, 0, seq);
    Guarded<float> yh(dirs * batch * hidden), yc(dirs * batch * hidden);
    const int64_t chains = dirs * k::cdiv(batch, rows), turns = seq * k::rnn_phases(kind, before), slices = k::cdiv(padded, k::kRnnSlice * k::VL);
    Guarded<float> kept(chains * k::kRnnKept * rows * padded);
    const Guarded<float> y = run<float>(seq * dirs * batch * hidden, chains, rows * (width + 2 * padded) * 4, [&](float* out, int64_t u0, int64_t u1, char* s) {
      void* args[] = {x.data(), r.data(), hidden_bias ? rb.data() : nullptr, initial ? h0.data() : nullptr, initial ? c0.data() : nullptr,
                      lengths ? len.data() : nullptr, peepholes ? p.data() : nullptr, out, yh.data(), yc.data(), kept.data(), nullptr};
      const auto pieces = [&](int64_t p0, int64_t p1) {
        k_rnn({.kind = kind, .before = before, .coupled = 0, .reverse = reverse, .rows = rows, .bytes = 0, .f = kind == Kind::Rnn ? k::Act::Tanh : k::Act::Sigmoid,
               .g = k::Act::Tanh, .h = k::Act::Tanh, .clip = 0, .seq = seq, .batch = batch, .dirs = dirs, .hidden = hidden}, args, p0, p1, s);
      };
      if (coin()) return pieces(u0 * turns * slices, u1 * turns * slices);
      for (int64_t turn = u0 * turns; turn < u1 * turns; ++turn) {  // the later slices first: those of one turn need no order
        const int64_t some = pick(0, slices);
        pieces(turn * slices + some, (turn + 1) * slices);
        pieces(turn * slices, turn * slices + some);
      }
    });
    std::vector<double> want(size_t(y.size()), 0), last(size_t(yh.size()));
    for (int64_t d = 0; d < dirs; ++d)
      for (int64_t b = 0; b < batch; ++b) {
        Row h(size_t(hidden), 0), c(size_t(hidden), 0);
        const int64_t state = (d * batch + b) * hidden, n = lengths ? len[b] : seq;
        for (int64_t j = 0; j < hidden && initial; ++j) h[size_t(j)] = h0[state + j], c[size_t(j)] = c0[state + j];
        for (int64_t q = 0; q < n; ++q) {
          const int64_t t = reverse >> d & 1 ? n - 1 - q : q;
          const float *in = x.data() + ((t * batch + b) * dirs + d) * width, *rd = r.data() + d * hidden * width;
          Row next(h), cell(c), reset(h);
          for (int64_t j = 0; j < hidden; ++j) reset[size_t(j)] = kind == Kind::Gru ? sigmoid(in[padded + j] + ::product(rd, padded, hidden, 1, j, h)) : 0;
          Row scaled(h);
          for (int64_t j = 0; j < hidden; ++j) scaled[size_t(j)] *= reset[size_t(j)];
          for (int64_t j = 0; j < hidden; ++j) {
            const auto gate = [&](int64_t g) { return in[g * padded + j] + ::product(rd, padded, hidden, g, j, h); };
            const auto peep = [&](int64_t g, double v) { return peepholes ? p[d * 3 * hidden + g * hidden + j] * v : 0; };
            if (kind == Kind::Rnn) next[size_t(j)] = std::tanh(gate(0));
            if (kind == Kind::Gru) {
              const double z = sigmoid(gate(0)), own = before ? reset[size_t(j)] * (::product(rd, padded, hidden, 2, j, h) + (hidden_bias ? rb[d * width + 2 * padded + j] : 0))
                                                              : ::product(rd, padded, hidden, 2, j, scaled);
              next[size_t(j)] = (1 - z) * std::tanh(in[2 * padded + j] + own) + z * h[size_t(j)];
            }
            if (kind == Kind::Lstm) {
              const double old = c[size_t(j)], in_gate = sigmoid(gate(0) + peep(0, old)), forget = sigmoid(gate(2) + peep(2, old));
              cell[size_t(j)] = forget * old + in_gate * std::tanh(gate(3));
              next[size_t(j)] = sigmoid(gate(1) + peep(1, cell[size_t(j)])) * std::tanh(cell[size_t(j)]);
            }
          }
          h = next, c = cell;
          for (int64_t j = 0; j < hidden; ++j) want[size_t(((t * dirs + d) * batch + b) * hidden + j)] = h[size_t(j)];
        }
        for (int64_t j = 0; j < hidden; ++j) last[size_t(state + j)] = h[size_t(j)];
      }
    INFO("kind " << int64_t(kind) << " hidden " << hidden << " before " << before);
    REQUIRE(error_of(y, want, 1) < 4e-6);
    REQUIRE(error_of(yh, last, 1) < 4e-6);
  }
}
