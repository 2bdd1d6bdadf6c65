// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see moved.hpp.
#include "plugins/llvm_cpu/lower/parts/moved.hpp"

#include "plugins/llvm_cpu/lower/parts/codes.hpp"

namespace optima::llvm_cpu {

bool takes_moved(const Unit& u, const Target&) {
  if (!u.tail.empty() || !u.output || u.inputs.empty() || !is_byte_scalar(u.inputs[0].codes)) return false;
  for (size_t k = 1; k < u.inputs.size(); ++k)
    if (u.inputs[k].codes) return false;
  for (const Codes& c : u.more_outputs)
    if (!c.same_steps(*u.output)) return false;
  return u.inputs[0].codes->same_steps(*u.output);
}

void lower_moved(const Unit& u, LowerContext& ctx) {
  const std::vector<uint32_t> ins{u.inputs[0].codes->value};
  std::vector<uint32_t> outs{u.out};
  for (const Codes& c : u.more_outputs) outs.push_back(c.value);
  NodeView n = u.op;
  n.ins = &ins, n.outs = &outs;
  find_lowering(u.op)->lower({&n, 1}, ctx);
}

}  // namespace optima::llvm_cpu
