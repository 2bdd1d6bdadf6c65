// SPDX-License-Identifier: Apache-2.0
// core/passes: interval arithmetic on the elements of shapes.
#include "core/passes/partly_known.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/graph/attributes.hpp"

namespace optima::passes {
namespace {

constexpr size_t kMostElements = 256;
constexpr int64_t kFar = int64_t{1} << 61;  // beyond this nothing is known, so that sums do not overflow
constexpr Bounds kTruth{0, 1};

using Tensors = std::optional<std::vector<PartlyKnown>>;

Bounds one(int64_t value) { return {value, value}; }

constexpr Bounds kNothing{INT64_MIN, INT64_MAX};
bool far(Bounds a) { return a.low < -kFar || a.high > kFar; }

Bounds sum(Bounds a, Bounds b) { return far(a) || far(b) ? kNothing : Bounds{a.low + b.low, a.high + b.high}; }
Bounds difference(Bounds a, Bounds b) { return far(a) || far(b) ? kNothing : Bounds{a.low - b.high, a.high - b.low}; }
Bounds product(Bounds a, Bounds b) {
  int64_t ends[4];
  const int over = __builtin_mul_overflow(a.low, b.low, &ends[0]) + __builtin_mul_overflow(a.low, b.high, &ends[1]) +
                   __builtin_mul_overflow(a.high, b.low, &ends[2]) + __builtin_mul_overflow(a.high, b.high, &ends[3]);
  return over != 0 || far(a) || far(b) ? kNothing : Bounds{*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}
// Towards zero, as integers divide; only by a known positive number, which keeps the order.
Bounds quotient(Bounds a, Bounds b) {
  if (!b.known() || b.low <= 0 || far(a)) return kNothing;
  return {a.low / b.low, a.high / b.low};
}
Bounds least(Bounds a, Bounds b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
Bounds most(Bounds a, Bounds b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }
Bounds hull(Bounds a, Bounds b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Bounds negation(Bounds a) { return {1 - a.high, 1 - a.low}; }
Bounds less(Bounds a, Bounds b) { return a.high < b.low ? one(1) : a.low >= b.high ? one(0) : kTruth; }
Bounds equal(Bounds a, Bounds b) {
  if (a.high < b.low || b.high < a.low) return one(0);
  return a.known() && b.known() ? one(1) : kTruth;
}

using Binary = Bounds (*)(Bounds, Bounds);
Binary binary_of(std::string_view op, bool whole) {
  if (op == "Add") return sum;
  if (op == "Sub") return difference;
  if (op == "Mul") return product;
  if (op == "Div") return whole ? quotient : nullptr;
  if (op == "Min" || op == "And") return least;
  if (op == "Max" || op == "Or") return most;
  if (op == "Equal") return equal;
  if (op == "Less") return less;
  if (op == "Greater") return [](Bounds a, Bounds b) { return less(b, a); };
  if (op == "LessOrEqual") return [](Bounds a, Bounds b) { return negation(less(b, a)); };
  if (op == "GreaterOrEqual") return [](Bounds a, Bounds b) { return negation(less(a, b)); };
  if (op == "Xor") return [](Bounds a, Bounds b) { return negation(equal(a, b)); };
  return nullptr;
}
Binary reduction_of(std::string_view op) {
  return op == "ReduceProd" ? product : op == "ReduceSum" ? sum : op == "ReduceMin" ? least : op == "ReduceMax" ? most : nullptr;
}

// Of one shape, or one of them a single element.
std::optional<PartlyKnown> each(const PartlyKnown& a, const PartlyKnown& b, Binary f) {
  const bool spread_a = a.elements.size() == 1 && a.dims.size() <= b.dims.size(), spread_b = b.elements.size() == 1 && b.dims.size() <= a.dims.size();
  if (a.dims != b.dims && !spread_a && !spread_b) return std::nullopt;
  const PartlyKnown& larger = spread_a ? b : a;
  PartlyKnown out{larger.dims, {}};
  for (size_t k = 0; k < larger.elements.size(); ++k) out.elements.push_back(f(a.elements[spread_a ? 0 : k], b.elements[spread_b ? 0 : k]));
  return out;
}

std::optional<int64_t> known_at(const PartlyKnown* t, size_t k) {
  if (!t || k >= t->elements.size() || !t->elements[k].known()) return std::nullopt;
  return t->elements[k].low;
}

std::optional<std::vector<int64_t>> static_dims(const image::Value& v) {
  if (!v.dims) return std::nullopt;
  std::vector<int64_t> out;
  for (const image::Dim& d : *v.dims) out.push_back(d.value);
  if (std::any_of(out.begin(), out.end(), [](int64_t d) { return d < 0; })) return std::nullopt;
  return out;
}

Bounds size_of(const image::Dim& d) { return d.value >= 0 ? one(d.value) : Bounds{0, kLargestSize}; }

Tensors shape(const image::Node& node, const image::Value& of) {
  if (!of.dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(of.dims->size());
  const auto place = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = int_attr(node, name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  PartlyKnown out;
  for (int64_t k = place("start", 0); k < place("end", rank); ++k) out.elements.push_back(size_of((*of.dims)[static_cast<size_t>(k)]));
  out.dims = {static_cast<int64_t>(out.elements.size())};
  return Tensors({out});
}
Tensors size(const image::Value& of) {
  if (!of.dims) return std::nullopt;
  Bounds all = one(1);
  for (const image::Dim& d : *of.dims) all = product(all, size_of(d));
  return Tensors({{{}, {all}}});
}

// Of lists.
Tensors gather(const PartlyKnown& list, const PartlyKnown& at) {
  const auto count = static_cast<int64_t>(list.elements.size());
  if (list.dims.size() != 1) return std::nullopt;
  PartlyKnown out{at.dims, {}};
  for (size_t k = 0; k < at.elements.size(); ++k) {
    const auto wanted = known_at(&at, k);
    if (!wanted || *wanted < -count || *wanted >= count) return std::nullopt;
    out.elements.push_back(list.elements[static_cast<size_t>(*wanted < 0 ? *wanted + count : *wanted)]);
  }
  return Tensors({out});
}
Tensors slice(const std::vector<const PartlyKnown*>& in) {
  const PartlyKnown& list = *in[0];
  const auto count = static_cast<int64_t>(list.elements.size());
  const auto start = known_at(in[1], 0), end = known_at(in[2], 0);
  const auto step = in.size() > 4 ? known_at(in[4], 0) : std::optional<int64_t>(1);
  if (list.dims.size() != 1 || !start || !end || step != 1) return std::nullopt;
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count); };
  PartlyKnown out;
  for (int64_t k = place(*start); k < place(*end); ++k) out.elements.push_back(list.elements[static_cast<size_t>(k)]);
  out.dims = {static_cast<int64_t>(out.elements.size())};
  return Tensors({out});
}
Tensors concat(const std::vector<const PartlyKnown*>& in) {
  PartlyKnown out;
  for (const PartlyKnown* part : in) {
    if (!part || part->dims.size() != 1) return std::nullopt;
    out.elements.insert(out.elements.end(), part->elements.begin(), part->elements.end());
  }
  out.dims = {static_cast<int64_t>(out.elements.size())};
  return Tensors({out});
}
Tensors where(const PartlyKnown& condition, const PartlyKnown& a, const PartlyKnown& b) {
  const size_t count = std::max({condition.elements.size(), a.elements.size(), b.elements.size()});
  const PartlyKnown* largest = nullptr;
  for (const PartlyKnown* t : {&condition, &a, &b}) {
    if (t->elements.size() != count && t->elements.size() != 1) return std::nullopt;
    if (t->elements.size() == count && (!largest || t->dims.size() > largest->dims.size())) largest = t;
  }
  if (largest->dims.size() > 1) return std::nullopt;
  const auto at = [](const PartlyKnown& t, size_t k) { return t.elements[t.elements.size() == 1 ? 0 : k]; };
  PartlyKnown out{largest->dims, {}};
  for (size_t k = 0; k < count; ++k) {
    const Bounds c = at(condition, k);
    out.elements.push_back(!c.known() ? hull(at(a, k), at(b, k)) : c.low ? at(a, k) : at(b, k));
  }
  return Tensors({out});
}

// The elements in order, in the shapes of the outputs: of operators that only see them otherwise, and of parts of a list.
Tensors in_order(const image::Graph& g, const image::Node& node, const PartlyKnown& in) {
  std::vector<PartlyKnown> out;
  size_t from = 0;
  for (uint32_t v : node.outputs) {
    const auto dims = v == OPTIMA_NONE ? std::nullopt : static_dims(g.values[v]);
    if (!dims) return std::nullopt;
    int64_t count = 1;
    for (int64_t d : *dims)
      if (d > static_cast<int64_t>(kMostElements) || (count *= d) > static_cast<int64_t>(kMostElements)) return std::nullopt;
    if (count > static_cast<int64_t>(in.elements.size() - from)) return std::nullopt;
    const auto begin = in.elements.begin() + static_cast<std::ptrdiff_t>(from);
    out.push_back({*dims, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
    from += static_cast<size_t>(count);
  }
  return from == in.elements.size() ? Tensors(std::move(out)) : std::nullopt;
}

bool is_view(std::string_view op) {
  return op == "Identity" || op == "Squeeze" || op == "Unsqueeze" || op == "Reshape" || op == "Flatten";
}

bool is_whole(int32_t dtype) { return dtype == OPTIMA_I64 || dtype == OPTIMA_I32; }
bool is_followed(int32_t dtype) { return is_whole(dtype) || dtype == OPTIMA_BOOL || dtype == OPTIMA_F32; }

// What may wrap around, or lose its last digits, is not known.
Bounds within(Bounds b, int32_t dtype) {
  constexpr int64_t kExactFloat = 1 << 24;
  const int64_t low = dtype == OPTIMA_I32 ? INT32_MIN : dtype == OPTIMA_F32 ? -kExactFloat : INT64_MIN;
  const int64_t high = dtype == OPTIMA_I32 ? INT32_MAX : dtype == OPTIMA_F32 ? kExactFloat : INT64_MAX;
  return b.low < low || b.high > high ? kNothing : b;
}

// What is not 0 is true.
Tensors cast(const PartlyKnown& in, int32_t to, int32_t from) {
  if (!is_followed(to)) return std::nullopt;
  PartlyKnown out = in;
  if (to == OPTIMA_BOOL && from != OPTIMA_BOOL)
    for (Bounds& b : out.elements) b = b.low > 0 || b.high < 0 ? one(1) : b.known() ? one(0) : kTruth;
  return Tensors({out});
}

}  // namespace

PartialValues::PartialValues(const Graph& graph, uint32_t index, Captured& captured) : graph_(graph), index_(index), captured_(captured) {
  if (const auto given = captured.find(index); given != captured.end()) known_ = given->second;
}

std::optional<PartlyKnown> PartialValues::constant(const image::Value& value) const {
  const image::Constant& c = graph_.contents.constants[value.constant];
  const Blob& bytes = graph_.blobs[c.blob];
  const size_t width = c.dtype == OPTIMA_I64 ? 8 : c.dtype == OPTIMA_BOOL ? 1 : 4, count = bytes.size / width;
  if (!is_followed(c.dtype) || count > kMostElements) return std::nullopt;
  PartlyKnown out{c.dims, {}};
  for (size_t k = 0; k < count; ++k) {
    const std::byte* at = bytes.data + k * width;
    int64_t wide = 0;
    int32_t narrow = 0;
    float real = 0;
    if (c.dtype == OPTIMA_I64) std::memcpy(&wide, at, 8);
    else if (c.dtype == OPTIMA_BOOL) wide = at[0] != std::byte{0};
    else if (c.dtype == OPTIMA_I32) std::memcpy(&narrow, at, 4), wide = narrow;
    else {
      std::memcpy(&real, at, 4);
      if (!(real >= -(1 << 24) && real <= (1 << 24))) return std::nullopt;
      wide = static_cast<int64_t>(real);
      if (static_cast<float>(wide) != real) return std::nullopt;
    }
    out.elements.push_back(one(wide));
  }
  return out;
}

const PartlyKnown* PartialValues::find(uint32_t value) {
  if (value == OPTIMA_NONE) return nullptr;
  if (const auto met = known_.find(value); met != known_.end()) return &met->second;
  if (here().values[value].constant == OPTIMA_NONE) return nullptr;
  auto read = constant(here().values[value]);
  return read ? &known_.emplace(value, std::move(*read)).first->second : nullptr;
}

std::optional<std::vector<PartlyKnown>> PartialValues::outputs(const image::Node& node, const Operands& in) const {
  const std::string_view op = node.op_type;
  const auto value = [&](size_t k) -> const image::Value& { return here().values[node.inputs[k]]; };
  if (op == "Shape") return shape(node, value(0));
  if (op == "Size") return size(value(0));
  if (!in[0]) return std::nullopt;
  if (is_view(op) || (op == "Split" && in[0]->dims.size() == 1)) return in_order(here(), node, *in[0]);
  if (op == "Cast") return cast(*in[0], static_cast<int32_t>(int_attr(node, "to", 0)), value(0).dtype);
  if (op == "Concat") return concat(in);
  if (op == "Slice") return in.size() >= 3 ? slice(in) : Tensors();
  if (op == "Not") {
    PartlyKnown out = *in[0];
    for (Bounds& b : out.elements) b = negation(b);
    return Tensors({out});
  }
  if (const Binary reduce = reduction_of(op)) {
    const auto dims = static_dims(here().values[node.outputs[0]]);
    const bool to_one = dims && std::all_of(dims->begin(), dims->end(), [](int64_t d) { return d == 1; });
    if (!to_one || in[0]->elements.empty()) return std::nullopt;
    Bounds all = in[0]->elements[0];
    for (size_t k = 1; k < in[0]->elements.size(); ++k) all = reduce(all, in[0]->elements[k]);
    return Tensors({{*dims, {all}}});
  }
  if (in.size() < 2 || !in[1]) return std::nullopt;
  if (op == "Gather") return int_attr(node, "axis", 0) == 0 ? gather(*in[0], *in[1]) : Tensors();
  if (op == "Where") return in.size() == 3 && in[2] ? where(*in[0], *in[1], *in[2]) : Tensors();
  const Binary f = in.size() == 2 ? binary_of(op, is_whole(value(0).dtype)) : nullptr;
  const auto made = f ? each(*in[0], *in[1], f) : std::nullopt;
  return made ? Tensors({*made}) : std::nullopt;
}

void PartialValues::follow(const image::Node& node) {
  Operands in;
  for (uint32_t v : node.inputs) (void)find(v);  // first all, for places in the table move
  for (uint32_t v : node.inputs) in.push_back(find(v));
  for_each_body(node, [&](uint32_t body) {
    for (const image::Capture& c : graph_.contents.graphs[body].captures)
      if (const PartlyKnown* outer = find(c.outer)) captured_[body].emplace(c.inner, *outer);
  });
  if (!node.domain.empty() || in.empty() || node.inputs[0] == OPTIMA_NONE) return;
  auto made = outputs(node, in);
  for (size_t k = 0; made && k < made->size(); ++k) {
    const uint32_t v = node.outputs[k];
    if (v == OPTIMA_NONE || !is_followed(here().values[v].dtype) || (*made)[k].elements.size() > kMostElements) continue;
    for (Bounds& b : (*made)[k].elements) b = within(b, here().values[v].dtype);
    known_[v] = std::move((*made)[k]);
  }
}

std::optional<std::vector<int64_t>> PartialValues::elements(uint32_t value) const {
  const auto met = known_.find(value);
  if (met == known_.end()) return std::nullopt;
  std::vector<int64_t> out;
  for (const Bounds& b : met->second.elements) {
    if (!b.known()) return std::nullopt;
    out.push_back(b.low);
  }
  return out;
}

}  // namespace optima::passes
