// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_reduce {

/// A run of neighbouring axes. The tools abort on axes that are none.
struct Run {
  size_t first, last;  // last not included
};

std::vector<bool> reduced_axes(const sdk::Node& node) {
  const size_t rank = static_cast<size_t>(node.input(0).rank());
  std::vector<int64_t> axes = numbers_of(node, "axes", 1);
  std::vector<bool> reduced(rank, axes.empty() && node.integer("noop_with_empty_axes", 0) == 0);
  for (const int64_t axis : axes) reduced[axis_of(axis, rank)] = true;
  if (rank == 0) reduced = {false};
  return reduced;
}
std::vector<Run> runs(const sdk::Node& node) {
  const std::vector<bool> reduced = reduced_axes(node);
  std::vector<Run> all;
  for (size_t k = 0; k < reduced.size(); ++k) {
    if (!reduced[k] || node.input(0).dim(static_cast<uint32_t>(k)) == 1) continue;  // one number is its own sum, and the tools fold that
    if (!all.empty() && all.back().last == k) ++all.back().last;
    else all.push_back({k, k + 1});
  }
  return all;
}

std::vector<int64_t> ones(std::vector<int64_t> dims, const Run& run) {
  std::fill(dims.begin() + static_cast<ptrdiff_t>(run.first), dims.begin() + static_cast<ptrdiff_t>(run.last), 1);
  return dims;
}

Piece reduced(Pieces& make, const Piece& x, const Run& run, std::string_view mode) {
  std::vector<int64_t> axes;
  for (size_t k = run.first; k < run.last; ++k) axes.push_back(static_cast<int64_t>(k));
  return make.op("reduced", "Reduce", {x}, Attributes().i64s("axes", axes).flag("keepdims", true).text("mode", mode).flag("is_scalar", false), ones(x.dims, run));
}

/// Products by halves: the emulators' ReduceProd is off by 0.4 and more along a last axis whose size is no power of two.
Piece multiplied(Pieces& make, const Piece& x, const Run& run) {
  Piece rest = make.reshaped(x, {product(x.dims, 0, run.first), product(x.dims, run.first, run.last), product(x.dims, run.last, x.dims.size())});
  while (rest.dims[1] > 1) {
    const int64_t n = rest.dims[1], half = n / 2;
    Piece next = make.both("Mul", make.sliced(rest, 1, 0, half), make.sliced(rest, 1, half, 2 * half));
    rest = n % 2 ? make.joined({next, make.sliced(rest, 1, n - 1, n)}, 1) : next;
  }
  return make.reshaped(rest, ones(x.dims, run));
}

Piece every_run(Pieces& make, Piece x, const std::vector<Run>& all, std::string_view mode) {
  for (const Run& run : all) x = mode == "ReduceProd" ? multiplied(make, x, run) : reduced(make, x, run, mode);
  return x;
}

Piece unary(Pieces& make, std::string_view op, const Piece& x, const Attributes& a = {}) { return make.op(op, op, {x}, a, x.dims); }

std::string refuses_reduce(const sdk::Node& node, const Chip&) {
  if (node.input(0).dtype() != OPTIMA_F32) return wants_floats(node);
  return wants_constant(node, 1, "axes");
}

/// Min, Max, Mean, Sum, Prod: of several runs one after the other.
void write_reduce(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  make.finish(every_run(make, make.read(0), runs(node), node.op()));
}
void write_l1(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  make.finish(every_run(make, unary(make, "Abs", make.read(0)), runs(node), "ReduceSum"));
}
void write_squares(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0), sum = every_run(make, make.both("Mul", x, x), runs(node), "ReduceSum");
  make.finish(node.op() == "ReduceL2" ? unary(make, "Sqrt", sum) : sum);
}
Piece logarithm(Pieces& make, const Piece& x) { return unary(make, "Log", x); }
void write_log_sum(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  make.finish(logarithm(make, every_run(make, make.read(0), runs(node), "ReduceSum")));
}
/// With the greatest taken off first, so that no power overflows.
void write_log_sum_exp(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0), most = every_run(make, x, runs(node), "ReduceMax");
  const Piece sum = every_run(make, unary(make, "Exp", make.both("Sub", x, most)), runs(node), "ReduceSum");
  make.finish(make.both("Add", logarithm(make, sum), most));
}

