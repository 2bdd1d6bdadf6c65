// SPDX-License-Identifier: Apache-2.0
// tests: operators of plugins/spirv in forms of graphs as text, with inputs made up, beside the reference.
#pragma once

#include <cmath>

#include "tests/unit/spirv/net.hpp"

namespace optima::spirv_test {

/// A graph's text without what all have in common.
struct Form {
  int opset;
  std::string text;
};

inline std::string text_of(const Form& f) { return "<ir_version: 10, opset_import: [\"\" : " + std::to_string(f.opset) + "]> g " + f.text; }

/// Numbers from -2 to 2 without an order; integers are 0 to 3.
inline reference::Tensor filled(const sdk::Value& v, uint32_t seed) {
  void* data = nullptr;
  reference::Tensor t = reference::Tensor::make(v.dtype(), v.shape(), &data);
  std::mt19937 random(seed);
  for (int64_t k = 0; k < t.elements(); ++k) {
    const uint32_t n = static_cast<uint32_t>(random());
    if (v.dtype() == OPTIMA_F32) static_cast<float*>(data)[k] = static_cast<float>(n % 4001) / 1000.0F - 2.0F;
    else if (v.dtype() == OPTIMA_I64) static_cast<int64_t*>(data)[k] = n % 4;
    else if (v.dtype() == OPTIMA_I32) static_cast<int32_t*>(data)[k] = static_cast<int32_t>(n % 4);
    else if (v.dtype() == OPTIMA_F64) static_cast<double*>(data)[k] = static_cast<double>(n % 4001) / 1001.0 - 2.0;
    else if (v.dtype() == OPTIMA_BF16) static_cast<uint16_t*>(data)[k] = static_cast<uint16_t>(0x3f00 + n % 0x180);  // 0.5 to 4
    else FAIL("no numbers for inputs of this type");
  }
  return t;
}

inline std::vector<reference::Tensor> inputs_of(const optima_graph& raw) {
  const sdk::Graph graph(&raw);
  std::vector<reference::Tensor> in;
  for (uint32_t k = 0; k < graph.input_count(); ++k) in.push_back(filled(graph.input(k), k + 1));
  return in;
}

/// The largest difference; NaN and what is infinite must be the same.
inline double off_by(const reference::Tensor& got, const reference::Tensor& wanted) {
  const std::vector<double> a = reference::load<double>(got), b = reference::load<double>(wanted);
  if (a.size() != b.size()) return HUGE_VAL;
  double most = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    most = std::isfinite(b[k]) && std::isfinite(a[k]) ? std::max(most, std::fabs(a[k] - b[k])) : a[k] == b[k] ? most : HUGE_VAL;
  }
  return most;
}

}  // namespace optima::spirv_test
