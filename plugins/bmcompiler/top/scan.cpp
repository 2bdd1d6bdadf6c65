// SPDX-License-Identifier: Apache-2.0
// Running sums and products along an axis.
#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_scan {

/// Along the middle of three axes, each step over twice as far as the one before: Hillis and Steele, Data parallel algorithms, 1986.
Piece doubled(Pieces& make, Piece x, std::string_view op) {
  const int64_t n = x.dims[1];
  for (int64_t reach = 1; reach < n; reach *= 2)
    x = make.joined({make.sliced(x, 1, 0, reach), make.both(op, make.sliced(x, 1, reach, n), make.sliced(x, 1, 0, n - reach))}, 1);
  return x;
}

/// With five axes the tools sum along another, hence three; BM1684 has no such operator, and files for CV183X with it do not load.
Piece running(Pieces& make, const Piece& x, std::string_view op, const Chip& chip, const Piece& none) {
  if (op == "Mul" || chip.name == "bm1684" || chip.name == "cv183x") return doubled(make, x, op);
  return make.op("sums", "CumSum", {x, none}, Attributes().i64("axis", 1), x.dims);
}

/// What leaves out an element's own is the others moved by one behind a 0 or 1.
void write_scan(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece given = make.read(0);
  const size_t axis = axis_of(Lowering::integers(node.input(1)).at(0), given.dims.size());
  const int64_t n = given.dims[axis];
  const bool multiplies = node.op() == "CumProd", back = node.integer("reverse", 0) != 0;
  Piece x = make.reshaped(given, {product(given.dims, 0, axis), n, product(given.dims, axis + 1, given.dims.size())});
  if (back) x = make.flipped(x, 1);
  if (node.integer("exclusive", 0) != 0) {
    const double first = multiplies ? 1 : 0;
    const Piece firsts = make.weight(with(x.dims, 1, 1), std::vector<float>(static_cast<size_t>(x.dims[0] * x.dims[2]), static_cast<float>(first)));
    x = n == 1 ? make.scaled(x, 0, first) : make.joined({firsts, make.sliced(x, 1, 0, n - 1)}, 1);
  }
  x = running(make, x, multiplies ? "Mul" : "Add", to.chip(), {to.module().none(), {}});
  make.finish(make.reshaped(back ? make.flipped(x, 1) : x, given.dims));
}

std::string refuses_scan(const sdk::Node& node, const Chip&) {
  if (node.input(0).dtype() != OPTIMA_F32) return wants_floats(node);
  return wants_constant(node, 1, "axis");
}

constexpr Row kRows[] = {{"CumProd", refuses_scan, write_scan}, {"CumSum", refuses_scan, write_scan}};

}  // namespace of_scan

sdk::Span<const Row> scans() { return of_scan::kRows; }

}  // namespace bmcompiler_plugin::top
