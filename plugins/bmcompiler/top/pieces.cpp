// SPDX-License-Identifier: Apache-2.0
#include "pieces.hpp"

#include <algorithm>
#include <numeric>

namespace bmcompiler_plugin::top {
namespace {

constexpr std::string_view kPlainScalar = "is_scalar";
constexpr int64_t kMostSlices = 64;

Attributes scalar(double v) { return Attributes().f64("const_val", v).flag("do_relu", false).f64("relu_limit", -1).flag(kPlainScalar, false); }

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> dims(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t left = k < a.size() ? a[a.size() - 1 - k] : 1, right = k < b.size() ? b[b.size() - 1 - k] : 1;
    dims[dims.size() - 1 - k] = std::max(left, right);
  }
  return dims;
}

std::vector<float> floats_of(const std::vector<int64_t>& integers) { return {integers.begin(), integers.end()}; }

/// Every element so many times: 0, 0, 1, 1, …
bool each_of(const std::vector<int64_t>& indices, int64_t times) {
  for (size_t k = 0; k < indices.size(); ++k)
    if (indices[k] != static_cast<int64_t>(k) / times) return false;
  return static_cast<int64_t>(indices.size()) % times == 0;
}

/// Dims without ones and with neighbours that stay neighbours as one, and the order of those.
struct Turn {
  std::vector<int64_t> dims, order;
};
Turn merged(const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
  std::vector<std::vector<int64_t>> groups;  // in the order of the result
  for (const int64_t axis : order) {
    if (dims[static_cast<size_t>(axis)] == 1) continue;
    const auto only_ones = [&](int64_t first, int64_t last) { return first <= last && product(dims, static_cast<size_t>(first), static_cast<size_t>(last)) == 1; };
    if (!groups.empty() && groups.back().back() < axis && only_ones(groups.back().back() + 1, axis)) groups.back().push_back(axis);
    else groups.push_back({axis});
  }
  std::vector<size_t> by_place(groups.size());
  std::iota(by_place.begin(), by_place.end(), size_t{0});
  std::sort(by_place.begin(), by_place.end(), [&](size_t a, size_t b) { return groups[a][0] < groups[b][0]; });
  Turn t;
  t.order.resize(groups.size());
  for (size_t k = 0; k < by_place.size(); ++k) {
    int64_t size = 1;
    for (const int64_t axis : groups[by_place[k]]) size *= dims[static_cast<size_t>(axis)];
    t.dims.push_back(size), t.order[by_place[k]] = static_cast<int64_t>(k);
  }
  return t;
}

}  // namespace

