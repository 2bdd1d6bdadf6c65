// SPDX-License-Identifier: Apache-2.0
// Operators whose elements are found by computed places, or by their own. An invocation makes one element; nothing is written twice: of many
// updates that replace elements the last to each is found first, few, and those that are reduced, are looked for by each element of the result in their
// order. Indices are wrapped from the end and kept inside:
// what lies beyond is not defined, and must not be read.
#include <algorithm>
#include <cmath>

#include "winners.hpp"

namespace spirv_plugin {
namespace of_index {

constexpr uint32_t kLocal = 64;
constexpr int64_t kMostLooks = int64_t{1} << 30;  ///< comparisons of one scatter

size_t axis_of(const sdk::Node& node, int64_t otherwise, size_t rank) {
  const int64_t axis = node.integer("axis", otherwise);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

std::string wrapped_index(const std::string& k, int64_t size) { return "clamp(" + k + "<0?" + k + "+" + text(size) + ":" + k + ",0," + text(size - 1) + ")"; }

/// The coordinate of axis `k` of index `at` in `dims`.
std::string coordinate(const std::string& at, const Dims& dims, size_t k) { return "(" + at + "/" + text(strides_of(dims)[k]) + "%" + text(dims[k]) + ")"; }

void lower_gather_elements(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims data = node.input(0).shape(), dims = node.output(0).shape();
  const size_t axis = axis_of(node, 0, data.size());
  Dims strides = strides_of(data);
  const int64_t step = strides[axis];
  strides[axis] = 0;
  Elements e{to, group};
  const int x = e.in(node.input(0)), index = e.in(node.input(1));
  e.finish([&] {
    e.s.line("int k=" + e.s.load(index, "o") + ";k=" + wrapped_index("k", data[axis]) + ";");
    return e.s.load(x, strided_index("o", dims, strides) + "+k*" + text(step));
  });
}

void lower_gather_nd(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims data = node.input(0).shape(), indices = node.input(1).shape(), own = strides_of(data);
  const auto batch = static_cast<size_t>(node.integer("batch_dims", 0)), depth = static_cast<size_t>(indices.back());
  const int64_t inner = elements_of({data.begin() + static_cast<std::ptrdiff_t>(batch + depth), data.end()}), images = elements_of({data.begin(), data.begin() + static_cast<std::ptrdiff_t>(batch)});
  const int64_t tuples = elements_of({indices.begin(), indices.end() - 1}), of_image = images ? elements_of(data) / images : 0;
  Elements e{to, group};
  const int x = e.in(node.input(0)), index = e.in(node.input(1));
  e.finish([&] {
    e.s.line("int t=o/" + text(inner) + ",at=t/" + text(std::max<int64_t>(1, tuples / std::max<int64_t>(1, images))) + "*" + text(of_image) + "+o%" + text(inner) + ",k;");
    for (size_t d = 0; d < depth; ++d)
      e.s.line("k=" + e.s.load(index, "t*" + text(indices.back()) + "+" + text(static_cast<int64_t>(d))) + ";at+=" + wrapped_index("k", data[batch + d]) + "*" + text(own[batch + d]) + ";");
    return e.s.load(x, "at");
  });
}

/// How many updates each element looks through, and how many of these are few.
int64_t looks_of(const sdk::Node& node) {
  const Dims indices = node.input(1).shape();
  return node.op() == "ScatterND" ? elements_of({indices.begin(), indices.end() - 1}) : indices.empty() ? 1 : indices[axis_of(node, 0, indices.size())];
}
constexpr int64_t kFewLooks = 16;
bool has_winners(const sdk::Node& node) { return node.string("reduction", "none") == "none" && looks_of(node) > kFewLooks && node.input(0).elements() != 0; }

Work looking(const sdk::Node& node) {
  const auto n = static_cast<uint64_t>(node.output(0).elements());
  return {n * static_cast<uint64_t>(looks_of(node)), 12 * n};
}

/// Of updates that replace: the winner of each element, or of each line of `inner` elements.
void replace(Lowering& to, const Group& group, const Dims& places, int64_t count, int64_t inner, const std::function<void(Shader&)>& place) {
  const sdk::Node& node = group.root;
  Elements e{to, group};
  const int x = e.in(node.input(0)), updates = e.in(node.input(2)), winners = e.s.in(winners_of(to, group, places, count, place));
  e.finish([&] {
    e.s.line(std::string(type_of(element_of(node.input(0).dtype()))) + " v=" + e.s.load(x, "o") + ";int k=" + e.s.load(winners, "o/" + text(inner)) + ";if(k>=0)v=" +
             e.s.load(updates, "k*" + text(inner) + "+o%" + text(inner)) + ";");
    return std::string("v");
  });
}

/// Joins the value `t` with an update `u`, and what a part of the updates begins with.
struct Reduction {
  std::string joined, empty;
};
Reduction reduction_of(const sdk::Node& node) {
  const std::string_view how = node.string("reduction", "none");
  const bool whole = element_of(node.input(0).dtype()) == Element::I32;
  if (how == "add") return {"t=" + sum_of(node.input(0).dtype(), "t", "u") + ";", whole ? "0" : "0.0"};
  if (how == "mul") return {"t=" + product_of(node.input(0).dtype(), "t", "u") + ";", whole ? "1" : "1.0"};
  if (how == "max") return {"t=max_(t,u);", whole ? literal(int64_t{INT32_MIN}) : literal(-HUGE_VAL)};
  if (how == "min") return {"t=min_(t,u);", whole ? literal(int64_t{INT32_MAX}) : literal(HUGE_VAL)};
  return {"t=u;", ""};  // few: see has_winners()
}

void lower_scatter_elements(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims data = node.input(0).shape(), dims = node.input(1).shape();
  const size_t axis = axis_of(node, 0, data.size());
  const std::string type = type_of(element_of(node.input(0).dtype()));
  const Reduction reduction = reduction_of(node);
  if (has_winners(node))
    return replace(to, group, data, node.input(1).elements(), 1, [&](Shader& s) {
      s.line("int k=" + s.load(s.in(to.read(node.input(1))), "i") + ";if(k<0)k+=" + text(data[axis]) + ";if(uint(k)>=" + text(data[axis]) + "u)return;");
      Dims strides = strides_of(data);
      const int64_t step = strides[axis];
      strides[axis] = 0;
      s.line("at=" + strided_index("i", dims, strides) + "+k*" + text(step) + ";");
    });
  Elements e{to, group};
  const int x = e.in(node.input(0)), index = e.in(node.input(1)), updates = e.in(node.input(2));
  const Dims own = strides_of(dims);
  std::string head = "bool inside=true;int line=0;";
  for (size_t k = 0; k < data.size(); ++k) {
    if (k == axis) continue;
    const std::string c = coordinate("o", data, k);
    if (dims[k] != data[k]) head += "inside=inside&&" + c + "<" + text(dims[k]) + ";";
    head += "line+=" + c + "*" + text(own[k]) + ";";
  }
  head += "int mine=" + coordinate("o", data, axis) + ";if(!inside){line=0;mine=-2147483647;}";
  const std::string match = "int at=line+k*" + text(own[axis]) + ",n=" + e.s.load(index, "at") + ";if((n<0?n+" + text(data[axis]) + ":n)==mine){" + type + " u=" + e.s.load(updates, "at") + ";" + reduction.joined + "}";
  e.finish(Elements::Loop{head, e.s.load(x, "o"), reduction.empty, match, reduction.joined, dims[axis]}, looking(node));
}

void lower_scatter_nd(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims data = node.input(0).shape(), indices = node.input(1).shape(), own = strides_of(data);
  const auto depth = static_cast<size_t>(indices.back());
  const int64_t inner = elements_of({data.begin() + static_cast<std::ptrdiff_t>(depth), data.end()}), tuples = elements_of({indices.begin(), indices.end() - 1});
  const std::string type = type_of(element_of(node.input(0).dtype()));
  const Reduction reduction = reduction_of(node);
  if (has_winners(node))
    return replace(to, group, {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(depth)}, tuples, inner, [&](Shader& s) {
      const int index = s.in(to.read(node.input(1)));
      s.line("int k;");
      for (size_t d = 0; d < depth; ++d)
        s.line("k=" + s.load(index, "i*" + text(indices.back()) + "+" + text(static_cast<int64_t>(d))) + ";if(k<0)k+=" + text(data[d]) + ";if(uint(k)>=" + text(data[d]) + "u)return;at+=k*" + text(own[d] / inner) + ";");
    });
  Elements e{to, group};
  const int x = e.in(node.input(0)), index = e.in(node.input(1)), updates = e.in(node.input(2));
  std::string match = "int at=0,n;";
  for (size_t d = 0; d < depth; ++d)
    match += "n=" + e.s.load(index, "k*" + text(indices.back()) + "+" + text(static_cast<int64_t>(d))) + ";at+=(n<0?n+" + text(data[d]) + ":n)*" + text(own[d] / inner) + ";";
  match += "if(at==mine){" + type + " u=" + e.s.load(updates, "k*" + text(inner) + "+o%" + text(inner)) + ";" + reduction.joined + "}";
  e.finish(Elements::Loop{"int mine=o/" + text(inner) + ";", e.s.load(x, "o"), reduction.empty, match, reduction.joined, tuples}, looking(node));
}

/// A cache, and what is put into it from a place of each image on; circular: on from its begin behind its end.
void lower_tensor_scatter(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape(), update = node.input(1).shape();
  const size_t axis = axis_of(node, -2, dims.size());
  const int64_t inner = strides_of(dims)[axis], length = dims[axis], taken = update[axis];
  const bool circular = node.string("mode", "linear") == "circular";
  Elements e{to, group};
  const int x = e.in(node.input(0)), updates = e.in(node.input(1)), begins = node.input(2) ? e.in(node.input(2)) : -1;
  e.finish([&] {
    e.s.line(std::string(type_of(element_of(node.input(0).dtype()))) + " v=" + e.s.load(x, "o") + ";int line=o/" + text(inner * length) + ",j=o/" + text(inner) + "%" + text(length) +
             (begins < 0 ? "" : "-" + e.s.load(begins, coordinate("o", dims, 0))) + ";");
    if (circular) e.s.line("j=imod_(j," + text(length) + ");");
    e.s.line("if(uint(j)<" + text(taken) + "u)v=" + e.s.load(updates, "(line*" + text(taken) + "+j)*" + text(inner) + "+o%" + text(inner)) + ";");
    return std::string("v");
  });
}
std::string no_tensor_scatter(const sdk::Node& node) {
  const Dims dims = node.input(0).shape();
  const size_t axis = axis_of(node, -2, dims.size());
  const std::string_view mode = node.string("mode", "linear");
  if (mode != "linear" && mode != "circular") return "mode is " + std::string(mode) + ", wanted linear or circular";
  if (axis == 0 || axis >= dims.size()) return "axis is " + text(node.integer("axis", -2)) + ", wanted one behind the first of " + text(static_cast<int64_t>(dims.size()));
  Dims wanted = node.input(1).shape();
  if (wanted.size() == dims.size() && wanted[axis] > dims[axis]) return "update is longer than the cache";
  if (wanted.size() == dims.size()) wanted[axis] = dims[axis];
  if (node.output(0).shape() != dims) return "output of other dims than the cache";
  if (wanted != dims) return "update of other dims than the cache wants";
  return node.input(2) && node.input(2).shape() != Dims{dims[0]} ? "write_indices are not one for each image" : "";
}

/// values: what is off, what is on.
void lower_one_hot(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.output(0).shape();
  const size_t axis = axis_of(node, -1, dims.size());
  const int64_t inner = elements_of({dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end()}), depth = dims[axis];
  Elements e{to, group};
  const int index = e.in(node.input(0)), values = e.in(node.input(2));
  const bool is_float = element_of(node.input(0).dtype()) != Element::I32;
  e.finish([&] {
    const std::string got = e.s.load(index, "o/" + text(inner * depth) + "*" + text(inner) + "+o%" + text(inner));
    e.s.line("int k=" + (is_float ? "int_(" + got + ")" : got) + ";if(k<0)k+=" + text(depth) + ";");
    return e.s.load(values, "(o/" + text(inner) + "%" + text(depth) + "==k?1:0)");
  });
}

void lower_trilu(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.output(0).shape();
  const int64_t k = node.input(1) ? integers_of(node.input(1).constant())[0] : 0, columns = dims.back(), rows = dims[dims.size() - 2];
  const bool upper = node.integer("upper", 1) != 0;
  Elements e{to, group};
  const int x = e.in(node.input(0));
  const std::string zero = element_of(node.input(0).dtype()) == Element::I32 ? "0" : "0.0";
  e.finish([&] {
    e.s.line("int off=o%" + text(columns) + "-o/" + text(columns) + "%" + text(rows) + ";" + type_of(element_of(node.input(0).dtype())) + " v=" + e.s.load(x, "o") + ";");
    return "(off" + std::string(upper ? ">=" : "<=") + literal(k) + "?v:" + zero + ")";
  });
}

void lower_reverse_sequence(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.output(0).shape(), own = strides_of(dims);
  const auto time = static_cast<size_t>(node.integer("time_axis", 0)), batch = static_cast<size_t>(node.integer("batch_axis", 1));
  Elements e{to, group};
  const int x = e.in(node.input(0)), lengths = e.in(node.input(1));
  e.finish([&] {
    e.s.line("int t=" + coordinate("o", dims, time) + ",n=clamp(" + e.s.load(lengths, coordinate("o", dims, batch)) + ",0," + text(dims[time]) + ");");
    return e.s.load(x, "o+(t<n?n-1-2*t:0)*" + text(own[time]));
  });
}

std::string empty_data(const sdk::Node& node) { return node.input(0).elements() == 0 && node.output(0).elements() != 0 ? "input 0 is empty" : ""; }
std::string too_many_looks(const sdk::Node& node) {
  const int64_t each = looks_of(node);
  if (each > 0 && !has_winners(node) && node.input(0).elements() > kMostLooks / each)
    return text(node.input(0).elements()) + " elements with " + text(each) + " updates each, wanted a product of at most 2^30";
  return node.input(0).rank() == 0 ? "input 0 is a scalar" : "";
}
std::string no_axes(const sdk::Node& node) { return node.output(0).rank() < 2 ? "input 0 has fewer than two axes" : ""; }

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&) = nullptr, bool takes_tail = true) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = takes_tail;
  return r;
}

