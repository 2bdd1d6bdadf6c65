// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: the kernel that most operators want: an invocation for each element of the output.
#pragma once

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// A kernel with an invocation for each element `o` of the group's output. Bind what it reads, then finish().
struct Elements {
  static constexpr uint32_t kLocal = 64;
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
};

}  // namespace spirv_plugin
