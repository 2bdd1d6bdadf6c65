// SPDX-License-Identifier: Apache-2.0
// core/passes: branches that are always taken.
#include "core/passes/choose_branches.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/flow/node.hpp"
#include "core/onnx_io/type_inference.hpp"
#include "core/passes/constant_values.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

// One graph whose Ifs are replaced, from the first node to the last: what a branch brings is looked at in its turn.
class Chooser {
 public:
  Chooser(Graph& graph, uint32_t index) : graph_(graph), index_(index), g_(graph.contents.graphs[index]) {}

  bool run() {
    std::vector<image::Node> rest = std::exchange(g_.nodes, {});
    std::reverse(rest.begin(), rest.end());  // the next one is the last
    while (!rest.empty()) {
      image::Node node = std::move(rest.back());
      rest.pop_back();
      if (const std::optional<Choice> choice = choice_of(node)) replace(node, *choice, rest);
      else keep(std::move(node));
    }
    for (uint32_t& v : g_.outputs) v = now(v);
    return any_;
  }

 private:
  struct Choice {
    uint32_t taken, other;  // bodies
  };

  // What stands for a value of this graph: another one, where a branch only hands that through.
  uint32_t now(uint32_t v) const { return v < stands_for_.size() ? stands_for_[v] : v; }
  void stand_for(uint32_t v, uint32_t other) {
    while (stands_for_.size() <= v) stands_for_.push_back(static_cast<uint32_t>(stands_for_.size()));
    stands_for_[v] = other;
  }

  void keep(image::Node node) {
    for (uint32_t& v : node.inputs) v = now(v);
    for_each_body(node, [&](uint32_t body) {
      for (image::Capture& c : graph_.contents.graphs[body].captures) c.outer = now(c.outer);
    });
    g_.nodes.push_back(std::move(node));
  }

  std::optional<Choice> choice_of(const image::Node& node) const {
    if (flow_op(node) != FlowOp::If || node.inputs.size() != 1) return std::nullopt;
    const std::optional<bool> condition = onnx_io::known_condition(graph_, g_.values[now(node.inputs[kBranchCondition])]);
    const std::vector<const image::Attr*> branches = bodies_in_order(node, FlowOp::If);
    if (!condition || !branches[0] || !branches[1]) return std::nullopt;
    uint32_t taken = branches[0]->refs[0], other = branches[1]->refs[0];
    if (!*condition) std::swap(taken, other);
    return has_nodes_for_outputs(node, graph_.contents.graphs[taken]) ? std::optional<Choice>({taken, other}) : std::nullopt;
  }

