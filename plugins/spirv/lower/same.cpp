// SPDX-License-Identifier: Apache-2.0
// Operators that change dims only: their output lies where their input does, and no kernel runs.
#include "compiler/lowering.hpp"

namespace spirv_plugin {
namespace of_same {

void lower_same(Lowering& to, const Group& group) { to.same(group.root.output(0), group.root.input(0)); }

constexpr Row row(std::string_view name, int32_t first, int32_t last, uint32_t const_inputs = 0) {
  Row r;
  r.op = op(name, first, last, {kAny, sdk::types(OPTIMA_I64)}, {kAny}, const_inputs);
  r.lower = lower_same;
  return r;
}

constexpr Row kRows[] = {row("Reshape", 5, 25, 2), row("Flatten", 1, 25), row("Squeeze", 1, 25, 2), row("Unsqueeze", 1, 25, 2)};

}  // namespace of_same

Family same_family() { return of_same::kRows; }

}  // namespace spirv_plugin
