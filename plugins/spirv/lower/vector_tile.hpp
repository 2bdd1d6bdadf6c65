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

/// Writes the sums of operands at bindings `a` and `b`.
class VectorSums {
 public:
  VectorSums(Shader& s, const Product& p, const Tile& t, int a, int b)
      : s_(s), p_(p), t_(t), a_(a), b_(b), steps_(p.whole_parts() && p.k % t.depth == 0 ? t.depth : 1), wide_a_(steps_ % kWide == 0 && wide_a(p)), wide_b_(wide_b(p)) {
    s.widen(a, wide_a_ ? kWide : 1), s.widen(b, wide_b_ ? kWide : 1);
  }

  void write() {
    write_places();
    for (int64_t i = 0; i < t_.rows; ++i)
      for (int64_t j = 0; j < t_.cols; j += kWide) s_.line("vec4 " + tiles::acc(i, j / kWide) + "=vec4(0.0);");
    s_.line("for(int k=0;k<" + tiles::end_of(p_) + ";" + (steps_ == 1 ? "++k" : "k+=" + text(steps_)) + "){");
    for (int64_t i = 0; i < t_.rows && wide_a_; ++i)
      for (int64_t n = 0; n < steps_; n += kWide) s_.line("vec4 x" + text(i) + "_" + text(n / kWide) + "=" + s_.load(a_, "(ra" + text(i) + "+k+" + text(n) + ")/4") + ";");
    for (int64_t n = 0; n < steps_; ++n) write_step(n);
    s_.line("}");
  }

 private:
  void write_places() {
    s_.line("int z=int(gl_WorkGroupID.z),row=int(gl_GlobalInvocationID.y)*" + text(t_.rows) + ",col=int(gl_GlobalInvocationID.x)*" + text(t_.cols) + ";");
    for (int64_t i = 0; i < t_.rows; ++i)
      s_.line("int ra" + text(i) + "=" + tiles::within(t_.whole_rows(p_), "row+" + text(i), p_.m) + "*" + literal(p_.a_row) + "+" + strided_index("z", p_.batch, p_.a_batch) + ";");
    const int64_t step = wide_b_ ? kWide : 1;  // four that begin inside end there
    for (int64_t j = 0; j < t_.cols; j += step) {
      const std::string at = t_.whole_columns(p_) ? "(col+" + text(j) + ")" : "min(col+" + text(j) + "," + text(p_.n - step) + ")";
      s_.line("int cb" + text(j) + "=" + tiles::times(at, p_.b_col) + "+" + strided_index("z", p_.batch, p_.b_batch) + ";");
    }
  }

  /// Four columns of B from `j` on, at step `k`.
  std::string columns(int64_t j, const std::string& k) const {
    const auto at = [&](int64_t n) { return "cb" + text(j + n) + "+" + tiles::times(k, p_.b_k); };
    if (wide_b_) return s_.load(b_, "(" + at(0) + ")/4");
    return "vec4(" + s_.load(b_, at(0)) + "," + s_.load(b_, at(1)) + "," + s_.load(b_, at(2)) + "," + s_.load(b_, at(3)) + ")";
  }

  /// Products of step `n` of those that a turn of the loop has.
  void write_step(int64_t n) {
    const std::string k = n == 0 ? "k" : "(k+" + text(n) + ")", w = "w" + text(n) + "_";
    for (int64_t j = 0; j < t_.cols; j += kWide) s_.line("vec4 " + w + text(j / kWide) + "=" + columns(j, k) + ";");
    for (int64_t i = 0; i < t_.rows; ++i) {
      s_.line("{float x=" + (wide_a_ ? "x" + text(i) + "_" + text(n / kWide) + "." + "xyzw"[n % kWide] : s_.load(a_, "ra" + text(i) + "+" + tiles::times(k, p_.a_k))) + ";");
      for (int64_t j = 0; j < t_.cols; j += kWide) s_.line(tiles::acc(i, j / kWide) + "+=x*" + w + text(j / kWide) + ";");
      s_.line("}");
    }
  }

  Shader& s_;
  const Product& p_;
  const Tile& t_;
  int a_, b_;
  int64_t steps_;         ///< of k, in a turn of the loop
  bool wide_a_, wide_b_;  ///< four are one load
};

}  // namespace vector_tiles

/// Sums of operands at bindings `a` and `b`, straight from them, in vectors: see vector_tiles::acc(). Rows and columns past the end are the last ones, and
/// are not stored.
inline void write_vector_tile(Shader& s, const Product& p, const Tile& t, int a, int b) { vector_tiles::VectorSums(s, p, t, a, b).write(); }

}  // namespace spirv_plugin
