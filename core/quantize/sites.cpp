// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/sites.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/quantize/dynamic.hpp"
#include "core/quantize/gelu.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

// Operators that hold no arithmetic on floats worth an encoding, even where everything is to have one.
bool never_coded(const image::Node& node) {
  constexpr const char* kNever[] = {"QuantizeLinear", "DequantizeLinear", "Shape", "Size", "CastLike", "Constant", "ConstantOfShape", "DynamicQuantizeLinear"};
  return std::any_of(std::begin(kNever), std::end(kNever), [&](const char* op) { return node.op_type == op; });
}

class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses, const QuantizeOptions& options)
      : graph_(graph), g_(graph.main()), uses_(uses), options_(options), is_output_(g_.values.size()), already_(g_.nodes.size()), why_(g_.nodes.size()) {
    for (uint32_t v : g_.outputs) is_output_[v] = 1;
    for (const image::Node& node : g_.nodes) kinds_.push_back(kind_of(graph, node));
    for (const LeftFloat& left : options.given.left_float) left_by_given_.insert(left.node);
    s_.transformer = !options.all && is_transformer(graph, uses);
    s_.quantized.resize(g_.nodes.size());
    s_.filled.resize(g_.nodes.size());
    s_.gelu.resize(g_.nodes.size());
    for (std::vector<uint8_t>* by_value : {&s_.inside, &s_.coded, &s_.wide}) by_value->resize(g_.values.size());
    s_.root.resize(g_.values.size());
    std::iota(s_.root.begin(), s_.root.end(), 0u);
    argument_ = s_.root;
  }

  Sites run() {
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) look_at(n);
    while (demote()) {
    }
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) find_argument(n);
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) s_.filled[n] ? find_inside_filled(n) : find_inside(n);
    find_filled_gelus();
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) find_coded(n);
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) join_moved(n);
    find_products();
    for (uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (!s_.quantized[n] && !why_[n].empty()) s_.left_float.push_back({g_.nodes[n].name, why_[n]});
    return std::move(s_);
  }

 private:
  Kind kind(uint32_t n) const { return kinds_[n]; }
  bool is_float(uint32_t v) const {
    const int32_t dtype = v == OPTIMA_NONE ? OPTIMA_UNDEFINED : g_.values[v].dtype;
    return dtype == OPTIMA_F32 || dtype == OPTIMA_F16 || dtype == OPTIMA_BF16 || dtype == OPTIMA_F64;
  }
  bool is_constant(uint32_t v) const { return g_.values[v].constant != OPTIMA_NONE; }
  uint32_t producer(uint32_t v) const { return uses_.producer[v]; }

  void look_at(uint32_t n) {
    const image::Node& node = g_.nodes[n];
    const auto given = options_.by_node.find(node.id);
    Precision precision = given == options_.by_node.end() ? options_.precision : given->second;
    if (precision == Precision::Auto) precision = Precision::Int8;
    if (given == options_.by_node.end() && left_by_given_.contains(node.name)) precision = Precision::F32;
    s_.precision.push_back(precision);
    already_[n] = touches_codes(node);
    bool holds = false;
    for_each_body(node, [&](uint32_t) { holds = true; });
    if (holds && (is_static(precision) || is_weights_only(precision))) why_[n] = cat(node.op_type, ": its bodies are computed in float");
    if (holds || already_[n]) return;
    const Kind what = kind(n);
    const bool fill = fills(node) && has_hole(node);
    if (what == Kind::None && !fill) return;
    if (precision == Precision::Dynamic && what == Kind::Product && product_of(graph_, n)) why_[n] = why_not_dynamic(graph_, node);
    if (!is_static(precision)) {
      if (is_weights_only(precision)) return;
      const auto why = options_.precision_why.find(node.id);
      why_[n] = why != options_.precision_why.end() ? why->second : left_by_given_.contains(node.name) ? "left float by the encodings given" : "";
      return;
    }
    if (!fill && !is_float(node.outputs[0])) return;
    why_[n] = why_not(n, what, fill);
    s_.quantized[n] = why_[n].empty();
    s_.filled[n] = fill && s_.quantized[n];
    if (what != Kind::Product && what != Kind::Elementwise && what != Kind::Concat && what != Kind::Average) why_[n].clear();
  }

  // A node of a model that is quantized already keeps what it has.
  bool touches_codes(const image::Node& node) const {
    const auto made_by = [&](uint32_t v, const char* op) { return v != OPTIMA_NONE && producer(v) != Uses::kNone && g_.nodes[producer(v)].op_type == op; };
    const auto read_by = [&](uint32_t v) {
      return v != OPTIMA_NONE && std::any_of(uses_.consumers[v].begin(), uses_.consumers[v].end(), [&](uint32_t r) { return g_.nodes[r].op_type == "QuantizeLinear"; });
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](uint32_t v) { return made_by(v, "DequantizeLinear"); }) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), read_by);
  }

  bool fills(const image::Node& node) const { return options_.all || options_.fill.contains(node.id); }

  // Some tensor that it reads could be codes.
  bool has_hole(const image::Node& node) const {
    const auto is_data = [&](uint32_t v) { return v != OPTIMA_NONE && g_.values[v].dtype == OPTIMA_F32 && !is_constant(v); };
    return !never_coded(node) && !node.outputs.empty() && node.outputs[0] != OPTIMA_NONE && std::any_of(node.inputs.begin(), node.inputs.end(), is_data);
  }

  // Empty when the node can compute on codes by what it is.
  std::string why_not(uint32_t n, Kind what, bool fill) const {
    const image::Node& node = g_.nodes[n];
    for (size_t i : data_inputs(graph_, node))
      if (g_.values[node.inputs[i]].dtype != OPTIMA_F32) return cat("reads ", short_dtype_name(g_.values[node.inputs[i]].dtype), ", wanted f32");
    if (what != Kind::Product) return "";
    if (is_constant(node.inputs[0])) return "its left side is a constant";
    if (constant_input(graph_, node, 1) != OPTIMA_NONE && !product_of(graph_, n)) return "its weights are of no known form";
    if (s_.transformer && !fill && (node.inputs.size() < 2 || node.inputs[1] == OPTIMA_NONE || !is_constant(node.inputs[1]))) return "a product of two activations in a transformer";
    return "";
  }

  // Nodes that are no products compute on codes where codes come in and codes are wanted. True when one of them does not any more.
  bool demote() {
    bool any = false;
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) {
      const Kind what = kind(n);
      if (!s_.quantized[n] || what == Kind::Product || s_.filled[n]) continue;
      std::string why = !codes_come(n) ? "what it reads is computed in float" : !codes_wanted(n) ? "whoever reads it computes in float" : "";
      if (why.empty()) continue;
      s_.quantized[n] = 0;
      if (what == Kind::Elementwise || what == Kind::Concat || what == Kind::Average) why_[n] = std::move(why);
      any = true;
    }
    return any;
  }

  bool codes_come(uint32_t n) const {
    bool some = false;
    for (size_t i : data_inputs(graph_, g_.nodes[n])) {
      const uint32_t v = g_.nodes[n].inputs[i], from = producer(v);
      if (from == Uses::kNone) continue;  // a constant or an input of the model
      if (!s_.quantized[from]) return false;
      // Sums behind a transformer's products feed what computes in float.
      if (s_.transformer && !s_.filled[from] && (g_.nodes[from].op_type == "MatMul" || g_.nodes[from].op_type == "Gemm")) return false;
      some = true;
    }
    return some;
  }

  bool reads_data(uint32_t reader, uint32_t v) const {
    const std::vector<size_t> data = data_inputs(graph_, g_.nodes[reader]);
    return std::any_of(data.begin(), data.end(), [&](size_t i) { return g_.nodes[reader].inputs[i] == v; });
  }

  bool codes_wanted(uint32_t n) const {
    for (uint32_t v : g_.nodes[n].outputs) {
      if (v == OPTIMA_NONE) continue;
      for (uint32_t r : uses_.consumers[v])
        if (s_.quantized[r] && reads_data(r, v)) return true;
    }
    return false;
  }

  // Of what node n gives: the value whose numbers it is a function of, one by one ("x" of x * sigmoid(x)); itself where there are several.
  void find_argument(uint32_t n) {
    if (!s_.quantized[n] || (kind(n) != Kind::Activation && kind(n) != Kind::Elementwise)) return;
    uint32_t of = OPTIMA_NONE;
    for (size_t i : data_inputs(graph_, g_.nodes[n])) {
      const uint32_t v = g_.nodes[n].inputs[i];
      if (is_constant(v) && floats_of(graph_, v).size() == 1) continue;
      if (is_constant(v) || (of != OPTIMA_NONE && of != argument_[v])) return;
      of = argument_[v];
    }
    if (of != OPTIMA_NONE) argument_[g_.nodes[n].outputs[0]] = of;
  }

  // Whether all who read v make functions of the same value of it: one kernel, or one table.
  bool goes_on(uint32_t v) const {
    return std::all_of(uses_.consumers[v].begin(), uses_.consumers[v].end(), [&](uint32_t r) {
      return s_.quantized[r] && reads_data(r, v) && argument_[g_.nodes[r].outputs[0]] == argument_[v];
    });
  }

  // Of the output of node n: whether it stays float on its way to those who become one kernel with it.
  void find_inside(uint32_t n) {
    if (!s_.quantized[n] || g_.nodes[n].outputs.size() != 1) return;
    const uint32_t v = g_.nodes[n].outputs[0];
    if (v == OPTIMA_NONE || is_output_[v] || uses_.consumers[v].empty()) return;
    const bool computes = kind(n) == Kind::Product || kind(n) == Kind::Elementwise || kind(n) == Kind::Activation;
    if (!computes) return;
    const bool starts = argument_[v] == v;
    if (std::any_of(uses_.consumers[v].begin(), uses_.consumers[v].end(), [&](uint32_t r) { return s_.filled[r] != s_.filled[n]; })) return;  // another device
    if (goes_on(v) && (!starts || uses_.consumers[v].size() == 1)) s_.inside[v] = 1;
    if (uses_.consumers[v].size() != 1 || !s_.quantized[uses_.consumers[v][0]]) return;
    const uint32_t r = uses_.consumers[v][0];
    const image::Node& reader = g_.nodes[r];
    if (kind(n) == Kind::Activation) return;
    if (reader.op_type != "Add" || reader.inputs[0] == reader.inputs[1] || !sums(n)) return;
    // Of two that could be summed in one kernel only the one that runs last can.
    const uint32_t other = reader.inputs[reader.inputs[0] == v ? 1 : 0];
    s_.inside[v] = 1;
    if (producer(other) != Uses::kNone && producer(other) < n) s_.inside[other] = 0;
  }

  // Where everything is codes a function of codes is one operator of the device's, with its own encodings at both ends. Only what saturating to
  // the codes of 0 and above does anyway goes into the operator before it.
  void find_inside_filled(uint32_t n) {
    if (g_.nodes[n].outputs.size() != 1 || options_.scheme == Scheme::Symmetric) return;
    const uint32_t v = g_.nodes[n].outputs[0];
    const bool computes = kind(n) == Kind::Product || kind(n) == Kind::Elementwise || kind(n) == Kind::Average;
    if (!computes || is_output_[v] || uses_.consumers[v].size() != 1) return;
    const uint32_t r = uses_.consumers[v][0];
    s_.inside[v] = s_.filled[r] && (g_.nodes[r].op_type == "Relu" || clips_from_zero(g_.nodes[r]));
  }

  bool clips_from_zero(const image::Node& node) const {
    const uint32_t least = node.op_type == "Clip" ? constant_input(graph_, node, 1) : OPTIMA_NONE;
    return least != OPTIMA_NONE && floats_of(graph_, least) == std::vector<float>{0};
  }

  void find_filled_gelus() {
    uint32_t number = 0;
    for (const Gelu& gelu : find_gelus(graph_, uses_)) {
      if (!std::all_of(gelu.nodes.begin(), gelu.nodes.end(), [&](uint32_t n) { return s_.filled[n]; })) continue;
      ++number;
      for (uint32_t n : gelu.nodes) s_.gelu[n] = number;
      for (uint32_t v : gelu.inside) s_.inside[v] = 1;
    }
  }

  // A product, or the Add of its constant bias.
  bool sums(uint32_t n) const {
    if (kind(n) == Kind::Product) return true;
    const image::Node& node = g_.nodes[n];
    if (node.op_type != "Add" || (!is_constant(node.inputs[0]) && !is_constant(node.inputs[1]))) return false;
    return s_.inside[node.inputs[is_constant(node.inputs[0]) ? 1 : 0]];
  }

  void find_coded(uint32_t n) {
    if (!s_.quantized[n]) return;
    for (size_t i : data_inputs(graph_, g_.nodes[n])) {
      const uint32_t v = g_.nodes[n].inputs[i];
      if (!is_constant(v) && !s_.inside[v]) s_.coded[v] = 1;
    }
    if (!s_.filled[n]) return;
    for (uint32_t v : g_.nodes[n].outputs)
      if (v != OPTIMA_NONE && g_.values[v].dtype == OPTIMA_F32 && !s_.inside[v] && (is_output_[v] || !uses_.consumers[v].empty())) s_.coded[v] = 1;
  }

  void join_moved(uint32_t n) {
    const image::Node& node = g_.nodes[n];
    if (s_.quantized[n] && is_wide(s_.precision[n]))
      for (size_t i : data_inputs(graph_, node)) s_.wide[s_.owner(node.inputs[i])] = 1;
    if (s_.quantized[n] && kind(n) == Kind::Mover && !is_constant(node.inputs[0])) {
      const uint32_t root = s_.owner(node.inputs[0]);
      for (uint32_t v : node.outputs)
        if (v != OPTIMA_NONE) s_.root[v] = root;  // the graph's order: nothing has it for a root yet
    }
    if (s_.filled[n] && is_wide(s_.precision[n])) widen_ends(node);
  }

  // Products have codes of one width at both ends there, whoever reads them.
  void widen_ends(const image::Node& node) {
    for (uint32_t v : node.outputs)
      if (v != OPTIMA_NONE && s_.coded[v]) s_.wide[s_.owner(v)] = 1;
  }

  void find_products() {
    for (uint32_t n = 0; n < g_.nodes.size(); ++n) {
      const bool weights = !already_[n] && is_weights_only(s_.precision[n]) && why_[n].empty();
      if (!s_.quantized[n] && !weights) continue;
      if (std::optional<Product> p = product_of(graph_, n)) s_.products.push_back(std::move(*p));
    }
  }

  const Graph& graph_;
  const image::Graph& g_;
  const Uses& uses_;
  const QuantizeOptions& options_;
  Sites s_;
  std::vector<uint8_t> is_output_, already_;  // by value; by node: between DequantizeLinear and QuantizeLinear
  std::vector<std::string> why_;              // by node
  std::vector<uint32_t> argument_;            // by value: see find_argument()
  std::vector<Kind> kinds_;                   // by node
  std::set<std::string> left_by_given_;       // names of nodes
};

}  // namespace

bool is_static(Precision precision) { return precision == Precision::Int8 || is_wide(precision); }
bool is_wide(Precision precision) { return precision == Precision::A16W8 || precision == Precision::A16W4; }
bool has_small_weights(Precision precision) { return precision == Precision::W4 || precision == Precision::A16W4; }
bool is_weights_only(Precision precision) { return precision == Precision::W8 || precision == Precision::W4 || precision == Precision::Dynamic; }

uint32_t Sites::owner(uint32_t value) const {
  while (root[value] != value) value = root[value];
  return value;
}

Sites find_sites(const Graph& graph, const Uses& uses, const QuantizeOptions& options) { return Finder(graph, uses, options).run(); }

}  // namespace optima::detail
