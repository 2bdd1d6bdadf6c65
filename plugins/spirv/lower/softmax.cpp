// SPDX-License-Identifier: Apache-2.0
// Softmax and its kin along one axis.
#include <cmath>

#include "lines.hpp"

namespace spirv_plugin {
namespace of_softmax {

/// Before version 13 dims from the axis on are one.
Lines lines_of(const sdk::Node& node) {
  const std::vector<int64_t> dims = node.input(0).shape();
  const bool old = node.since_version() < 13;
  int64_t axis = node.integer("axis", old ? 1 : -1);
  if (!old) return lines_along(dims, axis);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  std::vector<bool> runs(dims.size(), false);
  std::fill(runs.begin() + axis, runs.end(), true);
  return lines_along(dims, runs);
}

Work work_of(int64_t elements, uint64_t flops) { return {static_cast<uint64_t>(elements) * flops, static_cast<uint64_t>(elements) * 8}; }

/// The largest of a line, NaN the largest of all.
Fold largest() { return {"m", "float", literal(-HUGE_VAL), "x", "max_(a,b)"}; }

void lower_softmax(Lowering& to, const Group& group) {
  const bool is_log = group.root.op() == "LogSoftmax";
  const Fold sum{"t", "float", "0.0", "exp(x-m)", "a+b", "", is_log ? "t=log(t);" : ""};
  lower_along(to, group, {lines_of(group.root), to.read(group.root.input(0)), {}, {largest(), sum}, false, is_log ? "x-m-t" : "exp(x-m)/t"}, work_of(group.root.output(0).elements(), 12));
}

/// 1 at the first of the largest elements of a line; 0 elsewhere.
void lower_hardmax(Lowering& to, const Group& group) {
  const Fold first{"f", "int", "2147483647", "(x==m||(nan_(m)&&nan_(x))?k:2147483647)", "min(a,b)"};
  lower_along(to, group, {lines_of(group.root), to.read(group.root.input(0)), {}, {largest(), first}, false, "(k==f?1.0:0.0)"}, work_of(group.root.output(0).elements(), 3));
}

constexpr Row row(std::string_view name, void (*lower)(Lowering&, const Group&)) {
  Row r;
  r.op = op(name, 1, 13, {kFloats}, {kFloats});
  r.lower = lower, r.takes_tail = true;
  return r;
}
constexpr Row kRows[] = {row("Softmax", lower_softmax), row("LogSoftmax", lower_softmax), row("Hardmax", lower_hardmax)};

}  // namespace of_softmax

Family softmax_family() { return of_softmax::kRows; }

}  // namespace spirv_plugin
