// SPDX-License-Identifier: Apache-2.0
// What decoders do by the position of a token: RotaryEmbedding, and TensorScatter, which writes into caches of keys and values.
#include <algorithm>

#include "chain.hpp"
#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_positions {

using Dims = std::vector<int64_t>;

// --- RotaryEmbedding: pairs of numbers turned by an angle of their own

/// Cosines or sines as [batch, length, half].
Piece angles(Pieces& make, const sdk::Node& node, uint32_t input) {
  const Piece cache = make.read(input);
  const sdk::Value ids = node.input(3);
  if (!ids) return cache;
  const Dims dims{ids.dim(0), ids.dim(1), cache.dims[1]};
  if (!ids.is_constant()) return make.reshaped(make.rows(cache, make.read(3)), dims);
  return make.reshaped(make.picked(cache, 0, Lowering::integers(ids)), dims);
}

/// `first` and `second` side by side, or by turns.
Piece paired(Pieces& make, const Piece& first, const Piece& second, bool by_turns) {
  const size_t last = first.dims.size() - 1;
  if (!by_turns) return make.joined({first, second}, last);
  const Dims column{first.elements(), 1};
  return make.reshaped(make.joined({make.reshaped(first, column), make.reshaped(second, column)}, 1), with(first.dims, last, 2 * first.dims[last]));
}

/// x[..., places] as [batch, length, heads, size] or, of rank 4, [batch, heads, length, size].
void write_rotary(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  Piece x = make.read(0);
  const Dims given = x.dims;
  const bool flat = given.size() == 3, by_turns = node.integer("interleaved", 0) != 0;
  if (flat) {
    const int64_t heads = node.integer("num_heads", 0);
    x = make.reshaped(x, {given[0], given[1], heads, given[2] / heads});
  }
  const int64_t size = x.dims[3], wanted = node.integer("rotary_embedding_dim", 0), turned = wanted == 0 ? size : wanted, half = turned / 2;
  const Dims angle{given[0], flat ? given[1] : 1, flat ? 1 : given[2], half};
  const auto wide = [&](const Piece& a) {  // chips do not broadcast every pair
    Dims times(4, 1), dims = angle;
    const size_t heads = flat ? 2 : 1;
    times[heads] = dims[heads] = x.dims[heads];
    const Piece shaped = make.reshaped(a, angle);
    return dims == angle ? shaped : make.op("spread", "Tile", {shaped}, Attributes().i64s("tile", times), dims);
  };
  const Piece cosines = wide(angles(make, node, 1)), sines = wide(angles(make, node, 2));
  const Piece first = by_turns ? make.sliced(x, 3, 0, turned, 2) : make.sliced(x, 3, 0, half), second = by_turns ? make.sliced(x, 3, 1, turned, 2) : make.sliced(x, 3, half, turned);
  const Piece real = make.both("Sub", make.both("Mul", cosines, first), make.both("Mul", sines, second));
  const Piece other = make.both("Add", make.both("Mul", sines, first), make.both("Mul", cosines, second));
  Piece y = paired(make, real, other, by_turns);
  if (turned < size) y = make.joined({y, make.sliced(x, 3, turned, size)}, 3);
  make.finish(make.reshaped(y, given));
}

std::string refuses_rotary(const sdk::Node& node, const Chip&) {
  const sdk::Value x = node.input(0);
  if (x.rank() != 3 && x.rank() != 4) return "input 0 has rank " + std::to_string(x.rank()) + ", wanted 3 or 4";
  const int64_t heads = node.integer("num_heads", 0);
  if (x.rank() == 3 && (heads < 1 || x.dim(2) % heads != 0)) return "input 0 of " + std::to_string(x.dim(2)) + " columns does not divide into " + std::to_string(heads) + " heads";
  const int64_t size = x.rank() == 3 ? x.dim(2) / heads : x.dim(3), wanted = node.integer("rotary_embedding_dim", 0), turned = wanted == 0 ? size : wanted;
  if (turned < 2 || turned > size || turned % 2 != 0) return "rotary_embedding_dim is " + std::to_string(turned) + ", wanted an even number up to " + std::to_string(size);
  for (const uint32_t k : {1u, 2u}) {
    const int64_t rank = node.input(3) ? 2 : 3;
    if (node.input(k).rank() != rank) return "input " + std::to_string(k) + " has rank " + std::to_string(node.input(k).rank()) + ", wanted " + std::to_string(rank);
    if (const int64_t half = node.input(k).dim(static_cast<uint32_t>(rank - 1)); half != turned / 2)
      return "input " + std::to_string(k) + " has " + std::to_string(half) + " columns, wanted " + std::to_string(turned / 2);
  }
  return {};
}

// --- TensorScatter: rows of an update in place of rows of a cache

/// A cache as [batch, outer, rows, inner].
struct Cache {
  size_t axis;
  int64_t batch, outer, rows, inner, written;
};
Cache cache_of(const sdk::Node& node) {
  const Dims dims = dims_of(node.input(0));
  const size_t axis = axis_of(node.integer("axis", -2), dims.size());
  return {axis, dims[0], product(dims, 1, axis), dims[axis], product(dims, axis + 1, dims.size()), node.input(1).dim(static_cast<uint32_t>(axis))};
}

