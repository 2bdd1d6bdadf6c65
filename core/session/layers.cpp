// SPDX-License-Identifier: Apache-2.0
#include "core/session/layers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "core/session/error_sums.hpp"
#include "core/session/own_error.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::CodedValue;

constexpr std::array<std::string_view, 12> kMovers = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice",
                                                      "Split", "Gather", "Pad", "Identity", "Expand", "Concat"};

bool computes(const image::Node& node) {
  return !detail::is_quantize(node) && !detail::is_dequantize(node) && std::find(kMovers.begin(), kMovers.end(), node.op_type) == kMovers.end();
}

/// Values that stand for layers, and what is known of them without running anything.
class Finder {
 public:
  Finder(const Graph& wanted, const Graph& quantized)
      : quantized_(quantized), main_(quantized.main()), uses_(uses_of(quantized)), coded_(detail::coded_values(quantized, uses_)) {
    const image::Graph& main = wanted.main();
    for (const image::Value& value : main.values)
      if (value.dtype == OPTIMA_F32 && value.constant == OPTIMA_NONE) common.insert(value.name);
  }

  void run() {
    for (const uint32_t v : main_.inputs)
      if (coded_.count(v)) add(v, nullptr);
    for (const image::Node& node : main_.nodes)
      for (const uint32_t v : node.outputs)
        if (v != OPTIMA_NONE && is_layer(node, v)) add(v, &node);
  }

  std::vector<uint32_t> values;       // of the quantized model
  std::vector<std::string> shown;     // what readers of each see: the value, or what DequantizeLinear makes of its codes
  std::vector<LayerFigures> figures;
  std::vector<double> low, high;
  std::set<std::string> common;       // computed values of the float model, by name

 private:
  bool is_output(uint32_t v) const { return std::find(main_.outputs.begin(), main_.outputs.end(), v) != main_.outputs.end(); }

  bool is_layer(const image::Node& node, uint32_t v) const {
    if (detail::is_quantize(node) || detail::is_dequantize(node)) return false;
    if (coded_.count(v) || is_output(v)) return true;
    return detail::reads_codes(quantized_, uses_, node) && computes(node) && !is_inside(v);
  }

  // Read by one operator alone whose result is a layer: an activation that one step computes with the product.
  bool is_inside(uint32_t v) const {
    if (uses_.consumers[v].size() != 1) return false;
    const image::Node& reader = main_.nodes[uses_.consumers[v][0]];
    return !reader.outputs.empty() && coded_.count(reader.outputs[0]) > 0;
  }

  void add(uint32_t v, const image::Node* maker) {
    const std::string& name = main_.values[v].name;
    if (main_.values[v].dtype != OPTIMA_F32 || !common.count(name)) return;
    LayerFigures layer;
    layer.value = name;
    if (maker) layer.node = maker->name, layer.op = maker->op_type;
    const auto coded = coded_.find(v);
    if (coded != coded_.end()) layer.encoding = coded->second.encoding;
    low.push_back(coded == coded_.end() ? -std::numeric_limits<double>::infinity() : coded->second.low);
    high.push_back(coded == coded_.end() ? std::numeric_limits<double>::infinity() : coded->second.high);
    shown.push_back(coded == coded_.end() ? name : main_.values[main_.nodes[coded->second.dequantize].outputs[0]].name);
    values.push_back(v);
    figures.push_back(std::move(layer));
  }

  const Graph& quantized_;
  const image::Graph& main_;
  const Uses uses_;
  const std::map<uint32_t, CodedValue> coded_;
};

/// The graph with other outputs, each once.
Graph with_outputs(Graph graph, const std::vector<std::string>& names) {
  image::Graph& main = graph.main();
  const std::set<std::string> wanted(names.begin(), names.end());
  main.outputs.clear();
  for (uint32_t v = 0; v < main.values.size(); ++v)
    if (wanted.count(main.values[v].name)) main.outputs.push_back(v);
  return graph;
}

