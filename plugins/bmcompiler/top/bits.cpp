// SPDX-License-Identifier: Apache-2.0
// Bits of integers, which are floats here: bit k of x is floor(x / 2^k) - 2 floor(x / 2^(k + 1)), of numbers below 0, too, whose last bit
// counts less than 0. Quotients by powers of two are exact.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "chain.hpp"
#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_bits {

using Dims = std::vector<int64_t>;

bool is_unsigned(int32_t type) { return type == OPTIMA_U8 || type == OPTIMA_U16; }
int width_of(int32_t type) { return static_cast<int>(optima_dtype_bits(type)); }

Piece floored(Pieces& make, const Piece& x) { return make.op("floor", "Floor", {x}, Attributes().flag("is_scalar", false), x.dims); }
Piece compared(Pieces& make, const Piece& x, std::string_view mode, double c) {
  return make.op("compared", "CompareConst", {x}, Attributes().text("mode", mode).f64("const_val", c).flag("inversed", false).flag("is_scalar", false), x.dims);
}
Piece most(Pieces& make, const Piece& x, double c) { return make.op("most", "MinConst", {x}, Attributes().f64("const_val", c).flag("is_scalar", false), x.dims); }
Piece least(Pieces& make, const Piece& x, double c) { return make.op("least", "MaxConst", {x}, Attributes().f64("const_val", c).flag("is_scalar", false), x.dims); }

/// A column of powers of two; the last one less than 0 where it is a sign's.
Piece powers(Pieces& make, const std::vector<int64_t>& exponents, int direction, bool has_sign) {
  std::vector<float> values;
  for (const int64_t e : exponents) values.push_back(std::ldexp(1.0f, direction * static_cast<int>(e)));
  if (has_sign) values.back() = -values.back();
  return make.weight({1, static_cast<int64_t>(values.size()), 1}, values);
}

/// Input k in the dims of the output, as one row.
Piece line(Lowering& to, Pieces& make, const sdk::Node& node, uint32_t k) {
  const Dims wide = dims_of(node.output(0)), dims = raised_dims(node.input(k), wide.size());
  Chain c(to, node);
  const Piece x{spread(c, raised(to, node, node.input(k), wide.size()), dims, wide), wide};
  return make.reshaped(x, {1, 1, x.elements()});
}

/// A row for each bit, the lowest first.
Piece bits_of(Pieces& make, const Piece& x, int64_t count) {
  std::vector<int64_t> exponents(static_cast<size_t>(count + 1));
  std::iota(exponents.begin(), exponents.end(), int64_t{0});
  const Dims wide{1, count + 1, x.dims[2]};
  const Piece spread = make.op("spread", "Tile", {x}, Attributes().i64s("tile", {1, count + 1, 1}), wide);
  const Piece floors = floored(make, make.both("Mul", spread, powers(make, exponents, -1, false)));
  return make.both("Sub", make.sliced(floors, 1, 0, count), make.scaled(make.sliced(floors, 1, 1, count + 1), 2));
}

Piece joint(Pieces& make, std::string_view op, const Piece& a, const Piece& b) {
  if (op == "BitwiseAnd") return make.both("Mul", a, b);
  const Piece apart = make.both("Sub", a, b), differ = make.both("Mul", apart, apart);
  return op == "BitwiseXor" ? differ : make.both("Add", differ, make.both("Mul", a, b));
}

void write_bitwise(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const int32_t type = node.output(0).dtype();
  const int64_t count = width_of(type);
  const Piece low = joint(make, node.op(), bits_of(make, line(to, make, node, 0), count), bits_of(make, line(to, make, node, 1), count));
  std::vector<int64_t> exponents(static_cast<size_t>(count));
  std::iota(exponents.begin(), exponents.end(), int64_t{0});
  const Piece parts = make.both("Mul", low, powers(make, exponents, 1, !is_unsigned(type)));
  const Attributes sum = Attributes().i64s("axes", {1}).flag("keepdims", true).text("mode", "ReduceSum").flag("is_scalar", false);
  make.finish(make.reshaped(make.op("sum", "Reduce", {parts}, sum, {1, 1, parts.dims[2]}), dims_of(node.output(0))));
}

void write_bitwise_not(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const int32_t type = node.output(0).dtype();
  make.finish(make.scaled(make.read(0), -1, is_unsigned(type) ? std::ldexp(1.0, width_of(type)) - 1 : -1));
}

// --- BitShift

/// A shift that leaves nothing of a number, as larger ones do, and those below 0.
constexpr int64_t kAll = 31;

/// By the shift, from 0 to kAll: what numbers are multiplied by.
std::vector<float> factors(bool left, int width) {
  std::vector<float> all;
  for (int k = 0; k <= kAll; ++k) all.push_back(left && k >= width ? 0.0f : std::ldexp(1.0f, left ? k : -k));
  return all;
}

/// That factor for each number, as one row.
Piece scales(Lowering& to, Pieces& make, const sdk::Node& node, const std::vector<float>& factors) {
  const sdk::Value by = node.input(1);
  if (!by.is_constant()) {
    const Piece shift = line(to, make, node, 1), below = compared(make, shift, "Less", 0);
    const Piece kept = make.both("Add", least(make, shift, 0), make.scaled(below, kAll));
    return make.reshaped(make.rows(make.weight({kAll + 1, 1}, factors), make.reshaped(most(make, kept, kAll), {shift.elements()})), shift.dims);
  }
  std::vector<float> values;
  for (const int64_t shift : Lowering::integers(by)) values.push_back(factors[static_cast<size_t>(shift < 0 ? kAll : std::min(shift, kAll))]);
  const Dims wide = dims_of(node.output(0)), dims = raised_dims(by, wide.size());
  Chain c(to, node);
  const Piece given = make.weight(dims, values), all{spread(c, given.value, dims, wide), wide};
  return make.reshaped(all, {1, 1, all.elements()});
}

void write_shift(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const bool left = node.string("direction", "") == "LEFT";
  const int32_t type = node.output(0).dtype();
  const int width = width_of(type);
  const double all = std::ldexp(1.0, width);
  Piece y = make.both("Mul", line(to, make, node, 0), scales(to, make, node, factors(left, width)));
  if (!left) return make.finish(make.reshaped(floored(make, y), dims_of(node.output(0))));
  y = make.both("Sub", y, make.scaled(floored(make, make.scaled(y, 1 / all)), all));
  if (!is_unsigned(type)) y = make.both("Sub", y, make.scaled(compared(make, y, "GreaterOrEqual", all / 2), all));
  make.finish(make.reshaped(y, dims_of(node.output(0))));
}
/// What packs bits fills all of them: of 32 the border would refuse most numbers when they come in.
std::string refuses_wide(const sdk::Node& node, const Chip&) {
  const int32_t type = node.output(0).dtype();
  if (width_of(type) <= 16) return {};
  return "value '" + std::string(node.output(0).name()) + "' is of " + sdk::dtype_name(type) + ", wanted integers of 16 bits or less: floats, as these chips have them, hold 24 bits of a number";
}

constexpr Row kRows[] = {
    {"BitShift", refuses_wide, write_shift},
    {"BitwiseAnd", refuses_wide, write_bitwise},
    {"BitwiseNot", refuses_wide, write_bitwise_not},
    {"BitwiseOr", refuses_wide, write_bitwise},
    {"BitwiseXor", refuses_wide, write_bitwise},
};

}  // namespace of_bits

sdk::Span<const Row> bits() { return of_bits::kRows; }

}  // namespace bmcompiler_plugin::top
