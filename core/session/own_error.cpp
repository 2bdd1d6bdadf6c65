// SPDX-License-Identifier: Apache-2.0
#include "core/session/own_error.hpp"

#include <algorithm>

namespace optima::detail {
namespace {

class Cutter {
 public:
  explicit Cutter(const Graph& quantized) : coded_(coded_values(quantized, uses_of(quantized))) { out_.graph = quantized; }

  TakenApart run(const std::vector<uint32_t>& layers) {
    main().outputs.clear();
    for (const uint32_t v : layers) {
      const uint32_t shown = coded_.count(v) ? round_again(coded_.at(v)) : v;
      main().outputs.push_back(shown);
      out_.layers.push_back({main().values[v].name, main().values[shown].name});
    }
    for (const auto& [value, coded] : coded_) read_float(value);
    return std::move(out_);
  }

 private:
  image::Graph& main() { return out_.graph.main(); }

  uint32_t value_like(uint32_t value, const std::string& name) {
    image::Value made = main().values[value];
    made.name = name;
    made.constant = OPTIMA_NONE;
    main().values.push_back(std::move(made));
    return static_cast<uint32_t>(main().values.size() - 1);
  }

  // The same operator on `input`, behind all others.
  uint32_t again(uint32_t index, uint32_t input, const std::string& suffix) {
    image::Node node = main().nodes[index];
    node.id = static_cast<uint32_t>(out_.graph.origins.size());
    out_.graph.origins.push_back(out_.graph.origins[main().nodes[index].id]);
    node.name += suffix;
    node.inputs[0] = input;
    node.outputs = {value_like(node.outputs[0], main().values[node.outputs[0]].name + suffix)};
    main().nodes.push_back(node);
    return node.outputs[0];
  }

  uint32_t round_again(const CodedValue& coded) { return again(coded.dequantize, again(coded.quantize, coded.value, "/own"), "/own"); }

  // All quantizers of a value, wherever they are.
  void read_float(uint32_t value) {
    const uint32_t input = value_like(value, main().values[value].name + "/float");
    for (image::Node& node : main().nodes)
      if (is_quantize(node) && node.inputs[0] == value && !node.name.ends_with("/own")) node.inputs[0] = input;
    main().inputs.push_back(input);
    out_.joints.push_back({main().values[value].name, main().values[input].name});
  }

  const std::map<uint32_t, CodedValue> coded_;
  TakenApart out_;
};

}  // namespace

TakenApart take_apart(const Graph& quantized, const std::vector<uint32_t>& layers) { return Cutter(quantized).run(layers); }

}  // namespace optima::detail
