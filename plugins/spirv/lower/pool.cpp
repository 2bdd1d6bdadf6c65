// SPDX-License-Identifier: Apache-2.0
// Pools: windows over one to three axes, an invocation per output; global ones run along lines.
#include <cmath>

#include "elements.hpp"
#include "lines.hpp"
#include "window.hpp"

namespace spirv_plugin {
namespace of_pool {

/// Statements for output element `o`: `plane`, the index of its channel's first element, and where its window starts.
void write_position(Shader& s, const std::vector<Axis>& axes) {
  s.line("int plane=o/" + text(product(axes, &Axis::out)) + "*" + text(product(axes, &Axis::in)) + ";");
  write_starts(s, axes);
}

Work work_of(const sdk::Node& node, int64_t outputs, int64_t taps) {
  return {static_cast<uint64_t>(outputs) * static_cast<uint64_t>(taps), 4 * static_cast<uint64_t>(node.input(0).elements() + outputs)};
}

/// What the window's elements become in `t`, each as `v`, of `x`; and `t` in the end, of that and of how many elements there are, `n`. All of one type.
struct Pool {
  std::string start, of, joined, done;
};

/// What AveragePool divides by.
std::string count_of(const std::vector<Axis>& axes, bool with_pads) {
  if (std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.inside(); })) return literal(static_cast<double>(product(axes, &Axis::kernel)));
  if (!with_pads) return "n";
  std::string out;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& a = axes[k];
    out += (k ? "*" : "") + std::string("float(min(") + text(a.kernel) + ",(" + text(a.in + a.end + a.dilation - 1) + "-s" + text(static_cast<int64_t>(k)) + ")/" + text(a.dilation) + "))";
  }
  return "(" + out + ")";
}

/// |v|^p, and its inverse.
std::string powered(const std::string& v, int64_t p) { return p == 1 ? "abs(" + v + ")" : p == 2 ? v + "*" + v : "pow_(abs(" + v + ")," + literal(static_cast<double>(p)) + ")"; }
std::string rooted(const std::string& v, int64_t p) { return p == 1 ? v : p == 2 ? "sqrt(" + v + ")" : "pow_(" + v + "," + literal(1.0 / static_cast<double>(p)) + ")"; }

std::string least_of(int32_t dtype) { return dtype == OPTIMA_I8 ? "(-128)" : dtype == OPTIMA_U8 ? "0" : literal(-HUGE_VAL); }

Pool pool_of(const sdk::Node& node, const std::vector<Axis>& axes) {
  const int64_t p = node.integer("p", 2);
  if (node.op() == "MaxPool") return {least_of(node.input(0).dtype()), "x", "t=max_(t,v);", "t"};
  if (node.op() == "LpPool") return {"0.0", powered("x", p), "t+=v;", rooted("t", p)};
  return {"0.0", "x", "t+=v;", "t/" + count_of(axes, node.integer("count_include_pad", 0) != 0)};
}

/// Windows of more elements are folded along one axis after the other: an invocation by itself would take long.
constexpr int64_t kLargest = 4096;

/// The windows' share of one axis: those before it are done, those behind it are as they were.
std::vector<Axis> only(const std::vector<Axis>& axes, size_t which) {
  std::vector<Axis> out = axes;
  for (size_t k = 0; k < out.size(); ++k)
    if (k != which) out[k] = {k < which ? axes[k].out : axes[k].in, k < which ? axes[k].out : axes[k].in, 1, 1, 1, 0, 0};
  return out;
}

/// How many elements of the input the window at s0, s1, ... has, as a float.
std::string count_inside(const std::vector<Axis>& axes) {
  std::string out;
  for (size_t k = 0; k < axes.size(); ++k) {
    const std::string s = "s" + std::to_string(k), step = text(axes[k].dilation);
    out += (k ? "*" : "") + std::string("(min(") + text(axes[k].kernel - 1) + ",(" + text(axes[k].in - 1) + "-" + s + ")/" + step + ")-(max(0,-" + s + ")+" + text(axes[k].dilation - 1) + ")/" + step + "+1)";
  }
  return "float(" + out + ")";
}

