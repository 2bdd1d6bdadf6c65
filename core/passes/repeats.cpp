// SPDX-License-Identifier: Apache-2.0
// core/passes: see repeats.hpp.
#include "core/passes/repeats.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/graph/attributes.hpp"
#include "core/passes/bodies.hpp"
#include "core/passes/constant_values.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

/// What is known of one graph: who makes its values, and integers that are constants.
class View {
 public:
  View(const Graph& graph, uint32_t index) : graph_(graph), g_(graph.contents.graphs[index]), made_by_(g_.values.size()) {
    for (const image::Node& n : g_.nodes)
      for (uint32_t v : n.outputs)
        if (v != OPTIMA_NONE) made_by_[v] = &n;
  }

  /// The node of ONNX's own domain that makes the value; null where another one does, none, or it lacks one of so many inputs.
  const image::Node* made(uint32_t v, std::string_view op, size_t inputs) const {
    const image::Node* n = v == OPTIMA_NONE ? nullptr : made_by_[v];
    if (!n || !n->domain.empty() || n->op_type != op || n->inputs.size() < inputs) return nullptr;
    return std::find(n->inputs.begin(), n->inputs.begin() + static_cast<std::ptrdiff_t>(inputs), OPTIMA_NONE) == n->inputs.begin() + static_cast<std::ptrdiff_t>(inputs) ? n : nullptr;
  }
  std::optional<std::vector<int64_t>> integers(uint32_t v) const {
    if (v == OPTIMA_NONE || g_.values[v].constant == OPTIMA_NONE) return std::nullopt;
    return integers_of(graph_, g_.values[v].constant);
  }
  std::optional<int64_t> integer(uint32_t v) const {
    const auto all = integers(v);
    return all && all->size() == 1 ? std::optional((*all)[0]) : std::nullopt;
  }
  /// A tensor of ones, whatever its size.
  bool is_ones(uint32_t v) const {
    if (const auto known = integers(v)) return std::all_of(known->begin(), known->end(), [](int64_t x) { return x == 1; });
    const image::Node* n = made(v, "ConstantOfShape", 1);
    const image::Attr* value = n ? find_attr(*n, "value") : nullptr;
    const auto one = value && !value->refs.empty() ? integers_of(graph_, value->refs[0]) : std::nullopt;
    return one && *one == std::vector<int64_t>{1};
  }
  uint32_t outer(uint32_t v) const {
    for (const image::Capture& c : g_.captures)
      if (c.inner == v) return c.outer;
    return OPTIMA_NONE;
  }
  const image::Graph& graph() const { return g_; }
  const image::Value& value(uint32_t v) const { return g_.values[v]; }
  /// -1: not known.
  int64_t dim(uint32_t v, size_t d) const { return g_.values[v].dims && d < g_.values[v].dims->size() ? (*g_.values[v].dims)[d].value : -1; }

 private:
  const Graph& graph_;
  const image::Graph& g_;
  std::vector<const image::Node*> made_by_;
};

/// x, how often each of its slices along the axis comes, and as many ones as there are slices.
struct Repeats {
  uint32_t x, counts, ones;
  int64_t axis;
};

/// One Loop, looked at from outside and inside.
class Match {
 public:
  Match(const View& outer, const View& body, const image::Node& loop) : outer_(outer), body_(body), loop_(loop) {}

  std::optional<Repeats> repeats(int64_t axis) const {
    const image::Graph& b = body_.graph();
    if (loop_.inputs.size() != 3 || loop_.outputs.size() != 1 || b.inputs.size() != 3 || b.outputs.size() != 2 || !outer_.made(loop_.inputs[2], "SequenceEmpty", 0) || !goes_on()) return std::nullopt;
    const image::Node* append = body_.made(b.outputs[1], "SequenceInsert", 2);
    const image::Node* merge = append && append->inputs.size() == 2 && append->inputs[0] == b.inputs[2] ? body_.made(append->inputs[1], "Reshape", 2) : nullptr;
    const image::Node* expand = merge ? body_.made(merge->inputs[0], "Expand", 2) : nullptr;
    const image::Node* apart = expand ? body_.made(expand->inputs[0], "Unsqueeze", 2) : nullptr;
    const image::Node* slices = apart ? split_of(apart->inputs[0]) : nullptr;
    if (!slices) return std::nullopt;
    Repeats out{slices->inputs[0], OPTIMA_NONE, slices->inputs[1], int_attr(*slices, "axis", 0)};
    if (!outer_.value(out.x).dims) return std::nullopt;
    const auto rank = static_cast<int64_t>(outer_.value(out.x).dims->size());
    out.axis += out.axis < 0 ? rank : 0, axis += axis < 0 ? rank : 0;
    if (out.axis != axis || axis < 0 || axis >= rank || body_.integer(apart->inputs[1]) != axis + 1) return std::nullopt;
    const image::Node* counts = counts_of(without_minus_one(expand->inputs[1]), out);
    if (!counts || !merges(*merge, out) || int_attr(*counts, "axis", 0) != 0) return std::nullopt;
    out.counts = counts->inputs[0];
    return outer_.value(out.counts).dtype == OPTIMA_I64 && trips(out) ? std::optional(out) : std::nullopt;
  }

