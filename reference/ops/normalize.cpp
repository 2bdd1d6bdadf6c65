// SPDX-License-Identifier: Apache-2.0
// reference/ops: normalisations, by the formulas of the ONNX operator pages.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

int64_t plane_of(const Tensor& x) { return count(x.dims, 2, x.dims.size()); }

void need_channels(const Tensor& x) {
  if (x.dims.size() < 2) invalid("input 0 has rank " + std::to_string(x.dims.size()) + ", must be 2 or more");
}

std::vector<double> per_channel(const Tensor& t, int64_t channels, const char* what) {
  if (t.dims != Dims{channels}) invalid(std::string(what) + " has shape " + show(t.dims) + ", must be " + show({channels}));
  return load<double>(t);
}

struct Moments {
  double mean = 0, variance = 0;  // of the population
};

Moments moments(const double* x, int64_t n) {
  Moments m;
  for (int64_t i = 0; i < n; ++i) m.mean += x[i];
  m.mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) m.variance += (x[i] - m.mean) * (x[i] - m.mean);
  m.variance /= static_cast<double>(n);
  return m;
}

/// Mean and variance of each channel over batch and space.
void batch_moments(const Tensor& t, const std::vector<double>& x, std::vector<double>& mean, std::vector<double>& variance) {
  const int64_t channels = t.dims[1], plane = plane_of(t), n = t.dims[0];
  for (int64_t c = 0; c < channels; ++c) {
    std::vector<double> all;
    for (int64_t b = 0; b < n; ++b) all.insert(all.end(), x.begin() + (b * channels + c) * plane, x.begin() + (b * channels + c + 1) * plane);
    const Moments m = moments(all.data(), n * plane);
    mean[static_cast<size_t>(c)] = m.mean;
    variance[static_cast<size_t>(c)] = m.variance;
  }
}

}  // namespace

void batch_normalization(Call& c) {
  const Tensor& x = c.in(0);
  if (x.dims.empty()) invalid("input 0 has rank 0, must be 1 or more");
  const int64_t channels = x.dims.size() > 1 ? x.dims[1] : 1, plane = x.dims.size() > 1 ? plane_of(x) : 1;
  if (c.version() < 9 && c.integer("spatial", 1) == 0) unsupported("spatial is 0, must be 1");
  const std::vector<double> scale = per_channel(c.in(1), channels, "scale"), shift = per_channel(c.in(2), channels, "bias");
  std::vector<double> mean = per_channel(c.in(3), channels, "mean"), variance = per_channel(c.in(4), channels, "variance");
  std::vector<double> out = load<double>(x);
  if (c.integer("training_mode", 0) != 0) {
    need_channels(x);
    const double keep = c.real("momentum", 0.9);
    std::vector<double> running_mean = mean, running_variance = variance;
    batch_moments(x, out, mean, variance);
    for (size_t k = 0; k < mean.size(); ++k) {
      running_mean[k] = running_mean[k] * keep + mean[k] * (1 - keep);
      running_variance[k] = running_variance[k] * keep + variance[k] * (1 - keep);
    }
    c.out(1, store(c.in(3).dtype, {channels}, running_mean));
    c.out(2, store(c.in(4).dtype, {channels}, running_variance));
  }
  const double epsilon = c.real("epsilon", 1e-5);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t k = i / static_cast<size_t>(plane) % static_cast<size_t>(channels);
    out[i] = (out[i] - mean[k]) / std::sqrt(variance[k] + epsilon) * scale[k] + shift[k];
  }
  c.out(0, store(x.dtype, x.dims, out));
}

void instance_normalization(Call& c) {
  const Tensor& x = c.in(0);
  need_channels(x);
  const int64_t channels = x.dims[1], plane = plane_of(x);
  const std::vector<double> scale = per_channel(c.in(1), channels, "scale"), shift = per_channel(c.in(2), channels, "bias");
  const double epsilon = c.real("epsilon", 1e-5);
  std::vector<double> out = load<double>(x);
  for (int64_t p = 0; p < x.dims[0] * channels; ++p) {
    double* at = out.data() + p * plane;
    const Moments m = moments(at, plane);
    const size_t k = static_cast<size_t>(p % channels);
    for (int64_t i = 0; i < plane; ++i) at[i] = (at[i] - m.mean) / std::sqrt(m.variance + epsilon) * scale[k] + shift[k];
  }
  c.out(0, store(x.dtype, x.dims, out));
}

