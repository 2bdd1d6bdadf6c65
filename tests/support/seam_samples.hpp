// SPDX-License-Identifier: Apache-2.0
// tests/support: what tests of a plugin over the bare seam begin with: tensors of floats, a graph of one node, one node's verdict.
#pragma once

#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/seam_run.hpp"

namespace optima::seam {

inline reference::Tensor f32(std::vector<int64_t> dims, const std::vector<float>& x) {
  void* p = nullptr;
  reference::Tensor t = reference::Tensor::make(OPTIMA_F32, std::move(dims), &p);
  REQUIRE(t.size == x.size() * sizeof(float));
  std::memcpy(p, x.data(), t.size);
  return t;
}

inline std::vector<float> floats(const reference::Tensor& t) {
  const auto* p = static_cast<const float*>(t.data);
  return {p, p + t.size / sizeof(float)};
}

/// Opset 21; `inputs` and `outputs` are numbers of values.
inline Model one_node(const image::Node& node, std::vector<image::Value> values, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  image::Graph g{"one", std::move(values), {node}, std::move(inputs), std::move(outputs), {}};
  return Model(image::pack(image::Contents{{g}, {}, {{"", 21}}}));
}

/// The one verdict that check() gives on one candidate.
inline Said said(const Instance& plugin, const Model& m, uint32_t node, const optima_device& target) {
  Status status;
  Verdicts v;
  REQUIRE_MESSAGE(check(plugin, m, {node}, target, v, status) == OPTIMA_OK, status.message);
  REQUIRE(v.reports == 1);
  return v.by_node.at(node);
}

}  // namespace optima::seam