std::string refuses_arg(const sdk::Node& node, const Chip&) {
  if (node.input(0).dtype() != OPTIMA_F32) return wants_floats(node);
  return {};
}
void write_arg(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t axis = axis_of(node.integer("axis", 0), x.dims.size());
  const std::vector<int64_t> dims = with(x.dims, axis, 1);
  const Attributes a = Attributes().i64("axis", static_cast<int64_t>(axis)).flag("keepdims", true).text("mode", node.op()).flag("select_last_index", node.integer("select_last_index", 0) != 0);
  const std::string name = dims == dims_of(node.output(0)) ? std::string(node.output(0).name()) : to.inner(node, "found");
  make.finish({to.module().op("Arg", {x.value}, a, std::vector<Result>{{name, dims}, {"", {}, "none"}}).front(), dims});
}

/// 1 at the place of the greatest, of equals the first.
void write_hardmax(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t axis = axis_of(node.integer("axis", -1), x.dims.size());
  const std::vector<int64_t> lines{product(x.dims, 0, axis), x.dims[axis], product(x.dims, axis + 1, x.dims.size())}, one = with(lines, 1, 1);
  const Attributes a = Attributes().i64("axis", 1).flag("keepdims", true).text("mode", "ArgMax").flag("select_last_index", false);
  const Value flat = make.reshaped(x, lines).value;
  const Piece at{to.module().op("Arg", {flat}, a, std::vector<Result>{{to.inner(node, "found"), one}, {"", {}, "none"}}).front(), one};
  std::vector<float> places;
  for (int64_t k = 0; k < lines[1]; ++k) places.push_back(static_cast<float>(k));
  const Piece spread = lines[1] == 1 ? at : make.op("spread", "Tile", {at}, Attributes().i64s("tile", {1, lines[1], 1}), lines);
  make.finish(make.reshaped(make.op("hit", "Compare", {spread, make.weight({1, lines[1], 1}, places)}, Attributes().text("mode", "Equal"), lines), x.dims));
}

std::string refuses_topk(const sdk::Node& node, const Chip&) {
  if (node.input(0).dtype() != OPTIMA_F32) return wants_floats(node);
  return wants_constant(node, 1, "k");
}
/// Along the last axis, sorted, first of equals first.
void write_topk(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  Piece x = make.read(0);
  const size_t rank = x.dims.size(), axis = axis_of(node.integer("axis", -1), rank);
  std::vector<int64_t> order;
  for (size_t k = 0; k < rank; ++k) order.push_back(static_cast<int64_t>(k));
  std::swap(order[axis], order[rank - 1]);
  x = make.transposed(x, order);
  const int64_t count = dims_of(node.output(node.output(0) ? 0 : 1))[axis];
  const std::vector<int64_t> dims = with(x.dims, rank - 1, count);
  const Attributes a = Attributes().i64("axis", static_cast<int64_t>(rank) - 1).i64("K", count).flag("largest", node.integer("largest", 1) != 0).flag("sorted", true).flag("replace_topk_indices", false).flag("use_hau", true);
  const std::vector<Value> found = to.module().op("TopK", {x.value}, a, std::vector<Result>{{to.inner(node, "values"), dims}, {to.inner(node, "indices"), dims}});
  for (uint32_t k = 0; k < 2; ++k)
    if (node.output(k)) make.finish(make.transposed({found[k], dims}, order), k);
}

constexpr Row kRows[] = {
    {"ReduceMin", refuses_reduce, write_reduce},
    {"ReduceMax", refuses_reduce, write_reduce},
    {"ReduceMean", refuses_reduce, write_reduce},
    {"ReduceSum", refuses_reduce, write_reduce},
    {"ReduceProd", refuses_reduce, write_reduce},
    {"ReduceL1", refuses_reduce, write_l1},
    {"ReduceL2", refuses_reduce, write_squares},
    {"ReduceSumSquare", refuses_reduce, write_squares},
    {"ReduceLogSum", refuses_reduce, write_log_sum},
    {"ReduceLogSumExp", refuses_reduce, write_log_sum_exp},
    {"ArgMax", refuses_arg, write_arg},
    {"ArgMin", refuses_arg, write_arg},
    {"Hardmax", refuses_arg, write_hardmax},
    {"TopK", refuses_topk, write_topk},
};

}  // namespace of_reduce

sdk::Span<const Row> reductions() { return of_reduce::kRows; }

}  // namespace bmcompiler_plugin::top