/// What the windows come to before their end, in as many steps as they have axes.
Tensor folded_by_axis(Lowering& to, const Group& group, const std::vector<Axis>& axes, const Pool& pool) {
  constexpr uint32_t kLocal = Elements::kLocal;
  const sdk::Node& node = group.root;
  Tensor from = to.read(node.input(0));
  const std::string type = type_of(from.element);
  for (size_t k = 0; k < axes.size(); ++k) {
    const std::vector<Axis> one = only(axes, k);
    Dims dims{from.dims[0], from.dims[1]};
    for (const Axis& a : one) dims.push_back(a.out);
    const Tensor into = to.scratch(node, from.element == Element::I32 ? Element::I32 : Element::F32, dims);
    Shader s(kLocal);
    const int x = s.in(from), out = s.out(into);
    const Grid g = grid(into.elements(), kLocal);
    s.line("int o=" + g.id + ";if(o>=" + text(into.elements()) + ")return;");
    write_position(s, one);
    s.line(type + " t=" + pool.start + ";");
    write_window(s, one, type + " x=" + s.load(x, "plane+at") + ",v=" + (k == 0 ? pool.of : "x") + ";" + pool.joined);
    s.line(s.store(out, "o", "t"));
    to.step(group, std::move(s), g.groups, work_of(node, into.elements(), one[k].kernel));
    from = into;
  }
  return from;
}

void lower_by_axis(Lowering& to, const Group& group, const std::vector<Axis>& axes, const Pool& pool) {
  const int64_t outputs = group.root.output(0).elements();
  if (outputs == 0) return void(to.made(group.end().output(0)));
  const Tensor folded = folded_by_axis(to, group, axes, pool);
  Elements e{to, group};
  const int from = e.s.in(folded);
  e.finish(
      [&] {
        write_position(e.s, axes);
        if (along::names(pool.done, "n")) e.s.line("float n=" + count_inside(axes) + ";");
        e.s.line(std::string(type_of(folded.element)) + " t=" + e.s.load(from, "o") + ";");
        return pool.done;
      },
      work_of(group.root, outputs, 1));
}

void lower_pool(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const std::vector<Axis> axes = window_of(node, node.integers("kernel_shape"));
  const Pool pool = pool_of(node, axes);
  if (product(axes, &Axis::kernel) > kLargest) return lower_by_axis(to, group, axes, pool);
  const std::string type = type_of(element_of(node.input(0).dtype()));
  Elements e{to, group};
  const int x = e.in(node.input(0));
  e.finish(
      [&] {
        write_position(e.s, axes);
        e.s.line(type + " t=" + pool.start + ";float n=0.0;");
        write_window(e.s, axes, type + " x=" + e.s.load(x, "plane+at") + ",v=" + pool.of + ";" + pool.joined + (along::names(pool.done, "n") ? "n+=1.0;" : ""));
        return pool.done;
      },
      work_of(node, node.output(0).elements(), product(axes, &Axis::kernel)));
}

/// The position `best` in a plane, counted with the last axis slowest.
std::string column_major(const std::vector<Axis>& axes) {
  std::string out;
  int64_t behind = product(axes, &Axis::in), step = 1;
  for (const Axis& a : axes) {
    behind /= a.in;
    out += (out.empty() ? "" : "+") + std::string("best/") + text(behind) + "%" + text(a.in) + "*" + text(step);
    step *= a.in;
  }
  return out;
}

