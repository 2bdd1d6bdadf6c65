// SPDX-License-Identifier: Apache-2.0
// core/quantize: bias correction, after Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019), with
// means that were seen instead of derived.
#include "core/quantize/correct_bias.hpp"

#include <algorithm>

namespace optima::detail {
namespace {

// The numbers of the dims go along the last of `rank` axes (MatMul) or the second (Conv).
bool along_channels(const std::vector<int64_t>& dims, const Product& p, bool matmul) {
  const int64_t behind = matmul ? 0 : static_cast<int64_t>(p.dims.size()) - 2;  // dims of 1 behind the channels'
  const auto rank = static_cast<int64_t>(dims.size());
  for (int64_t d = 0; d < rank; ++d)
    if (dims[static_cast<size_t>(d)] != (d == rank - 1 - behind ? p.outputs : 1)) return false;
  return rank > behind;
}

}  // namespace

std::vector<double> lost_means(const Product& p, const std::vector<float>& weights, const std::vector<float>& rounded, const std::vector<double>& means) {
  std::vector<double> out(static_cast<size_t>(p.outputs));
  for (size_t e = 0; e < weights.size(); ++e) {
    const auto at = static_cast<int64_t>(e);
    out[static_cast<size_t>(p.output_of(at))] += static_cast<double>(weights[e] - rounded[e]) * means[static_cast<size_t>(p.input_of(at))] * p.bias_factor / p.taps;
  }
  return out;
}

uint32_t bias_behind(const Graph& graph, const Uses& uses, const Product& p) {
  const image::Node& node = graph.main().nodes[p.node];
  const uint32_t v = node.outputs[0];
  if (p.axis < 0 || uses.consumers[v].size() != 1) return OPTIMA_NONE;
  if (std::find(graph.main().outputs.begin(), graph.main().outputs.end(), v) != graph.main().outputs.end()) return OPTIMA_NONE;
  const image::Node& add = graph.main().nodes[uses.consumers[v][0]];
  if (add.op_type != "Add" || !add.domain.empty()) return OPTIMA_NONE;
  const uint32_t constant = constant_input(graph, add, add.inputs[0] == v ? 1 : 0);
  if (constant == OPTIMA_NONE || uses.consumers[constant].size() != 1 || graph.main().values[constant].dtype != OPTIMA_F32) return OPTIMA_NONE;
  return along_channels(dims_of(graph, constant), p, node.op_type == "MatMul" || node.op_type == "Gemm") ? constant : OPTIMA_NONE;
}

}  // namespace optima::detail
