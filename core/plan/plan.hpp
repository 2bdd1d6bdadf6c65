// SPDX-License-Identifier: Apache-2.0
// core/plan: what the splitter answers. Plain data; also read back from plan.json / placement.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/device.hpp"
#include "core/backend/door.hpp"
#include "core/backend/manifest.hpp"
#include "core/backend/target.hpp"
#include "core/cost/work.hpp"
#include "core/plan/question.hpp"

namespace optima {

/// A candidate device of a plan: the user's name for it and the plugin that serves it. In a plan with nodes that the host
/// drives the last one stands for the host: it is called kHostDevice and has no plugin.
struct PlanDevice {
  std::string name;         ///< as shown: "X64:0"; the full name where that is not this plugin's, or the user named two plugins for it
  std::string full_name;    ///< "llvm_cpu/X64:0"
  std::string plugin;
  std::string rule;         ///< why this plugin: "named", "the only plugin for X64", "priority 10 over openvino's 5"
  bool only_named = false;  ///< takes only nodes that name it; false = a candidate for every node
  TargetDevice target;
  Limits limits = {};       ///< of its plugin's note: what one subgraph may be, and how many there may be, of which this is a graph's share
};

inline bool is_host(const PlanDevice& device) { return device.plugin.empty(); }

/// Why a node is where it is.
enum class Why {
  Pinned,          ///< a hard wish
  Preferred,       ///< the first of a list that can
  OnlyDevice,      ///< no other candidate takes it
  FirstInOrder,    ///< the first candidate that takes it
  FewerParts,      ///< an earlier candidate takes it too, but this makes fewer subgraphs
  Cost,            ///< several take it, and this makes the fastest plan found
  FollowsGroup,    ///< a plugin takes it only together with others
  FollowsUnit,     ///< the quantized unit of its operator moves as one
  Capacity,        ///< an earlier candidate takes it too, but not within its limits
  CompileRefused,  ///< an earlier candidate said yes and then failed to compile it
  Cloned,          ///< of a clone: it runs here too so that its result need not come over
  HostDriven,      ///< an If, Loop or Scan that goes nowhere whole: the host runs it, its bodies have plans of their own
};
std::string_view name_of(Why why);  ///< "pinned", "preferred", "only-device", "first-in-order", "fewer-parts", ...
std::optional<Why> why_from(std::string_view name);

/// What one device's plugin said of one node.
struct DeviceAnswer {
  bool yes = false;
  std::string reason;  ///< reason name; empty when yes, except PREFER_ELSEWHERE's
  std::string text;    ///< the plugin's own sentence where it gave one, or the host's ("excluded by pin", "slower by 12 us")
  double microseconds = -1;   ///< one run of the node there; negative = not known
  std::string cost_source = {};  ///< where that is from: "profile", "share", "given", "fit", "plugin", "roofline", "scaled"; empty = not known
};

struct PlacedNode {
  uint32_t node_id = 0;
  std::string name, op_type;
  uint32_t device = 0;    ///< index of Plan::devices
  uint32_t subgraph = 0;  ///< index of Plan::subgraphs
  Why why = Why::OnlyDevice;
  std::string sentence;   ///< one line for people
  std::string asked;      ///< what the user wanted: "X64:0", "first of A:0, B:0"; empty = nothing
  bool as_asked = true;   ///< false when it is not on the first device asked for
  std::vector<uint32_t> wanted;  ///< the devices of `asked`, in the user's order: indices of Plan::devices
  std::string quantized_unit;    ///< the operator whose quantized unit it is in, which moves as one; empty = none
  std::string precision;         ///< what it is computed in, "int8"; empty = nobody asked, or quantizing put the node in
  std::string precision_why;     ///< who said so, or why not what was asked, in words; empty with it
  Work work;                     ///< of one run
  uint32_t unit = 0;      ///< index of the first node of those that move as one with it; its own index when it moves alone
  std::vector<uint32_t> copied;  ///< first nodes of other units that run it too wherever they go (a shared DequantizeLinear); ascending
  std::optional<uint32_t> after;  ///< index of the stateful node that runs before this one, though no tensor may say so
  std::vector<DeviceAnswer> answers;  ///< by device
};

/// A tensor that crosses subgraphs.
struct CutTensor {
  std::string name;
  uint32_t value = 0;         ///< of the main graph
  uint32_t from = 0;          ///< subgraph
  std::vector<uint32_t> to;   ///< subgraphs, ascending
  uint64_t bytes = 0;         ///< through the usual door; 0 when the shape is not static
  Door door = {};             ///< chosen while compiling

