// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/gelu.hpp"

#include <algorithm>
#include <cmath>

#include "core/quantize/operators.hpp"

namespace optima::detail {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses) : graph_(graph), g_(graph.main()), uses_(uses) {}

  std::optional<Gelu> at(uint32_t erf) const {
    Gelu out;
    const uint32_t scaled = g_.nodes[erf].inputs[0], one = g_.nodes[erf].outputs[0];
    const uint32_t scale = uses_.producer[scaled];
    if (scale == Uses::kNone || !is_one_of(scale, "Div", "Mul")) return std::nullopt;
    const std::optional<uint32_t> x = beside_number(scale, g_.nodes[scale].op_type == "Div" ? std::sqrt(2.0) : std::sqrt(0.5));
    const uint32_t add = only_reader(one);
    if (!x || only_reader(scaled) != erf || add == Uses::kNone || g_.nodes[add].op_type != "Add" || !beside_number(add, 1)) return std::nullopt;
    out.input = *x;
    out.nodes = {scale, erf, add};
    out.inside = {scaled, one, g_.nodes[add].outputs[0]};
    return with_products(add, out) ? std::optional<Gelu>(std::move(out)) : std::nullopt;
  }

 private:
  bool is_one_of(uint32_t n, const char* a, const char* b) const { return g_.nodes[n].op_type == a || g_.nodes[n].op_type == b; }

  uint32_t only_reader(uint32_t value) const {
    const bool is_output = std::find(g_.outputs.begin(), g_.outputs.end(), value) != g_.outputs.end();
    return is_output || uses_.consumers[value].size() != 1 ? uint32_t{Uses::kNone} : uses_.consumers[value][0];
  }

  // The other operand of a node with a constant that is this number.
  std::optional<uint32_t> beside_number(uint32_t n, double number) const {
    const image::Node& node = g_.nodes[n];
    for (size_t i = node.op_type == "Div" ? 1 : 0; i < 2; ++i) {
      const uint32_t c = constant_input(graph_, node, i);
      if (c == OPTIMA_NONE) continue;
      const std::vector<float> is = floats_of(graph_, c);
      if (is.size() == 1 && std::abs(static_cast<double>(is[0]) - number) <= 1e-3 * number) return node.inputs[1 - i];
    }
    return std::nullopt;
  }

  uint32_t other(uint32_t n, uint32_t value) const { return g_.nodes[n].inputs[g_.nodes[n].inputs[0] == value ? 1 : 0]; }

  // The sum's products with x and 0.5: sum * x * 0.5, sum * 0.5 * x, or sum * (x * 0.5).
  bool with_products(uint32_t add, Gelu& out) const {
    const uint32_t sum = g_.nodes[add].outputs[0], first = only_reader(sum);
    if (first == Uses::kNone || g_.nodes[first].op_type != "Mul") return false;
    out.nodes.push_back(first);
    const uint32_t with = other(first, sum);
    const uint32_t half = uses_.producer[with];
    if (half != Uses::kNone && g_.nodes[half].op_type == "Mul" && beside_number(half, 0.5) == out.input && only_reader(with) == first) {
      out.nodes.push_back(half);
      out.inside.push_back(with);
      return true;
    }
    const uint32_t product = g_.nodes[first].outputs[0], second = only_reader(product);
    if (second == Uses::kNone || g_.nodes[second].op_type != "Mul") return false;
    out.nodes.push_back(second);
    out.inside.push_back(product);
    return with == out.input ? beside_number(second, 0.5).has_value() : beside_number(first, 0.5).has_value() && other(second, product) == out.input;
  }

  const Graph& graph_;
  const image::Graph& g_;
  const Uses& uses_;
};

}  // namespace

std::vector<Gelu> find_gelus(const Graph& graph, const Uses& uses) {
  std::vector<Gelu> out;
  const std::vector<image::Node>& nodes = graph.main().nodes;
  for (uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].op_type == "Erf" && nodes[n].domain.empty())
      if (std::optional<Gelu> found = Finder(graph, uses).at(n)) out.push_back(std::move(*found));
  return out;
}

}  // namespace optima::detail
