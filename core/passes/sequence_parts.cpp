// SPDX-License-Identifier: Apache-2.0
// core/passes: operators that make sequences and optionals, and those that read tensors from them.
#include <algorithm>

#include "core/passes/constant_values.hpp"
#include "core/passes/sequence_resolver.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

constexpr int64_t kMostPieces = 1024;  // that one tensor is split into

uint32_t input(const image::Node& node, size_t k) { return k < node.inputs.size() ? node.inputs[k] : OPTIMA_NONE; }

constexpr int64_t kMostAxes = 64;
constexpr int64_t kMostSize = INT32_MAX;

// A place of `count`, which may count from the end.
std::optional<size_t> place(int64_t at, size_t count) {
  const auto n = static_cast<int64_t>(count);
  if (at < -n || at >= n) return std::nullopt;
  return static_cast<size_t>(at < 0 ? at + n : at);
}

constexpr char kUnknown[] = "how many tensors are in what it reads does not follow from the model";

}  // namespace

bool SequenceResolver::reads_elements_alone(uint32_t v) const {
  if (is_output_[v]) return false;
  return std::all_of(uses_.consumers[v].begin(), uses_.consumers[v].end(), [&](uint32_t n) {
    return ops_[n] == "SequenceAt" || ops_[n] == "SequenceLength" || ops_[n] == "ConcatFromSequence" || ops_[n] == "Loop";
  });
}

// Pieces of known number become the outputs of a Split; slices that are only read stay slices of the tensor.
bool SequenceResolver::split(image::Node& node) {
  const uint32_t x = node.inputs[0], sizes = input(node, 1), out = node.outputs[0];
  const int64_t axis = int_attr(node, "axis", 0);
  const bool keeps = sizes != OPTIMA_NONE || int_attr(node, "keepdims", 1) != 0;
  const std::optional<size_t> axes = rank(x), at_axis = axes ? place(axis, *axes) : std::nullopt;
  const int64_t size = at_axis ? (*value(x).dims)[*at_axis].value : -1;
  const bool listed = sizes != OPTIMA_NONE && rank(sizes) == size_t{1};
  const int64_t step = sizes == OPTIMA_NONE ? 1 : listed ? 0 : constant(sizes).value_or(0);  // 0: not one size for all
  if (step == 1) {
    known_.insert_or_assign(out, Sequence::slices(x, axis, keeps));
    if (size < 0 || reads_elements_alone(out)) return false;
  }
  const int64_t count = listed ? (*value(sizes).dims)[0].value : size < 0 || step <= 0 ? -1 : size == 0 ? 0 : (size - 1) / step + 1;
  if (count < 0 && step > 1 && step < kMostSize) return known_.insert_or_assign(out, Sequence::slices(x, axis, true, step)), false;
  if (count < 0 || count > kMostPieces) return step == 1 ? false : stay(node, count < 0 ? "the number of its pieces does not follow from the model" : cat("it makes ", count, " pieces"));
  std::vector<uint32_t> pieces, elements;
  for (int64_t k = 0; k < count; ++k) pieces.push_back(bodies_.add(index_, cat(name_of(out), "[", k, "]"), value(x).dtype));
  std::vector<uint32_t> operands = {x};
  if (listed) operands.push_back(sizes);
  if (!listed && count > 1) {
    std::vector<int64_t> all(static_cast<size_t>(count), step);
    all.back() = size - (count - 1) * step;
    operands.push_back(bodies_.integers(index_, cat(node.name, "/sizes"), {count}, all));
  }
  const image::Node of = node;
  if (count > 0) {
    node.outputs = pieces;
    if (count == 1 && !listed) become(node, "Identity", 21, {x});
    else become(node, "Split", 18, std::move(operands), {int_attribute("axis", axis)});
  }
  for (uint32_t piece : pieces)
    elements.push_back(keeps ? piece : emit(of, "Squeeze", 21, {piece, bodies_.integers(index_, cat(of.name, "/axes"), {1}, {axis})}, {}, value(x).dtype));
  emit_list(of, std::move(elements), out);
  return true;
}

