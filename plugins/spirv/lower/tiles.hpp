// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: how a workgroup computes a tile of a matrix product: each invocation a tile of its own in registers, written out, whose operands
// come straight from their buffers (or through shared memory: shared_tile.hpp). Sums are stored by put(OFFSET, SUM).
#pragma once

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// Y[b] = alpha * A[b] B[b] (+ bias): where operands lie, in elements.
struct Product {
  int64_t m = 1, n = 1, k = 1;
  Dims batch{};                               ///< dims of the result ahead of m and n
  Dims a_batch{}, b_batch{};                  ///< strides of A and B, one per dim of batch
  int64_t a_row = 0, a_k = 1, b_k = 0, b_col = 1;
  double alpha = 1, beta = 1;
  Dims bias_dims{};                           ///< broadcast to m x n
  /// Where k is that of a part, and batch begins with the parts: all of k, of which the last part may have less. 0: no parts.
  int64_t whole_k = 0;
  int64_t count() const { return elements_of(batch); }
  /// The last part has as much as the others.
  bool whole_parts() const { return whole_k == 0 || whole_k % k == 0; }
};

/// Rows and columns of one invocation's sums, invocations of a workgroup along columns and rows, and how much of k lies in shared memory at a time; 0: none.
struct Tile {
  int64_t rows, cols;
  uint32_t x, y;
  int64_t depth;
  bool halves = false;  ///< two neighbours of a side lie in a word of shared memory
  bool twice = false;   ///< shared memory holds the next steps beside these
  bool side_by_side = false;  ///< the columns of an invocation are neighbours; else those of neighbouring invocations are
  int64_t all_rows() const { return rows * y; }
  int64_t all_columns() const { return cols * x; }
  std::array<uint32_t, 3> groups(const Product& p) const {
    const auto up = [](int64_t n, int64_t by) { return static_cast<uint32_t>((n + by - 1) / by); };
    return {up(p.n, all_columns()), up(p.m, all_rows()), static_cast<uint32_t>(p.count())};
  }
  /// The first column of invocation `x` of the workgroup, and how far behind it number `j` of its columns is.
  std::string first_column(const std::string& x) const { return halves ? x + "*2" : x; }
  int64_t column(int64_t j) const { return side_by_side ? j : halves ? j / 2 * 2 * x + j % 2 : j * x; }
  /// Every tile has all of its rows, or all of its columns.
  bool whole_rows(const Product& p) const { return p.m % all_rows() == 0; }
  bool whole_columns(const Product& p) const { return p.n % all_columns() == 0; }
};

namespace tiles {

inline std::string name(const char* of, int64_t i) { return of + std::to_string(i); }
inline std::string acc(int64_t i, int64_t j) { return "a" + std::to_string(i) + "_" + std::to_string(j); }
inline std::string times(const std::string& at, int64_t stride) { return stride == 1 ? at : at + "*" + literal(stride); }

/// `at`, but no further than the last of `n`.
inline std::string within(bool is_whole, const std::string& at, int64_t n) { return is_whole ? "(" + at + ")" : "min(" + at + "," + text(n - 1) + ")"; }

/// Where k ends for the invocation's part.
inline std::string end_of(const Product& p) {
  if (p.whole_parts()) return text(p.k);
  return "min(" + text(p.k) + "," + text(p.whole_k) + "-z/" + text(p.count() / p.batch[0]) + "*" + text(p.k) + ")";
}

inline void write_zeros(Shader& s, const Tile& t) {
  for (int64_t i = 0; i < t.rows; ++i)
    for (int64_t j = 0; j < t.cols; ++j) s.line("float " + acc(i, j) + "=0.0;");
}

/// Statements that add products to the tile's sums of a type, by expressions for an element of each row and of each column.
inline void write_products(Shader& s, const Tile& t, const std::string& type, const std::function<std::string(int64_t)>& a, const std::function<std::string(int64_t)>& b) {
  for (int64_t i = 0; i < t.rows; ++i) s.line(type + " " + name("x", i) + "=" + a(i) + ";");
  for (int64_t j = 0; j < t.cols; ++j) {
    s.line(type + " " + name("w", j) + "=" + b(j) + ";");
    for (int64_t i = 0; i < t.rows; ++i) s.line(acc(i, j) + "+=" + name("x", i) + "*" + name("w", j) + ";");
  }
}

}  // namespace tiles

/// Where the tile of an invocation of registers begins, `z`, `row` and `col`, and where its rows of A (`ra`) and columns of B (`cb`) do. Rows and columns
/// past the end are the last one, and are not stored.
inline void write_places(Shader& s, const Product& p, const Tile& t) {
  using namespace tiles;
  s.line("int z=int(gl_WorkGroupID.z);");
  s.line("int row=int(gl_GlobalInvocationID.y)*" + text(t.rows) + ",col=int(gl_WorkGroupID.x)*" + text(t.all_columns()) + "+" + t.first_column("int(gl_LocalInvocationID.x)") + ";");
  for (int64_t i = 0; i < t.rows; ++i)
    s.line("int ra" + text(i) + "=" + within(t.whole_rows(p), "row+" + text(i), p.m) + "*" + literal(p.a_row) + "+" + strided_index("z", p.batch, p.a_batch) + ";");
  for (int64_t j = 0; j < t.cols; ++j)
    s.line("int cb" + text(j) + "=" + times(within(t.whole_columns(p), "col+" + text(t.column(j)), p.n), p.b_col) + "+" + strided_index("z", p.batch, p.b_batch) + ";");
}

/// Sums of operands at bindings `a` and `b`, straight from them.
inline void write_register_tile(Shader& s, const Product& p, const Tile& t, int a, int b) {
  using namespace tiles;
  write_places(s, p, t);
  write_zeros(s, t);
  s.line("for(int k=0;k<" + end_of(p) + ";++k){");
  write_products(s, t, "float", [&](int64_t i) { return s.load(a, name("ra", i) + "+" + times("k", p.a_k)); }, [&](int64_t j) { return s.load(b, name("cb", j) + "+" + times("k", p.b_k)); });
  s.line("}");
}

/// put(OFFSET, VALUE) for each sum of the tile that is inside of the result; `value`: the expression of that of a row and a column.
template <class Value>
void write_stores(Shader& s, const Product& p, const Tile& t, const Value& value) {
  for (int64_t i = 0; i < t.rows; ++i) {
    const std::string row = "row+" + text(i);
    s.line((t.whole_rows(p) ? "" : "if(" + row + "<" + text(p.m) + ")") + "{int o=(z*" + text(p.m) + "+" + row + ")*" + text(p.n) + "+col;");
    for (int64_t j = 0; j < t.cols; ++j) s.line((t.whole_columns(p) ? "" : "if(col+" + text(t.column(j)) + "<" + text(p.n) + ")") + "put(o+" + text(t.column(j)) + "," + value(i, j) + ");");
    s.line("}");
  }
}

}  // namespace spirv_plugin
