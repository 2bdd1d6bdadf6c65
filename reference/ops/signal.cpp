// SPDX-License-Identifier: Apache-2.0
// reference/ops: Fourier transforms of signals and of their frames, window functions, mel filters.
#include <algorithm>
#include <cmath>

#include "reference/ops/fourier.hpp"
#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

using Complex = Fourier::Complex;

constexpr double kTau = 6.28318530717958647693;

/// The spectrum of a line of real numbers, cut or filled with zeros to the transform's length.
std::vector<Complex> of_real_line(const shapes::DftShape& d, const RealFourier& transform, const double* at) {
  std::vector<double> line(transform.length());
  for (int64_t k = 0; k < std::min(d.in, d.length); ++k) line[static_cast<size_t>(k)] = at[k * d.inner];
  std::vector<Complex> out = transform.forward(line, static_cast<size_t>(d.out));
  if (d.inverse)
    for (Complex& e : out) e = std::conj(e) / static_cast<double>(d.length);
  return out;
}

/// The line of `d.in` complex elements that begins at `at`, cut or filled with zeros to the transform's length; half a spectrum becomes a whole one.
std::vector<Complex> read_line(const shapes::DftShape& d, const double* at) {
  std::vector<Complex> line(static_cast<size_t>(d.length));
  const int64_t given = d.is_half_in() ? d.length / 2 + 1 : d.length;
  for (int64_t k = 0; k < std::min(d.in, given); ++k) {
    const double* e = at + k * d.inner * 2;
    line[static_cast<size_t>(k)] = {e[0], e[1]};
  }
  if (!d.is_half_in() || d.length == 0) return line;
  for (int64_t k = d.length / 2 + 1; k < d.length; ++k) line[static_cast<size_t>(k)] = std::conj(line[static_cast<size_t>(d.length - k)]);
  line[0].imag(0);  // a real signal's, as is that of half the length
  if (d.length % 2 == 0) line[static_cast<size_t>(d.length / 2)].imag(0);
  return line;
}

std::vector<Complex> of_complex_line(const shapes::DftShape& d, const Fourier& transform, const double* at) {
  const std::vector<Complex> line = read_line(d, at);
  return d.inverse ? transform.inverse(line) : transform.forward(line);
}

void write_line(const shapes::DftShape& d, const std::vector<Complex>& line, double* at) {
  const int64_t parts = d.is_half_in() ? 1 : 2;
  for (int64_t k = 0; k < d.out; ++k) {
    double* e = at + k * d.inner * parts;
    e[0] = line[static_cast<size_t>(k)].real();
    if (parts == 2) e[1] = line[static_cast<size_t>(k)].imag();
  }
}

/// A window of cosines: a[0] - a[1]·cos(t) + a[2]·cos(2t), t once around over the window, or over it less one when it is symmetric.
void cosine_window(Call& c, double a0, double a1, double a2) {
  const Dims dims = shapes::window_dims(c);
  const double around = static_cast<double>(c.integer("periodic", 1) != 0 ? dims[0] : dims[0] - 1);
  std::vector<double> out(static_cast<size_t>(count(dims)));
  for (size_t n = 0; n < out.size(); ++n) {
    const double t = static_cast<double>(n) * kTau / around;
    out[n] = a0 - a1 * std::cos(t) + a2 * std::cos(2 * t);
  }
  c.out(0, store(static_cast<int32_t>(c.integer("output_datatype", OPTIMA_F32)), dims, out));
}

/// The bins of the spectrum where the filters begin, peak and end, one after the other.
std::vector<int64_t> mel_edges(const Call& c, int64_t bins) {
  const double low = scalar_real(c.in(3), "lower_edge_hertz"), high = scalar_real(c.in(4), "upper_edge_hertz");
  const int64_t filters = c.scalar(0, "num_mel_bins"), length = c.scalar(1, "dft_length"), rate = c.scalar(2, "sample_rate");
  if (rate < 1) invalid("sample_rate is " + std::to_string(rate) + ", must be positive");
  if (!(low >= 0 && low < high && std::isfinite(high))) invalid("edges are " + std::to_string(low) + " and " + std::to_string(high) + " hertz, must rise from 0 or more");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(filters + 2);
  std::vector<int64_t> edges;
  for (int64_t k = 0; k < filters + 2; ++k) {
    const double hertz = 700 * (std::pow(10, (mel(low) + static_cast<double>(k) * step) / 2595) - 1);
    const double bin = std::floor((static_cast<double>(length) + 1) * hertz / static_cast<double>(rate));
    if (!(bin < static_cast<double>(bins))) invalid("upper_edge_hertz is " + std::to_string(high) + ", a filter reaches beyond the " + std::to_string(bins) + " bins of the spectrum");
    edges.push_back(std::max<int64_t>(0, static_cast<int64_t>(bin)));
  }
  return edges;
}

}  // namespace