/// The row where writing begins where it is one for the whole batch and known.
std::optional<int64_t> begins_at(const sdk::Node& node) {
  const sdk::Value at = node.input(2);
  if (!at) return 0;
  if (!at.is_constant()) return {};
  const Dims rows = Lowering::integers(at);
  return std::all_of(rows.begin(), rows.end(), [&](int64_t row) { return row == rows[0]; }) ? std::optional<int64_t>(rows[0]) : std::nullopt;
}

/// By slices; what goes past the end begins anew.
Piece replaced(Pieces& make, const Cache& c, const Piece& cache, const Piece& update, int64_t begin) {
  const int64_t end = begin + c.written, over = std::max<int64_t>(end - c.rows, 0);
  std::vector<Piece> parts;
  if (over > 0) parts.push_back(make.sliced(update, c.axis, c.written - over, c.written));
  if (begin > over) parts.push_back(make.sliced(cache, c.axis, over, begin));
  if (c.written > over) parts.push_back(make.sliced(update, c.axis, 0, c.written - over));
  if (end < c.rows) parts.push_back(make.sliced(cache, c.axis, end, c.rows));
  return make.joined(parts, c.axis);
}

/// [batch, rows, 1]: how far a row is behind the first that is written, a number below 0 or of `written` and more where it stays.
Piece distances(Pieces& make, const sdk::Node& node, const Cache& c) {
  std::vector<float> places;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t row = 0; row < c.rows; ++row) places.push_back(static_cast<float>(row));
  const Piece first = make.reshaped(make.read(2), {c.batch, 1, 1});
  const Piece spread = c.rows == 1 ? first : make.op("spread", "Tile", {first}, Attributes().i64s("tile", {1, c.rows, 1}), {c.batch, c.rows, 1});
  const Piece behind = make.both("Sub", make.weight({c.batch, c.rows, 1}, places), spread);
  return node.string("mode", "linear") == "circular" ? make.wrapped(behind, {c.rows}) : behind;
}

Piece tiled(Pieces& make, const Piece& x, int64_t columns) {
  return columns == 1 ? x : make.op("spread", "Tile", {x}, Attributes().i64s("tile", {1, 1, columns}), with(x.dims, 2, columns));
}

/// By ones: rows of the update times where each goes, in place of those of the cache.
Piece chosen(Pieces& make, const sdk::Node& node, const Chip& chip, const Cache& c, const Piece& none) {
  const auto rows_first = [&](const Piece& x, int64_t rows) { return make.reshaped(make.transposed(make.reshaped(x, {c.batch, c.outer, rows, c.inner}), {0, 2, 1, 3}), {c.batch, rows, c.outer * c.inner}); };
  const Piece cache = rows_first(make.read(0), c.rows), update = rows_first(make.read(1), c.written);
  std::vector<float> numbers;
  for (int64_t k = 0; k < c.written; ++k) numbers.push_back(static_cast<float>(k));
  const Piece hits = make.op("hit", "Compare", {tiled(make, distances(make, node, c), c.written), make.weight({1, 1, c.written}, numbers)}, Attributes().text("mode", "Equal"), {c.batch, c.rows, c.written});
  const Piece written = make.op("written", "MatMul", {hits, update, none}, matmul(), cache.dims);
  Piece any = hits;
  if (c.written > 1)
    any = make.op("any", "Reduce", {hits}, Attributes().i64s("axes", {2}).flag("keepdims", true).text("mode", "ReduceMax").flag("is_scalar", false), {c.batch, c.rows, 1});
  any = tiled(make, any, cache.dims[2]);
  Piece y;
  if (chip.name == "bm1684")  // chooses between a tensor and a number alone
    y = make.both("Add", make.op("kept", "MaskedFill", {any, cache}, Attributes().flag("inversed", false).f64("const_val", 0), cache.dims), written);
  else
    y = make.op("chosen", "Where", {any, written, cache}, Attributes().flag("x_is_const", false).flag("y_is_const", false).f64("x_const_val", 0).f64("y_const_val", 0), cache.dims);
  return make.transposed(make.reshaped(y, {c.batch, c.rows, c.outer, c.inner}), {0, 2, 1, 3});
}

void write_tensor_scatter(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Cache c = cache_of(node);
  if (const std::optional<int64_t> begin = begins_at(node)) return make.finish(replaced(make, c, make.read(0), make.read(1), *begin));
  make.finish(make.reshaped(chosen(make, node, to.chip(), c, {to.module().none(), {}}), dims_of(node.output(0))));
}

std::string refuses_tensor_scatter(const sdk::Node& node, const Chip&) {
  const Cache c = cache_of(node);
  if (c.axis == 0) return "axis is the batch, wanted one behind it";
  if (c.written > c.rows) return "update has " + std::to_string(c.written) + " rows, the cache " + std::to_string(c.rows);
  if (!node.input(2) || !node.input(2).is_constant()) return {};
  for (const int64_t row : Lowering::integers(node.input(2)))
    if (row < 0 || row >= c.rows || (row + c.written > c.rows && node.string("mode", "linear") != "circular"))
      return "write_indices hold " + std::to_string(row) + ", where " + std::to_string(c.written) + " rows do not fit in " + std::to_string(c.rows);
  return {};
}

constexpr Row kRows[] = {{"RotaryEmbedding", refuses_rotary, write_rotary}, {"TensorScatter", refuses_tensor_scatter, write_tensor_scatter}};

}  // namespace of_positions

sdk::Span<const Row> positions() { return of_positions::kRows; }

}  // namespace bmcompiler_plugin::top
