// SPDX-License-Identifier: Apache-2.0
// core/compile: how cut tensors lie between the subgraphs of a plan. Private to the room.
#pragma once

#include <vector>

#include "core/compile/compile.hpp"

namespace optima::detail {

/// Sets the door of every cut tensor, bodies' included, by asking the plugins: the first that the maker offers and all readers take, else the
/// usual one. The usual one without asking where the shape is not known, a host-driven node makes or reads it, or it is an output of its graph.
Status choose_doors(Planned& planned, Registry& registry);

/// The doors of subgraph `position` of the plan for its CompileJob; `piece` is what extract() made of it.
std::vector<ValueDoor> doors_of(const Plan& plan, uint32_t position, const image::Graph& piece);

}  // namespace optima::detail
