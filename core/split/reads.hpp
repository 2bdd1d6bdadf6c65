// SPDX-License-Identifier: Apache-2.0
// core/split: the tensors of a splitting problem seen from their readers. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/split.hpp"

namespace optima::detail {

/// Made once from a problem, in O(units + readers).
struct Reads {
  explicit Reads(const SplitProblem& problem);

  std::vector<uint32_t> first;     ///< by unit, one more at the end
  std::vector<uint32_t> tensor;    ///< what unit u reads: tensor[first[u]] to tensor[first[u + 1] - 1]
  std::vector<uint32_t> producer;  ///< by tensor
};

}  // namespace optima::detail
