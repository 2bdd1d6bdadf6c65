// SPDX-License-Identifier: Apache-2.0
// reference/ops: quantized numbers. Sums of integers are exact; a division by a scale is rounded to the scale's type before it
// is rounded to an integer, as the operator pages say, so that ties fall where every backend puts them.
#include <algorithm>
#include <cmath>

#include "reference/ops/conv.hpp"
#include "reference/ops/map.hpp"
#include "reference/ops/matmul.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// The number in the range of an integer type. NaN becomes the smallest code, as in ONNX Runtime; ONNX leaves it open.
double saturated(double x, int32_t dtype) {
  const uint32_t bits = optima_dtype_bits(dtype);
  const double low = is_signed(dtype) ? -std::ldexp(1, static_cast<int>(bits) - 1) : 0;
  const double high = is_signed(dtype) ? std::ldexp(1, static_cast<int>(bits) - 1) - 1 : std::ldexp(1, static_cast<int>(bits)) - 1;
  return std::isnan(x) ? low : std::fmin(high, std::fmax(low, x));
}
double quantized(double ratio, double zero, int32_t dtype) { return saturated(std::nearbyint(ratio) + zero, dtype); }

/// For every element of x: which element of a scale of shape `scale` is its own: one for all, one per position along `axis`,
/// or one per block of it.
std::vector<int64_t> scale_index(const Call& c, const Dims& x, const Dims& scale) {
  const int64_t block = c.integer("block_size", 0);
  if (count(scale) == 1 && block == 0) return std::vector<int64_t>(static_cast<size_t>(count(x)), 0);
  const size_t axis = normal_axis(c.integer("axis", 1), x.size());
  Dims seen(x.size(), 1);
  if (block == 0) {
    if (scale != Dims{x[axis]}) invalid("scale has shape " + show(scale) + ", must be " + show({x[axis]}));
    seen[axis] = x[axis];
    return broadcast_index(seen, x);
  }
  if (block < 0 || block > 1 << 30 || scale.size() != x.size() || scale[axis] < 1 || (x[axis] + block - 1) / block != scale[axis])
    invalid("scale of shape " + show(scale) + " does not cut " + show(x) + " into blocks of " + std::to_string(block));
  const Dims step = strides_of(scale);
  std::vector<int64_t> index;
  Dims at(x.size(), 0);
  for (int64_t i = 0; i < count(x); ++i, next(at, x)) {
    int64_t where = 0;
    for (size_t d = 0; d < x.size(); ++d) {
      if (d != axis && scale[d] != x[d]) invalid("scale of shape " + show(scale) + " does not fit " + show(x));
      where += (d == axis ? at[d] / block : at[d]) * step[d];
    }
    index.push_back(where);
  }
  return index;
}

std::vector<double> zero_points(const Call& c, uint32_t k, const Tensor& scale) {
  if (!c.maybe(k)) return std::vector<double>(static_cast<size_t>(scale.elements()), 0.0);
  if (c.in(k).elements() != scale.elements()) invalid("zero point has shape " + show(c.in(k).dims) + ", must be " + show(scale.dims));
  return load<double>(c.in(k));
}

}  // namespace

void quantize_linear(Call& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  const int32_t to = shapes::quantized_type(c);
  const auto precision = static_cast<int32_t>(c.integer("precision", 0) != 0 ? c.integer("precision", 0) : scale.dtype);
  const std::vector<double> s = load<double>(scale), zero = zero_points(c, 2, scale);
  const std::vector<int64_t> index = scale_index(c, x.dims, scale.dims);
  std::vector<double> out = load<double>(x);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto k = static_cast<size_t>(index[i]);
    const double ratio = round_to(precision, out[i] / s[k]);
    out[i] = is_minifloat(to) ? ratio + zero[k] : quantized(ratio, zero[k], to);
  }
  c.out(0, store(to, x.dims, out, c.integer("saturate", 1) != 0));
}

void dequantize_linear(Call& c) {
  const Tensor &x = c.in(0), &scale = c.in(1);
  const std::vector<double> s = load<double>(scale), zero = zero_points(c, 2, scale);
  const std::vector<int64_t> index = scale_index(c, x.dims, scale.dims);
  std::vector<double> out = load<double>(x);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto k = static_cast<size_t>(index[i]);
    out[i] = (out[i] - zero[k]) * s[k];
  }
  const auto asked = static_cast<int32_t>(c.integer("output_dtype", 0));
  c.out(0, store(asked != 0 ? asked : scale.dtype, x.dims, out));
}

/// The range always holds 0, so that padding is exact.
void dynamic_quantize_linear(Call& c) {
  std::vector<double> x = load<double>(c.in(0));
  double low = 0, high = 0;
  for (double v : x) low = std::fmin(low, v), high = std::fmax(high, v);
  const double scale = round_to(OPTIMA_F32, (high - low) / 255);
  const double zero = scale == 0 ? 0 : saturated(std::nearbyint(round_to(OPTIMA_F32, -low / scale)), OPTIMA_U8);
  for (double& v : x) v = scale == 0 ? zero : quantized(round_to(OPTIMA_F32, v / scale), zero, OPTIMA_U8);
  c.out(0, store(OPTIMA_U8, c.in(0).dims, x));
  c.out(1, store<double>(OPTIMA_F32, {}, {scale}));
  c.out(2, store<double>(OPTIMA_U8, {}, {zero}));
}

