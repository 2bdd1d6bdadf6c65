// SPDX-License-Identifier: Apache-2.0
// core/placement: asks plugins, decides which device runs which node, and says why. Names no plugin or device, and no operator
// but If, Loop and Scan, which the host can drive.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/allocation/allocation.hpp"
#include "core/backend/backend.hpp"
#include "core/backend/plugin_file.hpp"
#include "core/cost/costs_file.hpp"
#include "core/graph/graph.hpp"
#include "core/placement/answers.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/terms.hpp"

namespace optima {

/// What the config says of a device, whether or not it is a candidate.
struct DeviceSettings {
  DeviceName name;            ///< an empty plugin fits every plugin; what is said of a full name wins
  OptionValues attributes;
  uint64_t memory_limit = 0;  ///< bytes; 0 = none
  double launch_us = 0;       ///< starting one subgraph; 0 = as measured, else nothing
  double gflops = 0;          ///< roofline: 1e9 operations per second; 0 = not known
  double gbytes_per_s = 0;    ///< roofline: memory; 0 = not known
  double gflops_half = 0;     ///< roofline: products of f16 and bf16; 0 = as f32
  double gops_int8 = 0;       ///< roofline: products of 8-bit codes; 0 = four times f32
};

/// What moving one tensor between two devices takes, either of which may leave the plugin empty.
struct LinkCost {
  DeviceName from, to;
  double latency_us = 0;
  double gbytes_per_s = 0;  ///< 0 = the size does not matter
};

/// What a plan that is followed says of a node and its device does not, so that it survives.
struct KeptNode {
  std::optional<Why> why;              ///< why it is on its device; none: somebody edited that, the wish is the reason
  std::string sentence;                ///< the same in words
  std::string asked;                   ///< what the user had asked for, as PlacedNode has it
  bool as_asked = true;
  std::vector<DeviceName> wanted;      ///< full names; devices that are not in the plan are passed over
  std::vector<DeviceName> clones;      ///< where clones of it may run, though its wish names another device
};

enum class Objective {
  Parts,    ///< fewest subgraphs, see split.hpp
  Latency,  ///< least estimated time of one run, see cost_split.hpp
};

/// What is wanted, and who may serve. Plugins are borrowed for the call.
struct PlacementRequest : PlanTerms {
  /// Devices for nodes without a wish, in order of preference. Empty: of every plugin, in order of plugins, slot 0 of each kind that it
  /// reports on this machine, leaving out plugins that want to be named.
  std::vector<DeviceName> candidates;
  std::vector<std::string> plugin_order;     ///< ids the user put first; for the reasons
  std::vector<const PluginFile*> refused;    ///< compilers that are not among them, see refused_files(); for the reasons
  /// Told of each of `refused` that might have been a candidate; more than once when several graphs are planned. May be empty.
  std::function<void(const std::string&)> warn;
  std::vector<DeviceSettings> settings;
  std::map<uint32_t, KeptNode> kept;         ///< by node id
  Objective objective = Objective::Parts;
  std::vector<LinkCost> links;               ///< for Latency; pairs that are not listed move tensors for nothing, with a note
  std::vector<MeasuredCosts> costs;          ///< for Latency; of two that time the same node the later one counts
  /// Tier 3: (node id, plugin id) -> the sentence with which compile refused the node. Such a yes counts as a no.
  std::map<std::pair<uint32_t, std::string>, std::string> compile_refusals;
  /// What the plugins said when the model was planned before, which is asked no more. Null: kept for the one call.
  std::shared_ptr<PluginAnswers> answers;
  /// Only a plan is wanted: where a plugin cannot be asked (its toolchain is absent), its note alone decides, with a note.
  bool plan_only = false;
  /// Set where the graph is a body, whose inputs are not the model's: which sizes of the model's inputs would help, as a part of a message.
  std::optional<std::string> sizes_of_model;
};

/// Places every node of the main graph and cuts the graph into subgraphs (objective and guarantees: split.hpp), then has the
/// plan checked by validate().
///
/// - Every candidate's plugin is asked once, for the whole graph: its note first, then check() for what the note allows. What it said
///   holds for further rounds (answers.hpp).
/// - A name without a plugin means the first of PlacementRequest::plugins that serves the kind, those that want to be named last; a full
///   name elsewhere never changes that.
/// - A node without a wish goes to the candidates of the request. A device that only wishes name takes no other node: a single
///   pin never draws its neighbours along. A list wish is settled first: it becomes the first device of the list that can.
/// - To have each node on the first device that can take it, whatever that costs in subgraphs, say so in the allocation:
///   "*": ["A:0", "B:0"].
/// - Nodes a plugin takes only as a group move as one, if the group is convex; otherwise that device refuses them.
/// - What a subgraph may be on a device (the limits of the plugin's note, the config's memory_limit) is kept: see limits.hpp. How many
///   there may be counts over the main graph and the bodies that the host drives together.
/// - If, Loop and Scan go whole to a device that takes them, if the wishes for their bodies' nodes leave one; a wish for the node
///   is then one for all in it. Otherwise the host drives the node and each body is placed as a graph of its own, recursively:
///   Plan::bodies. A pin on the node alone is kept or refused; wish "host" always gives it to the host.
///
/// - Objective::Latency: the time of a node is the user's measurement, else the plugin's optima.cost/1, else the roofline model with the
///   device's rates, else the roofline model scaled to what was measured of the device; placement.json says which for each node.
///
/// InvalidInput: no cost is known of a device that could take nodes (and how to get one); a device, kind or plugin that does not
/// exist (what does is listed). Plugin: no usable plugin, or what is named was refused (which file, and why). Placement: a pin refused (the plugin's sentence, and who would take the
/// node), a node nobody takes (each device's reason), require_device not met (which nodes), limits that cannot be kept (a
/// smallest set of nodes that are the cause). Internal: the graph is not what passes leave, or the plan failed validate().
Result<Plan> make_plan(const Graph& graph, const PlacementRequest& request);

/// The placement in the allocation format: nodes with their devices (a node with clones: a list, its own device first, then theirs),
/// those that the host drives as "host"; nodes of bodies
/// that went whole with the device of their node; nodes folded away as "auto".
std::string allocation_of(const Plan& plan, const Graph& graph);

}  // namespace optima
