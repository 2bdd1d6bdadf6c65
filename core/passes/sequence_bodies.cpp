// SPDX-License-Identifier: Apache-2.0
// core/passes: nodes whose bodies handle sequences, and outputs of the model that are sequences.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/flow/node.hpp"
#include "core/onnx_io/type_inference.hpp"
#include "core/passes/constant_values.hpp"
#include "core/passes/sequence_resolver.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

constexpr int64_t kMostTrips = 64;
constexpr size_t kMostNodes = 4096;     // that copies of one body add
constexpr size_t kMostInAll = 100'000;  // in the model, for bodies in bodies

constexpr char kAppended[] = "/appended";  // behind a sequence's name: all its tensors in one

bool is_other(const image::Value& v) { return v.kind == OPTIMA_KIND_SEQUENCE || v.kind == OPTIMA_KIND_OPTIONAL; }

bool is_plain(const image::Node& node, std::string_view op) { return node.domain.empty() && node.op_type == op; }

// The only body; null when there is none.
const image::Attr* body_of(const image::Node& node) {
  for (const image::Attr& a : node.attrs)
    if (a.name == "body" && a.type == OPTIMA_ATTR_GRAPH) return &a;
  return nullptr;
}

// What a value is before it went through Identities.
uint32_t origin_of(const image::Graph& g, uint32_t v) {
  for (size_t n = g.nodes.size(); n-- > 0;)
    if (is_plain(g.nodes[n], "Identity") && g.nodes[n].outputs[0] == v) v = g.nodes[n].inputs[0];
  return v;
}

// Sizes that no trip of a Loop changes: numbers, and those of the model's inputs.
bool is_lasting(const Graph& graph, const image::Dim& d) {
  if (d.value >= 0) return true;
  if (d.symbol.empty()) return false;
  const image::Graph& main = graph.main();
  return std::any_of(main.inputs.begin(), main.inputs.end(), [&](uint32_t v) {
    const auto& dims = main.values[v].dims;
    return dims && std::any_of(dims->begin(), dims->end(), [&](const image::Dim& other) { return other.symbol == d.symbol; });
  });
}

bool is_lasting(const Graph& graph, const image::Value& v, std::ptrdiff_t from = 0) {
  return v.dims && std::all_of(v.dims->begin() + from, v.dims->end(), [&](const image::Dim& d) { return is_lasting(graph, d); });
}

// Takes out the nodes that read a sequence, and those that read what these make of it.
void drop_readers(image::Graph& g, uint32_t sequence) {
  std::vector<uint32_t> gone = {sequence};
  std::erase_if(g.nodes, [&](const image::Node& node) {
    if (node.inputs.empty() || std::find(gone.begin(), gone.end(), node.inputs[0]) == gone.end()) return false;
    gone.push_back(node.outputs[0]);
    return true;
  });
}

bool may_copy(int64_t times, size_t nodes, size_t already) {
  return times <= kMostTrips && static_cast<size_t>(times) * nodes <= kMostNodes && already <= kMostInAll;
}

}  // namespace

bool are_of_one_shape(const Graph& graph, const std::vector<std::string>& stacked) {
  std::unordered_set<std::string_view> open(stacked.begin(), stacked.end());
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Value& v : g.values)
      if (open.count(v.name) && v.dims && !v.dims->empty() && is_lasting(graph, v, 1)) open.erase(v.name);
  return open.empty();
}

