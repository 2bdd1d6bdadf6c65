// SPDX-License-Identifier: Apache-2.0
// core/split: moves units between parts of their own device to make fewer bytes cross. Private to the splitter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split/reads.hpp"
#include "core/split/split.hpp"

namespace optima::detail {

/// Sweeps over the units forwards and backwards, a few times: a unit moves to the first or last part of its device between its
/// producers and its readers when strictly fewer bytes cross then. Every state is a legal plan; bytes only fall.
/// O(sweeps * readers): units whose tensors have very many readers stay.
void sweep_bytes(const SplitProblem& problem, const Reads& reads, const std::vector<uint32_t>& sequence, std::vector<uint32_t>& part);

/// How many parts other than `home` read the tensor. `seen` is scratch space. O(readers of the tensor), for few parts.
uint64_t reading_parts(const SplitProblem& problem, const std::vector<uint32_t>& part, uint32_t tensor, uint32_t home, std::vector<uint32_t>& seen);

/// Each crossing tensor once per reading part. O(readers).
uint64_t crossing_bytes(const SplitProblem& problem, const std::vector<uint32_t>& part);

}  // namespace optima::detail
