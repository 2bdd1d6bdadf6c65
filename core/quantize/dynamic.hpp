// SPDX-License-Identifier: Apache-2.0
// core/quantize: products whose activations get their scale in each run. Private to the room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/quantize/edit.hpp"
#include "core/quantize/weights.hpp"

namespace optima::detail {

/// Empty when the product can be a MatMulInteger or a ConvInteger.
std::string why_not_dynamic(const Graph& graph, const image::Node& node);

/// Writes a product as DynamicQuantizeLinear, MatMulInteger (I8 weights) or ConvInteger (U8 weights with 128, the form that is widely
/// implemented), Cast and the scales' Mul, then its bias. The node keeps name and id; values that are read twice are quantized once.
class DynamicNodes {
 public:
  DynamicNodes(Graph& graph, Editor& edit, std::vector<image::Node>& to) : graph_(graph), edit_(edit), to_(to) {}
  void write(image::Node node, const Product& product, const WeightCodes& weights, const std::vector<float>* bias);

 private:
  struct Codes {
    uint32_t value, scale, zero;
  };
  Codes codes_of(uint32_t value);
  uint32_t binary(const std::string& name, const char* op, uint32_t a, uint32_t b, uint32_t into);

  Graph& graph_;
  Editor& edit_;
  std::vector<image::Node>& to_;
  std::map<uint32_t, Codes> known_;  // by value
};

}  // namespace optima::detail