// Its body for each element of a list; tensors beside it are the same for all.
bool SequenceResolver::map(image::Node& node) {
  const image::Attr* body = body_of(node);
  if (!body || node.inputs.empty()) return stay(node, "it has no body");
  const uint32_t inner = body->refs[0];
  std::vector<const Sequence*> inputs;
  for (uint32_t v : node.inputs) {
    const Sequence* s = find(v);
    if (value(v).kind != OPTIMA_KIND_TENSOR && (!s || s->kind != Sequence::Kind::List))
      return stay(node, cat("how many tensors are in ", quote(name_of(v)), " does not follow from the model"));
    inputs.push_back(value(v).kind == OPTIMA_KIND_TENSOR ? nullptr : s);
  }
  if (!inputs[0]) return stay(node, "its first input is no sequence");
  const size_t count = inputs[0]->elements.size();
  for (const Sequence* s : inputs)
    if (s && s->elements.size() != count) return stay(node, cat("its inputs are sequences of ", count, " and of ", s->elements.size()));
  if (bodies_.at(inner).inputs.size() != inputs.size() || bodies_.at(inner).outputs.size() != node.outputs.size()) return stay(node, "its body has other inputs or outputs");
  if (!may_copy(static_cast<int64_t>(count), bodies_.nodes_in(inner), bodies_.nodes())) return stay(node, cat("a body for each of ", count, " tensors would be too many nodes"));
  std::vector<std::vector<uint32_t>> lists(node.outputs.size());
  for (size_t k = 0; k < count; ++k) {
    std::vector<uint32_t> given;
    for (size_t i = 0; i < inputs.size(); ++i) given.push_back(inputs[i] ? inputs[i]->elements[k] : node.inputs[i]);
    const std::vector<uint32_t> outputs = bodies_.inline_body(index_, inner, given, cat("/", k), made_);
    for (size_t o = 0; o < outputs.size(); ++o) lists[o].push_back(outputs[o]);
  }
  note_gone(graph_, node, "unrolled");
  for (size_t o = 0; o < lists.size(); ++o)
    if (node.outputs[o] != OPTIMA_NONE) emit_list(node, std::move(lists[o]), node.outputs[o]);
  return true;
}

// Where both branches make lists of one length, or an optional's tensor, the If has an output for each tensor.
bool SequenceResolver::branches(image::Node& node, const BodyWalks& walks) {
  const std::vector<const image::Attr*> attrs = bodies_in_order(node, FlowOp::If);
  if (!attrs[0] || !attrs[1]) return false;
  const uint32_t sides[] = {attrs[0]->refs[0], attrs[1]->refs[0]};
  for (uint32_t side : sides)
    if (bodies_.at(side).outputs.size() != node.outputs.size()) return false;
  size_t chosen = node.outputs.size();
  for (size_t k = 0; k < node.outputs.size() && chosen == node.outputs.size(); ++k)
    if (node.outputs[k] != OPTIMA_NONE && is_other(value(node.outputs[k]))) chosen = k;
  if (chosen == node.outputs.size()) return false;
  const Sequence *a = walks.at(sides[0]).output(chosen), *b = walks.at(sides[1]).output(chosen);
  const uint32_t old = node.outputs[chosen];
  if (!a || !b || a->kind != b->kind || a->elements.size() != b->elements.size() || a->kind == Sequence::Kind::Slices || a->kind == Sequence::Kind::Absent)
    return stay(node, cat("its branches give ", quote(name_of(old)), " another number of tensors, or one that does not follow from the model"));
  const bool single = a->kind == Sequence::Kind::Tensor;
  const size_t count = single ? 1 : a->elements.size();
  const auto place = static_cast<std::ptrdiff_t>(chosen);
  for (const Sequence* s : {a, b}) {
    const uint32_t side = sides[s == a ? 0 : 1];
    std::vector<uint32_t> tensors;
    for (size_t k = 0; k < count; ++k) {
      const uint32_t from = single ? s->whole : s->elements[k];
      const uint32_t to = bodies_.add(side, cat(bodies_.value(side, bodies_.at(side).outputs[chosen]).name, "[", k, "]"), bodies_.value(side, from).dtype);
      image::Node identity = bodies_.node(cat(node.name, "/Identity"), "Identity", 21, {from}, {to});
      bodies_.at(side).nodes.push_back(std::move(identity));
      tensors.push_back(to);
    }
    std::vector<uint32_t>& outputs = bodies_.at(side).outputs;
    outputs.erase(outputs.begin() + place);
    outputs.insert(outputs.begin() + place, tensors.begin(), tensors.end());
  }
  std::vector<uint32_t> tensors;
  for (size_t k = 0; k < count; ++k) tensors.push_back(bodies_.add(index_, cat(name_of(old), "[", k, "]"), value(old).dtype));
  node.outputs.erase(node.outputs.begin() + place);
  node.outputs.insert(node.outputs.begin() + place, tensors.begin(), tensors.end());
  const image::Node of = node;
  put(std::move(node));
  if (single) put(bodies_.node(cat(of.name, "/optional"), "Optional", 15, {tensors[0]}, {old}));
  else emit_list(of, std::move(tensors), old);
  return true;
}

