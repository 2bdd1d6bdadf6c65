// SPDX-License-Identifier: Apache-2.0
// reference/ops: the table.
#include "reference/ops/table.hpp"

#include <algorithm>
#include <iterator>

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
  const Row* row = std::lower_bound(std::begin(kTable), std::end(kTable), op, [](const Row& r, std::string_view name) { return r.sig.name < name; });
  for (; row != std::end(kTable) && row->sig.name == op; ++row)
    if (row->sig.first <= node.since_version && node.since_version <= row->sig.last) return row;
  return nullptr;
}

}  // namespace optima::reference
