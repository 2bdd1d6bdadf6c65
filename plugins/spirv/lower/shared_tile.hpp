// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: tiles of products through shared memory, whatever their two sides are read from: the workgroup brings some steps of k of its rows
// and columns, each invocation a few elements, neighbours in memory by neighbouring invocations; then all read them. What comes next is on its way from
// memory while these are multiplied. Method: the blocked product of the CUDA C++ Programming Guide, "Shared Memory", with a tile of registers for each
// invocation; two tiles in turn as in Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC 2008).
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "tiles.hpp"

namespace spirv_plugin {

/// Rows of the left side of a product, or columns of its right side, as a workgroup reads them.
struct Side {
  int64_t size;  ///< rows or columns of the tile
  bool along_k;  ///< neighbours along k lie side by side in memory, not those of the side
  /// Statements that name, with `n` at the end, what element() wants to know of row or column `at` of the tile, once for all of k.
  std::function<std::string(const std::string& n, const std::string& at)> place;
  /// The element at step `k` of the row or column of these names.
  std::function<std::string(const std::string& n, const std::string& k)> element;
};

/// The steps of a sum: how many at most, where they end for this workgroup, and whether that is always a multiple of a tile's depth.
struct Steps {
  int64_t most;
  std::string end;
  bool whole;
};

namespace shared_tiles {

/// Loop iterations of an invocation: drivers end what takes longer.
constexpr int64_t kMostIterations = 60000;
/// Elements that an invocation brings at a time, which are written out.
constexpr int64_t kMostBrought = 128;

/// Words of a side for one step of k.
inline int64_t words_of(const Tile& t, int64_t side) { return t.halves ? side / 2 : side; }
/// Words between two steps: four more than there are, so that what is stored side by side along k does not all fall into one bank, and four that are read
/// side by side begin at a multiple of four.
inline int64_t stride_of(const Tile& t, int64_t side) { return words_of(t, side) + 4; }

inline uint64_t bytes_of(const Tile& t) { return static_cast<uint64_t>(t.depth * (stride_of(t, t.all_rows()) + stride_of(t, t.all_columns())) * (t.twice ? 2 : 1)) * sizeof(float); }

/// How a side comes to shared memory: statements ahead of the loop over k, those that name variables for words, load them, and store them.
struct Brought {
  std::string ahead, names, loads, stores;
};

class Bringing {
 public:
  Bringing(const Tile& t, const Side& side, const char* name, const std::string& type, const Steps& steps)
      : t_(t), side_(side), name_(name), type_(type), steps_(steps), units_(words_of(t, side.size)), all_(int64_t{t.x} * t.y) {}

  Brought run() {
    const int64_t words = units_ * t_.depth, count = (words + all_ - 1) / all_;
    for (int64_t n = 0; n < count; ++n) {
      const std::string only = words % all_ != 0 && n == count - 1 ? "if(own<" + text(words - n * all_) + ")" : "";
      const std::string unit = named("u", unit_of(n)), k = step_of(n), g = std::string("g") + name_ + text(n);
      out_.names += t_.halves ? "uint " + g + "=0u;" : type_ + " " + g + (type_ == "int" ? "=0;" : "=0.0;");
      out_.loads += only + (steps_.whole ? "" : "if(from+" + k + "<end)") + g + "=" + word(unit, k) + ";";
      out_.stores += only + "s" + name_ + "[" + (t_.twice ? std::string("h") + name_ + "+" : "") + k + "*" + text(stride_of(t_, side_.size)) + "+" + unit + "]=" + g + ";";
    }
    return std::move(out_);
  }

 private:
  std::string at_n(int64_t n) const { return n == 0 ? "own" : "(own+" + text(n * all_) + ")"; }

  /// Of word `n` of an invocation: its number along the side, and its step. What neighbouring words have in common is one name.
  std::string unit_of(int64_t n) const {
    if (side_.along_k) return all_ % t_.depth == 0 && n > 0 ? "own/" + text(t_.depth) + "+" + text(n * (all_ / t_.depth)) : at_n(n) + "/" + text(t_.depth);
    if (all_ % units_ == 0) return "own%" + text(units_);
    if (units_ % all_ == 0) return at_n(n % (units_ / all_));
    return at_n(n) + "%" + text(units_);
  }
  std::string step_of(int64_t n) {
    if (side_.along_k) return named("k", all_ % t_.depth == 0 ? "own%" + text(t_.depth) : at_n(n) + "%" + text(t_.depth));
    if (all_ % units_ == 0) return "(" + named("k", "own/" + text(units_)) + "+" + text(n * (all_ / units_)) + ")";
    if (units_ % all_ == 0) return text(n / (units_ / all_));
    return named("k", at_n(n) + "/" + text(units_));
  }

  /// The name of a value, which the first to want it computes ahead of the loop.
  std::string named(const char* kind, const std::string& value) {
    const auto [at, is_new] = names_.emplace(kind + value, kind + std::string(name_) + text(static_cast<int64_t>(names_.size())));
    if (is_new) {
      out_.ahead += "int " + at->second + "=" + value + ";";
      if (*kind == 'u') place(at->second);
    }
    return at->second;
  }
  void place(const std::string& unit) {
    if (!t_.halves) out_.ahead += side_.place("_" + unit, unit);
    for (int64_t j = 0; j < 2 && t_.halves; ++j) out_.ahead += side_.place("_" + unit + "_" + text(j), "(" + unit + "*2+" + text(j) + ")");
  }