bool SequenceResolver::loop(image::Node& node, const BodyWalks& walks) {
  const image::Attr* body = body_of(node);
  const FlowSignature signature = signature_of(node, FlowOp::Loop);
  if (!body || !signature.fits() || node.inputs.size() != signature.inputs || node.outputs.size() != signature.outputs) return false;
  if (bodies_.at(body->refs[0]).inputs.size() != signature.body_inputs() || bodies_.at(body->refs[0]).outputs.size() != signature.body_outputs()) return false;
  if (std::find(node.inputs.begin() + kLoopInputsAhead, node.inputs.end(), OPTIMA_NONE) != node.inputs.end()) return false;
  const auto other = [&](uint32_t v) { return v != OPTIMA_NONE && is_other(value(v)); };
  const bool carries = std::any_of(node.inputs.begin(), node.inputs.end(), other) || std::any_of(node.outputs.begin(), node.outputs.end(), other);
  if (!carries && !walks.at(body->refs[0]).stays()) return false;
  const std::optional<int64_t> count = trips(node);
  const bool scans = node.outputs.size() + kLoopInputsAhead > node.inputs.size();
  if (count && may_copy(*count, bodies_.nodes_in(body->refs[0]), bodies_.nodes()) && (*count > 0 || !scans)) return unroll(node, *count), true;
  if (carries) return gather_appended(node);
  return stay(node, "how often it runs does not follow from the model, or is too often to have its body for each trip");
}

std::optional<int64_t> SequenceResolver::trips(const image::Node& node) const {
  const image::Graph& body = graph_.contents.graphs[body_of(node)->refs[0]];
  const uint32_t condition = node.inputs[kLoopCondition], next = origin_of(body, body.outputs[kGoesOnNext]);
  const std::optional<int64_t> go = condition == OPTIMA_NONE ? 1 : constant(condition), most = constant(node.inputs[kTripCount]);
  if (go == 0) return 0;
  const auto always = [&] {
    const std::optional<bool> known = onnx_io::known_condition(graph_, body.values[next]);
    return next == body.inputs[kGoesOn] || (known && *known);
  };
  return go && most && always() ? std::optional(std::max<int64_t>(0, *most)) : std::nullopt;
}

void SequenceResolver::unroll(const image::Node& node, int64_t trips) {
  const uint32_t body = body_of(node)->refs[0];
  std::vector<uint32_t> carried(node.inputs.begin() + kLoopInputsAhead, node.inputs.end());
  std::vector<std::vector<uint32_t>> pieces(node.outputs.size() - carried.size());
  const uint32_t goes_on = bodies_.truth(index_, cat(node.name, "/goes_on"));
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<uint32_t> given = {bodies_.integers(index_, cat(node.name, "/trip"), {}, {trip}), goes_on};
    given.insert(given.end(), carried.begin(), carried.end());
    const std::vector<uint32_t> outputs = bodies_.inline_body(index_, body, given, cat("/", trip), made_);
    for (size_t k = 0; k < carried.size(); ++k) carried[k] = outputs[kLoopOutputsAhead + k];
    for (size_t k = 0; k < pieces.size(); ++k) pieces[k].push_back(outputs[kLoopOutputsAhead + carried.size() + k]);
  }
  note_gone(graph_, node, "unrolled");
  const auto hand_on = [&](uint32_t from, uint32_t to) {
    if (to != OPTIMA_NONE) put(bodies_.node(cat(node.name, "/Identity"), "Identity", 21, {from}, {to}));
  };
  for (size_t k = 0; k < carried.size(); ++k) hand_on(carried[k], node.outputs[k]);
  for (size_t k = 0; k < pieces.size(); ++k)
    if (node.outputs[carried.size() + k] != OPTIMA_NONE) hand_on(stacked(node, pieces[k], 0), node.outputs[carried.size() + k]);
}

