// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: tiles of products for GPUs of phones: no shared memory, which is ordinary memory there (Arm's guides), and few registers; each
// invocation has neighbouring columns, four in a vector, some steps of k at a time, and loads by fours where operands lie so.
#pragma once

#include <algorithm>

#include "tiles.hpp"

namespace spirv_plugin {
namespace vector_tiles {

constexpr int64_t kWide = 4;

inline bool all_wide(const Dims& strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s % kWide == 0; });
}
/// Four neighbours along k of A, or along the columns of B, are one load.
inline bool wide_a(const Product& p) { return p.a_k == 1 && p.a_row % kWide == 0 && all_wide(p.a_batch); }
inline bool wide_b(const Product& p) { return p.b_col == 1 && p.b_k % kWide == 0 && p.n % kWide == 0 && all_wide(p.b_batch); }

/// A sum of the tile.
inline std::string acc(int64_t i, int64_t j) { return tiles::acc(i, j / kWide) + "." + "xyzw"[j % kWide]; }

/// The target's tile for the product, with its invocations along rows where columns are few; nothing where the target has none, and for a row or a few columns.
inline std::optional<Tile> vector_tile(const Limits& limits, const Product& p) {
  const TileShape& of = limits.register_tile;
  if (!of || p.m == 1 || p.n < kWide) return std::nullopt;
  Tile t{std::min<int64_t>(of.rows, p.m), p.n <= kWide ? kWide : of.columns, of.x, of.y, of.depth};
  t.side_by_side = true;
  while (2 * p.n <= t.all_columns() && t.x % 2 == 0) t.x /= 2, t.y *= 2;
  const bool fits = uint64_t{t.x} * t.y <= limits.invocations && t.x <= limits.size[0] && t.y <= limits.size[1];
  return fits ? std::optional<Tile>(t) : std::nullopt;
}

}  // namespace vector_tiles

/// Sums of operands at bindings `a` and `b`, straight from them, in vectors: see vector_tiles::acc(). Rows and columns past the end are the last ones, and
/// are not stored.
inline void write_vector_tile(Shader& s, const Product& p, const Tile& t, int a, int b) {
  using namespace tiles;
  using vector_tiles::kWide;
  const int64_t steps = p.whole_parts() && p.k % t.depth == 0 ? t.depth : 1;
  const bool by_four_a = steps % kWide == 0 && vector_tiles::wide_a(p), by_four_b = vector_tiles::wide_b(p);
  s.widen(a, by_four_a ? kWide : 1), s.widen(b, by_four_b ? kWide : 1);
  s.line("int z=int(gl_WorkGroupID.z),row=int(gl_GlobalInvocationID.y)*" + text(t.rows) + ",col=int(gl_GlobalInvocationID.x)*" + text(t.cols) + ";");
  for (int64_t i = 0; i < t.rows; ++i)
    s.line("int ra" + text(i) + "=" + within(t.whole_rows(p), "row+" + text(i), p.m) + "*" + literal(p.a_row) + "+" + strided_index("z", p.batch, p.a_batch) + ";");
  for (int64_t j = 0; j < t.cols; j += by_four_b ? kWide : 1) {  // four that begin inside end there
    const std::string at = t.whole_columns(p) ? "(col+" + text(j) + ")" : "min(col+" + text(j) + "," + text(p.n - (by_four_b ? kWide : 1)) + ")";
    s.line("int cb" + text(j) + "=" + times(at, p.b_col) + "+" + strided_index("z", p.batch, p.b_batch) + ";");
  }
  for (int64_t i = 0; i < t.rows; ++i)
    for (int64_t j = 0; j < t.cols; j += kWide) s.line("vec4 " + tiles::acc(i, j / kWide) + "=vec4(0.0);");
  s.line("for(int k=0;k<" + end_of(p) + ";" + (steps == 1 ? "++k" : "k+=" + text(steps)) + "){");
  for (int64_t i = 0; i < t.rows && by_four_a; ++i)
    for (int64_t n = 0; n < steps; n += kWide) s.line("vec4 x" + text(i) + "_" + text(n / kWide) + "=" + s.load(a, "(ra" + text(i) + "+k+" + text(n) + ")/4") + ";");
  for (int64_t n = 0; n < steps; ++n) {
    const std::string k = n == 0 ? "k" : "(k+" + text(n) + ")";
    for (int64_t j = 0; j < t.cols; j += kWide) {
      const auto one = [&](int64_t at) { return s.load(b, "cb" + text(j + at) + "+" + times(k, p.b_k)); };
      s.line("vec4 w" + text(n) + "_" + text(j / kWide) + "=" + (by_four_b ? s.load(b, "(cb" + text(j) + "+" + times(k, p.b_k) + ")/4") : "vec4(" + one(0) + "," + one(1) + "," + one(2) + "," + one(3) + ")") + ";");
    }
    for (int64_t i = 0; i < t.rows; ++i) {
      const std::string x = by_four_a ? "x" + text(i) + "_" + text(n / kWide) + "." + "xyzw"[n % kWide] : s.load(a, "ra" + text(i) + "+" + times(k, p.a_k));
      s.line("{float x=" + x + ";");
      for (int64_t j = 0; j < t.cols; j += kWide) s.line(tiles::acc(i, j / kWide) + "+=x*w" + text(n) + "_" + text(j / kWide) + ";");
      s.line("}");
    }
  }
  s.line("}");
}

}  // namespace spirv_plugin