  // Values that a branch makes, each once, and constants.
  bool has_nodes_for_outputs(const image::Node& node, const image::Graph& branch) const {
    if (node.outputs.size() != branch.outputs.size() || !branch.inputs.empty()) return false;
    if (index_ != 0) return true;
    std::vector<uint8_t> given(branch.values.size(), 0);
    for (const image::Capture& c : branch.captures) given[c.inner] = 1;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const uint32_t v = branch.outputs[k];
      const bool is_end = std::find(g_.outputs.begin(), g_.outputs.end(), node.outputs[k]) != g_.outputs.end();
      if (is_end && given[v] && branch.values[v].constant == OPTIMA_NONE) return false;
      if (node.outputs[k] != OPTIMA_NONE) given[v] = 1;
    }
    return true;
  }

  void replace(const image::Node& node, const Choice& choice, std::vector<image::Node>& rest) {
    graph_.folded.push_back({node.name, node.op_type, "constant condition"});
    for (const image::Node& never : graph_.contents.graphs[choice.other].nodes) note_gone(graph_, never, "branch never taken");
    drop(choice.other);
    image::Graph branch = std::exchange(graph_.contents.graphs[choice.taken], {});
    const std::vector<uint32_t> values = take_values(node, branch);
    for (size_t n = branch.nodes.size(); n-- > 0;) {
      image::Node& inner = branch.nodes[n];
      for (auto* list : {&inner.inputs, &inner.outputs})
        for (uint32_t& v : *list) v = v == OPTIMA_NONE ? v : values[v];
      for_each_body(inner, [&](uint32_t body) {
        for (image::Capture& c : graph_.contents.graphs[body].captures) c.outer = values[c.outer];
      });
      rest.push_back(std::move(inner));
    }
    any_ = true;
  }

  // A branch that never runs, with the bodies in it.
  void drop(uint32_t body) {
    const image::Graph gone = std::exchange(graph_.contents.graphs[body], {});
    for (const image::Node& node : gone.nodes) for_each_body(node, [&](uint32_t inner) { drop(inner); });
  }

  // By value of the branch: the value of this graph that it is now.
  std::vector<uint32_t> take_values(const image::Node& node, image::Graph& branch) {
    std::vector<uint32_t> out(branch.values.size(), OPTIMA_NONE);
    for (const image::Capture& c : branch.captures) out[c.inner] = now(c.outer);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const uint32_t v = branch.outputs[k], o = node.outputs[k];
      if (o == OPTIMA_NONE) continue;
      if (out[v] != OPTIMA_NONE && branch.values[v].constant == OPTIMA_NONE) {
        stand_for(o, out[v]);
        continue;
      }
      be(g_.values[o], branch.values[v]);
      if (out[v] == OPTIMA_NONE) out[v] = o;
    }
    for (uint32_t v = 0; v < out.size(); ++v)
      if (out[v] == OPTIMA_NONE) out[v] = add(std::move(branch.values[v]));
    return out;
  }

  // The If's output is what the branch gives; where the model says of a dim what the branch does not, that stands.
  static void be(image::Value& output, const image::Value& given) {
    image::Value made = given;
    made.name = output.name;
    if (made.constant == OPTIMA_NONE && made.dims && output.dims && made.dims->size() == output.dims->size())
      for (size_t d = 0; d < made.dims->size(); ++d)
        if (const image::Dim& said = (*output.dims)[d]; (*made.dims)[d].value < 0 && (said.value >= 0 || !said.symbol.empty())) (*made.dims)[d] = said;
    if (made.constant == OPTIMA_NONE && !made.dims) made.dims = output.dims;
    if (made.dtype == OPTIMA_UNDEFINED) made.kind = output.kind, made.dtype = output.dtype;
    output = std::move(made);
  }

  uint32_t add(image::Value value) {
    if (names_.empty())
      for (uint32_t v = 0; v < g_.values.size(); ++v) {
        names_.insert(g_.values[v].name);
        if (g_.values[v].constant != OPTIMA_NONE) constants_.emplace(g_.values[v].constant, v);
      }
    if (const auto known = constants_.find(value.constant); known != constants_.end()) return known->second;  // captured from here once
    const std::string wanted = value.name;
    for (int k = 2; !names_.insert(value.name).second; ++k) value.name = cat(wanted, "_", k);
    const auto index = static_cast<uint32_t>(g_.values.size());
    if (value.constant != OPTIMA_NONE) constants_.emplace(value.constant, index);
    g_.values.push_back(std::move(value));
    return index;
  }

  Graph& graph_;
  const uint32_t index_;
  image::Graph& g_;
  std::vector<uint32_t> stands_for_;        // by value
  std::unordered_set<std::string> names_;   // of its values; filled when the first is needed, like
  std::unordered_map<uint32_t, uint32_t> constants_;  // its values by their constant
  bool any_ = false;
};

}  // namespace

bool choose_branches(Graph& graph) {
  bool any = false;
  // A body stands behind the graph of its node: what moves outwards is looked at again where it comes to stand.
  for (uint32_t index = 0; index < graph.contents.graphs.size(); ++index) any |= Chooser(graph, index).run();
  return any;
}

}  // namespace optima::passes
