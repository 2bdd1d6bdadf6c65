// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/quantize/sites.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr int64_t kBlock = 32;
constexpr double kMostBias = 1073741824.0;  // 2^30: sums of products come on top

struct Limits {
  double low, high;
};
Limits limits_of(int32_t dtype) {
  switch (dtype) {
    case OPTIMA_U8: return {0, 255};
    case OPTIMA_U16: return {0, 65535};
    case OPTIMA_I16: return {-32768, 32767};
    case OPTIMA_U4: return {0, 15};
    case OPTIMA_I4: return {-8, 7};
    case OPTIMA_I32: return {-2147483648.0, 2147483647.0};
    default: return {-128, 127};
  }
}
float largest_code(int32_t dtype) { return dtype == OPTIMA_I4 ? 7.0f : 127.0f; }

}  // namespace

ScaleIndex::ScaleIndex(const std::vector<int64_t>& dims, int axis, int64_t block) : block_(block) {
  if (axis < 0) return;
  axis_size_ = dims[static_cast<size_t>(axis)];
  behind_ = elements_behind(dims, axis);
  blocks_ = block ? (axis_size_ + block - 1) / block : 0;
  const int64_t all = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  count_ = block ? all / axis_size_ * blocks_ : axis_size_;
}

Result<Encoding> weight_form(const std::string& name, const Product& p, Precision precision, const Encodings& given) {
  Encoding form;
  if (const auto it = given.weights.find(name); it != given.weights.end() && !it->second.scale.empty()) {
    form = it->second;
    if (form.axis < 0 && (form.scale.size() > 1 || form.block > 0)) form.axis = form.block > 0 ? p.inner_axis : p.axis;  // of a format that names none
    const bool known_axis = form.axis < static_cast<int>(p.dims.size()) && (form.block == 0 || form.axis >= 0) && form.block >= 0;
    const int64_t wanted = known_axis ? ScaleIndex(p.dims, form.axis, form.block).count() : 0;
    const size_t found = form.scale.size();
    if (static_cast<int64_t>(found) != wanted || form.zero_point.size() != found || optima_dtype_bits(form.dtype) > 8)
      return invalid_input(cat("encoding of weights ", quote(name), " has ", found, " scales on axis ", form.axis, ", wanted ", wanted, " and codes of at most 8 bits"));
    // A sum over codes has one step: channels that are summed may not differ, unless weights become floats before the sum.
    if (is_static(precision) && form.axis >= 0 && (form.axis != p.axis || form.block != 0))
      return invalid_input(cat("encoding of weights ", quote(name), " has scales along axis ", form.axis, ", wanted ", p.axis));
    return form;
  }
  const bool blocks = precision == Precision::W4 && p.inner_axis >= 0 && p.dims[static_cast<size_t>(p.inner_axis)] >= kBlock;
  form.dtype = blocks || precision == Precision::A16W4 ? OPTIMA_I4 : OPTIMA_I8;
  form.axis = blocks ? p.inner_axis : p.axis;
  form.block = blocks ? kBlock : 0;
  return form;
}

void choose_scales(const Product& p, const std::vector<float>& weights, Encoding& form) {
  const ScaleIndex index(p.dims, form.axis, form.block);
  std::vector<float> most(static_cast<size_t>(index.count()));
  for (size_t e = 0; e < weights.size(); ++e) {
    float& m = most[static_cast<size_t>(index.of(static_cast<int64_t>(e)))];
    m = std::max(m, std::fabs(weights[e]));
  }
  const float all = *std::max_element(most.begin(), most.end());
  form.scale.clear();
  for (float m : most) form.scale.push_back(std::max((m > 0 ? m : all > 0 ? all : 1.0f) / largest_code(form.dtype), 1e-30f));
  form.zero_point.assign(form.scale.size(), 0);
  form.low = *std::min_element(weights.begin(), weights.end());
  form.high = *std::max_element(weights.begin(), weights.end());
}

void make_room_for_bias(const Product& p, const std::vector<float>& bias, float input_scale, Encoding& encoding) {
  if (encoding.block != 0) return;
  for (size_t c = 0; c < bias.size(); ++c) {
    float& scale = encoding.scale[encoding.scale.size() == 1 ? 0 : static_cast<size_t>(p.scale_of(static_cast<int64_t>(c)))];
    const double step = static_cast<double>(input_scale) * p.bias_factor;
    scale = std::max(scale, static_cast<float>(std::fabs(static_cast<double>(bias[c]) / step) / kMostBias));
  }
}

int32_t nearest_code(float x, float scale, int32_t zero_point, int32_t dtype) {
  const Limits limits = limits_of(dtype);
  // ONNX divides in the scale's type; -128 is left out where weights are symmetrical.
  const double code = std::nearbyint(static_cast<double>(x / scale)) + zero_point;
  const bool symmetrical = dtype == OPTIMA_I8 && zero_point == 0;
  return static_cast<int32_t>(std::clamp(code, symmetrical ? -127.0 : limits.low, limits.high));
}

std::vector<int32_t> round_to_nearest(const Product& p, const std::vector<float>& weights, const Encoding& encoding) {
  const ScaleIndex index(p.dims, encoding.axis, encoding.block);
  std::vector<int32_t> out(weights.size());
  for (size_t e = 0; e < weights.size(); ++e) {
    const auto k = static_cast<size_t>(index.of(static_cast<int64_t>(e)));
    out[e] = nearest_code(weights[e], encoding.scale[k], encoding.zero_point[k], encoding.dtype);
  }
  return out;
}

std::vector<float> dequantized(const Product& p, const WeightCodes& w) {
  const ScaleIndex index(p.dims, w.encoding.axis, w.encoding.block);
  std::vector<float> out(w.codes.size());
  for (size_t e = 0; e < out.size(); ++e) {
    const auto k = static_cast<size_t>(index.of(static_cast<int64_t>(e)));
    out[e] = static_cast<float>(w.codes[e] - w.encoding.zero_point[k]) * w.encoding.scale[k];
  }
  return out;
}

WeightCodes code_bias(const Product& p, const std::vector<float>& bias, float input_scale, const Encoding& weights) {
  WeightCodes out;
  out.encoding.dtype = OPTIMA_I32;
  out.encoding.axis = 0;
  out.encoding.zero_point.assign(bias.size(), 0);
  for (size_t c = 0; c < bias.size(); ++c) {
    const float scale = weights.scale[weights.scale.size() == 1 ? 0 : static_cast<size_t>(p.scale_of(static_cast<int64_t>(c)))];
    out.encoding.scale.push_back(static_cast<float>(static_cast<double>(input_scale) * static_cast<double>(scale) * p.bias_factor));
    out.codes.push_back(nearest_code(bias[c], out.encoding.scale.back(), 0, OPTIMA_I32));
  }
  if (!bias.empty()) out.encoding.low = *std::min_element(bias.begin(), bias.end()), out.encoding.high = *std::max_element(bias.begin(), bias.end());
  return out;
}

}  // namespace optima::detail