int64_t product(const std::vector<int64_t>& dims, size_t first, size_t last) {
  return std::accumulate(dims.begin() + static_cast<ptrdiff_t>(first), dims.begin() + static_cast<ptrdiff_t>(last), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> with(std::vector<int64_t> dims, size_t axis, int64_t to) {
  dims[axis] = to;
  return dims;
}

std::vector<int64_t> numbers_of(const sdk::Node& node, const char* attribute, uint32_t input) {
  if (node.attr(attribute, OPTIMA_ATTR_INTS)) return node.integers(attribute);
  const sdk::Value v = node.input(input);
  return v ? Lowering::integers(v) : std::vector<int64_t>{};
}

std::string wants_constant(const sdk::Node& node, uint32_t input, std::string_view what) {
  const sdk::Value v = node.input(input);
  if (!v || v.is_constant()) return {};
  return std::string(what) + " '" + std::string(v.name()) + "' is computed, wanted a constant";
}

int64_t Piece::elements() const { return product(dims); }

Piece Pieces::read(uint32_t input) { return {to_.read(node_.input(input)), dims_of(node_.input(input))}; }

Piece Pieces::reshaped(const Piece& x, const std::vector<int64_t>& dims) {
  if (x.dims == dims) return x;
  return op("reshaped", "Reshape", {x}, Attributes().i64s("shape", dims).i64("flatten_start_dim", -1), dims);
}

Piece Pieces::weight(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return {to_.module().weight(to_.inner(node_, "constant"), dims, values), dims};
}

Piece Pieces::sliced(const Piece& x, size_t axis, int64_t begin, int64_t end, int64_t step) {
  if (begin == 0 && end == x.dims[axis] && step == 1) return x;
  std::vector<int64_t> offsets(x.dims.size(), 0), steps(x.dims.size(), 1), ends = x.dims;
  offsets[axis] = begin, steps[axis] = step, ends[axis] = end;
  const Piece none{to_.module().none(), {}};
  return op("sliced", "Slice", {x, none, none, none},
            Attributes().i64s("offset", offsets).i64s("steps", steps).i64s("ends", ends).i64s("axes", {}).i64s("hasparamConvert_axes", {}),
            with(x.dims, axis, (end - begin + step - 1) / step));
}

Piece Pieces::picked(const Piece& x, size_t axis, const std::vector<int64_t>& indices) {
  const int64_t n = static_cast<int64_t>(indices.size());
  bool in_order = true;
  for (int64_t k = 1; k < n; ++k) in_order = in_order && indices[static_cast<size_t>(k)] == indices[0] + k;
  if (in_order) return sliced(x, axis, indices[0], indices[0] + n);  // also: a Gather of one constant index aborts the tools
  if (indices == std::vector<int64_t>(indices.size(), indices[0])) {
    std::vector<int64_t> times(x.dims.size(), 1);
    times[axis] = n;
    return op("repeated", "Tile", {sliced(x, axis, indices[0], indices[0] + 1)}, Attributes().i64s("tile", times), with(x.dims, axis, n));
  }
  if (const int64_t times = n / x.dims[axis]; times > 1 && each_of(indices, times)) {  // of such Gathers the tools abort on some
    const std::vector<int64_t> spread{product(x.dims, 0, axis + 1), 1, product(x.dims, axis + 1, x.dims.size())};
    const Piece repeated = op("repeated", "Tile", {reshaped(x, spread)}, Attributes().i64s("tile", {1, times, 1}), with(spread, 1, times));
    return reshaped(repeated, with(x.dims, axis, n));
  }
  if (to_.chip().name == "cv183x") {  // its Gather is of the first axis, and backwards is not backwards
    if (n > kMostSlices) throw sdk::Error(OPTIMA_UNSUPPORTED, "cv183x picks " + std::to_string(kMostSlices) + " numbers at most in another order, found " + std::to_string(n));
    std::vector<Piece> parts;
    for (const int64_t k : indices) parts.push_back(sliced(x, axis, k, k + 1));
    return joined(parts, axis);
  }
  const Attributes a = Attributes().flag("keepdims", true).si32("axis", static_cast<int32_t>(axis)).flag(kPlainScalar, false).flag("is_lora", false);
  return op("picked", "Gather", {x, weight({n}, floats_of(indices))}, a, with(x.dims, axis, n));
}

Piece Pieces::flipped(const Piece& x, size_t axis) {
  std::vector<int64_t> indices(static_cast<size_t>(x.dims[axis]));
  std::iota(indices.rbegin(), indices.rend(), int64_t{0});
  return picked(x, axis, indices);
}

Piece Pieces::joined(const std::vector<Piece>& xs, size_t axis) {
  if (xs.size() == 1) return xs[0];
  int64_t size = 0;
  for (const Piece& x : xs) size += x.dims[axis];
  if (xs[0].dims.size() > 4) {  // of five axes the tools leave parts unwritten where an operand has other readers, or die
    const int64_t outer = product(xs[0].dims, 0, axis), inner = product(xs[0].dims, axis + 1, xs[0].dims.size());
    std::vector<Piece> flat;
    for (const Piece& x : xs) flat.push_back(reshaped(x, {outer, x.dims[axis], inner}));
    return reshaped(joined(flat, 1), with(xs[0].dims, axis, size));
  }
  const Attributes a = Attributes().si32("axis", static_cast<int32_t>(axis)).flag("do_relu", false).f64("relu_limit", -1).flag("only_merge", false).text("round_mode", "HalfAwayFromZero");
  return op("joined", "Concat", xs, a, with(xs[0].dims, axis, size));
}

Piece Pieces::transposed(const Piece& x, const std::vector<int64_t>& order) {
  std::vector<int64_t> dims;
  for (const int64_t axis : order) dims.push_back(x.dims[static_cast<size_t>(axis)]);
  const Turn turn = merged(x.dims, order);
  if (std::is_sorted(turn.order.begin(), turn.order.end())) return reshaped(x, dims);
  if (to_.chip().name == "cv183x" && order == std::vector<int64_t>{0, 2, 1, 3}) return transposed(transposed(x, {0, 2, 3, 1}), {0, 1, 3, 2});  // at once its numbers lie elsewhere
  if (x.dims.size() <= 6) return op("transposed", "Permute", {x}, Attributes().i64s("order", order), dims);
  std::vector<int64_t> turned;
  for (const int64_t axis : turn.order) turned.push_back(turn.dims[static_cast<size_t>(axis)]);
  if (turned.size() > 6)
    throw sdk::Error(OPTIMA_UNSUPPORTED, "the tools turn 6 axes at most, found " + std::to_string(turned.size()) + " that no two of stay together");
  return reshaped(op("transposed", "Permute", {reshaped(x, turn.dims)}, Attributes().i64s("order", turn.order), turned), dims);
}

Piece Pieces::rows(const Piece& x, const Piece& indices) {
  const int64_t n = indices.elements();
  std::vector<int64_t> dims = indices.dims;
  dims.insert(dims.end(), x.dims.begin() + 1, x.dims.end());
  const Attributes a = Attributes().flag("keepdims", true).si32("axis", 0).flag(kPlainScalar, false).flag("is_lora", false);
  return reshaped(op("rows", "Gather", {x, reshaped(indices, {n})}, a, with(x.dims, 0, n)), dims);
}

Piece Pieces::op(std::string_view what, std::string_view op, const std::vector<Piece>& operands, const Attributes& attributes, const std::vector<int64_t>& dims) {
  std::vector<Value> values;
  for (const Piece& x : operands) values.push_back(x.value);
  return {to_.between(node_, what, dims, op, values, attributes), dims};
}

Piece Pieces::scaled(const Piece& x, double by, double plus) {
  Piece y = by == 1 ? x : op("scaled", "MulConst", {x}, scalar(by), x.dims);
  return plus == 0 ? y : op("raised", "AddConst", {y}, scalar(plus), x.dims);
}

Piece Pieces::both(std::string_view op, const Piece& x, const Piece& y) {
  Attributes a = Attributes().flag("do_relu", false).f64("relu_limit", -1).flag(kPlainScalar, false);
  return this->op("both", op, {x, y}, a, broadcast(x.dims, y.dims));
}

Piece Pieces::wrapped(const Piece& indices, const std::vector<int64_t>& sizes) {
  const Attributes less = Attributes().text("mode", "Less").f64("const_val", 0).flag("inversed", false).flag(kPlainScalar, false);
  const Piece below = op("below", "CompareConst", {indices}, less, indices.dims);
  if (sizes.size() == 1) return both("Add", indices, scaled(below, static_cast<double>(sizes[0])));
  const Piece by = weight({static_cast<int64_t>(sizes.size())}, floats_of(sizes));
  return both("Add", indices, both("Mul", below, by));
}

void Pieces::finish(const Piece& x, uint32_t k) {
  const Result wanted = to_.result(node_, k);
  if (x.dims == wanted.dims) return to_.set(node_, k, x.value);
  const Attributes a = Attributes().i64s("shape", wanted.dims).i64("flatten_start_dim", -1);
  to_.set(node_, k, to_.module().op("Reshape", {x.value}, a, wanted));
}

}  // namespace bmcompiler_plugin::top
