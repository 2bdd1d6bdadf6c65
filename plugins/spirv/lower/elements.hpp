// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: the kernel that most operators want: an invocation for each element of the output.
#pragma once

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// A kernel with an invocation for each element `o` of the group's output. Bind what it reads, then finish().
struct Elements {
  static constexpr uint32_t kLocal = 64;
  static constexpr int64_t kPart = int64_t{1} << 15;  ///< of a long loop, one step's share
  Lowering& to;
  const Group& group;
  Shader s{kLocal};

  int in(const sdk::Value& v) { return s.in(to.read(v)); }
  /// Adds the tail and the step. `value` writes statements behind those that name `o`, and gives the element before the tail as an expression.
  /// An output without elements has no step, and `value` is not called.
  void finish(const std::function<std::string()>& value, Work work) {
    const Lowering::Tail tail = to.tail(s, group);  // reads before the output is made
    const Tensor y = to.made(group.end().output(0));
    const int64_t n = y.elements();
    if (n == 0) return;
    const int out = s.out(y);
    const Grid g = grid(n, kLocal);
    s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;");
    const std::string v = value();
    s.line(s.store(out, "o", tail(v, "o")));
    to.step(group, std::move(s), g.groups, work);
  }
  /// The same of an operator that reads two elements for each; `flops` are of one element.
  void finish(const std::function<std::string()>& value, uint64_t flops = 1) {
    const auto n = static_cast<uint64_t>(group.root.output(0).elements());
    finish(value, Work{flops * n, 12 * n});
  }
  /// The same where an element is `joined` of `start` and many, by a loop over `k`: the statements `each` join one with what is there, `t`. Where there are
  /// more than one invocation goes through, parts of them begin with `empty`, and a step of its own joins these, in order, as `t` and `u`. `head`: statements
  /// ahead of the loop.
  struct Loop {
    std::string head, start, empty, each, joined;
    int64_t count;
  };
  void finish(const Loop& loop, Work work) {
    const std::string type = type_of(element_of(group.root.output(0).dtype()));
    if (loop.count <= kPart)
      return finish(
          [&] {
            s.line(loop.head + type + " t=" + loop.start + ";for(int k=0;k<" + text(loop.count) + ";++k){" + loop.each + "}");
            return std::string("t");
          },
          work);
    const Dims dims = group.root.output(0).shape();
    const int64_t n = elements_of(dims), parts = (loop.count + kPart - 1) / kPart;
    if (n == 0) return void(to.made(group.end().output(0)));
    const Tensor made = to.scratch(group.root, element_of(group.root.output(0).dtype()), {parts, n});
    const int out = s.out(made);
    const Grid g = grid(made.elements(), kLocal);
    s.line("int id=" + g.id + ";if(id>=" + text(made.elements()) + ")return;int o=id%" + text(n) + ",first=id/" + text(n) + "*" + text(kPart) + ";" + loop.head + type + " t=first==0?" + loop.start + ":" + loop.empty + ";");
    s.line("for(int i=0;i<min(" + text(kPart) + "," + text(loop.count) + "-first);++i){int k=first+i;" + loop.each + "}" + s.store(out, "id", "t"));
    to.step(group, std::move(s), g.groups, work);
    Elements joins{to, group};
    const int from = joins.s.in(made);
    joins.finish(
        [&] {
          joins.s.line(type + " t=" + joins.s.load(from, "o") + ";for(int i=1;i<" + text(parts) + ";++i){" + type + " u=" + joins.s.load(from, "o+i*" + text(n)) + ";" + loop.joined + "}");
          return std::string("t");
        },
        Work{static_cast<uint64_t>(made.elements()), 4 * static_cast<uint64_t>(made.elements())});
  }
  /// A sum of `term`, of `k`.
  void finish_sum(const std::string& head, const std::string& term, int64_t terms, Work work) {
    const std::string zero = element_of(group.root.output(0).dtype()) == Element::I32 ? "0" : "0.0";
    const int32_t dtype = group.root.output(0).dtype();
    finish(Loop{head, zero, zero, "t=" + sum_of(dtype, "t", term) + ";", "t=" + sum_of(dtype, "t", "u") + ";", terms}, work);
  }
};

}  // namespace spirv_plugin
