// SPDX-License-Identifier: Apache-2.0
// Reductions, what they find the place of, and the best k of a line.
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

Fold fold_of(const sdk::Node& node, int64_t length) {
  const std::string_view name = node.op();
  const std::string type = type_of(element_of(node.input(0).dtype())), zero = is_float(node) ? "0.0" : "0";
  const int32_t dtype = node.input(0).dtype();
  const bool is_long = dtype == OPTIMA_I64;
  const std::string added = is_long ? sum_of(dtype, "a", "b") : "a+b", square = is_long ? product_of(dtype, "x", "x") : "x*x";
  const auto sum = [&](const std::string& each, const std::string& done = "") { return Fold{"v", type, zero, each, added, "", done}; };
  if (name == "ReduceMax") return {"v", type, bound_of(node.input(0).dtype(), true), "x", "max_(a,b)"};
  if (name == "ReduceMin") return {"v", type, bound_of(node.input(0).dtype(), false), "x", "min_(a,b)"};
  if (name == "ReduceProd") return {"v", type, is_float(node) ? "1.0" : "1", "x", is_long ? product_of(dtype, "a", "b") : "a*b"};
  if (name == "ReduceL1") return sum(is_long ? "(x<0?neg64_(x):x)" : "abs(x)");
  if (name == "ReduceSumSquare") return sum(square);
  if (name == "ReduceL2") return sum(square, "v=sqrt(v);");
  if (name == "ReduceLogSum") return sum("x", "v=log(v);");
  if (name == "ReduceMean") return sum("x", is_float(node) ? "v/=" + literal(static_cast<double>(length)) + ";" : (is_long ? "v=div64_(v," : "v=idiv_(v,") + text(length) + ");");
  return sum("x");
}

void lower_reduce(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  LineProgram of{reduced_lines(node), to.read(node.input(0)), {}, {}, true, "v"};
  const bool shifted = node.op() == "ReduceLogSumExp";  // by the largest, so that nothing overflows
  if (shifted) of.folds = {{"m", "float", literal(-HUGE_VAL), "x", "max_(a,b)", "", "if(inf_(m))m=0.0;"}, {"v", "float", "0.0", "exp(x-m)", "a+b", "", "v=log(v)+m;"}};
  else of.folds = {fold_of(node, of.lines.length())};
  lower_along(to, group, of, work_of(node, shifted ? 12 : 2));
}

std::string no_mean_of_nothing(const sdk::Node& node) {
  return node.input(0).elements() == 0 && node.output(0).elements() != 0 ? std::string(node.op()) + " over no elements" : "";
}

/// The first, or with select_last_index the last, of the best elements of a line. NaN is the largest.
void lower_arg(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool largest = node.op() == "ArgMax", last = node.integer("select_last_index", 0) != 0, floats = is_float(node);
  const std::string start = floats && !largest ? literal(std::nan("")) : bound_of(node.input(0).dtype(), largest), none = last ? "-1" : "2147483647";
  const std::string better = largest ? "max_(a,b)" : floats ? "(nan_(a)?b:nan_(b)?a:min(a,b))" : "min(a,b)", here = floats ? "(x==m||(nan_(m)&&nan_(x)))" : "(x==m)";
  const Fold best{"m", type_of(element_of(node.input(0).dtype())), start, "x", better}, place{"f", "int", none, "(" + here + "?k:" + none + ")", last ? "max(a,b)" : "min(a,b)"};
  lower_along(to, group, {lines_along(node.input(0).shape(), node.integer("axis", 0)), to.read(node.input(0)), {}, {best, place}, true, "f"}, work_of(node, 4));
}

int64_t best_axis(const sdk::Node& node) { return node.integer("axis", -1); }

/// TopK of lines longer than a part counts in parts.
struct Ranking {
  Lines lines;
  Tensor from;
  bool largest;
  static constexpr int64_t kPart = int64_t{1} << 15;
  int64_t length() const { return lines.length(); }
  int64_t elements() const { return lines.count() * length(); }
  int64_t parts() const { return (length() + kPart - 1) / kPart; }