 private:
  /// The condition is true, and stays so.
  bool goes_on() const {
    const image::Graph& b = body_.graph();
    const auto is_true = [&](uint32_t outer) { return outer == OPTIMA_NONE || outer_.integer(outer) == 1; };
    uint32_t last = b.outputs[0];
    for (const char* op : {"Cast", "Identity"})
      if (const image::Node* n = body_.made(last, op, 1)) last = n->inputs[0];
    if (!is_true(loop_.inputs[1])) return false;
    if (last == b.inputs[1] || body_.integer(last) == 1) return true;
    const uint32_t outer = body_.outer(last);
    return outer != OPTIMA_NONE && is_true(outer);
  }

  /// The SplitToSequence into slices of size 1 of which this is the one of the trip.
  const image::Node* split_of(uint32_t v) const {
    const image::Node* at = body_.made(v, "SequenceAt", 2);
    const uint32_t sequence = at && at->inputs[1] == body_.graph().inputs[0] ? body_.outer(at->inputs[0]) : OPTIMA_NONE;
    const image::Node* split = outer_.made(sequence, "SplitToSequence", 2);
    return split && outer_.is_ones(split->inputs[1]) ? split : nullptr;
  }

  /// Where -1 stands for 1 the exporter says so element by element: shape, of Where(shape == -1, 1, shape).
  uint32_t without_minus_one(uint32_t v) const {
    const image::Node* where = body_.made(v, "Where", 3);
    const image::Node* equal = where ? body_.made(where->inputs[0], "Equal", 2) : nullptr;
    if (!equal || equal->inputs[0] != where->inputs[2] || !body_.is_ones(where->inputs[1])) return v;
    const image::Node* minus = body_.made(equal->inputs[1], "Mul", 2);
    const auto known = body_.integers(equal->inputs[1]);
    const bool ones_times = minus && body_.is_ones(minus->inputs[0]) && body_.integer(minus->inputs[1]) == -1;
    const bool all_minus = known && std::all_of(known->begin(), known->end(), [](int64_t x) { return x == -1; });
    return ones_times || all_minus ? where->inputs[2] : v;
  }

  /// The split of the counts, where the slice keeps its size along all axes but a new one behind `axis`, along which it comes as often as the count says.
  const image::Node* counts_of(uint32_t shape, const Repeats& r) const {
    const image::Node* parts = body_.made(shape, "Concat", 2);
    if (!parts) return nullptr;
    const image::Node* found = nullptr;
    int64_t at = 0;
    for (const uint32_t part : parts->inputs) {
      if (const image::Node* split = split_of(part)) {
        if (found || at != r.axis + 1) return nullptr;
        found = split, ++at;
        continue;
      }
      const auto sizes = body_.integers(part);
      if (!sizes) return nullptr;
      for (const int64_t size : *sizes) {
        const auto d = static_cast<size_t>(at > r.axis ? at - 1 : at);
        if (size != 1 && size != -1 && (at == r.axis || outer_.dim(r.x, d) != size)) return nullptr;
        ++at;
      }
    }
    return found && at == static_cast<int64_t>(outer_.value(r.x).dims->size()) + 1 ? found : nullptr;
  }

  /// The new axis and the one before it become one.
  bool merges(const image::Node& reshape, const Repeats& r) const {
    const auto sizes = body_.integers(reshape.inputs[1]);
    if (!sizes || sizes->size() != outer_.value(r.x).dims->size() || int_attr(reshape, "allowzero", 0) != 0) return false;
    for (size_t d = 0; d < sizes->size(); ++d)
      if (const int64_t size = (*sizes)[d]; static_cast<int64_t>(d) == r.axis ? size != -1 : size != 0 && size != outer_.dim(r.x, d)) return false;
    return true;
  }

  /// As many trips as there are slices.
  bool trips(const Repeats& r) const {
    uint32_t v = loop_.inputs[0];
    const auto of = [&](uint32_t source, int64_t d) { return (source == r.x && d == r.axis) || (source == r.counts && d == 0) || (source == r.ones && d == 0); };
    for (int hop = 0; hop < 4 && v != OPTIMA_NONE; ++hop) {
      if (const auto known = outer_.integer(v)) return *known == outer_.dim(r.x, static_cast<size_t>(r.axis)) || *known == outer_.dim(r.counts, 0);
      const image::Node *gather = outer_.made(v, "Gather", 2), *shape = gather ? outer_.made(gather->inputs[0], "Shape", 1) : outer_.made(v, "Shape", 1);
      if (shape) {
        const int64_t start = int_attr(*shape, "start", 0);
        if (gather) return start == 0 && of(shape->inputs[0], outer_.integer(gather->inputs[1]).value_or(-1));
        return int_attr(*shape, "end", 0) == start + 1 && of(shape->inputs[0], start);
      }
      const image::Node* next = nullptr;
      for (const char* op : {"Unsqueeze", "Squeeze", "Reshape", "Cast"}) next = next ? next : outer_.made(v, op, 1);
      v = next ? next->inputs[0] : OPTIMA_NONE;
    }
    return false;
  }

