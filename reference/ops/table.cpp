// SPDX-License-Identifier: Apache-2.0
// reference/ops: the table.
#include "reference/ops/table.hpp"

#include "reference/ops/ops.hpp"

namespace optima::reference {
namespace {

using namespace signature;

#define OPTIMA_ROW(name, first, last, evaluator, in, out, same) {{name, first, last, in, out, same}, ops::evaluator},
constexpr Row kTable[] = {
#include "reference/ops/rows.def"
};
#undef OPTIMA_ROW

}  // namespace

Span<const Row> table() { return Span<const Row>(kTable); }

const Row* find_row(const optima_image* image, const optima_node& node) {
  if (node.domain.size != 0) return nullptr;
  const std::string_view op = view(optima_string(image, &node.op_type));
  for (const Row& row : kTable)
    if (row.sig.name == op && row.sig.first <= node.since_version && node.since_version <= row.sig.last) return &row;
  return nullptr;
}

}  // namespace optima::reference