/// Version 18 has scale and bias per group, 21 per channel.
void group_normalization(Call& c) {
  const Tensor& x = c.in(0);
  need_channels(x);
  const int64_t channels = x.dims[1], plane = plane_of(x), groups = c.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0) invalid("num_groups is " + std::to_string(groups) + ", must divide " + std::to_string(channels) + " channels");
  const int64_t per_group = channels / groups, parameters = c.version() < 21 ? groups : channels;
  const std::vector<double> scale = per_channel(c.in(1), parameters, "scale"), shift = per_channel(c.in(2), parameters, "bias");
  const double epsilon = c.real("epsilon", 1e-5);
  std::vector<double> out = load<double>(x);
  for (int64_t g = 0; g < x.dims[0] * groups; ++g) {
    double* at = out.data() + g * per_group * plane;
    const Moments m = moments(at, per_group * plane);
    for (int64_t i = 0; i < per_group * plane; ++i) {
      const int64_t channel = g % groups * per_group + i / plane;
      const auto k = static_cast<size_t>(parameters == channels ? channel : channel / per_group);
      at[i] = (at[i] - m.mean) / std::sqrt(m.variance + epsilon) * scale[k] + shift[k];
    }
  }
  c.out(0, store(x.dtype, x.dims, out));
}

void layer_normalization(Call& c) {
  const Tensor& x = c.in(0);
  const size_t axis = normal_axis(c.integer("axis", -1), x.dims.size());
  const int64_t rows = count(x.dims, 0, axis), n = count(x.dims, axis, x.dims.size());
  const std::vector<double> scale = load_as<double>(c.in(1), x.dims);
  const std::vector<double> shift = c.maybe(2) ? load_as<double>(c.in(2), x.dims) : std::vector<double>(scale.size(), 0.0);
  const double epsilon = c.real("epsilon", 1e-5);
  std::vector<double> out = load<double>(x), means, inverses;
  for (int64_t r = 0; r < rows; ++r) {
    const Moments m = moments(out.data() + r * n, n);
    means.push_back(m.mean);
    inverses.push_back(1 / std::sqrt(m.variance + epsilon));
    for (int64_t i = r * n; i < (r + 1) * n; ++i) {
      const auto k = static_cast<size_t>(i);
      out[k] = (out[k] - m.mean) * inverses.back() * scale[k] + shift[k];
    }
  }
  const Dims reduced = shapes::layer_dims(c);
  const auto stash = static_cast<int32_t>(c.integer("stash_type", OPTIMA_F32));
  c.out(0, store(x.dtype, x.dims, out));
  if (c.wants(1)) c.out(1, store(stash, reduced, means));
  if (c.wants(2)) c.out(2, store(stash, reduced, inverses));
}

void rms_normalization(Call& c) {
  const Tensor& x = c.in(0);
  const size_t axis = normal_axis(c.integer("axis", -1), x.dims.size());
  const int64_t rows = count(x.dims, 0, axis), n = count(x.dims, axis, x.dims.size());
  const std::vector<double> scale = load_as<double>(c.in(1), x.dims);
  const double epsilon = c.real("epsilon", 1e-5);
  std::vector<double> out = load<double>(x);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t i = r * n; i < (r + 1) * n; ++i) sum += out[static_cast<size_t>(i)] * out[static_cast<size_t>(i)];
    const double norm = std::sqrt(sum / static_cast<double>(n) + epsilon);
    for (int64_t i = r * n; i < (r + 1) * n; ++i) out[static_cast<size_t>(i)] *= scale[static_cast<size_t>(i)] / norm;
  }
  c.out(0, store(c.in(1).dtype, x.dims, out));
}

void lrn(Call& c) {
  const Tensor& x = c.in(0);
  need_channels(x);
  const int64_t size = c.integer("size", 0), channels = x.dims[1], plane = plane_of(x);
  if (size < 1) invalid("size is " + std::to_string(size) + ", must be positive");
  const double alpha = c.real("alpha", 1e-4), beta = c.real("beta", 0.75), bias = c.real("bias", 1);
  const int64_t before = std::min(channels, (size - 1) / 2), after = std::min(channels, size / 2);
  const std::vector<double> in = load<double>(x);
  std::vector<double> out(in.size());
  for (int64_t i = 0; i < static_cast<int64_t>(in.size()); ++i) {
    const int64_t channel = i / plane % channels;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(0, channel - before); k <= std::min(channels - 1, channel + after); ++k) {
      const double v = in[static_cast<size_t>(i + (k - channel) * plane)];
      sum += v * v;
    }
    out[static_cast<size_t>(i)] = in[static_cast<size_t>(i)] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
  }
  c.out(0, store(x.dtype, x.dims, out));
}

