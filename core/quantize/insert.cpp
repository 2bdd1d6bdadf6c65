// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/insert.hpp"

#include <algorithm>
#include <numeric>

#include "core/quantize/code_nodes.hpp"
#include "core/quantize/dynamic.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr float kCoarse = 2;  // times a constant's own step: a class token of a transformer would be no more than its signs

class Inserter {
 public:
  Inserter(Graph& graph, const Sites& sites, const Coding& coding, const QuantizeOptions& options)
      : graph_(graph), g_(graph.main()), sites_(sites), coding_(coding), options_(options), edit_(graph), codes_(graph, edit_, out_), dynamic_(graph, edit_, out_),
        codes_of_(g_.values.size(), OPTIMA_NONE), is_output_(g_.values.size()) {
    for (uint32_t v : g_.outputs) is_output_[v] = 1;
    only_codes_.resize(g_.values.size());
    for (uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (sites.filled[n])
        for (uint32_t v : g_.nodes[n].outputs)
          if (v != OPTIMA_NONE) only_codes_[v] = sites.coded[v];
    for (const Product& p : sites.products) product_.emplace(p.node, &p);
  }

  void run() {
    for (uint32_t v : g_.inputs) quantize(v);
    std::vector<image::Node> nodes = std::move(g_.nodes);
    for (uint32_t n = 0; n < nodes.size(); ++n) write(n, nodes[n]);
    g_.nodes = std::move(out_);
    std::vector<uint32_t> all(g_.nodes.size());
    std::iota(all.begin(), all.end(), 0u);
    graph_ = compact(graph_, all);
  }

 private:
  std::string name(uint32_t v) const { return g_.values[v].name; }
  bool coded(uint32_t v) const { return v != OPTIMA_NONE && v < sites_.coded.size() && sites_.coded[v]; }
  const Encoding& encoding(uint32_t v) const { return coding_.activations.at(sites_.owner(v)); }

  void quantize(uint32_t v) {
    if (coded(v)) codes_of_[v] = codes_.quantize(v, name(sites_.owner(v)), encoding(v));
  }

  void write(uint32_t n, image::Node& node) {
    const auto weights = coding_.weights.find(n);
    const auto bias = coding_.float_biases.find(n);
    read_only_codes(n, node);
    if (weights != coding_.weights.end() && sites_.precision[n] == Precision::Dynamic) {
      dynamic_.write(std::move(node), *product_.at(n), weights->second, bias == coding_.float_biases.end() ? nullptr : &bias->second);
    } else {
      if (sites_.quantized[n]) read_codes(n, node);
      if (weights != coding_.weights.end()) read_weights(n, node, weights->second);
      if (bias != coding_.float_biases.end()) put_bias(node, edit_.floats(bias_name(n, node), {static_cast<int64_t>(bias->second.size())}, bias->second));
      write_outputs(n, node);
    }
  }

  // Nobody sees the floats that a filled node makes, wherever he computes.
  void read_only_codes(uint32_t n, image::Node& node) {
    for (uint32_t& v : node.inputs)
      if (v != OPTIMA_NONE && v < only_codes_.size() && only_codes_[v]) v = numbers_of(n, v);
  }

  // The numbers of a coded value for one reader. Nodes of one GELU share them, as their device knows it by that.
  uint32_t numbers_of(uint32_t n, uint32_t v) {
    const auto read = [&] { return codes_.dequantize(codes_of_[v], name(v), name(sites_.owner(v)), encoding(v)); };
    if (sites_.gelu[n] == 0) return read();
    const auto [at, fresh] = shared_.try_emplace({sites_.gelu[n], v}, OPTIMA_NONE);
    if (fresh) at->second = read();
    return at->second;
  }

  void read_codes(uint32_t n, image::Node& node) {
    const Kind kind = kind_of(graph_, node);
    const uint32_t out = node.outputs[0];
    for (size_t i : data_inputs(graph_, node)) {
      const uint32_t v = node.inputs[i];
      const bool constant = g_.values[v].constant != OPTIMA_NONE;
      const bool beside = kind == Kind::Concat || (sites_.filled[n] && sites_.gelu[n] == 0 && kind == Kind::Elementwise);
      if (constant && beside) node.inputs[i] = constant_codes(v, kind == Kind::Concat ? out : v, is_wide(sites_.precision[n]) ? 16 : 8);
      if (!constant && coded(v)) node.inputs[i] = numbers_of(n, v);
    }
  }

  // A constant among activations: with the Concat's encoding, so that it is a copy, where that is not much coarser than its own.
  uint32_t constant_codes(uint32_t v, uint32_t like, int bits) {
    const std::vector<float> numbers = floats_of(graph_, v);
    if (numbers.empty()) return v;
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    WeightCodes w;
    w.encoding = encoding_of_range(static_cast<double>(*low), static_cast<double>(*high), options_.scheme, bits);
    if (coded(like) && encoding(like).scale[0] <= kCoarse * w.encoding.scale[0]) w.encoding = encoding(like);
    for (float x : numbers) w.codes.push_back(nearest_code(x, w.encoding.scale[0], w.encoding.zero_point[0], w.encoding.dtype));
    return codes_.constant(name(v), dims_of(graph_, v), w);
  }

  std::string bias_name(uint32_t n, const image::Node& node) const {
    const Product& p = *product_.at(n);
    return p.bias == OPTIMA_NONE ? cat(node.name, "/bias") : name(p.bias);
  }

  void read_weights(uint32_t n, image::Node& node, const WeightCodes& weights) {
    const Product& p = *product_.at(n);
    node.inputs[1] = codes_.constant(name(p.weights), p.dims, weights);
    if (const auto bias = coding_.biases.find(n); bias != coding_.biases.end()) put_bias(node, codes_.constant(bias_name(n, node), {p.outputs}, bias->second));
  }

  void put_bias(image::Node& node, uint32_t value) {
    node.inputs.resize(3, OPTIMA_NONE);
    node.inputs[2] = value;
  }

  // An output of the model that is to be a code keeps its name behind a DequantizeLinear.
  void write_outputs(uint32_t n, image::Node& node) {
    std::vector<uint32_t> through;
    for (uint32_t& v : node.outputs) {
      if (!sites_.filled[n] || !coded(v) || !is_output_[v]) continue;
      through.push_back(v);
      v = edit_.value(cat(name(v), "/f32"), OPTIMA_F32, g_.values[v].dims);
    }
    const std::vector<uint32_t> made = node.outputs;
    const bool hands_on = !through.empty();
    out_.push_back(std::move(node));
    if (!hands_on)
      for (uint32_t v : made) quantize(v);
    else
      quantize_outputs(made, through);
  }

  void quantize_outputs(const std::vector<uint32_t>& made, const std::vector<uint32_t>& through) {
    auto next = through.begin();
    for (uint32_t v : made) {
      if (v == OPTIMA_NONE) continue;
      if (v < sites_.coded.size()) {
        quantize(v);
        continue;
      }
      const uint32_t answer = *next++;
      codes_of_[answer] = codes_.quantize(v, name(sites_.owner(answer)), encoding(answer));
      codes_.dequantize(codes_of_[answer], name(answer), name(sites_.owner(answer)), encoding(answer), answer);
    }
  }

  Graph& graph_;
  image::Graph& g_;
  const Sites& sites_;
  const Coding& coding_;
  const QuantizeOptions& options_;
  Editor edit_;
  std::vector<image::Node> out_;
  CodeNodes codes_;
  DynamicNodes dynamic_;
  std::vector<uint32_t> codes_of_;   // by value
  std::vector<uint8_t> is_output_;   // by value
  std::vector<uint8_t> only_codes_;  // by value: made by a filled node
  std::map<uint32_t, const Product*> product_;  // by node
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> shared_;  // by GELU and value
};

}  // namespace

void insert_codes(Graph& graph, const Sites& sites, const Coding& coding, const QuantizeOptions& options) { Inserter(graph, sites, coding, options).run(); }

}  // namespace optima::detail
