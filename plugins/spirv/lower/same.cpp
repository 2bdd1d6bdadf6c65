// SPDX-License-Identifier: Apache-2.0
// Operators that change dims at most: their output lies where their input does, and no kernel runs.
#include "compiler/lowering.hpp"

namespace spirv_plugin {
namespace of_same {

void lower_same(Lowering& to, const Group& group) { to.same(group.root.output(0), group.root.input(0)); }

/// As in inference: nothing is dropped, and a mask, which old models name whether they want it or not, is true everywhere.
void lower_dropout(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  lower_same(to, group);
  if (!group.root.output(1)) return;
  const Tensor mask = to.made(group.root.output(1));
  const int64_t n = mask.elements();
  if (n == 0) return;
  Shader s(kLocal);
  const int out = s.out(mask);
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;" + s.store(out, "o", "1"));
  to.step(group, std::move(s), g.groups, {0, 4 * static_cast<uint64_t>(n)});
}

std::string trains(const sdk::Node& node) {
  const sdk::Value mode = node.input(2);
  return mode && !(mode.is_constant() && reals_of(mode.constant())[0] == 0) ? "training_mode is set, and kernels draw no random numbers" : "";
}

constexpr Row dropout() {
  Row r;
  r.op = op("Dropout", 12, 22, {kFloats, kFloats | sdk::types(OPTIMA_F64), kBools}, {kFloats, kBools});
  r.lower = lower_dropout, r.refuse = trains;
  return r;
}

constexpr Row row(std::string_view name, int32_t first, int32_t last, uint32_t const_inputs = 0) {
  Row r;
  r.op = op(name, first, last, {kAny, sdk::types(OPTIMA_I64)}, {kAny}, const_inputs);
  r.lower = lower_same;
  return r;
}

constexpr Row kRows[] = {row("Reshape", 5, 25, 2), row("Flatten", 1, 25), row("Squeeze", 1, 25, 2), row("Unsqueeze", 1, 25, 2), dropout()};

}  // namespace of_same

Family same_family() { return of_same::kRows; }

}  // namespace spirv_plugin