  /// Bytes through its door.
  uint64_t stored_bytes() const { return door.is_usual() ? bytes : door.bytes().value_or(0); }
  /// Subgraphs that would have to convert it from or to the usual door: the one that makes it and those that read it; 0 through the usual.
  size_t conversions_saved() const { return door.is_usual() ? 0 : 1 + to.size(); }
};

/// A tensor of the main graph that no constant gives: an edge of the graph, so that a plan can be drawn without its model.
struct PlanTensor {
  std::string name;
  std::string type;                   ///< "f32[1,64]", as type_text() writes it
  uint32_t value = 0;                 ///< of the main graph
  uint64_t bytes = 0;                 ///< 0 when the shape is not static
  std::optional<uint32_t> from;       ///< index of Plan::nodes; none = an input of the model
  std::vector<uint32_t> to;           ///< nodes that read it, captures of their bodies included; ascending
  bool output = false;                ///< an output of the model
};

/// A node of another subgraph that a subgraph runs too, for its own use: nothing that a clone produces leaves the subgraph.
struct Clone {
  uint32_t node = 0;     ///< index of the main graph's nodes
  std::string sentence;  ///< why, for people
};

struct Subgraph {
  uint32_t device = 0;
  std::vector<uint32_t> nodes;            ///< indices into the main graph's nodes, ascending
  std::vector<uint32_t> inputs, outputs;  ///< values of the main graph, in extract()'s order
  std::vector<std::string> input_names, output_names;  ///< of those values
  std::vector<Clone> clones = {};         ///< ascending, none of `nodes`

  /// What it runs: nodes and clones, ascending.
  std::vector<uint32_t> run_nodes() const;
};

/// Estimated microseconds of one run that a device spends.
struct DeviceTime {
  double compute = 0, launch = 0;
  double each_launch = 0;         ///< starting one subgraph
  double transfer = 0;            ///< for tensors that come to it from other devices
  std::optional<double> alone;    ///< of the plan that has everything there that may be there, the rest where it is fastest
};

/// Estimated microseconds of one run: the sum of its parts, subgraphs one after the other.
struct PlanEstimate {
  double compute = 0, launch = 0, transfer = 0;
  double bound = 0;                 ///< no plan of these devices is estimated below
  std::vector<DeviceTime> devices;  ///< by device
  double total() const { return compute + launch + transfer; }
  /// How far the plan may be off, as a share of the bound.
  double gap() const { return bound > 0 ? total() / bound - 1 : 0; }
};

struct BodyPlan;

/// A plan of the main graph, or of one body of a node that the host drives. Subgraphs are numbered in one run over the whole
/// model: those of the main graph from 0, then body by body (a body's own, then those of the bodies inside it). A number is
/// `first` plus the position in `subgraphs`; every index in this struct is a position.
struct Plan {
  std::string model_name, model_hash;
  uint32_t first = 0;                ///< number of the first subgraph
  std::vector<PlanDevice> devices;   ///< candidates in order of preference, then those that only wishes name
  std::vector<Subgraph> subgraphs;   ///< in run order
  std::vector<PlacedNode> nodes;     ///< by main graph node index
  std::vector<CutTensor> cuts;       ///< by producing subgraph, then value
  std::vector<PlanTensor> tensors;   ///< by value; empty in plans written before they were kept
  uint32_t lower_bound = 0;          ///< proven minimum of subgraphs
  uint32_t max_subgraphs = 0;        ///< this graph's share of those wanted at most: the main graph has what is left over; 0 = no limit
  bool exact = false;                ///< subgraphs.size() is that minimum
  uint64_t bytes = 0;                ///< crossing, each tensor once per consumer subgraph
  std::optional<PlanEstimate> estimate;  ///< there when the objective was latency
  std::vector<std::string> notes;    ///< "plugin x could not compile node y: ...; placed again"
  std::optional<PlanQuestion> question;  ///< what the splitter was asked; none in plans written before it was kept
  std::vector<BodyPlan> bodies;      ///< of nodes that the host drives, by node, then in the order of its attributes
};

/// How the host runs a body: as a plan of its own over body_graph(), whose inputs are the body's and what it captures.
struct BodyPlan {
  uint32_t node = 0;          ///< of the holder's graph
  std::string name;           ///< of the attribute: "body", "then_branch"
  int64_t trips = 1;          ///< how often it runs each time the node runs; 1 when not known before running
  bool trips_known = false;
  Plan plan;
};

/// f(plan, path) for the plan and all plans inside it, in the order of their numbers; the path is "" for the main graph, else
/// like "loop_3/body".
template <class F>
void for_each_plan(const Plan& plan, F&& f, const std::string& path = "") {
  f(plan, path);
  for (const BodyPlan& body : plan.bodies) for_each_plan(body.plan, f, plan.nodes[body.node].name + "/" + body.name);
}
/// Subgraphs of the plan and of all plans inside it.
size_t count_subgraphs(const Plan& plan);

}  // namespace optima
