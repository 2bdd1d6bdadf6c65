// SPDX-License-Identifier: Apache-2.0
// reference/ops: see fourier.hpp.
#include "reference/ops/fourier.hpp"

#include <algorithm>
#include <cmath>

namespace optima::reference {
namespace {

constexpr size_t kLargestFactor = 31;  // a prime p costs p multiplications an element, the convolution some fifty
constexpr double kPi = 3.14159265358979323846;

/// Primes, the largest first, then fours, which do most at the ends.
std::vector<size_t> small_factors(size_t n) {
  std::vector<size_t> out;
  for (; n > 0 && n % 4 == 0; n /= 4) out.push_back(4);
  for (size_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) out.push_back(p);
  if (n > 1) out.push_back(n);
  std::reverse(out.begin(), out.end());
  return out;
}

/// e^(-2πi·part/whole)
Fourier::Complex root(size_t part, size_t whole) { return std::polar(1.0, -2 * kPi * static_cast<double>(part) / static_cast<double>(whole)); }

/// Of numbers; where one is infinite, so is operator*, and takes several times as long to see to that.
Fourier::Complex times(const Fourier::Complex& a, const Fourier::Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Fourier::Fourier(size_t length) : length_(length), factors_(small_factors(length)) {
  if (factors_.empty() || factors_.front() <= kLargestFactor) {
    roots_.resize(length);
    for (size_t k = 0; k < length; ++k) roots_[k] = root(k, length);
    return;
  }
  size_t power = 1;
  while (power < 2 * length - 1) power *= 2;
  power_ = std::make_unique<Fourier>(power);
  chirp_.resize(length);
  std::vector<Complex> other(power);
  // k·k modulo twice the length, step by step: the square itself may not fit.
  for (size_t k = 0, square = 0; k < length; square = (square + 2 * k + 1) % (2 * length), ++k) {
    chirp_[k] = root(square, 2 * length);
    other[k] = std::conj(chirp_[k]);
    if (k > 0) other[power - k] = other[k];
  }
  spectrum_ = power_->forward(other);
}

/// Elements x[0], x[step], …, of which there are `length`.
void Fourier::split(const Complex* x, Complex* to, size_t level, size_t step, size_t length) const {
  if (length == 1) return void(*to = *x);
  const size_t p = factors_[level], part = length / p;
  for (size_t r = 0; r < p; ++r)
    if (part == 1) to[r] = x[r * step];
    else split(x + r * step, to + r * part, level + 1, step * p, part);
  if (p == 2) return join_two(to, part, step);
  if (p == 4) return join_four(to, part, step);
  Complex turned[kLargestFactor];
  for (size_t k = 0; k < part; ++k) {
    for (size_t r = 0; r < p; ++r) turned[r] = times(to[r * part + k], roots_[r * k * step]);
    for (size_t q = 0; q < p; ++q) {
      Complex sum = turned[0];
      for (size_t r = 1; r < p; ++r) sum += times(turned[r], roots_[r * q % p * (length_ / p)]);
      to[q * part + k] = sum;
    }
  }
}

/// Transforms of `part` elements each become one of both, whose roots lie `step` apart.
void Fourier::join_two(Complex* to, size_t part, size_t step) const {
  for (size_t k = 0; k < part; ++k) {
    const Complex a = to[k], b = times(to[part + k], roots_[k * step]);
    to[k] = a + b, to[part + k] = a - b;
  }
}

/// Transforms of `part` elements each become one of all four, whose roots lie `step` apart. The roots between them are 1, -i, -1 and i.
void Fourier::join_four(Complex* to, size_t part, size_t step) const {
  for (size_t k = 0; k < part; ++k) {
    const Complex a = to[k], b = times(to[part + k], roots_[k * step]), c = times(to[2 * part + k], roots_[2 * k * step]), d = times(to[3 * part + k], roots_[3 * k * step]);
    const Complex even = a + c, odd = a - c, sum = b + d, turned(b.imag() - d.imag(), d.real() - b.real());
    to[k] = even + sum, to[part + k] = odd + turned, to[2 * part + k] = even - sum, to[3 * part + k] = odd - turned;
  }
}

std::vector<Fourier::Complex> Fourier::convolve(const std::vector<Complex>& x) const {
  std::vector<Complex> line(power_->length());
  for (size_t k = 0; k < length_; ++k) line[k] = times(x[k], chirp_[k]);
  line = power_->forward(line);
  for (size_t k = 0; k < line.size(); ++k) line[k] = times(line[k], spectrum_[k]);
  line = power_->inverse(line);
  line.resize(length_);
  for (size_t k = 0; k < length_; ++k) line[k] = times(line[k], chirp_[k]);
  return line;
}

std::vector<Fourier::Complex> Fourier::forward(const std::vector<Complex>& x) const {
  if (power_) return convolve(x);
  std::vector<Complex> out(length_);
  if (length_ > 0) split(x.data(), out.data(), 0, 1, length_);
  return out;
}

std::vector<Fourier::Complex> Fourier::inverse(const std::vector<Complex>& x) const {
  std::vector<Complex> turned(x);
  for (Complex& e : turned) e = std::conj(e);
  turned = forward(turned);
  for (Complex& e : turned) e = std::conj(e) / static_cast<double>(length_);
  return turned;
}

RealFourier::RealFourier(size_t length) : length_(length), is_even_(length > 0 && length % 2 == 0), complex_(is_even_ ? length / 2 : length) {
  for (size_t k = 0; is_even_ && k < length / 2; ++k) roots_.push_back(root(k, length));
}

/// Elements [0, length / 2] of the spectrum; all of an odd length.
std::vector<RealFourier::Complex> RealFourier::half_spectrum(const std::vector<double>& x) const {
  const size_t half = complex_.length();
  std::vector<Complex> line(half);
  for (size_t k = 0; k < half; ++k) line[k] = is_even_ ? Complex(x[2 * k], x[2 * k + 1]) : Complex(x[k]);
  line = complex_.forward(line);
  if (!is_even_) return line;
  std::vector<Complex> out(half + 1);
  out[0] = line[0].real() + line[0].imag(), out[half] = line[0].real() - line[0].imag();
  for (size_t k = 1; k < half; ++k) {
    const Complex a = line[k], b = std::conj(line[half - k]), sum = a + b, rest = a - b;  // twice what the even and, times i, the odd elements make
    out[k] = (sum + times(Complex(rest.imag(), -rest.real()), roots_[k])) * 0.5;
  }
  return out;
}

std::vector<RealFourier::Complex> RealFourier::forward(const std::vector<double>& x, size_t bins) const {
  std::vector<Complex> out = half_spectrum(x);
  const size_t made = std::min(out.size(), bins);
  out.resize(bins);
  for (size_t k = made; k < bins; ++k) out[k] = std::conj(out[length_ - k]);
  return out;
}

}  // namespace optima::reference
