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

/// A kernel along lines that begins with the largest of each, `m`, NaN the largest of all; `write` adds what comes behind.
void with_largest(Lowering& to, const Group& group, uint64_t flops, const std::function<void(AlongLines&)>& write) {
  AlongLines a{to, group, Walk(lines_of(group.root))};
  a.finish(work_of(group.root.output(0).elements(), flops), [&] {
    a.walk.fold(a.s, "largest", "float", "max_(a,b)");
    a.s.line("float m=" + literal(-HUGE_VAL) + ";" + a.walk.each() + "m=max_(m," + a.element() + ");m=largest(m);");
    write(a);
  });
}

void lower_softmax(Lowering& to, const Group& group) {
  const bool is_log = group.root.op() == "LogSoftmax";
  with_largest(to, group, 12, [&](AlongLines& a) {
    a.walk.fold(a.s, "sum", "float", "a+b");
    a.s.line("float t=0.0;" + a.walk.each() + "t+=exp(" + a.element() + "-m);t=sum(t);");
    if (is_log) a.s.line("t=log(t);");
    a.store_elements(is_log ? a.s.load(a.x, "o") + "-m-t" : "exp(" + a.s.load(a.x, "o") + "-m)/t");
  });
}

/// 1 at the first of the largest elements of a line; 0 elsewhere.
void lower_hardmax(Lowering& to, const Group& group) {
  with_largest(to, group, 3, [](AlongLines& a) {
    a.walk.fold(a.s, "first", "int", "min(a,b)");
    a.s.line("int f=2147483647;" + a.walk.each() + "{float x=" + a.element() + ";if(x==m||(nan_(m)&&nan_(x)))f=min(f,k);}f=first(f);");
    a.store_elements("(k==f?1.0:0.0)");
  });
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