namespace {

/// x minus its zero point: one, one per row (last but one dim) or per column (last dim) of a matrix, or of its own shape.
template <class W>
std::vector<W> centred(const Tensor& x, const Tensor* zero, bool by_row) {
  if (!zero) return load<W>(x);
  Dims dims = zero->dims;
  if (by_row && dims.size() == 1 && x.dims.size() >= 2 && dims[0] != 1) dims.push_back(1);
  if (broadcast(dims, x.dims) != x.dims) invalid("zero point has shape " + show(zero->dims) + ", which does not fit " + show(x.dims));
  const std::vector<W> z = load_as<W>(reshaped(*zero, dims), x.dims);
  std::vector<W> out = load<W>(x);
  for (size_t i = 0; i < out.size(); ++i) out[i] -= z[i];
  return out;
}

/// A scale or zero point of the rows or columns, spread over the product.
std::vector<double> spread(const Tensor& t, const Dims& out, bool by_row) {
  Dims dims = t.dims;
  if (by_row && dims.size() == 1 && dims[0] != 1) dims.push_back(1);
  return load_as<double>(reshaped(t, dims), out);
}

}  // namespace

void matmul_integer(Call& c) {
  const MatmulShape s = matmul_shape(c.in(0).dims, c.in(1).dims);
  c.out(0, store(OPTIMA_I32, s.out, multiply(s, centred<int64_t>(c.in(0), c.maybe(2), true), centred<int64_t>(c.in(1), c.maybe(3), false))));
}

void qlinear_matmul(Call& c) {
  const MatmulShape s = matmul_shape(c.in(0).dims, c.in(3).dims);
  std::vector<double> out = multiply(s, centred<double>(c.in(0), c.maybe(2), true), centred<double>(c.in(3), c.maybe(5), false));
  const std::vector<double> a = spread(c.in(1), s.out, true), b = spread(c.in(4), s.out, false);
  const std::vector<double> y = spread(c.in(6), s.out, true), zero = spread(c.in(7), s.out, true);
  const int32_t to = c.in(7).dtype;
  for (size_t i = 0; i < out.size(); ++i) {
    const double ratio = out[i] * a[i] * b[i] / y[i];
    out[i] = is_minifloat(to) ? ratio + zero[i] : quantized(ratio, zero[i], to);
  }
  c.out(0, store(to, s.out, out));
}

namespace {

/// Weights minus a zero point: one, or one per output channel.
std::vector<int64_t> centred_weights(const Tensor& w, const Tensor* zero) {
  std::vector<int64_t> out = load<int64_t>(w);
  if (!zero || out.empty()) return out;
  const std::vector<int64_t> z = load<int64_t>(*zero);
  if (z.size() != 1 && static_cast<int64_t>(z.size()) != w.dims[0]) invalid("weight zero point has shape " + show(zero->dims) + ", must be one or one per output channel");
  const size_t each = out.size() / static_cast<size_t>(w.dims[0]);
  for (size_t i = 0; i < out.size(); ++i) out[i] -= z[z.size() == 1 ? 0 : i / each];
  return out;
}

std::vector<int64_t> centred_input(const Tensor& x, const Tensor* zero) {
  std::vector<int64_t> out = load<int64_t>(x);
  const int64_t z = zero ? scalar_int(*zero, "zero point") : 0;
  for (int64_t& v : out) v -= z;
  return out;
}

}  // namespace

void conv_integer(Call& c) {
  const ConvShape s = conv_shape(c, c.in(0), c.in(1));
  c.out(0, store(OPTIMA_I32, s.out, convolve(s, centred_input(c.in(0), c.maybe(2)), centred_weights(c.in(1), c.maybe(3)))));
}

void qlinear_conv(Call& c) {
  const Tensor &x = c.in(0), &w = c.in(3), &scale = c.in(4);
  const ConvShape s = conv_shape(c, x, w);
  std::vector<int64_t> sums = convolve(s, centred_input(x, c.maybe(2)), centred_weights(w, c.maybe(5)));
  const std::vector<double> ws = load<double>(scale);
  const std::vector<int64_t> bias = c.maybe(8) ? load<int64_t>(c.in(8)) : std::vector<int64_t>(static_cast<size_t>(s.out_channels), 0);
  if ((ws.size() != 1 && static_cast<int64_t>(ws.size()) != s.out_channels) || static_cast<int64_t>(bias.size()) != s.out_channels)
    invalid("weight scale or bias does not have one element per output channel");
  const double xs = scalar_real(c.in(1), "x_scale"), ys = scalar_real(c.in(6), "y_scale"), zero = scalar_real(c.in(7), "y_zero_point");
  const int64_t plane = count(s.window.out);
  std::vector<double> out(sums.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t m = i / static_cast<size_t>(plane) % static_cast<size_t>(s.out_channels);
    const double factor = xs * ws[ws.size() == 1 ? 0 : m] / ys;
    out[i] = quantized(static_cast<double>(sums[i] + bias[m]) * factor, zero, c.in(7).dtype);
  }
  c.out(0, store(c.in(7).dtype, s.out, out));
}

}  // namespace optima::reference::ops