  /// Statements that name of element `id` its line, its place in it, and its number as a whole one of the same order.
  void write_element(Shader& s, int x) const {
    if (from.element != Element::I32) s.top("int key(float x){if(nan_(x))return 2147483647;int b=floatBitsToInt(x);return x==0.0?0:b<0?b^0x7fffffff:b;}");
    else s.top("int key(int x){return x;}");
    s.line("int own=id%" + text(length()) + ",row=id/" + text(length()) + ",base=" + strided_index("row", lines.kept, lines.kept_strides) + ";");
    s.line(std::string(type_of(from.element)) + " x=" + s.load(x, "base+own*" + text(lines.run_strides[0])) + ";int me=key(x),rank=0;");
  }
  /// The statement that counts in `rank` those ahead of it among `count` from `first` on.
  std::string counted(const Shader& s, int x, const std::string& first, const std::string& count) const {
    return "for(int i=0;i<" + count + ";++i){int k=" + first + "+i,it=key(" + s.load(x, "base+" + strided_index("k", lines.run, lines.run_strides)) + ");rank+=it" + (largest ? ">" : "<") + "me||(it==me&&k<own)?1:0;}";
  }
};

/// [part][element]: how many of each part come before it.
Tensor ranks_of(Lowering& to, const Group& group, const Ranking& r) {
  constexpr uint32_t kLocal = 64;
  const Tensor ranks = to.scratch(group.root, Element::I32, {r.parts(), r.elements()});
  Shader s(kLocal);
  const int x = s.in(r.from), out = s.out(ranks);
  const Grid g = grid(ranks.elements(), kLocal);
  s.line("int at=" + g.id + ";if(at>=" + text(ranks.elements()) + ")return;int id=at%" + text(r.elements()) + ",first=at/" + text(r.elements()) + "*" + text(Ranking::kPart) + ";");
  r.write_element(s, x);
  s.line(r.counted(s, x, "first", "min(" + text(Ranking::kPart) + "," + text(r.length()) + "-first)") + s.store(out, "at", "rank"));
  const auto pairs = static_cast<uint64_t>(r.elements()) * static_cast<uint64_t>(r.length());
  to.step(group, std::move(s), g.groups, {pairs * 4, pairs});
  return ranks;
}

/// Each element counts those of its line that come before it, and is stored where that says: equal ones in their own order, NaN as the largest.
void lower_top_k(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Tensor from = to.read(node.input(0));
  const Tensor values = node.output(0) ? to.made(node.output(0)) : to.scratch(node, from.element, node.output(1).shape());
  const Tensor places = node.output(1) ? to.made(node.output(1)) : to.scratch(node, Element::I32, values.dims);
  if (values.elements() == 0) return;
  const Lines best = lines_along(values.dims, best_axis(node));
  const Ranking r{lines_along(from.dims, best_axis(node)), from, node.integer("largest", 1) != 0};
  Shader s(kLocal);
  const int x = s.in(from), ranks = r.parts() > 1 ? s.in(ranks_of(to, group, r)) : -1, v = s.out(values), p = s.out(places);
  const Grid g = grid(r.elements(), kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(r.elements()) + ")return;");
  r.write_element(s, x);
  if (ranks < 0) s.line(r.counted(s, x, "0", text(r.length())));
  else s.line("for(int i=0;i<" + text(r.parts()) + ";++i)rank+=" + s.load(ranks, "i*" + text(r.elements()) + "+id") + ";");
  s.line("if(rank<" + text(best.length()) + "){int o=" + strided_index("row", best.kept, best.kept_strides) + "+rank*" + text(best.run_strides[0]) + ";" + s.store(v, "o", "x") + s.store(p, "o", "own") + "}");
  const auto pairs = static_cast<uint64_t>(r.elements()) * static_cast<uint64_t>(r.length());
  to.step(group, std::move(s), g.groups, {pairs * 4, pairs});
}

std::string no_top_k(const sdk::Node& node) {
  constexpr int64_t kMostPairs = int64_t{1} << 34;  // takes seconds
  const Dims dims = node.input(0).shape();
  const int64_t axis = best_axis(node), length = dims[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)];
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
};

}  // namespace of_reduce

Family reduce_family() { return of_reduce::kRows; }

}  // namespace spirv_plugin