// A list with an element more or less. The node stays as long as somebody reads it.
bool SequenceResolver::change(const image::Node& node) {
  const Sequence* s = find(node.inputs[0]);
  if (!s || s->kind != Sequence::Kind::List) return stay(node, kUnknown);
  std::vector<uint32_t> elements = s->elements;
  const bool inserts = node.op_type == "SequenceInsert";
  const uint32_t position = input(node, inserts ? 2 : 1);
  const auto count = static_cast<int64_t>(elements.size());
  std::optional<int64_t> at = position == OPTIMA_NONE ? std::optional(inserts ? count : count - 1) : constant(position);
  if (!at) return stay(node, cat("position ", quote(name_of(position)), " is no constant"));
  if (*at < 0) *at += count;
  if (*at < 0 || *at >= count + (inserts ? 1 : 0)) return stay(node, cat("its position is outside of a sequence of ", count));
  if (inserts) elements.insert(elements.begin() + *at, node.inputs[1]);
  else elements.erase(elements.begin() + *at);
  known_.insert_or_assign(node.outputs[0], Sequence::list(std::move(elements)));
  return false;
}

bool SequenceResolver::optional(image::Node& node) {
  const uint32_t v = input(node, 0), out = node.outputs[0];
  const Sequence* s = v == OPTIMA_NONE ? nullptr : find(v);
  const bool plain = v != OPTIMA_NONE && (value(v).kind == OPTIMA_KIND_TENSOR || value(v).kind == OPTIMA_KIND_SEQUENCE);
  if (node.op_type == "Optional") {
    if (v == OPTIMA_NONE) known_.insert_or_assign(out, Sequence::absent());
    else if (s) known_.insert_or_assign(out, Sequence(*s));
    else if (value(v).kind == OPTIMA_KIND_TENSOR) known_.insert_or_assign(out, Sequence::tensor(v));
    return false;
  }
  if (node.op_type == "OptionalHasElement") {
    if (v != OPTIMA_NONE && !s && !plain) return stay(node, cat("whether ", quote(name_of(v)), " has something does not follow from the model"));
    const uint8_t has = v != OPTIMA_NONE && (!s || s->kind != Sequence::Kind::Absent);
    make_constant(graph_, index_, out, OPTIMA_BOOL, {}, Blob::copy(&has, 1));
    note_gone(graph_, node, "constant");
    return true;
  }
  if (s && s->kind == Sequence::Kind::Absent) return stay(node, cat(quote(name_of(v)), " has nothing"));
  if (s && s->kind != Sequence::Kind::Tensor) return known_.insert_or_assign(out, Sequence(*s)), false;
  if (!s && !(plain && value(v).kind == OPTIMA_KIND_TENSOR)) return stay(node, cat("what is in ", quote(name_of(v)), " does not follow from the model"));
  const uint32_t tensor = s ? s->whole : v;
  become(node, "Identity", 21, {tensor});
  return true;
}

bool same_sizes(const image::Value& a, const image::Value& b) {
  return a.dims && b.dims && std::equal(a.dims->begin(), a.dims->end(), b.dims->begin(), b.dims->end(), [](const image::Dim& m, const image::Dim& n) { return m.value >= 0 && m.value == n.value; });
}

bool SequenceResolver::alike(const std::vector<uint32_t>& elements) const {
  return std::all_of(elements.begin(), elements.end(), [&](uint32_t v) { return same_sizes(value(v), value(elements[0])); });
}

// The elements one behind the other along a new axis.
uint32_t SequenceResolver::stacked(const image::Node& of, const std::vector<uint32_t>& elements, int64_t axis) {
  std::vector<uint32_t> parts;
  const uint32_t axes = bodies_.integers(index_, cat(of.name, "/axes"), {1}, {axis});
  for (uint32_t v : elements) parts.push_back(emit(of, "Unsqueeze", 21, {v, axes}, {}, value(v).dtype));
  return parts.size() == 1 ? parts[0] : emit(of, "Concat", 13, parts, {int_attribute("axis", axis)}, value(elements[0]).dtype);
}

// One of several sizes of an axis, of which nobody knows how many there are.
bool SequenceResolver::piece_at(image::Node& node, const Sequence& s, std::optional<int64_t> position) {
  if (!position || *position < 0 || *position >= kMostSize) return stay(node, cat("its position is no constant from the front, in pieces of ", s.step));
  const auto list = [&](const char* name, int64_t number) { return bodies_.integers(index_, cat(node.name, "/", name), {1}, {number}); };
  const int64_t start = *position * s.step;
  return become(node, "Slice", 13, {s.whole, list("start", start), list("end", start + s.step), list("axes", s.axis)}), true;
}

