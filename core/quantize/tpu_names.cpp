// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/tpu_names.hpp"

#include <set>

#include "core/quantize/operators.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr std::string_view kCodes = "/q";

// Of a product that reads weights through DequantizeLinear: what they are called; empty for others.
std::string weights_of(const image::Graph& main, const Uses& uses, const image::Node& node) {
  const uint32_t maker = node.inputs.size() > 1 && node.inputs[1] != OPTIMA_NONE ? uses.producer[node.inputs[1]] : Uses::kNone;
  if (maker == Uses::kNone || main.nodes[maker].op_type != "DequantizeLinear") return {};
  const image::Value& codes = main.values[main.nodes[maker].inputs[0]];
  if (codes.constant == OPTIMA_NONE || !std::string_view(codes.name).ends_with(kCodes)) return {};
  return codes.name.substr(0, codes.name.size() - kCodes.size());
}

}  // namespace

std::string tpu_weight_name(const Graph& graph, const Uses& uses, uint32_t node) {
  const image::Graph& main = graph.main();
  uint32_t made = main.nodes[node].outputs[0];
  if (uses.consumers[made].size() == 1)
    if (const image::Node& reader = main.nodes[uses.consumers[made][0]]; reader.op_type == "Relu" && reader.domain.empty()) made = reader.outputs[0];
  return cat(main.values[made].name, "_weight");
}

Encodings with_tpu_names(Encodings encodings, const Graph& quantized) {
  const image::Graph& main = quantized.main();
  const Uses uses = uses_of(quantized);
  std::map<std::string, Encoding> renamed;
  std::set<std::string> known;
  for (uint32_t n = 0; n < main.nodes.size(); ++n) {
    if (detail::kind_of(quantized, main.nodes[n]) != detail::Kind::Product) continue;
    const std::string weights = weights_of(main, uses, main.nodes[n]);
    const auto found = encodings.weights.find(weights);
    if (found == encodings.weights.end()) continue;
    renamed.emplace(tpu_weight_name(quantized, uses, n), found->second);
    known.insert(weights);
  }
  for (const std::string& name : known) encodings.weights.erase(name);
  encodings.weights.merge(renamed);
  return encodings;
}

}  // namespace optima