constexpr sdk::Types A = kAny, X = sdk::types(OPTIMA_I64, OPTIMA_I32), L = sdk::types(OPTIMA_I64);
constexpr Row kRows[] = {
    row(op("GatherElements", 11, 13, {A, X}, {A}), lower_gather_elements, empty_data), row(op("GatherND", 11, 13, {A, X}, {A}), lower_gather_nd, empty_data),
    row(op("Scatter", 9, 11, {A, X, A}, {A}), lower_scatter_elements, too_many_looks), row(op("ScatterElements", 11, 18, {A, X, A}, {A}), lower_scatter_elements, too_many_looks),
    row(op("TensorScatter", 24, 24, {A, A, L}, {A}), lower_tensor_scatter, no_tensor_scatter), row(op("ScatterND", 11, 18, {A, X, A}, {A}), lower_scatter_nd, too_many_looks), row(op("OneHot", 9, 28, {kNumbers, kNumbers, A}, {A}, 2), lower_one_hot),
    row(op("Trilu", 14, 14, {A, X}, {A}, 2), lower_trilu, no_axes), row(op("ReverseSequence", 10, 28, {A, X}, {A}), lower_reverse_sequence),
};

}  // namespace of_index

Family index_family() { return of_index::kRows; }

}  // namespace spirv_plugin
