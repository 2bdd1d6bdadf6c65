// SPDX-License-Identifier: Apache-2.0
// core/quantize: QuantizeLinear and DequantizeLinear where codes are. Private to the room.
#pragma once

#include <map>
#include <vector>

#include "core/quantize/sites.hpp"
#include "core/quantize/weights.hpp"

namespace optima::detail {

/// Everything that was decided, in numbers.
struct Coding {
  std::map<uint32_t, Encoding> activations;            ///< by owner
  std::map<uint32_t, WeightCodes> weights, biases;     ///< by node
  std::map<uint32_t, std::vector<float>> float_biases; ///< by node: corrected, where the bias is no code
  std::map<uint32_t, std::vector<float>> corrected;    ///< by node: what was added to the bias, or to what an Add behind adds
};

/// One QuantizeLinear behind each coded value, a DequantizeLinear before each reader of its codes, others before coded weights and biases;
/// Dynamic products become MatMulInteger and ConvInteger. `all`: constants beside activations and outputs of the model are codes, too. Values
/// and constants that nobody reads any more are gone.
void insert_codes(Graph& graph, const Sites& sites, const Coding& coding, const QuantizeOptions& options);

}  // namespace optima::detail