void dft(Call& c) {
  const shapes::DftShape d = shapes::dft_shape(c);
  const std::vector<double> x = load<double>(c.in(0));
  std::vector<double> out(static_cast<size_t>(count(d.dims)));
  const auto length = static_cast<size_t>(d.length);
  const Fourier transform(d.real_in ? 0 : length);
  const RealFourier of_real(d.real_in ? length : 0);
  const int64_t from = d.in * d.inner * (d.real_in ? 1 : 2), to = d.out * d.inner * (d.is_half_in() ? 1 : 2);
  for (int64_t o = 0; o < d.outer && !out.empty(); ++o)
    for (int64_t i = 0; i < d.inner; ++i) {
      const double* first = x.empty() ? nullptr : x.data() + o * from + i * (d.real_in ? 1 : 2);  // an empty line is all padding
      write_line(d, d.real_in ? of_real_line(d, of_real, first) : of_complex_line(d, transform, first), out.data() + o * to + i * (d.is_half_in() ? 1 : 2));
    }
  c.out(0, store(c.in(0).dtype, d.dims, out));
}

void stft(Call& c) {
  const shapes::StftShape s = shapes::stft_shape(c);
  const std::vector<double> x = load<double>(c.in(0));
  const auto length = static_cast<size_t>(s.length), bins = static_cast<size_t>(s.dims[2]);
  const std::vector<double> window = c.maybe(2) ? load<double>(c.in(2)) : std::vector<double>(length, 1.0);
  const bool is_real = s.parts == 1;
  const Fourier transform(is_real ? 0 : length);
  const RealFourier of_real(is_real ? length : 0);
  std::vector<double> out(static_cast<size_t>(count(s.dims))), line(of_real.length());
  std::vector<Complex> frame(transform.length());
  double* to = out.data();
  for (int64_t b = 0; b < s.dims[0]; ++b)
    for (int64_t f = 0; f < s.dims[1]; ++f) {
      const double* from = x.data() + (b * s.samples + f * s.step) * s.parts;
      for (size_t k = 0; k < line.size(); ++k) line[k] = from[k] * window[k];
      for (size_t k = 0; k < frame.size(); ++k) frame[k] = Complex(from[2 * k], from[2 * k + 1]) * window[k];
      const std::vector<Complex> made = is_real ? of_real.forward(line, bins) : transform.forward(frame);
      for (size_t k = 0; k < bins; ++k, to += 2) to[0] = made[k].real(), to[1] = made[k].imag();
    }
  c.out(0, store(c.in(0).dtype, s.dims, out));
}

void hann_window(Call& c) { cosine_window(c, 0.5, 0.5, 0); }
void hamming_window(Call& c) { cosine_window(c, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(Call& c) { cosine_window(c, 0.42, 0.5, 0.08); }

/// Triangles that rise from one edge to the next, where they are 1, and fall to the one behind it.
void mel_weight_matrix(Call& c) {
  const Dims dims = shapes::mel_dims(c);
  const std::vector<int64_t> edges = mel_edges(c, dims[0]);
  std::vector<double> out(static_cast<size_t>(count(dims)));
  for (int64_t k = 0; k < dims[1]; ++k) {
    const int64_t left = edges[static_cast<size_t>(k)], peak = edges[static_cast<size_t>(k) + 1], right = edges[static_cast<size_t>(k) + 2];
    const auto at = [&](int64_t bin) -> double& { return out[static_cast<size_t>(bin * dims[1] + k)]; };
    for (int64_t bin = left; bin < peak; ++bin) at(bin) = static_cast<double>(bin - left) / static_cast<double>(peak - left);
    at(peak) = 1;
    for (int64_t bin = peak + 1; bin < right; ++bin) at(bin) = static_cast<double>(right - bin) / static_cast<double>(right - peak);
  }
  c.out(0, store(static_cast<int32_t>(c.integer("output_datatype", OPTIMA_F32)), dims, out));
}

}  // namespace optima::reference::ops