namespace {

/// f(row) for every line of elements along `axis`, as a contiguous copy that is written back.
template <class F>
void each_line(std::vector<double>& x, const Dims& dims, size_t axis, F&& f) {
  if (x.empty()) return;
  const int64_t n = dims.empty() ? 1 : dims[axis], inner = dims.empty() ? 1 : count(dims, axis + 1, dims.size()), outer = dims.empty() ? 1 : count(dims, 0, axis);
  std::vector<double> line(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double* at = x.data() + o * n * inner + i;
      for (int64_t k = 0; k < n; ++k) line[static_cast<size_t>(k)] = at[k * inner];
      f(line);
      for (int64_t k = 0; k < n; ++k) at[k * inner] = line[static_cast<size_t>(k)];
    }
}

/// Up to version 11 the axis and all behind it are one line; from 13 on the axis alone.
template <class F>
void line_operator(Call& c, F&& f) {
  const Tensor& x = c.in(0);
  std::vector<double> out = load<double>(x);
  const bool flat = c.version() < 13;
  const int64_t asked = c.integer("axis", flat ? 1 : -1);
  if (flat && asked == static_cast<int64_t>(x.dims.size())) {
    each_line(out, {x.elements(), 1}, 1, f);
  } else if (!x.dims.empty()) {
    const size_t axis = normal_axis(asked, x.dims.size());
    if (flat) each_line(out, {count(x.dims, 0, axis), count(x.dims, axis, x.dims.size())}, 1, f);
    else each_line(out, x.dims, axis, f);
  } else {
    each_line(out, {}, 0, f);
  }
  c.out(0, store(x.dtype, x.dims, out));
}

double largest(const std::vector<double>& x) {
  double best = -std::numeric_limits<double>::infinity();
  for (double v : x) best = v > best || std::isnan(v) ? v : best;
  return best;
}

}  // namespace

void softmax(Call& c) {
  line_operator(c, [](std::vector<double>& x) {
    const double top = largest(x);
    double sum = 0;
    for (double& v : x) sum += v = std::exp(v - top);
    for (double& v : x) v /= sum;
  });
}

void log_softmax(Call& c) {
  line_operator(c, [](std::vector<double>& x) {
    const double top = largest(x);
    double sum = 0;
    for (double v : x) sum += std::exp(v - top);
    for (double& v : x) v = v - top - std::log(sum);
  });
}

void hardmax(Call& c) {
  line_operator(c, [](std::vector<double>& x) {
    const auto best = std::max_element(x.begin(), x.end()) - x.begin();
    for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<ptrdiff_t>(k) == best;
  });
}

void lp_normalization(Call& c) {
  const Tensor& x = c.in(0);
  const int64_t p = c.integer("p", 2);
  if (p != 1 && p != 2) invalid("p is " + std::to_string(p) + ", must be 1 or 2");
  std::vector<double> out = load<double>(x);
  each_line(out, x.dims, normal_axis(c.integer("axis", -1), x.dims.size()), [p](std::vector<double>& line) {
    double sum = 0;
    for (double v : line) sum += p == 1 ? std::fabs(v) : v * v;
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (double& v : line) v = norm == 0 ? 0 : v / norm;
  });
  c.out(0, store(x.dtype, x.dims, out));
}

/// (x - mean) / sqrt(variance), both over `axes`. A constant line gives 0 thanks to ONNX's 1e-9.
void mean_variance_normalization(Call& c) {
  const Tensor& x = c.in(0);
  Dims groups = x.dims;
  for (int64_t axis : c.has("axes") ? *c.integers("axes") : Dims{0, 2, 3}) groups[normal_axis(axis, x.dims.size())] = 1;
  const std::vector<int64_t> group = broadcast_index(groups, x.dims);
  const auto n = static_cast<size_t>(count(groups));
  std::vector<double> out = load<double>(x), size(n, 0), mean(n, 0), variance(n, 0);
  for (size_t i = 0; i < out.size(); ++i) mean[static_cast<size_t>(group[i])] += out[i], ++size[static_cast<size_t>(group[i])];
  for (size_t g = 0; g < n; ++g) mean[g] /= size[g];
  for (size_t i = 0; i < out.size(); ++i) {
    const auto g = static_cast<size_t>(group[i]);
    variance[g] += (out[i] - mean[g]) * (out[i] - mean[g]) / size[g];
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const auto g = static_cast<size_t>(group[i]);
    out[i] = (out[i] - mean[g]) / (std::sqrt(variance[g]) + 1e-9);
  }
  c.out(0, store(x.dtype, x.dims, out));
}

}  // namespace optima::reference::ops
