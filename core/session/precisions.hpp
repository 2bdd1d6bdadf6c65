// SPDX-License-Identifier: Apache-2.0
// core/session: which precision each node is wanted in, and who said so: the allocation's keys, --precision of a device, --precision of all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/allocation/allocation.hpp"
#include "core/backend/manifest.hpp"
#include "core/graph/graph.hpp"
#include "core/plan/plan.hpp"
#include "core/quantize/precision.hpp"

namespace optima {

/// A word of --precision.
struct PrecisionOption {
  std::optional<DeviceName> device;  ///< of nodes that are placed there; empty = of all
  Precision precision = Precision::F32;
  std::string source = "--precision";  ///< who says it, for messages
};

/// `P` or `DEV=P` each. Usage for what is neither, and for a device, or all, that is given twice.
Result<std::vector<PrecisionOption>> parse_precisions(const std::vector<std::string>& words);

/// What is wanted of one node.
struct ChosenPrecision {
  Precision precision = Precision::F32;
  std::string source;  ///< "--precision", "'conv_*'"; empty = nobody said anything
};

/// By node id, every node of the main graph; nodes of bodies stay f32. The allocation's names, globs and operators come before --precision of a
/// device, which comes before --precision of all and the allocation's `*`. `plan`: where nodes are in float, null when no option names a device.
std::map<uint32_t, ChosenPrecision> choose_precisions(const Graph& graph, const Resolved& wishes, const std::vector<PrecisionOption>& options,
                                                      const Plan* plan);

/// Ids of the nodes wanted in static codes (int8, a16w8, a16w4, auto) that `plan` has on a device whose kind's note says `quantizes: all`. `note_of`: by
/// the plugin's id, null where there is none.
std::set<uint32_t> nodes_to_fill(const std::map<uint32_t, ChosenPrecision>& chosen, const Plan& plan,
                                 const std::function<const Manifest*(const std::string&)>& note_of);

/// Of `filled`, those that `plan` has on a device of a plugin whose note has a QuantizeLinear to u16.
std::set<uint32_t> nodes_to_widen(const std::set<uint32_t>& filled, const Plan& plan, const std::function<const Manifest*(const std::string&)>& note_of);

/// A sentence for each option whose device has no node in the plan.
std::vector<std::string> idle_options(const std::vector<PrecisionOption>& options, const Plan& plan);

}  // namespace optima
