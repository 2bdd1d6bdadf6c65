// SPDX-License-Identifier: Apache-2.0
// core/passes: sequences become tensors, walk by walk.
#include "core/passes/resolve_sequences.hpp"

#include <algorithm>
#include <utility>

#include "core/passes/constant_values.hpp"
#include "core/passes/drop_dead_nodes.hpp"
#include "core/passes/fold_shapes.hpp"
#include "core/passes/repeats.hpp"
#include "core/passes/sequence_resolver.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

bool is_tensor_like(uint32_t kind) { return kind != OPTIMA_KIND_SEQUENCE && kind != OPTIMA_KIND_OPTIONAL; }

bool has_sequences(const Graph& graph) {
  for (const image::Graph& g : graph.contents.graphs) {
    if (!std::all_of(g.values.begin(), g.values.end(), [](const image::Value& v) { return is_tensor_like(v.kind); })) return true;
    // An OptionalHasElement of nothing reads no such value.
    if (std::any_of(g.nodes.begin(), g.nodes.end(), [](const image::Node& n) { return n.domain.empty() && n.op_type.starts_with("Optional"); })) return true;
  }
  return false;
}

// Has its output, and the inputs that it cannot do without.
bool is_whole(const image::Node& node) {
  if (node.outputs.empty() || node.outputs[0] == OPTIMA_NONE) return false;
  if (node.op_type == "SequenceConstruct" || node.op_type == "SequenceMap") return std::find(node.inputs.begin(), node.inputs.end(), OPTIMA_NONE) == node.inputs.end();
  const bool none = node.op_type == "SequenceEmpty" || node.op_type.starts_with("Optional");
  const size_t wanted = none ? 0 : node.op_type == "SequenceAt" || node.op_type == "SequenceInsert" ? 2 : 1;
  if (node.inputs.size() < wanted) return false;
  return std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(wanted), OPTIMA_NONE) == node.inputs.begin() + static_cast<std::ptrdiff_t>(wanted);
}

// One walk, and what it leaves folded again. True when something changed.
Result<bool> step(Graph& graph, const OwnOperators& own, Reasons& reasons, std::vector<std::string>* assumed) {
  reasons.clear();
  Bodies bodies(graph);
  const bool changed = SequenceResolver(graph, bodies, 0, {}, reasons, assumed).run();
  OPTIMA_RETURN_IF_ERROR(drop_dead_nodes(graph, own));
  if (changed) OPTIMA_RETURN_IF_ERROR(fold_shapes(graph, own));
  return changed;
}

}  // namespace

Status resolve_sequences(Graph& graph, const OwnOperators& own) {
  if (!has_sequences(graph)) return {};
  if (restate_repeats(graph)) {
    OPTIMA_RETURN_IF_ERROR(drop_dead_nodes(graph, own));
    OPTIMA_RETURN_IF_ERROR(fold_shapes(graph, own));
  }
  Reasons reasons;
  for (bool changed = true; changed;) {
    OPTIMA_ASSIGN(changed, step(graph, own, reasons, nullptr));
    if (changed) continue;
    // What a Loop carries has shapes only once it carries no sequence: tried out on a copy.
    Graph tried = graph;
    std::vector<std::string> assumed;
    Reasons others;
    OPTIMA_ASSIGN(changed, step(tried, own, others, &assumed));
    changed = changed && are_of_one_shape(tried, assumed);
    if (changed) graph = std::move(tried);
  }
  for (const auto& [node, why] : reasons) log(LogLevel::Warn, "passes", cat("node ", quote(node), " ", why));
  return {};
}

SequenceResolver::SequenceResolver(Graph& graph, Bodies& bodies, uint32_t index, Sequences known, Reasons& reasons, std::vector<std::string>* assumed)
    : graph_(graph), bodies_(bodies), index_(index), known_(std::move(known)), reasons_(reasons), assumed_(assumed), uses_(uses_of(graph, index)), is_output_(here().values.size()) {
  for (uint32_t v : here().outputs) is_output_[v] = true;
}

bool SequenceResolver::run() {
  std::vector<image::Node> nodes = std::exchange(here().nodes, {});
  for (const image::Node& node : nodes) {
    ops_.push_back(node.domain.empty() ? node.op_type : "");
    stackers_.push_back(ops_.back() == "ConcatFromSequence" && int_attr(node, "new_axis", 0) != 0);
  }
  for (image::Node& node : nodes) visit(std::move(node));
  if (index_ == 0) changed_ |= expand_outputs();
  here().nodes = std::move(made_);
  return changed_;
}

const Sequence* SequenceResolver::find(uint32_t v) const {
  const auto known = known_.find(v);
  return known == known_.end() ? nullptr : &known->second;
}
const Sequence* SequenceResolver::output(size_t k) const { return find(here().outputs[k]); }

