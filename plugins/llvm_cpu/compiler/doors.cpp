// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see doors.hpp.
#include "plugins/llvm_cpu/compiler/doors.hpp"

namespace optima::llvm_cpu {

std::optional<sdk::Door> blocked_door(const GraphView& graph, uint32_t value, const Target& target) {
  if (graph.value(value).kind != OPTIMA_KIND_TENSOR || graph.stored_dtype(value) != OPTIMA_F32 || !graph.is_static(value)) return std::nullopt;
  const Dims dims = graph.dims(value);
  const int64_t vl = target.vector_width;
  if (dims.size() < 3 || dims.size() > 5 || count(dims) == 0 || dims[1] < vl) return std::nullopt;
  static constexpr const char* kNames[] = {"NCW", "NCHW", "NCDHW"};
  return sdk::Door(OPTIMA_F32, blocked_dims(dims, target), kNames[dims.size() - 3] + std::to_string(vl) + (dims[1] % vl == 0 ? "c" : "c*"));
}

bool saves_moves(const GraphView& graph, uint32_t value, const Target& target, PlannerOptions options) {
  try {
    const int64_t usual = plan_graph(graph, target, options).moved;
    options.blocked_outside.insert(value);
    return plan_graph(graph, target, options).moved < usual;
  } catch (const sdk::Error&) {
    return false;  // compile() is who refuses a node
  }
}

}  // namespace optima::llvm_cpu
