// SPDX-License-Identifier: Apache-2.0
// core/compile: the graphs that a plan is about: the main graph, and each body of nodes that the host drives. Private to the room.
#pragma once

#include <memory>
#include <vector>

#include "core/compile/compile.hpp"

namespace optima::detail {

/// A graph with its plan. Borrowed from the Planned it was made of, bodies' graphs aside.
struct PlanScope {
  const Plan* plan = nullptr;
  const Graph* graph = nullptr;
  std::unique_ptr<Graph> own;           ///< of a body
  std::vector<uint32_t> captured;       ///< of a body: values of the graph around it, one for each of the last inputs
  Uses uses;
};

/// In the order of the numbers of their subgraphs: a plan, then the plans of its bodies.
std::vector<PlanScope> scopes_of(const Planned& planned);

/// A subgraph by its number: scopes[scope].plan->subgraphs[position].
struct Numbered {
  uint32_t scope = 0, position = 0;
};
std::vector<Numbered> numbered(const std::vector<PlanScope>& scopes);

}  // namespace optima::detail