// Empty, and the value of the body that each trip appends to the carried sequence number `k`; or why it is not as a scan output would be.
std::string SequenceResolver::why_not_appended(const image::Node& node, size_t k, uint32_t& element) {
  const uint32_t index = body_of(node)->refs[0], out = node.outputs[k];
  const image::Graph& body = bodies_.at(index);
  const Uses uses = uses_of(graph_, index);
  const Sequence* before = find(node.inputs[kLoopInputsAhead + k]);
  if (!before || before->kind != Sequence::Kind::List) return "what it begins with does not follow from the model";
  const uint32_t in = body.inputs[kLoopInputsAhead + k], last = origin_of(body, body.outputs[kLoopOutputsAhead + k]);
  if (uses.producer[last] == Uses::kNone) return "its trips may leave it as it is";
  const image::Node& insert = body.nodes[uses.producer[last]];
  const bool at_end = insert.inputs.size() < 3 || insert.inputs[2] == OPTIMA_NONE;
  if (!is_plain(insert, "SequenceInsert") || !at_end || origin_of(body, insert.inputs[0]) != in) return "a trip does more than to append one tensor to it";
  for (uint32_t v = body.outputs[kLoopOutputsAhead + k]; v != in; v = body.nodes[uses.producer[v]].inputs[0])
    if (uses.consumers[v].size() + static_cast<size_t>(std::count(body.outputs.begin(), body.outputs.end(), v)) > 1) return "its trips read it";
  if (uses.consumers[in].size() > 1 || std::count(body.outputs.begin(), body.outputs.end(), in) > 0) return "its trips read it";
  element = insert.inputs[1];
  // What puts them together along a new axis wants one shape of them in any case.
  const std::vector<uint32_t> none, &readers = out == OPTIMA_NONE ? none : uses_.consumers[out];
  if (out == OPTIMA_NONE || std::any_of(readers.begin(), readers.end(), [&](uint32_t n) { return stackers_[n]; })) return "";
  const image::Value& appended = body.values[element];
  if (before->elements.empty() ? is_lasting(graph_, appended) : is_of_shape(appended, before->elements)) return "";
  if (assumed_ && before->elements.empty()) return assumed_->push_back(cat(name_of(out), kAppended)), "";
  return cat("the tensors that it appends, ", quote(appended.name), ", need not have one shape");
}

bool SequenceResolver::is_of_shape(const image::Value& v, const std::vector<uint32_t>& elements) const {
  return v.dims && std::all_of(elements.begin(), elements.end(), [&](uint32_t e) { return same_sizes(v, value(e)); });
}

// A carried sequence that each trip appends one tensor to is a scan output of the Loop.
bool SequenceResolver::gather_appended(image::Node& node) {
  std::string why = "it has more sequences than it is given";
  for (size_t k = 0; k + kLoopInputsAhead < node.inputs.size(); ++k) {
    if (!is_other(value(node.inputs[kLoopInputsAhead + k]))) continue;
    uint32_t element = OPTIMA_NONE;
    why = why_not_appended(node, k, element);
    if (!why.empty()) {
      why = cat("how often it runs does not follow from the model, and of the sequence ", quote(name_of(node.inputs[kLoopInputsAhead + k])), " ", why);
      continue;
    }
    append(node, k, element);
    return true;
  }
  return stay(node, why);
}

