// SPDX-License-Identifier: Apache-2.0
// core/placement: what the splitter answers. Plain data; also read back from plan.json / placement.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/registry/device.hpp"
#include "core/registry/registry.hpp"

namespace optima {

/// A candidate device of a plan: the user's name for it and the plugin that serves it.
struct PlanDevice {
  std::string name;         ///< as shown: "X64:0"
  std::string full_name;    ///< "llvm_cpu/X64:0"
  std::string plugin;
  TargetDevice target;
};

/// Why a node is where it is.
enum class Why { Pinned, Preferred, OnlyDevice, FewerParts, FewerBytes, FirstInOrder, FollowsGroup, CompileRefused };
std::string_view name_of(Why why);  ///< "pinned", "preferred", "only-device", "fewer-parts", ...

/// What one device's plugin said of one node.
struct DeviceAnswer {
  bool yes = false;
  std::string reason;  ///< reason name, empty when yes
  std::string text;    ///< the plugin's own sentence, or the host's ("excluded by pin")
};

struct PlacedNode {
  uint32_t node_id = 0;
  std::string name, op_type;
  uint32_t device = 0;    ///< index of Plan::devices
  uint32_t subgraph = 0;  ///< index of Plan::subgraphs
  Why why = Why::OnlyDevice;
  std::string sentence;   ///< one line for people
  std::vector<DeviceAnswer> answers;  ///< by device
};

/// A tensor that crosses subgraphs.
struct CutTensor {
  std::string name;
  uint32_t value = 0;         ///< of the main graph
  uint32_t from = 0;          ///< subgraph
  std::vector<uint32_t> to;   ///< subgraphs, ascending
  uint64_t bytes = 0;         ///< 0 when the shape is not static
};

struct Subgraph {
  uint32_t device = 0;
  std::vector<uint32_t> nodes;            ///< indices into the main graph's nodes, ascending
  std::vector<uint32_t> inputs, outputs;  ///< values of the main graph, in extract()'s order
};

struct Plan {
  std::vector<PlanDevice> devices;   ///< candidates in order of preference
  std::vector<Subgraph> subgraphs;   ///< in run order
  std::vector<PlacedNode> nodes;     ///< by main graph node index
  std::vector<CutTensor> cuts;       ///< by producer, then value
  uint32_t lower_bound = 0;          ///< proven minimum of subgraphs
  bool exact = false;                ///< subgraphs.size() is that minimum
  uint64_t bytes = 0;                ///< crossing, each tensor once per consumer subgraph
  std::vector<std::string> notes;    ///< "plugin x could not compile node y: ...; placed again"
};

}  // namespace optima