std::optional<int64_t> SequenceResolver::constant(uint32_t v) const {
  const auto all = v == OPTIMA_NONE || value(v).constant == OPTIMA_NONE ? std::nullopt : integers_of(graph_, value(v).constant);
  return all && all->size() == 1 ? std::optional((*all)[0]) : std::nullopt;
}

std::optional<size_t> SequenceResolver::rank(uint32_t v) const { return value(v).dims ? std::optional(value(v).dims->size()) : std::nullopt; }

// Bodies first: what an If gives is what its branches make. A body knows of what it captures what is known here.
void SequenceResolver::walk_bodies(const image::Node& node, BodyWalks& walks) {
  for_each_body(node, [&](uint32_t body) {
    Sequences inside;
    const std::vector<image::Capture> captures = bodies_.at(body).captures;
    for (const image::Capture& c : captures) {
      const Sequence* s = find(c.outer);
      if (!s) continue;
      Sequence inner = *s;
      for (uint32_t& v : inner.elements) v = bodies_.captured(index_, v, body);
      if (inner.whole != OPTIMA_NONE) inner.whole = bodies_.captured(index_, inner.whole, body);
      inside.emplace(c.inner, std::move(inner));
    }
    SequenceResolver& walk = walks.emplace(body, SequenceResolver(graph_, bodies_, body, std::move(inside), reasons_, assumed_)).first->second;
    changed_ |= walk.run();
    stays_ |= walk.stays();
  });
}

void SequenceResolver::visit(image::Node node) {
  BodyWalks walks;
  if (!(node.domain.empty() && node.op_type == "SequenceMap")) walk_bodies(node, walks);
  if (node.domain.empty() && resolve(node, walks)) changed_ = true;
  else put(std::move(node));
}

bool SequenceResolver::stay(const image::Node& node, std::string why) {
  reasons_.try_emplace(node.name, cat("(", node.op_type, ") stays, which no device may take: ", why));
  stays_ = true;
  return false;
}

bool SequenceResolver::resolve(image::Node& node, const BodyWalks& walks) {
  const std::string& op = node.op_type;
  if (op == "If") return branches(node, walks);
  if (op == "Loop") return loop(node, walks);
  if (!is_whole(node)) return false;
  if (op == "SequenceConstruct") return known_.insert_or_assign(node.outputs[0], Sequence::list(node.inputs)), false;
  if (op == "SequenceEmpty") return known_.insert_or_assign(node.outputs[0], Sequence::list({})), false;
  if (op == "Identity") {
    if (const Sequence* s = find(node.inputs[0])) known_.insert_or_assign(node.outputs[0], Sequence(*s));
    return false;
  }
  if (op == "SplitToSequence") return split(node);
  if (op == "SequenceInsert" || op == "SequenceErase") return change(node);
  if (op == "Optional" || op == "OptionalHasElement" || op == "OptionalGetElement") return optional(node);
  if (op == "SequenceAt") return at(node);
  if (op == "SequenceLength") return length(node);
  if (op == "ConcatFromSequence") return concat(node);
  if (op == "SequenceMap") return map(node);
  return false;
}

void SequenceResolver::become(image::Node& node, std::string op, int32_t version, std::vector<uint32_t> inputs, std::vector<image::Attr> attrs) {
  node.op_type = std::move(op);
  node.since_version = version;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  put(std::move(node));
}

// A node in front of the one that `of` becomes, and the value that it makes.
uint32_t SequenceResolver::emit(const image::Node& of, std::string op, int32_t version, std::vector<uint32_t> inputs, std::vector<image::Attr> attrs, int32_t dtype) {
  const std::string name = cat(of.name, "/", op);
  const uint32_t v = bodies_.add(index_, name, dtype);
  put(bodies_.node(name, std::move(op), version, std::move(inputs), {v}, std::move(attrs)));
  return v;
}

// The sequence `output` of these elements, for whoever still reads it as one.
void SequenceResolver::emit_list(const image::Node& of, std::vector<uint32_t> elements, uint32_t output) {
  known_.insert_or_assign(output, Sequence::list(elements));
  const std::string name = cat(of.name, "/sequence");
  const bool optional = value(output).kind == OPTIMA_KIND_OPTIONAL;
  uint32_t list = output;
  if (optional) {
    image::Value type = value(output);
    type.name = cat(type.name, "/sequence");
    type.kind = OPTIMA_KIND_SEQUENCE;
    list = bodies_.add(index_, std::move(type));
  }
  if (elements.empty()) put(bodies_.node(name, "SequenceEmpty", 11, {}, {list}, {int_attribute("dtype", value(output).dtype)}));
  else put(bodies_.node(name, "SequenceConstruct", 11, std::move(elements), {list}));
  if (optional) put(bodies_.node(cat(of.name, "/optional"), "Optional", 15, {list}, {output}));
}

}  // namespace optima::passes