bool SequenceResolver::at(image::Node& node) {
  const Sequence* s = find(node.inputs[0]);
  if (!s) return stay(node, kUnknown);
  const std::optional<int64_t> position = constant(node.inputs[1]);
  if (s->kind == Sequence::Kind::Slices) {
    const Sequence slices = *s;
    if (slices.step > 1) return piece_at(node, slices, position);
    if (!position && rank(node.inputs[1]) != size_t{0}) return stay(node, "its position is no single number");
    const uint32_t number = position ? bodies_.integers(index_, cat(node.name, "/position"), {}, {*position}) : node.inputs[1];
    const std::vector<image::Attr> along = {int_attribute("axis", slices.axis)};
    if (!slices.keeps) return become(node, "Gather", 13, {slices.whole, number}, along), true;
    if (slices.axis < 0 && !rank(slices.whole)) return stay(node, "the rank of its tensors does not follow from the model");
    const uint32_t slice = emit(node, "Gather", 13, {slices.whole, number}, along, value(slices.whole).dtype);
    const int64_t axis = slices.axis < 0 ? slices.axis + static_cast<int64_t>(*rank(slices.whole)) : slices.axis;
    const uint32_t axes = bodies_.integers(index_, cat(node.name, "/axes"), {1}, {axis});
    return become(node, "Unsqueeze", 21, {slice, axes}), true;
  }
  if (s->kind != Sequence::Kind::List) return stay(node, kUnknown);
  const std::vector<uint32_t> elements = s->elements;
  if (position) {
    const std::optional<size_t> k = place(*position, elements.size());
    if (!k) return stay(node, cat("its position is ", *position, " in a sequence of ", elements.size()));
    return become(node, "Identity", 21, {elements[*k]}), true;
  }
  if (elements.empty() || rank(node.inputs[1]) != size_t{0} || !alike(elements))
    return stay(node, cat("position ", quote(name_of(node.inputs[1])), " comes with the run, and the tensors have not one known shape"));
  const uint32_t number = node.inputs[1], all = stacked(node, elements, 0);
  return become(node, "Gather", 13, {all, number}, {int_attribute("axis", 0)}), true;
}

bool SequenceResolver::length(image::Node& node) {
  const Sequence* s = find(node.inputs[0]);
  if (!s || (s->kind != Sequence::Kind::List && s->kind != Sequence::Kind::Slices)) return stay(node, kUnknown);
  if (s->kind == Sequence::Kind::List) {
    const auto count = static_cast<int64_t>(s->elements.size());
    make_constant(graph_, index_, node.outputs[0], OPTIMA_I64, {}, Blob::copy(&count, sizeof count));
    note_gone(graph_, node, "constant");
    return true;
  }
  const int64_t axis = s->axis, step = s->step;
  const uint32_t shape = emit(node, "Shape", 21, {s->whole}, {int_attribute("start", 0)}, OPTIMA_I64);
  const uint32_t number = bodies_.integers(index_, cat(node.name, "/axis"), {}, {axis});
  const std::vector<image::Attr> first = {int_attribute("axis", 0)};
  if (step == 1) return become(node, "Gather", 13, {shape, number}, first), true;
  const uint32_t size = emit(node, "Gather", 13, {shape, number}, first, OPTIMA_I64);
  const uint32_t rounded = emit(node, "Add", 14, {size, bodies_.integers(index_, cat(node.name, "/rest"), {}, {step - 1})}, {}, OPTIMA_I64);
  return become(node, "Div", 14, {rounded, bodies_.integers(index_, cat(node.name, "/step"), {}, {step})}), true;
}

bool SequenceResolver::concat(image::Node& node) {
  const Sequence* s = find(node.inputs[0]);
  if (!s || (s->kind != Sequence::Kind::List && s->kind != Sequence::Kind::Slices)) return stay(node, kUnknown);
  const Sequence sequence = *s;
  const int64_t axis = int_attr(node, "axis", 0);
  const bool stacks = int_attr(node, "new_axis", 0) != 0;
  return sequence.kind == Sequence::Kind::List ? concat_list(node, sequence, axis, stacks) : concat_slices(node, sequence, axis, stacks);
}

bool SequenceResolver::concat_list(image::Node& node, const Sequence& s, int64_t axis, bool stacks) {
  if (s.elements.empty()) return stay(node, "the sequence is empty");
  std::vector<uint32_t> parts = s.elements;
  if (stacks) {
    const uint32_t axes = bodies_.integers(index_, cat(node.name, "/axes"), {1}, {axis});
    if (parts.size() == 1) return become(node, "Unsqueeze", 21, {parts[0], axes}), true;
    for (uint32_t& v : parts) v = emit(node, "Unsqueeze", 21, {v, axes}, {}, value(v).dtype);
  }
  if (parts.size() == 1) become(node, "Identity", 21, std::move(parts));
  else become(node, "Concat", 13, std::move(parts), {int_attribute("axis", axis)});
  return true;
}

uint32_t SequenceResolver::sizes(const image::Node& of, uint32_t v, int64_t start, int64_t end) {
  return emit(of, "Shape", 21, {v}, {int_attribute("start", start), int_attribute("end", end)}, OPTIMA_I64);
}

