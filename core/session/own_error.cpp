// SPDX-License-Identifier: Apache-2.0
#include "core/session/own_error.hpp"

#include <algorithm>
#include <set>

namespace optima::detail {
namespace {

class Cutter {
 public:
  Cutter(const Graph& quantized, const std::set<std::string>& in_float) : coded_(coded_values(quantized, uses_of(quantized))), in_float_(in_float) {
    out_.graph = quantized;
  }

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
    const uint32_t input = float_of(value);
    for (image::Node& node : main().nodes)
      if (is_quantize(node) && node.inputs[0] == value && !node.name.ends_with("/own")) node.inputs[0] = input;
  }

  // The float model's value; what that model does not make (smoothing's product) is computed from what it makes.
  uint32_t float_of(uint32_t value) {
    if (!in_float_.count(main().values[value].name)) {
      if (const auto maker = maker_of(value); maker != main().nodes.end())
        for (uint32_t& input : maker->inputs)
          if (input != OPTIMA_NONE && is_computed(input)) input = float_of(input);
      return value;
    }
    const auto [at, fresh] = inputs_.try_emplace(value, 0);
    if (!fresh) return at->second;
    at->second = value_like(value, main().values[value].name + "/float");
    main().inputs.push_back(at->second);
    out_.joints.push_back({main().values[value].name, main().values[at->second].name});
    made_here_.insert(at->second);
    return at->second;
  }

  bool is_computed(uint32_t value) const { return out_.graph.main().values[value].constant == OPTIMA_NONE && !made_here_.count(value); }

  std::vector<image::Node>::iterator maker_of(uint32_t value) {
    return std::find_if(main().nodes.begin(), main().nodes.end(),
                        [&](const image::Node& node) { return std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end(); });
  }

  const std::map<uint32_t, CodedValue> coded_;
  const std::set<std::string>& in_float_;
  std::map<uint32_t, uint32_t> inputs_;  // by the value that each stands for
  std::set<uint32_t> made_here_;
  TakenApart out_;
};

}  // namespace

TakenApart take_apart(const Graph& quantized, const std::vector<uint32_t>& layers, const std::set<std::string>& in_float) {
  return Cutter(quantized, in_float).run(layers);
}

}  // namespace optima::detail