void SequenceResolver::append(image::Node& node, size_t k, uint32_t element) {
  const uint32_t index = body_of(node)->refs[0], old = node.outputs[k];
  const std::vector<uint32_t> before = find(node.inputs[kLoopInputsAhead + k])->elements;
  const auto at = static_cast<std::ptrdiff_t>(k);
  const uint32_t piece = bodies_.add(index, cat(bodies_.value(index, element).name, "/appended"), bodies_.value(index, element).dtype);
  image::Node identity = bodies_.node(cat(node.name, "/appended"), "Identity", 21, {element}, {piece});
  image::Graph& body = bodies_.at(index);
  const uint32_t gone = body.inputs[kLoopInputsAhead + k];
  body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(kLoopOutputsAhead) + at);
  body.inputs.erase(body.inputs.begin() + static_cast<std::ptrdiff_t>(kLoopInputsAhead) + at);
  drop_readers(body, gone);
  body.nodes.push_back(std::move(identity));
  body.outputs.push_back(piece);
  node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(kLoopInputsAhead) + at);
  node.outputs.erase(node.outputs.begin() + at);
  const int32_t dtype = bodies_.value(index, element).dtype;
  uint32_t all = bodies_.add(index_, old == OPTIMA_NONE ? cat(node.name, "/appended") : cat(name_of(old), kAppended), dtype);
  node.outputs.push_back(all);
  const image::Node of = node;
  put(std::move(node));
  if (old == OPTIMA_NONE) return;
  if (!before.empty()) all = emit(of, "Concat", 13, {stacked(of, before, 0), all}, {int_attribute("axis", 0)}, dtype);
  put(bodies_.node(cat(of.name, "/sequence"), "SplitToSequence", 11, {all}, {old}, {int_attribute("axis", 0), int_attribute("keepdims", 0)}));
}

bool SequenceResolver::expand_outputs() {
  std::vector<uint32_t> outputs;
  for (uint32_t v : std::vector<uint32_t>(here().outputs)) {
    if (is_other(value(v)) && find(v) && expand_output(v, outputs)) continue;
    outputs.push_back(v);
    if (!is_other(value(v))) continue;
    for (const image::Node& node : made_)
      if (std::find(node.outputs.begin(), node.outputs.end(), v) != node.outputs.end()) stay(node, cat("how many tensors are in output ", quote(name_of(v)), " does not follow from the model, or they have not one shape"));
  }
  const bool any = outputs != here().outputs;
  here().outputs = std::move(outputs);
  return any;
}

// A value of that name which is the tensor.
uint32_t SequenceResolver::named_output(const std::string& name, uint32_t tensor) {
  bodies_.free_name(index_, name);
  const uint32_t v = bodies_.add(index_, name, value(tensor).dtype);
  put(bodies_.node(cat(name, "/output"), "Identity", 21, {tensor}, {v}));
  return v;
}

bool SequenceResolver::expand_output(uint32_t v, std::vector<uint32_t>& outputs) {
  const Sequence s = *find(v);
  const std::string name = name_of(v);
  if (s.kind == Sequence::Kind::List) {
    for (size_t k = 0; k < s.elements.size(); ++k) outputs.push_back(named_output(cat(name, "[", k, "]"), s.elements[k]));
  } else if (s.kind == Sequence::Kind::Tensor) {
    outputs.push_back(named_output(name, s.whole));
  } else if (s.kind == Sequence::Kind::Absent) {
    log(LogLevel::Warn, "passes", cat("output ", quote(name), " is an optional that has nothing: it is left out"));
  } else {
    if (s.step > 1 || ((s.keeps || s.axis != 0) && !rank(s.whole))) return false;
    image::Node stack = bodies_.node(cat(name, "/stacked"), "ConcatFromSequence", 11, {v}, {bodies_.add(index_, cat(name, "/stacked"), value(v).dtype)});
    const uint32_t tensor = stack.outputs[0];
    if (!concat_slices(stack, s, 0, true)) return false;
    log(LogLevel::Warn, "passes", cat("output ", quote(name), " is a sequence of tensors of one shape, as many as the run makes: it becomes one tensor of all of them, its first axis counts them"));
    outputs.push_back(named_output(name, tensor));
  }
  return true;
}

}  // namespace optima::passes