  std::string word(const std::string& unit, const std::string& k) const {
    const std::string step = "(from+" + k + ")";
    if (!t_.halves) return side_.element("_" + unit, step);
    return "packHalf2x16(vec2(" + side_.element("_" + unit + "_0", step) + "," + side_.element("_" + unit + "_1", step) + "))";
  }

  const Tile& t_;
  const Side& side_;
  const char* name_;
  const std::string& type_;
  const Steps& steps_;
  int64_t units_, all_;  // words of a step, invocations
  Brought out_;
  std::map<std::string, std::string> names_;
};

/// Statements that multiply the steps which lie in shared memory.
inline void write_steps(Shader& s, const Tile& t, const std::string& type) {
  using namespace tiles;
  const auto word = [&](const char* side, int64_t size, const std::string& at) { return std::string("s") + side + "[p" + side + "+k*" + text(stride_of(t, size)) + "+" + at + "]"; };
  const auto row = [&](int64_t i) { return word("a", t.all_rows(), text(t.halves ? i / 2 : i)); };
  const auto column = [&](int64_t j) { return word("b", t.all_columns(), text(t.halves ? j / 2 * t.x : j * t.x)); };
  s.line("for(int k=0;k<" + text(t.depth) + ";++k){");
  for (int64_t i = 0; i < t.rows && t.halves; i += 2) s.line("vec2 r" + text(i / 2) + "=unpackHalf2x16(" + row(i) + ");");
  for (int64_t j = 0; j < t.cols && t.halves; j += 2) s.line("vec2 c" + text(j / 2) + "=unpackHalf2x16(" + column(j) + ");");
  const auto half = [](const char* of, int64_t i) { return name(of, i / 2) + "." + "xy"[i % 2]; };
  write_products(s, t, type, [&](int64_t i) { return t.halves ? half("r", i) : row(i); }, [&](int64_t j) { return t.halves ? half("c", j) : column(j); });
  s.line("}");
}

/// The target's tile in shared memory for rows, columns and steps of a product, where it promises room for one and the product fills half of it along each
/// side: as it is, or its invocations in another order for a product that is narrow or flat. `halves`: both sides lie as halves.
inline std::optional<Tile> shared_tile(const Limits& limits, int64_t m, int64_t n, int64_t k, bool halves) {
  constexpr uint32_t kLeastX = 8, kLeastY = 4;
  const TileShape& of = limits.product_tile;
  if (!of) return std::nullopt;
  Tile t{of.rows, of.columns, of.x, of.y, of.depth, halves && of.rows % 2 == 0 && of.columns % 2 == 0, false};
  while (2 * n < t.all_columns() && t.x % 2 == 0 && t.x > kLeastX) t.x /= 2, t.y *= 2;
  while (2 * m < t.all_rows() && t.y % 2 == 0 && t.y > kLeastY) t.y /= 2, t.x *= 2;
  t.twice = true;
  t.twice = bytes_of(t) <= limits.shared_bytes;
  const int64_t all = int64_t{t.x} * t.y, brought = (words_of(t, t.all_rows()) + words_of(t, t.all_columns())) * t.depth / all;
  const bool fits = all <= limits.invocations && t.x <= limits.size[0] && t.y <= limits.size[1] && bytes_of(t) <= limits.shared_bytes && brought <= kMostBrought;
  const bool fills = 2 * m >= t.all_rows() && 2 * n >= t.all_columns() && k >= t.depth;
  return fits && fills && k + k / t.depth + t.depth + 2 <= kMostIterations ? std::optional<Tile>(t) : std::nullopt;
}

}  // namespace shared_tiles

/// Statements that add the tile's products to its sums, which are there: of the workgroup's rows and columns the invocation has those at tile.rows * ly
/// and those of tile.column() behind tile.first_column(lx). Names that are there: `lx`, `ly`, and what the sides' statements read; `end` is made.
inline void write_shared_sums(Shader& s, const Tile& t, const std::string& type, const Steps& steps, const Side& rows, const Side& columns) {
  using namespace shared_tiles;
  const int64_t size_a = t.depth * stride_of(t, t.all_rows()), size_b = t.depth * stride_of(t, t.all_columns());
  const std::string lies = "shared " + (t.halves ? "uint" : type), depth = text(t.depth);
  s.top(lies + " sa[" + text(t.twice ? 2 * size_a : size_a) + "];" + lies + " sb[" + text(t.twice ? 2 * size_b : size_b) + "];");
  const Brought a = Bringing(t, rows, "a", type, steps).run(), b = Bringing(t, columns, "b", type, steps).run();
  s.line("int own=int(gl_LocalInvocationIndex),end=" + steps.end + ";" + a.ahead + b.ahead);
  s.line("int qa=ly*" + text(words_of(t, t.rows)) + ",qb=lx,h=0;for(int from=0;from<min(end+" + depth + "," + text(steps.most + t.depth) + ");from+=" + depth + "){");
  // The next words are asked for, those of before multiplied, then these are stored.
  s.line(a.names + b.names + "if(from<end){" + a.loads + b.loads + "}");
  s.line(t.twice ? "int pa=qa+(1-h)*" + text(size_a) + ",pb=qb+(1-h)*" + text(size_b) + ",ha=h*" + text(size_a) + ",hb=h*" + text(size_b) + ";" : "int pa=qa,pb=qb;");
  s.line("if(from>0){");
  write_steps(s, t, type);
  s.line("}");
  if (!t.twice) s.line("barrier();");
  s.line("if(from<end){" + a.stores + b.stores + "}barrier();h=1-h;}");
}

}  // namespace spirv_plugin