// Axis 0 goes behind `axis` others of a tensor of unknown rank: as a matrix of lines, of which there are as many as the others have elements.
bool SequenceResolver::turn(image::Node& node, uint32_t whole, int64_t axis) {
  const std::vector<image::Attr> in_a_row = {int_attribute("axis", 0)}, as_said = {int_attribute("allowzero", 1)};
  const int32_t dtype = value(whole).dtype;
  const uint32_t count = sizes(node, whole, 0, 1), ahead = sizes(node, whole, 1, axis + 1), rest = sizes(node, whole, axis + 1, INT64_MAX);
  const auto product = [&](uint32_t of) { return emit(node, "ReduceProd", 18, {of}, {int_attribute("keepdims", 1)}, OPTIMA_I64); };
  const uint32_t flat = emit(node, "Concat", 13, {count, product(ahead), product(rest)}, in_a_row, OPTIMA_I64);
  const uint32_t lines = emit(node, "Reshape", 21, {whole, flat}, as_said, dtype);
  const uint32_t turned = emit(node, "Transpose", 21, {lines}, {ints_attribute("perm", {1, 0, 2})}, dtype);
  const uint32_t shape = emit(node, "Concat", 13, {ahead, count, rest}, in_a_row, OPTIMA_I64);
  return become(node, "Reshape", 21, {turned, shape}, as_said), true;
}

// Of slices that have their axis, of size 1: as if they had not, and then they get it.
void SequenceResolver::concat_kept(image::Node& node, uint32_t whole, int64_t from, int64_t to, bool stacks) {
  if (!stacks && from == to) return become(node, "Identity", 21, {whole});
  const std::string name = cat(node.name, "/ConcatFromSequence");
  const uint32_t joined = bodies_.add(index_, name, value(whole).dtype);
  image::Node inner = bodies_.node(name, "ConcatFromSequence", 11, {}, {joined});
  concat_slices(inner, Sequence::slices(whole, from, false), to > from ? to - 1 : to, stacks);
  const uint32_t axes = bodies_.integers(index_, cat(node.name, "/axes"), {1}, {stacks && to <= from ? from + 1 : from});
  become(node, "Unsqueeze", 21, {joined, axes});
}

// The tensor itself, its axes in another order where they are; two of them are made one where no axis is new.
bool SequenceResolver::concat_slices(image::Node& node, const Sequence& s, int64_t axis, bool stacks) {
  if (s.keeps && !stacks && s.axis == axis) return become(node, "Identity", 21, {s.whole}), true;
  if (!s.keeps && stacks && s.axis == axis) return become(node, "Identity", 21, {s.whole}), true;
  if (s.step > 1) return stay(node, cat("its pieces of ", s.step, ", of which the last may be smaller, are put together along another axis"));
  const std::optional<size_t> axes = rank(s.whole);
  if (!axes && stacks && !s.keeps && s.axis == 0 && axis > 0 && axis < kMostAxes) return turn(node, s.whole, axis);
  if (!axes) return stay(node, "the rank of its tensors does not follow from the model");
  const std::optional<size_t> from = place(s.axis, *axes), to = place(axis, stacks && s.keeps ? *axes + 1 : stacks || s.keeps ? *axes : *axes - 1);
  if (!from || !to) return stay(node, cat("its tensors have no axis ", axis));
  if (s.keeps) return concat_kept(node, s.whole, static_cast<int64_t>(*from), static_cast<int64_t>(*to), stacks), true;
  std::vector<int64_t> order;
  for (size_t k = 0; k < *axes; ++k)
    if (k != *from) order.push_back(static_cast<int64_t>(k));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(*to), static_cast<int64_t>(*from));
  if (stacks) return become(node, "Transpose", 21, {s.whole}, {ints_attribute("perm", order)}), true;
  const int32_t dtype = value(s.whole).dtype;
  const uint32_t moved = emit(node, "Transpose", 21, {s.whole}, {ints_attribute("perm", order)}, dtype);
  const auto at = static_cast<int64_t>(*to);
  const uint32_t joined = emit(node, "Mul", 14, {sizes(node, moved, at, at + 1), sizes(node, moved, at + 1, at + 2)}, {}, OPTIMA_I64);
  const uint32_t shape = emit(node, "Concat", 13, {sizes(node, moved, 0, at), joined, sizes(node, moved, at + 2, INT64_MAX)}, {int_attribute("axis", 0)}, OPTIMA_I64);
  return become(node, "Reshape", 21, {moved, shape}, {int_attribute("allowzero", 1)}), true;
}

}  // namespace optima::passes
