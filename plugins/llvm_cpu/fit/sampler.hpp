// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: which kernels a graph of open sizes will want: it is planned at sample sizes. Compiler half only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "optima/plugin/sizes.hpp"
#include "plugins/llvm_cpu/fit/fitter.hpp"

namespace optima::llvm_cpu {

struct Sampled {
  std::vector<KernelSpec> kernels;             ///< slots where sizes differ from sample to sample; literal where nothing is open
  size_t samples = 0;                          ///< sets of sizes that were planned
  std::vector<std::vector<int64_t>> shapes;    ///< of the inputs in the first of them; empty when there is none
  std::vector<std::vector<std::vector<int64_t>>> also;  ///< in others that pack weights otherwise: kMostAlso sets at most, together at most twice the bytes of the first
  std::set<uint32_t> by_reference;             ///< ids of nodes for which no sample has a kernel, or the first has none
  std::set<uint32_t> unreached;                ///< ids of nodes behind what data decides, of which no guess told the sizes
  std::string trouble;                         ///< why there is no sample, in the words of the last one tried; else empty
};

/// True where a plan must be made at run time: a size is open, or a node has no kernel, or would read outside (whole.hpp).
bool needs_fitting(const optima_graph& graph);

/// Deterministic. `said`, by the symbols of dims of inputs: only sizes that it allows are planned, those that matter most first.
Sampled sample(const optima_graph& graph, const Target& target, bool winograd, const std::vector<sdk::SizeRange>& said = {});

}  // namespace optima::llvm_cpu
