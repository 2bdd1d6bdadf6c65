// SPDX-License-Identifier: Apache-2.0
// reference/shapes: signals, their spectra, windows.
#include <algorithm>

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {
namespace {

/// A number of elements along an axis. What transforms keep beside a line is a multiple of it.
int64_t length_of(const char* what, int64_t n, int64_t least) {
  if (n < least || n > 1 << 26) invalid(std::string(what) + " is " + std::to_string(n) + ", must be " + std::to_string(least) + " to 2^26");
  return n;
}

int32_t given_type(const Call& c) { return static_cast<int32_t>(c.integer("output_datatype", OPTIMA_F32)); }

}  // namespace

DftShape dft_shape(const Call& c) {
  const Dims& in = c.in(0).dims;
  if (in.size() < 2 || (in.back() != 1 && in.back() != 2)) invalid("input 0 has shape " + show(in) + ", must be a signal with 1 or 2 as its last dim");
  const int64_t given = c.version() < 20 ? c.integer("axis", 1) : c.maybe(2) ? c.scalar(2, "axis") : -2;
  const size_t axis = normal_axis(given, in.size());
  if (axis + 1 == in.size()) invalid("axis is " + std::to_string(given) + ", the dim of real and imaginary parts");
  const bool onesided = c.integer("onesided", 0) != 0;
  DftShape d;
  d.real_in = in.back() == 1;
  d.inverse = c.integer("inverse", 0) != 0;
  d.half = onesided;
  if (onesided && d.inverse == d.real_in)
    invalid("input 0 of shape " + show(in) + " is " + (d.real_in ? "real" : "complex") + ", with onesided a spectrum goes back from complex numbers and forward from real ones");
  d.in = in[axis];
  const int64_t usual = d.is_half_in() ? std::max<int64_t>(0, 2 * (d.in - 1)) : d.in;
  d.length = c.maybe(1) ? length_of("dft_length", c.scalar(1, "dft_length"), 1) : length_of("the length of the axis", usual, 0);
  d.out = onesided && !d.inverse && d.length > 0 ? d.length / 2 + 1 : d.length;
  d.outer = count(in, 0, axis);
  d.inner = count(in, axis + 1, in.size() - 1);
  d.dims = in;
  d.dims[axis] = d.out;
  d.dims.back() = d.is_half_in() ? 1 : 2;
  return d;
}

StftShape stft_shape(const Call& c) {
  const Dims& in = c.in(0).dims;
  const bool has_parts = in.size() == 3 && (in[2] == 1 || in[2] == 2);
  if (in.size() != 2 && !has_parts) invalid("input 0 has shape " + show(in) + ", must be [batch, samples], or that and 1 or 2");
  StftShape s;
  s.samples = in[1], s.parts = has_parts ? in[2] : 1;
  s.step = length_of("frame_step", c.scalar(1, "frame_step"), 1);
  const Tensor* window = c.maybe(2);
  if (window && window->dims.size() != 1) invalid("window has shape " + show(window->dims) + ", must have rank 1");
  s.length = c.maybe(3) ? length_of("frame_length", c.scalar(3, "frame_length"), 1) : window ? window->dims[0] : s.samples;
  if (window && window->dims[0] != s.length) invalid("window has " + std::to_string(window->dims[0]) + " elements, must be frame_length, " + std::to_string(s.length));
  if (length_of("the length of a frame", s.length, 0) < 1 || s.length > s.samples) invalid("a frame of " + std::to_string(s.length) + " does not fit into " + std::to_string(s.samples) + " samples");
  s.dims = {in[0], (s.samples - s.length) / s.step + 1, c.integer("onesided", 1) != 0 ? s.length / 2 + 1 : s.length, 2};
  return s;
}

Dims window_dims(const Call& c) { return {length_of("size", c.scalar(0, "size"), 0)}; }

Dims mel_dims(const Call& c) {
  return {length_of("dft_length", c.scalar(1, "dft_length"), 1) / 2 + 1, length_of("num_mel_bins", c.scalar(0, "num_mel_bins"), 0)};
}

}  // namespace shapes

namespace rules {

void dft(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::dft_shape(c).dims); }
void stft(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::stft_shape(c).dims); }
void window(const Call& c, Inference& to) { give(c, to, 0, shapes::given_type(c), shapes::window_dims(c)); }
void mel_weight_matrix(const Call& c, Inference& to) { give(c, to, 0, shapes::given_type(c), shapes::mel_dims(c)); }

}  // namespace rules
}  // namespace optima::reference
