// SPDX-License-Identifier: Apache-2.0
// core/quantize: which nodes of a float graph compute on codes, and which values are codes. By structure alone. Private to the room.
#pragma once

#include <vector>

#include "core/quantize/operators.hpp"
#include "core/quantize/product.hpp"
#include "core/quantize/quantize.hpp"

namespace optima::detail {

struct Sites {
  bool transformer = false;
  std::vector<Precision> precision;   ///< by node, as asked; Int8 for Auto
  std::vector<uint8_t> quantized;     ///< by node: reads codes of its data, static scales
  std::vector<uint8_t> filled;        ///< by node: quantized, and every float tensor around it is codes
  std::vector<uint32_t> gelu;         ///< by node: 0, or the number of the GELU of several filled nodes that it is part of: floats inside, one read of its input
  std::vector<uint8_t> inside;        ///< by value: stays float between a node and the activation or Add that alone reads it
  std::vector<uint8_t> coded;         ///< by value, no constant: some quantized node reads its codes
  std::vector<uint32_t> root;         ///< by value: whose encoding it has; itself unless only movement is between them
  std::vector<uint8_t> wide;          ///< by root: 16 bits, because a node of its readers is a16w8 or a16w4
  std::vector<Product> products;      ///< whose weights become codes, in the graph's order
  std::vector<LeftFloat> left_float;

  /// Encoding's owner of a value.
  uint32_t owner(uint32_t value) const;
};

/// Static scales: Int8, A16W8, A16W4 (Auto counts as Int8).
bool is_static(Precision precision);
/// 16-bit activations: A16W8, A16W4.
bool is_wide(Precision precision);
/// Weights of 4 bits: W4, A16W4.
bool has_small_weights(Precision precision);
/// Only weights are codes beforehand: W8, W4, Dynamic.
bool is_weights_only(Precision precision);

Sites find_sites(const Graph& graph, const Uses& uses, const QuantizeOptions& options);

}  // namespace optima::detail
