// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: float products in the form that suits their shape: tiles; parts of k summed in a step of their own where tiles are few and k is long;
// lines of k shared by workgroups where one side is a vector.
#pragma once

#include "lines.hpp"
#include "shared_tile.hpp"
#include "vector_tile.hpp"

namespace spirv_plugin {

/// A product with its operands. `bias` may be absent.
struct Multiply {
  Product p;
  Tensor a, b;
  sdk::Value bias;
};

namespace products {

inline Work work_of(const Product& p, int64_t elements) { return {2 * static_cast<uint64_t>(p.count() * p.m * p.n * p.k), 4 * static_cast<uint64_t>(elements)}; }

/// The tile of invocations that share nothing. A row alone: neighbours along n.
inline Tile register_tile(const Product& p) {
  if (p.m == 1) return {1, 1, 64, 1, 0};
  const int64_t rows = p.m >= 8 ? 8 : p.m >= 4 ? 4 : 2;
  return {rows, p.n >= 64 ? 4 : 2, 16, 4, 0};
}

/// Sums of operands at bindings `a` and `b` through shared memory.
inline void write_shared_tile(Shader& s, const Product& p, const Tile& t, int a, int b) {
  using namespace tiles;
  s.line("int z=int(gl_WorkGroupID.z),first=int(gl_WorkGroupID.y)*" + text(t.all_rows()) + ",left=int(gl_WorkGroupID.x)*" + text(t.all_columns()) + ";");
  s.line("int za=" + strided_index("z", p.batch, p.a_batch) + ",zb=" + strided_index("z", p.batch, p.b_batch) + ";");
  s.line("int ly=int(gl_LocalInvocationID.y),lx=int(gl_LocalInvocationID.x),row=first+ly*" + text(t.rows) + ",col=left+" + t.first_column("lx") + ";");
  write_zeros(s, t);
  const auto row = [&](const std::string& n, const std::string& at) { return "int a" + n + "=za+" + within(t.whole_rows(p), "first+" + at, p.m) + "*" + literal(p.a_row) + ";"; };
  const auto column = [&](const std::string& n, const std::string& at) { return "int b" + n + "=zb+" + times(within(t.whole_columns(p), "left+" + at, p.n), p.b_col) + ";"; };
  const Side rows{t.all_rows(), p.a_k == 1, row, [&](const std::string& n, const std::string& k) { return s.load(a, "a" + n + "+" + times(k, p.a_k)); }};
  const Side columns{t.all_columns(), p.b_col != 1, column, [&](const std::string& n, const std::string& k) { return s.load(b, "b" + n + "+" + times(k, p.b_k)); }};
  write_shared_sums(s, t, "float", {p.k, end_of(p), p.whole_parts() && p.k % t.depth == 0}, rows, columns);
}

/// Ways of the product of bindings `a` and `b`; `s` has put() and is begun for a workgroup of any size.
inline std::vector<Way> tile_ways(const Limits& limits, const Shader& s, const Product& p, int a, int b) {
  std::vector<Way> out;
  const auto add = [&](const Tile& t, void (*write)(Shader&, const Product&, const Tile&, int, int), std::string (*sum)(int64_t, int64_t)) {
    out.push_back({s, t.groups(p)});
    Shader& own = out.back().shader;
    own.regroup(t.x, t.y);
    write(own, p, t, a, b);
    write_stores(own, p, t, sum);
  };
  const bool halves = s.element(a) == Element::F16 && s.element(b) == Element::F16;
  if (const std::optional<Tile> t = shared_tiles::shared_tile(limits, p.m, p.n, p.k, halves)) add(*t, write_shared_tile, tiles::acc);
  if (const std::optional<Tile> t = vector_tiles::vector_tile(limits, p)) add(*t, write_vector_tile, vector_tiles::acc);
  else add(register_tile(p), write_register_tile, tiles::acc);
  return out;
}

/// A kernel that stores the product's elements, with all that is computed of a sum on its way: put(OFFSET, SUM). The operands are bound first.
struct Ending {
  Shader s;
  Tensor y;
  Ending(Lowering& to, const Group& group, const Multiply& of, Shader begun) : s(std::move(begun)) {
    const Product& p = of.p;
    const int bias = of.bias ? s.in(to.read(of.bias)) : -1;
    const Lowering::Tail tail = to.tail(s, group);
    y = to.made(group.end().output(0));
    std::string v = p.alpha == 1 ? "v" : "v*" + literal(p.alpha);
    if (bias >= 0) v += "+" + (p.beta == 1 ? "" : literal(p.beta) + "*") + s.load(bias, broadcast_index("o", {p.m, p.n}, p.bias_dims));
    const int out = s.out(y);
    s.top("void put(const int o,const float v){" + s.store(out, "o", tail(v, "o")) + "}");
  }
};

/// As a row times a matrix where it is one, or the other way round a matrix times a column; nothing where both sides are matrices.
inline std::optional<Multiply> as_row(const Multiply& of) {
  const Product& p = of.p;
  if (p.m == 1) return of;
  if (p.n != 1) return std::nullopt;
  Multiply out = of;
  std::swap(out.a, out.b), std::swap(out.p.a_batch, out.p.b_batch), std::swap(out.p.m, out.p.n);
  out.p.a_row = 0, out.p.a_k = p.b_k, out.p.b_k = p.a_k, out.p.b_col = p.a_row;
  return out;
}

/// The lines of k of a row times a matrix, one for each element of the result, where workgroups share them: where neighbours along k lie side by side, or
/// there are too few columns for neighbours along n.
inline std::optional<Walk> lines_of(const Product& p) {
  constexpr int64_t kFewColumns = 16;
  if (p.b_k != 1 && p.n >= kFewColumns) return std::nullopt;
  Lines lines{p.batch, p.b_batch, {p.k}, {p.b_k}};
  lines.kept.push_back(p.n), lines.kept_strides.push_back(p.b_col);
  Walk walk(std::move(lines));
  return walk.shared() ? std::optional<Walk>(std::move(walk)) : std::nullopt;
}

inline void lower_lines(Lowering& to, const Group& group, const Multiply& whole, const Multiply& row, Walk walk) {
  const Product& p = row.p;
  Shader begun(walk.local());
  const int a = begun.in(row.a), b = begun.in(row.b);
  Ending end(to, group, whole, std::move(begun));
  Shader& s = end.s;
  Dims of_a = p.a_batch;
  of_a.push_back(0);
  const auto write = [&] {
    walk.fold(s, "sum", "float", "a+b");
    s.line(walk.begin() + "int ab=" + strided_index("row", walk.lines().kept, of_a) + ";float t=0.0;");
    s.line(walk.each() + "t+=" + s.load(a, "ab+" + tiles::times("k", p.a_k)) + "*" + s.load(b, walk.at()) + ";t=sum(t);" + walk.once() + "put(row,t);");
  };
  to.step(group, ways_along(to.limits(), walk, s, write), work_of(p, row.a.elements() + row.b.elements() + end.y.elements()));
}

/// The parts of k as products of a batch, where workgroups are few and k is long: so many that a middling GPU has something to do everywhere, each long
/// enough to be worth its sums.
inline std::optional<Product> parts_of(const Limits& limits, const Product& p) {
  constexpr int64_t kEnough = 64, kLong = 2048, kLeast = 512, kRound = 32;  // workgroups of registers' tiles; steps along k
  const std::array<uint32_t, 3> groups = vector_tiles::vector_tile(limits, p).value_or(register_tile(p)).groups(p);
  const int64_t there = int64_t{groups[0]} * groups[1] * groups[2];
  if (p.k < kLong || there == 0 || 2 * there > kEnough) return std::nullopt;
  const int64_t wanted = std::min(kEnough / there, p.k / kLeast);
  Product out = p;
  out.k = ((p.k + wanted - 1) / wanted + kRound - 1) / kRound * kRound, out.whole_k = p.k;
  const int64_t parts = (p.k + out.k - 1) / out.k;
  out.batch.insert(out.batch.begin(), parts);
  out.a_batch.insert(out.a_batch.begin(), out.k * p.a_k), out.b_batch.insert(out.b_batch.begin(), out.k * p.b_k);
  return out;
}

/// Sums of parts in memory of their own, then those together, always in the same order.
inline void lower_parts(Lowering& to, const Group& group, const Multiply& of, const Product& parts) {
  constexpr uint32_t kLocal = 64;
  Dims dims = parts.batch;
  dims.insert(dims.end(), {parts.m, parts.n});
  const Tensor sums = to.scratch(group.root, Element::F32, dims);
  Shader first(1);
  const int a = first.in(of.a), b = first.in(of.b), out = first.out(sums);
  first.top("void put(const int o,const float v){" + first.store(out, "o", "v") + "}");
  to.step(group, tile_ways(to.limits(), first, parts, a, b), work_of(of.p, of.a.elements() + of.b.elements() + sums.elements()));

  Shader begun(kLocal);
  const int from = begun.in(sums);
  Ending end(to, group, of, std::move(begun));
  Shader& s = end.s;
  const int64_t n = end.y.elements();
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;float t=0.0;for(int k=0;k<" + text(parts.batch[0]) + ";++k)t+=" + s.load(from, "o+k*" + text(n)) + ";put(o,t);");
  to.step(group, std::move(s), g.groups, {static_cast<uint64_t>(sums.elements()), 4 * static_cast<uint64_t>(sums.elements() + n)});
}

}  // namespace products

/// The steps of a group whose root is a product; an output without elements has none.
inline void lower_product(Lowering& to, const Group& group, const Multiply& of) {
  using namespace products;
  if (group.end().output(0).elements() > 0) {
    if (const std::optional<Multiply> row = as_row(of))
      if (std::optional<Walk> walk = lines_of(row->p)) return lower_lines(to, group, of, *row, std::move(*walk));
    if (const std::optional<Product> parts = parts_of(to.limits(), of.p)) return lower_parts(to, group, of, *parts);
  }
  Shader begun(1);
  const int a = begun.in(of.a), b = begun.in(of.b);
  const Ending end(to, group, of, std::move(begun));
  if (end.y.elements() == 0) return;
  to.step(group, tile_ways(to.limits(), end.s, of.p, a, b), work_of(of.p, of.a.elements() + of.b.elements() + end.y.elements()));
}

}  // namespace spirv_plugin
