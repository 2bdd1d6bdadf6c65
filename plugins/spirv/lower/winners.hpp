// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: which of many elements goes to a place that each of them computes.
#pragma once

#include "elements.hpp"

namespace spirv_plugin {

/// For each place of `dims` the last of `n` elements that goes there, or -1: whoever is first, what comes to one place twice has one winner. `write`
/// binds what it reads and writes statements that leave in `at` where element `i` goes; they return where that is nowhere.
inline Tensor winners_of(Lowering& to, const Group& group, const Dims& dims, int64_t n, const std::function<void(Shader&)>& write) {
  constexpr uint32_t kLocal = Elements::kLocal;
  const Tensor winners = to.scratch(group.root, Element::I32, dims);
  Shader none(kLocal);
  const int cleared = none.out(winners);
  const Grid all = grid(winners.elements(), kLocal);
  none.line("int o=" + all.id + ";if(o>=" + text(winners.elements()) + ")return;" + none.store(cleared, "o", "-1"));
  to.step(group, std::move(none), all.groups, {0, 4 * static_cast<uint64_t>(winners.elements())});
  if (n == 0) return winners;
  Shader s(kLocal);
  const int kept = s.out(winners);
  const Grid g = grid(n, kLocal);
  s.line("int i=" + g.id + ";if(i>=" + text(n) + ")return;int at=0;");
  write(s);
  s.line("atomicMax(" + s.load(kept, "at") + ",i);");
  to.step(group, std::move(s), g.groups, {0, 8 * static_cast<uint64_t>(n)});
  return winners;
}

}  // namespace spirv_plugin
