// SPDX-License-Identifier: Apache-2.0
// core/passes: paddings that windows can make by themselves.
#include "core/passes/fold_pads.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/graph/attributes.hpp"
#include "core/passes/constant_values.hpp"

namespace optima::passes {
namespace {

// What a Pad does to its input, axis by axis.
struct Padding {
  uint32_t from;
  std::vector<int64_t> before, after;
  uint32_t added = OPTIMA_NONE;  // the constant that is added; none: zeros
};

// One graph's paddings.
class Folding {
 public:
  Folding(Graph& graph, uint32_t index) : graph_(graph), index_(index), g_(graph.contents.graphs[index]), readers_(g_.values.size()), maker_(g_.values.size()), paddings_(g_.nodes.size()) {
    for (uint32_t v : g_.outputs) ++readers_[v];
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      for (uint32_t v : g_.nodes[n].inputs)
        if (v != OPTIMA_NONE) ++readers_[v];
      for_each_body(g_.nodes[n], [&](uint32_t body) {
        for (const image::Capture& c : graph.contents.graphs[body].captures) ++readers_[c.outer];
      });
    }
  }

  void run() {
    std::vector<bool> gone(g_.nodes.size());
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      image::Node& node = g_.nodes[n];
      if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == OPTIMA_NONE) continue;
      if (node.op_type == "Pad") look_at(n);
      else if (const size_t pad = maker_[node.inputs[0]]; pad != 0 && take(node, *paddings_[pad - 1])) gone[pad - 1] = --readers_[g_.nodes[pad - 1].outputs[0]] == 0;
    }
    remove_nodes(graph_, index_, gone, "padding");
  }

 private:
  bool is_constant(uint32_t v) const { return g_.values[v].constant != OPTIMA_NONE; }
  const Blob& bytes(uint32_t v) const { return graph_.blobs[graph_.contents.constants[g_.values[v].constant].blob]; }
  bool has_input(const image::Node& node, size_t k) const { return k < node.inputs.size() && node.inputs[k] != OPTIMA_NONE; }

  std::optional<std::vector<int64_t>> integers(uint32_t v) const { return is_constant(v) ? integers_of(graph_, g_.values[v].constant) : std::nullopt; }

  // The amounts in order of axes, from input 1 or, before opset 11, an attribute.
  std::optional<Padding> padding_of(const image::Node& node) const {
    const auto& dims = g_.values[node.inputs[0]].dims;
    const image::Attr *mode = find_attr(node, "mode"), *given = find_attr(node, "pads"), *value = find_attr(node, "value");
    if (!dims || (value && value->f != 0)) return std::nullopt;
    const auto pads = has_input(node, 1) ? integers(node.inputs[1]) : given ? std::optional(given->ints) : std::nullopt;
    const auto axes = has_input(node, 3) ? integers(node.inputs[3]) : std::nullopt;
    const int64_t rank = static_cast<int64_t>(dims->size());
    if (!pads || (has_input(node, 3) && !axes) || pads->size() != 2 * (axes ? axes->size() : dims->size())) return std::nullopt;
    Padding out{node.inputs[0], std::vector<int64_t>(dims->size()), std::vector<int64_t>(dims->size())};
    for (size_t k = 0; 2 * k < pads->size(); ++k) {
      int64_t axis = axes ? (*axes)[k] : static_cast<int64_t>(k);
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank) return std::nullopt;
      out.before[static_cast<size_t>(axis)] = (*pads)[k], out.after[static_cast<size_t>(axis)] = (*pads)[k + pads->size() / 2];
    }
    if (is_nothing(out)) return out;
    if (mode && mode->s != "constant") return std::nullopt;
    if (has_input(node, 2)) out.added = node.inputs[2];
    return out.added == OPTIMA_NONE || is_constant(out.added) ? std::optional(out) : std::nullopt;
  }

  static bool is_nothing(const Padding& p) {
    const auto zero = [](int64_t v) { return v == 0; };
    return std::all_of(p.before.begin(), p.before.end(), zero) && std::all_of(p.after.begin(), p.after.end(), zero);
  }

  void look_at(size_t n) {
    image::Node& node = g_.nodes[n];
    if (node.outputs.size() != 1 || node.outputs[0] == OPTIMA_NONE) return;
    paddings_[n] = padding_of(node);
    if (!paddings_[n]) return;
    if (!is_nothing(*paddings_[n])) {
      maker_[node.outputs[0]] = n + 1;
      return;
    }
    node.op_type = "Identity", node.since_version = 14;  // which drop_identities drops where it can
    node.inputs.resize(1), node.attrs.clear();
  }

  // Whether what is added is the constant `zero` of one element, or zeros where there is none.
  bool adds(const Padding& p, uint32_t zero) const {
    if (zero != OPTIMA_NONE && !is_constant(zero)) return false;
    const std::string_view found = p.added == OPTIMA_NONE ? std::string_view() : text(p.added), wanted = zero == OPTIMA_NONE ? std::string_view() : text(zero);
    const auto zeros = [](std::string_view s) { return s.find_first_not_of('\0') == std::string_view::npos; };
    if (p.added != OPTIMA_NONE && bytes(p.added).data == nullptr) return false;
    return (zeros(found) && zeros(wanted)) || found == wanted;
  }
  std::string_view text(uint32_t v) const { return {reinterpret_cast<const char*>(bytes(v).data), bytes(v).size}; }

  bool adds_the_least(const Padding& p) const {
    if (p.added == OPTIMA_NONE || bytes(p.added).data == nullptr) return false;
    using namespace std::string_view_literals;
    const int32_t dtype = g_.values[p.added].dtype;
    const std::string_view least = dtype == OPTIMA_F32 ? "\0\0\x80\xff"sv : dtype == OPTIMA_F64 ? "\0\0\0\0\0\0\xf0\xff"sv : dtype == OPTIMA_F16 ? "\0\xfc"sv : dtype == OPTIMA_BF16 ? "\x80\xff"sv : ""sv;
    return !least.empty() && text(p.added) == least;
  }

  // Whether an operator reads beyond its border what the Pad adds there.
  bool reads_the_same(const image::Node& node, const Padding& p, bool pads_itself) const {
    const std::string_view op = node.op_type;
    if (op == "Conv") return adds(p, OPTIMA_NONE);
    if (op == "ConvInteger" || op == "QLinearConv") return adds(p, has_input(node, 2) ? node.inputs[2] : OPTIMA_NONE);
    if (int_attr(node, "ceil_mode", 0) != 0) return false;
    if (op == "MaxPool") return adds_the_least(p) && (node.outputs.size() < 2 || node.outputs[1] == OPTIMA_NONE);
    return op == "AveragePool" && adds(p, OPTIMA_NONE) && (!pads_itself || int_attr(node, "count_include_pad", 0) != 0);
  }

  // Elements that the window reaches along each of its axes; empty where it is not known.
  std::vector<int64_t> reach_of(const image::Node& node) const {
    const image::Attr *shape = find_attr(node, "kernel_shape"), *dilations = find_attr(node, "dilations");
    const size_t weights = node.op_type == "QLinearConv" ? 3 : 1;
    std::vector<int64_t> out = shape ? shape->ints : std::vector<int64_t>();
    if (out.empty() && has_input(node, weights) && g_.values[node.inputs[weights]].dims)
      for (size_t d = 2; d < g_.values[node.inputs[weights]].dims->size(); ++d) out.push_back((*g_.values[node.inputs[weights]].dims)[d].value);
    for (size_t d = 0; d < out.size(); ++d) out[d] = (out[d] - 1) * (dilations && d < dilations->ints.size() ? dilations->ints[d] : 1) + 1;
    return out;
  }

  // Makes the padding the node's own.
  bool take(image::Node& node, const Padding& p) {
    const image::Attr *own = find_attr(node, "pads"), *automatic = find_attr(node, "auto_pad");
    const std::vector<int64_t> reach = reach_of(node);
    const size_t axes = reach.size();
    if (p.before.size() != axes + 2 || (automatic && automatic->s != "NOTSET" && automatic->s != "VALID" && !automatic->s.empty())) return false;
    std::vector<int64_t> pads(2 * axes, 0);
    if (own && !own->ints.empty() && (!automatic || automatic->s != "VALID")) pads = own->ints;
    if (pads.size() != 2 * axes) return false;
    const bool pads_itself = std::any_of(pads.begin(), pads.end(), [](int64_t v) { return v != 0; });
    if (p.before[0] || p.before[1] || p.after[0] || p.after[1] || !reads_the_same(node, p, pads_itself)) return false;
    for (size_t d = 0; d < axes; ++d) {
      if (p.before[d + 2] < 0 || p.after[d + 2] < 0) return false;
      pads[d] += p.before[d + 2], pads[d + axes] += p.after[d + 2];
      if (std::max(pads[d], pads[d + axes]) >= reach[d]) return false;
    }
    std::erase_if(node.attrs, [](const image::Attr& a) { return a.name == "pads" || a.name == "auto_pad" || a.name == "count_include_pad"; });
    node.attrs.push_back(ints_attribute("pads", pads));
    if (node.op_type == "AveragePool") node.attrs.push_back(int_attribute("count_include_pad", 1));
    node.inputs[0] = p.from;
    return true;
  }

  Graph& graph_;
  const uint32_t index_;
  image::Graph& g_;
  std::vector<size_t> readers_, maker_;  // by value: how many read it, and the number of the Pad that makes it, from 1
  std::vector<std::optional<Padding>> paddings_;
};

}  // namespace

Status fold_pads(Graph& graph, const OwnOperators& /*own*/) {
  for (uint32_t g = 0; g < graph.contents.graphs.size(); ++g) Folding(graph, g).run();
  tidy(graph);
  return {};
}

}  // namespace optima::passes