const Tensor* find(const std::vector<Tensor>& tensors, const std::string& name) {
  const auto it = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

/// Three runs of each sample: the float model, the quantized one, and that one taken apart.
class Comparer {
 public:
  Comparer(Finder& layers, const LayersRequest& request) : layers_(layers), request_(request), accumulated_(layers.values.size()), own_(accumulated_),
        saturated_(layers.values.size()), count_(layers.values.size()) {}

  Status prepare(const Graph& wanted, const Graph& quantized, Registry& registry) {
    detail::TakenApart apart = detail::take_apart(quantized, layers_.values, layers_.common);
    std::vector<std::string> values;
    for (const LayerFigures& layer : layers_.figures) values.push_back(layer.value);
    for (const detail::Joint& joint : apart.joints) values.push_back(joint.value);
    tell(0, "compiling the float model");
    OPTIMA_RETURN_IF_ERROR(add_runner(with_outputs(wanted, values), registry));
    tell(0.1, "compiling the quantized model");
    OPTIMA_RETURN_IF_ERROR(add_runner(with_outputs(quantized, layers_.shown), registry));
    tell(0.2, "compiling it layer by layer");
    OPTIMA_RETURN_IF_ERROR(add_runner(std::move(apart.graph), registry));
    apart_layers_ = std::move(apart.layers), joints_ = std::move(apart.joints);
    return {};
  }

  Status sample(uint64_t number) {
    tell(0.3 + 0.7 * static_cast<double>(number) / static_cast<double>(request_.samples), cat("sample ", number + 1, " of ", request_.samples));
    OPTIMA_ASSIGN(std::vector<Tensor> inputs, request_.read(number));
    OPTIMA_ASSIGN(std::vector<Tensor> wanted, runners_[0].run(inputs));
    for (const Tensor& input : inputs) wanted.push_back(input);
    OPTIMA_ASSIGN(const std::vector<Tensor> got, runners_[1].run(inputs));
    for (const detail::Joint& joint : joints_)
      if (const Tensor* value = find(wanted, joint.value)) inputs.push_back(renamed(*value, joint.name));
    OPTIMA_ASSIGN(const std::vector<Tensor> own, runners_[2].run(inputs));
    for (size_t i = 0; i < layers_.figures.size(); ++i) OPTIMA_RETURN_IF_ERROR(add(i, wanted, got, own));
    return {};
  }

  std::vector<LayerFigures> figures() {
    for (size_t i = 0; i < layers_.figures.size(); ++i) {
      LayerFigures& layer = layers_.figures[i];
      layer.accumulated = accumulated_[i].figures();
      layer.own = own_[i].figures();
      layer.saturated = count_[i] ? static_cast<double>(saturated_[i]) / static_cast<double>(count_[i]) : 0;
    }
    return std::move(layers_.figures);
  }

 private:
  void tell(double fraction, std::string_view stage) const {
    if (request_.progress) request_.progress(fraction, stage);
  }
  Status add_runner(Graph graph, Registry& registry) {
    OPTIMA_ASSIGN(GraphRunner runner, GraphRunner::make(std::move(graph), request_.runner, registry));
    runners_.push_back(std::move(runner));
    return {};
  }
  static Tensor renamed(Tensor tensor, const std::string& name) {
    tensor.name = name;
    return tensor;
  }

  Status add(size_t i, const std::vector<Tensor>& wanted, const std::vector<Tensor>& got, const std::vector<Tensor>& own) {
    const Tensor *w = find(wanted, layers_.figures[i].value), *g = find(got, layers_.shown[i]), *o = find(own, apart_layers_[i].name);
    if (!w || !g || !o || w->size != g->size || w->size != o->size)
      return internal_error(cat("layers: value ", quote(layers_.figures[i].value), " is not what it was in another run"));
    accumulated_[i].add(g->as<float>(), w->as<float>());
    own_[i].add(o->as<float>(), w->as<float>());
    for (const float x : w->as<float>()) saturated_[i] += x < layers_.low[i] || x > layers_.high[i];
    count_[i] += w->size / sizeof(float);
    return {};
  }

  Finder& layers_;
  const LayersRequest& request_;
  std::vector<GraphRunner> runners_;
  std::vector<detail::Joint> apart_layers_, joints_;
  std::vector<detail::ErrorSums> accumulated_, own_;
  std::vector<uint64_t> saturated_, count_;
};

}  // namespace

std::vector<uint32_t> quantized_units(const Graph& quantized) {
  const Uses uses = uses_of(quantized);
  std::vector<uint32_t> out;
  for (const image::Node& node : quantized.main().nodes)
    if (computes(node) && detail::reads_codes(quantized, uses, node)) out.push_back(node.id);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<LayerFigures>> compare_layers(const Graph& wanted, const Graph& quantized, const LayersRequest& request, Registry& registry) {
  if (quantized_units(quantized).empty() && detail::coded_values(quantized, uses_of(quantized)).empty())
    return invalid_input(cat("model ", quote(quantized.model_name), " has no quantized value, wanted what 'quantize' made of the float model"));
  Finder layers(wanted, quantized);
  layers.run();
  if (layers.values.empty()) return invalid_input("the two models have no quantized value in common, wanted the float model and what 'quantize' made of it");
  Comparer comparer(layers, request);
  OPTIMA_RETURN_IF_ERROR(comparer.prepare(wanted, quantized, registry));
  for (uint64_t s = 0; s < request.samples; ++s) OPTIMA_RETURN_IF_ERROR(comparer.sample(s));
  return comparer.figures();
}

}  // namespace optima
