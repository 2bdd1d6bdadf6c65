// SPDX-License-Identifier: Apache-2.0
// core/plan: what a plan has to obey, whoever makes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/allocation/allocation.hpp"
#include "core/backend/backend.hpp"
#include "core/graph/graph.hpp"
#include "core/plan/plan.hpp"

namespace optima {

/// What the user wants, and who serves. Backends are borrowed for the call.
struct PlanTerms {
  std::vector<Wish> wishes;                  ///< by node id; may be shorter than there are nodes
  std::optional<DeviceName> require_device;  ///< every node there, or Placement
  uint32_t max_subgraphs = 0;                ///< of the plan with those of its bodies; 0 = no limit
  std::vector<Backend*> plugins;             ///< Registry::compilers(), in its order
  /// The graph, where its inputs have open sizes, as it is at the sizes that matter most and at the largest that may come: the same nodes and
  /// values, of which those of the main graph have sizes that follow from those of the inputs. For estimates, and for limits. Null: nobody knows.
  std::shared_ptr<const Graph> at_opt, at_most;
};

/// What the plans of a node's bodies have to obey: wishes of nodes inside are their own, else those of the node around them. Of sizes inside
/// nothing is known.
PlanTerms terms_for_bodies(const Graph& graph, const image::Node& node, const PlanTerms& terms);
/// The graph that the plan of a body is about; `graph` is the one that the plan around it is about.
BodyGraph body_of(const Graph& graph, const BodyPlan& body);

}  // namespace optima
