// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see concat.hpp.
#include "plugins/llvm_cpu/compiler/concat.hpp"

#include <algorithm>
#include <set>

namespace optima::llvm_cpu {

bool joins_blocks(const NodeView& n, const Target& target) {
  const int64_t rank = n.graph.value(n.output(0)).rank, axis = n.integer("axis", 1);
  if (rank < 3 || rank > 5 || (axis != 1 && axis != 1 - rank) || n.out_dtype(0) != OPTIMA_F32) return false;
  for (uint32_t k = 0; k + 1 < n.input_count(); ++k)
    if (n.in_dims(k)[1] % target.vector_width != 0) return false;
  return true;
}

bool joins_in_place(const NodeView& n, const Target& target) {
  return n.op() == "Concat" && n.domain().empty() && joins_blocks(n, target) && n.out_dims(0)[0] == 1;
}

std::map<uint32_t, Piece> concats_in_place(const std::vector<Group>& groups, const GraphView& graph, const Target& target) {
  const auto joins = [&](const Group& g) { return joins_in_place(g.nodes[0], target); };
  if (std::none_of(groups.begin(), groups.end(), joins)) return {};
  std::set<uint32_t> made;
  for (const Group& g : groups)
    for (const NodeView& n : g.nodes)
      if (n.has_output(0)) made.insert(n.output(0));
  std::map<uint32_t, Piece> out;
  for (auto g = groups.rbegin(); g != groups.rend(); ++g) {  // the largest whole of a dense block comes last
    const NodeView& n = g->nodes[0];
    if (!joins_in_place(n, target)) continue;
    uint64_t offset = 0;
    for (uint32_t k = 0; k < n.input_count(); ++k) {
      const uint32_t v = n.input(k);
      if (made.count(v) && !graph.is_constant(v)) out.try_emplace(v, Piece{n.output(0), offset});
      offset += static_cast<uint64_t>(elements(n.in_dims(k), Layout::Blocked, target)) * sizeof(float);
    }
  }
  return out;
}

namespace {

bool joins_pixels(const Unit& u, const Target& target) {
  const Dims out = u.op.out_dims(0);
  const int64_t rank = static_cast<int64_t>(out.size()), axis = u.op.integer("axis", 1);
  if (rank < 3 || rank > 5 || (axis != 1 && axis != 1 - rank)) return false;
  for (size_t k = 0; k < u.inputs.size(); ++k) {
    if (k + 1 < u.inputs.size() && u.op.in_dims(static_cast<uint32_t>(k))[1] % 16 != 0) return false;
    if (!as_last(*u.inputs[k].codes, target).same_steps(as_last(*u.output, target))) return false;
  }
  return true;
}

}  // namespace

std::map<uint32_t, Piece> codes_in_place(const std::vector<Group>& groups, const GraphView& graph, const Target& target) {
  std::map<uint32_t, Piece> out;
  for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
    if (!g->unit || g->unit->op.op() != "Concat" || !joins_pixels(*g->unit, target)) continue;
    uint64_t offset = 0;
    for (const UnitInput& in : g->unit->inputs) {
      const uint32_t v = in.codes->value;
      if (!graph.is_constant(v)) out.try_emplace(v, Piece{g->unit->out, offset});
      offset += static_cast<uint64_t>(graph.dims(v)[1]);
    }
  }
  return out;
}

}  // namespace optima::llvm_cpu
