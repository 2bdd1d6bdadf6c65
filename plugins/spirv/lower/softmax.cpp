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

/// A kernel along lines that begins with the largest of each, `m`, NaN the largest of all; `write` adds what comes behind, of an element `v` and the
/// output's buffer. It is told what to wrap stored values with.
void along_lines(Lowering& to, const Group& group, uint64_t flops, const std::function<void(Shader&, const Walk&, int x, int out, const Lowering::Tail&)>& write) {
  const Walk walk(lines_of(group.root));
  Shader s(walk.local());
  const int x = s.in(to.read(group.root.input(0)));
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  walk.fold(s, "largest", "float", "max_(a,b)");
  s.line(walk.begin());
  s.line("float m=" + literal(-HUGE_VAL) + ";" + walk.each() + "m=max_(m," + s.load(x, walk.at()) + ");m=largest(m);");
  write(s, walk, x, out, tail);
  to.step(group, std::move(s), walk.groups(), work_of(y.elements(), flops));
}

void lower_softmax(Lowering& to, const Group& group) {
  const bool is_log = group.root.op() == "LogSoftmax";
  along_lines(to, group, 12, [&](Shader& s, const Walk& walk, int x, int out, const Lowering::Tail& tail) {
    walk.fold(s, "sum", "float", "a+b");
    s.line("float t=0.0;" + walk.each() + "t+=exp(" + s.load(x, walk.at()) + "-m);t=sum(t);");
    if (is_log) s.line("t=log(t);");
    s.line(walk.each() + "{int o=" + walk.at() + ";" + s.store(out, "o", tail(is_log ? s.load(x, "o") + "-m-t" : "exp(" + s.load(x, "o") + "-m)/t", "o")) + "}");
  });
}

/// 1 at the first of the largest elements of a line; 0 elsewhere.
void lower_hardmax(Lowering& to, const Group& group) {
  along_lines(to, group, 3, [](Shader& s, const Walk& walk, int x, int out, const Lowering::Tail& tail) {
    walk.fold(s, "first", "int", "min(a,b)");
    s.line("int f=2147483647;" + walk.each() + "{float x=" + s.load(x, walk.at()) + ";if(x==m||(nan_(m)&&nan_(x)))f=min(f,k);}f=first(f);");
    s.line(walk.each() + "{int o=" + walk.at() + ";" + s.store(out, "o", tail("(k==f?1.0:0.0)", "o")) + "}");
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
