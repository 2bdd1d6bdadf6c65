// SPDX-License-Identifier: Apache-2.0
// core/quantize: QuantizeLinear and DequantizeLinear nodes with their constants. Private to the room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/quantize/edit.hpp"
#include "core/quantize/weights.hpp"

namespace optima::detail {

/// Writes nodes to the end of a list. Constants of one encoding are made once.
class CodeNodes {
 public:
  CodeNodes(Graph& graph, Editor& edit, std::vector<image::Node>& to) : graph_(graph), edit_(edit), to_(to) {}

  /// The codes of a value; `name` owns the encoding.
  uint32_t quantize(uint32_t value, const std::string& name, const Encoding& encoding);
  /// The numbers of codes, which are a value's or a constant's; `name` of the value that they stand for. `into` = the value to write, if any.
  uint32_t dequantize(uint32_t codes, const std::string& name, const std::string& owner, const Encoding& encoding, uint32_t into = OPTIMA_NONE);
  /// A constant's codes, and a DequantizeLinear of them. Equal codes of one name are one constant.
  uint32_t constant(const std::string& name, const std::vector<int64_t>& dims, const WeightCodes& codes);

 private:
  struct Scale {
    std::string owner;
    Encoding encoding;
    uint32_t scale, zero;
  };
  const Scale& scale_of(const std::string& owner, const Encoding& encoding, const std::vector<int64_t>& dims);

  struct Stored {
    WeightCodes codes;
    uint32_t value;
  };

  Graph& graph_;
  Editor& edit_;
  std::vector<image::Node>& to_;
  std::multimap<std::string, Scale> scales_;   // by owner
  std::multimap<std::string, Stored> stored_;  // by name
};

}  // namespace optima::detail
