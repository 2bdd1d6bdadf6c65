// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/fold_batch_norm.hpp"

#include <cmath>
#include <numeric>

#include "core/quantize/edit.hpp"
#include "core/quantize/product.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr size_t kParameters = 4;  // gamma, beta, mean, variance

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), g_(graph.main()), uses_(uses_of(graph)), edit_(graph), is_output_(g_.values.size()), gone_(g_.nodes.size()) {
    for (uint32_t v : g_.outputs) is_output_[v] = 1;
  }

  void run() {
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) gone_[n] = fold(n);
    std::vector<uint32_t> stay;
    for (uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (!gone_[n]) stay.push_back(n);
      else graph_.folded.push_back({g_.nodes[n].name, g_.nodes[n].op_type, "batch normalization"});
    if (stay.size() < g_.nodes.size()) graph_ = compact(graph_, stay);
  }

 private:
  bool fold(uint32_t n) {
    const image::Node& node = g_.nodes[n];
    if (node.op_type != "BatchNormalization" || !node.domain.empty() || int_attr(node, "training_mode", 0) != 0) return false;
    if (node.inputs.size() != 5 || node.inputs[0] == OPTIMA_NONE) return false;
    for (size_t k = 1; k < node.outputs.size(); ++k)
      if (node.outputs[k] != OPTIMA_NONE) return false;
    const uint32_t x = node.inputs[0], producer = uses_.producer[x];
    if (producer == Uses::kNone || is_output_[x] || uses_.consumers[x].size() != 1) return false;
    const std::optional<Product> p = product_of(graph_, producer);
    if (!p || !p->takes_bias || p->axis < 0) return false;
    const std::vector<float> factor = factors(node, *p);
    return !factor.empty() && move(node, *p, factor);
  }

  // gamma / sqrt(variance + epsilon) by output channel; empty when a parameter is no constant of that length.
  std::vector<float> factors(const image::Node& node, const Product& p) {
    for (size_t k = 0; k < kParameters; ++k) {
      const uint32_t value = constant_input(graph_, node, k + 1);
      parameters_[k] = value == OPTIMA_NONE ? std::vector<float>() : floats_of(graph_, value);
      if (parameters_[k].size() != static_cast<size_t>(p.outputs)) return {};
    }
    const auto epsilon = static_cast<float>(float_attr(node, "epsilon", 1e-5));
    std::vector<float> out(static_cast<size_t>(p.outputs));
    for (size_t c = 0; c < out.size(); ++c) out[c] = parameters_[0][c] / std::sqrt(parameters_[3][c] + epsilon);
    return out;
  }

  bool move(const image::Node& norm, const Product& p, const std::vector<float>& factor) {
    std::vector<float> weights = floats_of(graph_, p.weights);
    for (size_t e = 0; e < weights.size(); ++e) weights[e] *= factor[static_cast<size_t>(p.output_of(static_cast<int64_t>(e)))];
    std::vector<float> bias = p.bias == OPTIMA_NONE ? std::vector<float>(factor.size()) : floats_of(graph_, p.bias);
    for (size_t c = 0; c < bias.size(); ++c) bias[c] = (bias[c] - parameters_[2][c]) * factor[c] + parameters_[1][c];
    const std::string name = g_.nodes[p.node].name;
    const uint32_t y = norm.outputs[0];
    const uint32_t w = put(p.weights, cat(name, "/weights"), p.dims, weights);
    const uint32_t b = put(p.bias, cat(name, "/bias"), {p.outputs}, bias);
    image::Node& product = g_.nodes[p.node];
    product.inputs.resize(3, OPTIMA_NONE);
    product.inputs[1] = w;
    product.inputs[2] = b;
    product.outputs[0] = y;
    uses_.producer[y] = p.node;
    return true;
  }

  // In the place of a constant that nobody else reads, else beside it.
  uint32_t put(uint32_t old, const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& numbers) {
    const bool made_here = old != OPTIMA_NONE && old >= uses_.consumers.size();
    if (old == OPTIMA_NONE || (!made_here && uses_.consumers[old].size() != 1)) return edit_.floats(name, dims, numbers);
    edit_.replace_floats(old, numbers);
    return old;
  }

  Graph& graph_;
  image::Graph& g_;
  Uses uses_;
  Editor edit_;
  std::vector<uint8_t> is_output_, gone_;  // by value, by node
  std::vector<float> parameters_[kParameters];
};

}  // namespace

void fold_batch_norms(Graph& graph) { Folder(graph).run(); }

}  // namespace optima::detail
