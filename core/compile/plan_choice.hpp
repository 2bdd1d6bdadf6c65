// SPDX-License-Identifier: Apache-2.0
// core/compile: a plan.json as what is wanted: every node on the device that the file names.
#pragma once

#include <string>
#include <vector>

#include "core/allocation/allocation.hpp"
#include "core/placement/placement.hpp"

namespace optima {

/// What counts of a plan.json that somebody may have edited: its devices, the device of each node, and where clones run. Subgraphs
/// and cut tensors are made anew from these, so whatever is edited, the order stays one that can run; a node that was not edited
/// keeps its reason.
struct PlanChoice {
  struct Entry {
    std::string node;
    DeviceName device;
    bool host = false;  ///< the host drives it; no device then
    KeptNode kept;      ///< the reason only where the device is still that of the node's subgraph
  };
  std::string path, model_hash;
  std::vector<DeviceName> candidates;    ///< devices that take nodes without a wish, in the plan's order
  std::vector<DeviceSettings> settings;  ///< target options and memory limits that the plan was made with
  std::vector<Entry> nodes;              ///< the main graph's, then those of planned bodies; each once
};

/// InvalidInput with the place of the mistake: no plan, a newer format, a device that the plan does not list (what it lists is
/// shown), a node twice.
Result<PlanChoice> read_plan_choice(const std::string& path);

/// Every node of the main graph, and of bodies that the plan has plans for, pinned to its device or given to the host. InvalidInput
/// when the plan is of another model, names a node that the model does not have (nearest shown), or lacks one.
Result<Resolved> resolve(const PlanChoice& choice, const Graph& graph);

/// What survives of the plan besides devices: reasons, and where clones may run. By node id, for PlacementRequest::kept.
std::map<uint32_t, KeptNode> kept_nodes(const PlanChoice& choice, const Graph& graph);

/// The plan in the allocation format, in few keys (compact_allocation()): nodes of bodies without plans of their own follow the node
/// that holds them; a node with clones lists its device first, then theirs. Errors as resolve().
Result<std::string> allocation_from(const PlanChoice& choice, const Graph& graph);

}  // namespace optima
