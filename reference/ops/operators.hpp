// SPDX-License-Identifier: Apache-2.0
// reference/ops: what the library evaluates, as rows of a plugin's manifest, for plugins that run on it.
#pragma once

#include "optima/plugin/manifest.hpp"
#include "reference/ops/signature.hpp"

namespace optima::reference {

#define OPTIMA_ROW(name, first, last, evaluator, in, out, same) {name, first, last, in, out, same},
namespace rows {
using namespace signature;
inline constexpr Signature kRows[] = {
#include "reference/ops/rows.def"
};
}  // namespace rows
#undef OPTIMA_ROW

/// Strings have no fixed size and cannot be cut tensors; inside the library they are known.
constexpr sdk::Op operator_of(const Signature& row) {
  sdk::Op op;
  op.name = row.name;
  op.since_min = row.first, op.since_max = row.last;
  for (size_t k = 0; k < row.in.size(); ++k) op.in[k] = row.in[k] & ~signature::S;
  for (size_t k = 0; k < row.out.size(); ++k) op.out[k] = row.out[k] & ~signature::S;
  op.static_shape = false;
  return op;
}

constexpr auto make_operators() {
  std::array<sdk::Op, std::size(rows::kRows)> all{};
  for (size_t k = 0; k < all.size(); ++k) all[k] = operator_of(rows::kRows[k]);
  return all;
}

inline constexpr auto kOperators = make_operators();

}  // namespace optima::reference
