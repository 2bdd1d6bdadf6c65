// SPDX-License-Identifier: Apache-2.0
// Reductions, what they find the place of, running products, and the best k of a line.
#include <cmath>

#include "lines.hpp"

namespace spirv_plugin {
namespace of_reduce {

bool is_float(const sdk::Node& node) { return element_of(node.input(0).dtype()) == Element::F32; }
Work work_of(const sdk::Node& node, uint64_t flops) {
  const auto n = static_cast<uint64_t>(node.input(0).elements());
  return {n * flops, n * 4 + static_cast<uint64_t>(node.output(0).elements()) * 4};
}

/// Axes are an attribute or, later, input 1. None: all, or with noop_with_empty_axes each element is a line of its own.
Lines reduced_lines(const sdk::Node& node) {
  const Dims dims = node.input(0).shape();
  const Dims axes = node.input(1) ? integers_of(node.input(1).constant()) : node.integers("axes");
  std::vector<bool> runs(dims.size(), axes.empty() && node.integer("noop_with_empty_axes", 0) == 0);
  for (const int64_t axis : axes) runs[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] = true;
  return lines_along(dims, runs);
}

/// The least or largest number of a type, which a reduction over nothing gives.
std::string bound_of(int32_t dtype, bool least) {
  switch (dtype) {
    case OPTIMA_BOOL: return least ? "0" : "1";
    case OPTIMA_U8: return least ? "0" : "255";
    case OPTIMA_U16: return least ? "0" : "65535";
    case OPTIMA_I8: return least ? "(-128)" : "127";
    case OPTIMA_I16: return least ? "(-32768)" : "32767";
    case OPTIMA_I32:
    case OPTIMA_I64: return literal(least ? int64_t{INT32_MIN} : int64_t{INT32_MAX});
    default: return literal(least ? -HUGE_VAL : HUGE_VAL);
  }
}

/// What is made of an element `x`, of two parts `a` and `b`, and of the whole `v` in the end.
struct Fold {
  std::string start, each, joined, done = "v";
};

Fold fold_of(const sdk::Node& node, int64_t length) {
  const std::string_view name = node.op();
  const std::string zero = is_float(node) ? "0.0" : "0";
  if (name == "ReduceMax") return {bound_of(node.input(0).dtype(), true), "x", "max_(a,b)"};
  if (name == "ReduceMin") return {bound_of(node.input(0).dtype(), false), "x", "min_(a,b)"};
  if (name == "ReduceProd") return {is_float(node) ? "1.0" : "1", "x", "a*b"};
  if (name == "ReduceL1") return {zero, "abs(x)", "a+b"};
  if (name == "ReduceSumSquare") return {zero, "x*x", "a+b"};
  if (name == "ReduceL2") return {zero, "x*x", "a+b", "sqrt(v)"};
  if (name == "ReduceLogSum") return {zero, "x", "a+b", "log(v)"};
  if (name == "ReduceMean") return {zero, "x", "a+b", is_float(node) ? "(v/" + literal(static_cast<double>(length)) + ")" : "idiv_(v," + text(length) + ")"};
  return {zero, "x", "a+b"};
}

/// Loop and tree: the whole of a line as `v`.
void write_fold(Shader& s, const Walk& walk, const std::string& type, const Fold& f, const std::string& x, const std::string& name) {
  walk.fold(s, name, type, f.joined);
  s.top(type + " " + name + "_of(" + type + " a," + type + " b){return " + f.joined + ";}");
  s.line("{" + type + " t=" + f.start + ";" + walk.each() + "{" + type + " x=" + x + ";t=" + name + "_of(t," + f.each + ");}v=" + name + "(t);}");
}

void lower_reduce(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool shifted = node.op() == "ReduceLogSumExp";
  const std::string type = type_of(element_of(node.input(0).dtype()));
  AlongLines a{to, group, Walk(reduced_lines(node))};
  a.finish(work_of(node, shifted ? 12 : 2), [&] {
    a.s.line(type + " v;");
    if (!shifted) {
      const Fold f = fold_of(node, a.walk.lines().length());
      write_fold(a.s, a.walk, type, f, a.element(), "whole");
      return a.store_row(f.done);
    }
    // by the largest, so that nothing overflows
    write_fold(a.s, a.walk, type, {literal(-HUGE_VAL), "x", "max_(a,b)"}, a.element(), "largest");
    a.s.line("float m=inf_(v)?0.0:v;");
    write_fold(a.s, a.walk, type, {"0.0", "exp(x-m)", "a+b"}, a.element(), "sum");
    a.store_row("(log(v)+m)");
  });
}

std::string no_mean_of_nothing(const sdk::Node& node) {
  return node.input(0).elements() == 0 && node.output(0).elements() != 0 ? std::string(node.op()) + " over no elements" : "";
}

/// The first, or with select_last_index the last, of the best elements of a line. NaN is the largest.
void lower_arg(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool largest = node.op() == "ArgMax", last = node.integer("select_last_index", 0) != 0, floats = is_float(node);
  const std::string type = type_of(element_of(node.input(0).dtype()));
  AlongLines a{to, group, Walk(lines_along(node.input(0).shape(), node.integer("axis", 0)))};
  a.finish(work_of(node, 4), [&] {
    const std::string better = largest ? "max_(a,b)" : floats ? "(nan_(a)?b:nan_(b)?a:min(a,b))" : "min(a,b)", each = a.walk.each();
    a.s.top(type + " better(" + type + " a," + type + " b){return " + better + ";}");
    a.walk.fold(a.s, "best", type, better);
    a.walk.fold(a.s, "place", "int", last ? "max(a,b)" : "min(a,b)");
    const std::string start = floats && !largest ? literal(std::nan("")) : bound_of(node.input(0).dtype(), largest);
    a.s.line(type + " m=" + start + ";" + each + "m=better(m," + a.element() + ");m=best(m);");
    const std::string here = floats ? "(x==m||(nan_(m)&&nan_(x)))" : "(x==m)";
    a.s.line("int f=" + std::string(last ? "-1" : "2147483647") + ";" + each + "{" + type + " x=" + a.element() + ";if(" + here + ")f=" + (last ? "max(f,k)" : "min(f,k)") + ";}f=place(f);");
    a.store_row("f");
  });
}

/// A running product of a line; `exclusive` leaves the element itself out, `reverse` runs from the end.
void lower_running(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Tensor from = to.read(node.input(0)), y = to.made(node.output(0));
  if (y.elements() == 0) return;
  const Lines lines = lines_along(from.dims, integers_of(node.input(1).constant())[0]);
  const bool exclusive = node.integer("exclusive", 0) != 0, reverse = node.integer("reverse", 0) != 0;
  Shader s(kLocal);
  const int x = s.in(from), out = s.out(y);
  const Grid g = grid(lines.count(), kLocal);
  const std::string n = text(lines.length()), type = type_of(from.element);
  s.line("int row=" + g.id + ";if(row>=" + text(lines.count()) + ")return;int base=" + strided_index("row", lines.kept, lines.kept_strides) + ";");
  s.line(type + " t=" + (is_float(node) ? "1.0" : "1") + ";for(int j=0;j<" + n + ";++j){int k=" + (reverse ? n + "-1-j" : "j") + ",o=base+" + strided_index("k", lines.run, lines.run_strides) + ";");
  const std::string put = s.store(out, "o", "t"), next = "t*=x;";
  s.line(type + " x=" + s.load(x, "o") + ";" + (exclusive ? put + next : next + put) + "}");
  to.step(group, std::move(s), g.groups, work_of(node, 1));
}

int64_t best_axis(const sdk::Node& node) { return node.integer("axis", -1); }

/// Each element counts those of its line that come before it, and is stored where that says: equal ones in their own order, NaN as the largest.
void lower_top_k(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Tensor from = to.read(node.input(0));
  const Tensor values = node.output(0) ? to.made(node.output(0)) : to.scratch(node, from.element, node.output(1).shape());
  const Tensor places = node.output(1) ? to.made(node.output(1)) : to.scratch(node, Element::I32, values.dims);
  if (values.elements() == 0) return;
  const Lines lines = lines_along(from.dims, best_axis(node)), best = lines_along(values.dims, best_axis(node));
  const int64_t length = lines.length(), kept = best.length();
  Shader s(kLocal);
  const int x = s.in(from), v = s.out(values), p = s.out(places);
  const std::string type = type_of(from.element), at = strided_index("k", lines.run, lines.run_strides);
  if (from.element != Element::I32)  // numbers as whole ones of the same order
    s.top("int key(float x){if(nan_(x))return 2147483647;int b=floatBitsToInt(x);return x==0.0?0:b<0?b^0x7fffffff:b;}");
  else s.top("int key(int x){return x;}");
  const Grid g = grid(lines.count() * length, kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(lines.count() * length) + ")return;int own=id%" + text(length) + ",row=id/" + text(length) + ",base=" +
         strided_index("row", lines.kept, lines.kept_strides) + ";");
  s.line(type + " x=" + s.load(x, "base+own*" + text(lines.run_strides[0])) + ";int me=key(x),rank=0;");
  s.line("for(int k=0;k<" + text(length) + ";++k){int it=key(" + s.load(x, "base+" + at) + ");rank+=it" + (node.integer("largest", 1) ? ">" : "<") + "me||(it==me&&k<own)?1:0;}");
  s.line("if(rank<" + text(kept) + "){int o=" + strided_index("row", best.kept, best.kept_strides) + "+rank*" + text(best.run_strides[0]) + ";" + s.store(v, "o", "x") + s.store(p, "o", "own") + "}");
  const auto pairs = static_cast<uint64_t>(lines.count() * length) * static_cast<uint64_t>(length);
  to.step(group, std::move(s), g.groups, {pairs * 4, pairs});
}

std::string no_top_k(const sdk::Node& node) {
  constexpr int64_t kMost = 1 << 16, kMostPairs = int64_t{1} << 34;  // the latter takes seconds
  const Dims dims = node.input(0).shape();
  const int64_t axis = best_axis(node), length = dims[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)];
  if (length > kMost) return "TopK of lines of " + text(length) + " elements, wanted at most " + text(kMost);
  const int64_t pairs = node.input(0).elements() * length;
  return pairs > kMostPairs ? "TopK compares " + text(pairs) + " pairs, wanted at most " + text(kMostPairs) : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&) = nullptr, bool takes_tail = true) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = takes_tail;
  return r;
}
constexpr uint32_t kAxes = 2;  // input 1 is a constant
constexpr sdk::Types F = kFloats, N = kNumbers, L = sdk::types(OPTIMA_I64);
constexpr Row reduce(std::string_view name, int32_t last, sdk::Types types, std::string (*refuse)(const sdk::Node&) = nullptr) {
  Row r = row(op(name, 1, last, {types, L}, {types}, kAxes), lower_reduce, refuse);
  r.buffers = 2;
  return r;
}

constexpr Row kRows[] = {
    reduce("ReduceSum", 13, N), reduce("ReduceMean", 18, N, no_mean_of_nothing), reduce("ReduceMax", 20, kAny), reduce("ReduceMin", 20, kAny), reduce("ReduceProd", 18, N),
    reduce("ReduceL1", 18, N), reduce("ReduceL2", 18, F), reduce("ReduceLogSum", 28, F), reduce("ReduceLogSumExp", 28, F), reduce("ReduceSumSquare", 18, N),
    row(op("ArgMax", 1, 13, {N}, {L}), lower_arg), row(op("ArgMin", 1, 13, {N}, {L}), lower_arg), row(op("TopK", 1, 24, {N, L}, {N, L}, kAxes), lower_top_k, no_top_k, false),
    row(op("CumProd", 26, 26, {N, kIntegers}, {N}, kAxes), lower_running, nullptr, false),
};

}  // namespace of_reduce

Family reduce_family() { return of_reduce::kRows; }

}  // namespace spirv_plugin