  const View &outer_, &body_;
  const image::Node& loop_;
};

std::optional<Repeats> repeats_of(const Graph& graph, const View& view, const image::Node& node) {
  if (!node.domain.empty() || node.op_type != "ConcatFromSequence" || node.inputs.empty() || int_attr(node, "new_axis", 0) != 0) return std::nullopt;
  const image::Node* loop = view.made(node.inputs[0], "Loop", 0);
  uint32_t body = OPTIMA_NONE;
  if (loop) for_each_body(*loop, [&](uint32_t b) { body = b; });
  if (body == OPTIMA_NONE) return std::nullopt;
  const View inside(graph, body);
  return Match(view, inside, *loop).repeats(int_attr(node, "axis", 0));
}

/// Adds the nodes that stand before a Gather; the place of each element of the result is the number of running sums that are not greater.
uint32_t indices(Bodies& bodies, uint32_t index, const std::string& name, const Repeats& r, std::vector<image::Node>& out) {
  const auto number = [&](const char* what, std::vector<int64_t> dims, int64_t v) { return bodies.integers(index, cat(name, "/", what), std::move(dims), {v}); };
  const auto emit = [&](const char* what, const char* op, int32_t since, std::vector<uint32_t> inputs, std::vector<image::Attr> attrs = {}) {
    const uint32_t v = bodies.add(index, cat(name, "/", what), OPTIMA_I64);
    out.push_back(bodies.node(cat(name, "/", what), op, since, std::move(inputs), {v}, std::move(attrs)));
    return v;
  };
  const uint32_t zero = number("axis", {}, 0), first = number("first", {1}, 0);
  // -1 is 1, as the Loop has it; a tensor of as many elements as the least count, where that is negative, is an error of the run.
  const uint32_t minus = number("minus_one", {1}, -1), single = number("single", {1}, 1);
  const uint32_t once = bodies.add(index, cat(name, "/once"), OPTIMA_BOOL);
  out.push_back(bodies.node(cat(name, "/once"), "Equal", 13, {r.counts, minus}, {once}));
  const uint32_t given = emit("given", "Where", 16, {once, single, r.counts});
  const uint32_t below = emit("below", "Min", 13, {emit("least", "ReduceMin", 18, {given, first}), first});
  const uint32_t counts = emit("counts", "Concat", 13, {emit("none", "Expand", 13, {first, below}), given}, {int_attribute("axis", 0)});
  const uint32_t ends = emit("ends", "CumSum", 14, {counts, zero}), total = emit("total", "ReduceSum", 13, {counts, first}), length = emit("length", "Add", 14, {total, single});
  const uint32_t nothing = emit("nothing", "Expand", 13, {first, length});
  image::Attr add;
  add.name = "reduction", add.type = OPTIMA_ATTR_STRING, add.s = "add";
  const uint32_t marks = emit("marks", "ScatterElements", 18, {nothing, ends, r.ones}, {add});
  return emit("indices", "Slice", 13, {emit("places", "CumSum", 14, {marks, zero}), first, total, first});
}

bool restate_in(Graph& graph, uint32_t index, Bodies& bodies) {
  std::vector<std::pair<size_t, Repeats>> found;
  {
    const View view(graph, index);
    for (size_t n = 0; n < view.graph().nodes.size(); ++n)
      if (const auto r = repeats_of(graph, view, view.graph().nodes[n])) found.emplace_back(n, *r);
  }
  if (found.empty()) return false;
  std::vector<image::Node> nodes = std::exchange(graph.contents.graphs[index].nodes, {}), out;
  for (size_t n = 0, k = 0; n < nodes.size(); ++n) {
    if (k < found.size() && found[k].first == n) {
      const Repeats& r = found[k++].second;
      const uint32_t at = indices(bodies, index, nodes[n].name, r, out);
      nodes[n].op_type = "Gather", nodes[n].since_version = 13;
      nodes[n].inputs = {r.x, at}, nodes[n].attrs = {int_attribute("axis", r.axis)};
    }
    out.push_back(std::move(nodes[n]));
  }
  graph.contents.graphs[index].nodes = std::move(out);
  return true;
}

}  // namespace

bool restate_repeats(Graph& graph) {
  Bodies bodies(graph);
  bool any = false;
  for (uint32_t g = 0; g < graph.contents.graphs.size(); ++g) any |= restate_in(graph, g, bodies);
  return any;
}

}  // namespace optima::passes
