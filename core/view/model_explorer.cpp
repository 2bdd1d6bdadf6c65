// SPDX-License-Identifier: Apache-2.0
#include "core/support/json_value.hpp"

#include "core/view/flat.hpp"
#include "core/view/palette.hpp"
#include "core/view/view.hpp"

namespace optima::view {

// One graph's data, without a graph id: Model Explorer then lays it over the graph that is open. A node matches by its name,
// which is its id there.
Json to_model_explorer(const Plan& plan) {
  const Flat flat = flatten(plan);
  const std::vector<Look> looks = looks_of(flat.plan);
  Json results = Json::object();
  auto& members = results.get_ref<Json::object_t&>();
  for (const PlacedNode& node : flat.plan.nodes) {
    const std::string colour = tint(looks[node.device].colour, 0.55);
    members.push_back({node.name, {{"value", flat.plan.devices[node.device].name}, {"bgColor", colour}, {"textColor", "#000000"}}});
  }
  return {{"results", std::move(results)}};
}

}  // namespace optima::view
