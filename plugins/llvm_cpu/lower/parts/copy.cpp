// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see copy.hpp.
#include "plugins/llvm_cpu/lower/parts/copy.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/kernels/move.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kUnit = 8192;  // elements

void swap_dims(Copy& c, size_t a, size_t b) {
  std::swap(c.dims[a], c.dims[b]);
  std::swap(c.from[a], c.from[b]);
  std::swap(c.to[a], c.to[b]);
}

/// The order of the loops is free: the last dim runs along the target, the one before along the source.
void order(Copy& c) {
  const auto last_with = [&](const Dims& steps, size_t end) {
    for (size_t d = end; d-- > 0;)
      if (steps[d] == 1) return d;
    return end;
  };
  const size_t n = c.dims.size();
  if (const size_t d = last_with(c.to, n); d < n) swap_dims(c, d, n - 1);
  if (n < 2 || c.from[n - 1] == 1) return;
  if (const size_t d = last_with(c.from, n - 1); d < n - 1) swap_dims(c, d, n - 2);
}

/// Of a dim of more than two units the piece of which it is a multiple, the largest one up to a unit and from an eighth of it; 0: there is none. A dim that is not long is its own.
int64_t piece_of(int64_t size, int64_t unit) {
  if (size <= 2 * unit) return size;
  for (int64_t piece = unit; piece > unit / 8; --piece)
    if (size % piece == 0) return piece;
  return 0;
}

/// A dim in pieces, so that there are units to share. They are counted by a new dim at `place`, at most d.
void cut(Copy& c, size_t d, size_t place, int64_t piece) {
  if (piece == c.dims[d]) return;
  const auto at = static_cast<std::ptrdiff_t>(place);
  const int64_t pieces = c.dims[d] / piece;
  c.dims[d] = piece;
  c.dims.insert(c.dims.begin() + at, pieces), c.from.insert(c.from.begin() + at, c.from[d] * piece), c.to.insert(c.to.begin() + at, c.to[d] * piece);
}

/// How the last two dims are cut, which stay the last where one runs along the source and one along the target; `rest`: what no piece divides of dim `rest_of`.
struct Cut {
  Copy copy;
  int64_t rest = 0;
  size_t rest_of = 0;
};
Cut cut_last(Copy c) {
  const size_t n = c.dims.size();
  const bool turns = n > 1 && c.from[n - 2] == 1 && c.from[n - 1] != 1;
  if (n == 0 || n + turns >= 8) return {c};
  constexpr int64_t kTurned = 64;  // rows of a turn, of several vectors
  const int64_t last = piece_of(c.dims[n - 1], kUnit), rows = std::max<int64_t>(turns ? kTurned : 1, kUnit / std::min(c.dims[n - 1], kUnit));
  if (last == 0) return {c, c.dims[n - 1] % kUnit, n - 1};
  const bool cuts_both = n > 1 && (turns || last == c.dims[n - 1]);
  const int64_t before = cuts_both ? piece_of(c.dims[n - 2], rows) : 0;
  if (cuts_both && before == 0) return {c, c.dims[n - 2] % rows, n - 2};
  cut(c, n - 1, turns ? n - 2 : n - 1, last);
  if (cuts_both) cut(c, c.dims.size() - 2, c.dims.size() - 2, before);
  return {c};
}

}  // namespace

Operand moved_by(Operand o, int64_t elements, int64_t bytes) {
  if (o.kind != Operand::Null) o.offset += static_cast<uint64_t>(elements * bytes);
  return o;
}

Copy simplified(const Copy& c) {
  Copy out;
  for (size_t d = 0; d < c.dims.size(); ++d) {
    if (c.dims[d] == 1) continue;
    if (!out.dims.empty() && out.from.back() == c.from[d] * c.dims[d] && out.to.back() == c.to[d] * c.dims[d]) {
      out.dims.back() *= c.dims[d], out.from.back() = c.from[d], out.to.back() = c.to[d];
    } else {
      out.dims.push_back(c.dims[d]), out.from.push_back(c.from[d]), out.to.push_back(c.to[d]);
    }
  }
  return out;
}

bool can_copy(const Copy& copy) { return simplified(copy).dims.size() <= 8; }

void emit_copy(const Copy& copy, int64_t bytes, const Operand& from, const Operand& to, const std::string& label, LowerContext& ctx) {
  if (count(copy.dims) == 0) return;
  Copy c = simplified(copy);
  if (!c.dims.empty()) order(c);
  const Cut pieces = cut_last(c);
  if (pieces.rest) {
    Copy rest = c;
    const int64_t whole = c.dims[pieces.rest_of] -= pieces.rest, step_from = c.from[pieces.rest_of], step_to = c.to[pieces.rest_of];
    rest.dims[pieces.rest_of] = pieces.rest;
    emit_copy(c, bytes, from, to, label, ctx);
    return emit_copy(rest, bytes, moved_by(from, whole * step_from, bytes), moved_by(to, whole * step_to, bytes), label, ctx);
  }
  c = pieces.copy;
  while (c.dims.size() < 8) c.dims.insert(c.dims.begin(), 1), c.from.insert(c.from.begin(), 0), c.to.insert(c.to.begin(), 0);
  int64_t inside = c.dims[6] * c.dims[7], split = 6, units = 1;
  while (split > 0 && inside * c.dims[static_cast<size_t>(split - 1)] <= kUnit) inside *= c.dims[static_cast<size_t>(--split)];
  for (int64_t d = 0; d < split; ++d) units *= c.dims[static_cast<size_t>(d)];
  Op op;
  op.kernel = k::Move{.bytes = bytes, .split = split, .d = literal<8>(c.dims, 1), .s = literal<8>(c.from, 0), .t = literal<8>(c.to, 0)};
  op.args = {from, to};
  op.units = units;
  op.work = count(copy.dims) * work::kMoved;
  op.grain = std::max<int64_t>(1, kUnit / inside);
  op.label = label;
  ctx.emit(std::move(op));
}

void emit_copy_bytes(int64_t bytes, const Operand& from, const Operand& to, const std::string& label, LowerContext& ctx) {
  Op op;
  op.kernel = k::CopyBytes{.bytes = bytes};
  op.args = {from, to};
  op.units = (bytes + k::kCopyPiece - 1) / k::kCopyPiece;
  op.work = bytes / 4;
  op.label = label;
  ctx.emit(std::move(op));
}

}  // namespace optima::llvm_cpu