/// MaxPool that also says where: the first of the largest, NaN before all.
void lower_max_places(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const std::vector<Axis> axes = window_of(node, node.integers("kernel_shape"));
  const Tensor from = to.read(node.input(0)), places = to.made(node.output(1));
  const Tensor y = node.output(0) ? to.made(node.output(0)) : to.scratch(node, from.element, places.dims);
  if (y.elements() == 0) return;
  Shader s(kLocal);
  const int x = s.in(from), out = s.out(y), where = s.out(places);
  const Grid g = grid(y.elements(), kLocal);
  const std::string type = type_of(from.element), nan = from.element != Element::I32 ? "||(nan_(v)&&!nan_(t))" : "";
  s.line("int o=" + g.id + ";if(o>=" + text(y.elements()) + ")return;");
  write_position(s, axes);
  s.line(type + " t=" + least_of(node.input(0).dtype()) + ";int best=-1;");
  write_window(s, axes, type + " v=" + s.load(x, "plane+at") + ";if(best<0||v>t" + nan + "){t=v;best=at;}");
  s.line(s.store(out, "o", "t") + s.store(where, "o", "plane+(best<0?0:" + (node.integer("storage_order", 0) ? column_major(axes) : "best") + ")"));
  to.step(group, std::move(s), g.groups, work_of(node, y.elements(), product(axes, &Axis::kernel)));
}

void lower_max(Lowering& to, const Group& group) {
  if (group.root.output(1)) lower_max_places(to, group);
  else lower_pool(to, group);
}

std::string no_pool(const sdk::Node& node) {
  constexpr int64_t kMost = 3;
  const int64_t axes = node.input(0).rank() - 2;
  if (axes < 1 || axes > kMost) return std::string(node.op()) + " over " + text(axes) + " axes, wanted one to three";
  const auto numbers = static_cast<int64_t>(node.integers("kernel_shape").size());
  if (numbers != axes) return "kernel_shape has " + text(numbers) + " numbers, wanted " + text(axes);
  if (!node.output(0) && !node.output(1)) return "no output is wanted";
  return node.input(0).elements() == 0 && (node.output(0) ? node.output(0) : node.output(1)).elements() != 0 ? "windows over no elements" : "";
}

/// A line is a channel of an image.
void lower_global(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape();
  std::vector<bool> runs(dims.size(), true);
  runs[0] = runs[1] = false;
  const bool largest = node.op() == "GlobalMaxPool", powers = node.op() == "GlobalLpPool";
  const int64_t p = node.integer("p", 2);
  const Lines lines = lines_along(dims, runs);
  const int64_t length = lines.length();
  const std::string done = largest ? "" : powers ? "t=" + rooted("t", p) + ";" : "t/=" + literal(static_cast<double>(length)) + ";";
  const Fold whole{"t", "float", literal(largest ? -HUGE_VAL : 0.0), powers ? powered("x", p) : "x", largest ? "max_(a,b)" : "a+b", "", done};
  lower_along(to, group, {lines, to.read(node.input(0)), {}, {whole}, true, "t"}, work_of(node, node.output(0).elements(), length));
}

std::string no_plane(const sdk::Node& node) {
  if (node.input(0).rank() < 2) return "input of rank " + text(node.input(0).rank()) + ", wanted 2 or more";
  return node.input(0).elements() == 0 && node.output(0).elements() != 0 ? "planes of no elements" : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&)) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = true, r.buffers = 2;
  return r;
}
constexpr sdk::Types F = kFloats, P = F | sdk::types(OPTIMA_I8, OPTIMA_U8), L = sdk::types(OPTIMA_I64);
constexpr Row kRows[] = {
    row(op("MaxPool", 1, 22, {P}, {P, L}), lower_max, no_pool), row(op("AveragePool", 1, 22, {F}, {F}), lower_pool, no_pool), row(op("LpPool", 2, 22, {F}, {F}), lower_pool, no_pool),
    row(op("GlobalMaxPool", 1, 22, {F}, {F}), lower_global, no_plane), row(op("GlobalAveragePool", 1, 22, {F}, {F}), lower_global, no_plane),
    row(op("GlobalLpPool", 2, 22, {F}, {F}), lower_global, no_plane),
};

}  // namespace of_pool

Family pool_family() { return of_pool::kRows; }

}  // namespace spirv_plugin
