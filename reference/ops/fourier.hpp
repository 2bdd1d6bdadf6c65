// SPDX-License-Identifier: Apache-2.0
// reference/ops: the discrete Fourier transform of one line of numbers, of any length, in double.
#pragma once

#include <complex>
#include <memory>
#include <vector>

namespace optima::reference {

/// X[k] = Σ x[n] · e^(-2πi·k·n/N). A length whose prime factors are small is split by them (J. Cooley and J. Tukey, "An algorithm for
/// the machine calculation of complex Fourier series", 1965); any other becomes a convolution of a length that is a power of two
/// (L. Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970). Const calls from any thread.
class Fourier {
 public:
  using Complex = std::complex<double>;

  explicit Fourier(size_t length);
  size_t length() const { return length_; }
  /// x has length() elements.
  std::vector<Complex> forward(const std::vector<Complex>& x) const;
  /// The same with e^(+2πi·k·n/N), divided by N.
  std::vector<Complex> inverse(const std::vector<Complex>& x) const;

 private:
  void split(const Complex* x, Complex* to, size_t level, size_t step, size_t length) const;
  void join_two(Complex* to, size_t part, size_t step) const;
  void join_four(Complex* to, size_t part, size_t step) const;
  std::vector<Complex> convolve(const std::vector<Complex>& x) const;

  size_t length_;
  std::vector<size_t> factors_;
  std::vector<Complex> roots_;       ///< e^(-2πi·k/N)
  std::unique_ptr<Fourier> power_;   ///< of the convolution; null where the factors do
  std::vector<Complex> chirp_, spectrum_;
};

/// The transform of real numbers. A line of an even length is one of complex numbers half as long (H. Sorensen et al., "Real-valued fast
/// Fourier transform algorithms", 1987). Const calls from any thread.
class RealFourier {
 public:
  using Complex = Fourier::Complex;

  explicit RealFourier(size_t length);
  size_t length() const { return length_; }
  /// x has length() elements; of their spectrum the first `bins`, at most length().
  std::vector<Complex> forward(const std::vector<double>& x, size_t bins) const;

 private:
  std::vector<Complex> half_spectrum(const std::vector<double>& x) const;

  size_t length_;
  bool is_even_;
  Fourier complex_;  ///< of half the length where it is even
  std::vector<Complex> roots_;
};

}  // namespace optima::reference
