// SPDX-License-Identifier: Apache-2.0
// core/quantize: an encoding for every value that becomes codes. Private to the room.
#pragma once

#include <map>

#include "core/quantize/seen.hpp"
#include "core/quantize/sites.hpp"

namespace optima::detail {

/// By owner (Sites::owner) of the coded values. What is given wins, then what was seen. The inputs and output of a Concat that is not filled get one encoding, the
/// output's, when no input's step is less than half the output's: it is a copy then, and costs an input at most one bit; `sites` learns the
/// new owners. InvalidInput for a value that nobody observed, and as encode_range() says.
Result<std::map<uint32_t, Encoding>> encode_activations(const Graph& graph, Sites& sites, const Seen& seen, const QuantizeOptions& options);

}  // namespace optima::detail
