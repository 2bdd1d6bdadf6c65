// SPDX-License-Identifier: Apache-2.0
// core/view: a plan and the plans of its bodies as one, so that they are drawn as one. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace optima::view {

/// The main graph, or a body: a run of nodes, subgraphs and tensors of Flat::plan.
struct Part {
  std::string path;               ///< "" for the main graph, else like "loop_3/body"
  uint32_t holder = UINT32_MAX;   ///< the node that the body belongs to; none for the main graph
  std::string trips;              ///< "5 trips", "trips not known before running"; empty for branches and the main graph
  uint32_t first_node = 0, end_node = 0;
  uint32_t first_subgraph = 0, end_subgraph = 0;
  uint32_t first_tensor = 0, end_tensor = 0;
};

struct Flat {
  /// No bodies. Subgraphs are at their number; nodes and tensors count through part by part; a tensor's and a cut's `value` is its index
  /// in `tensors`. Devices are those of all plans, each once; a node's answers are by these. Bytes are those of all graphs, each trip
  /// alone; minimum and 'exact' are the main graph's.
  Plan plan;
  std::vector<Part> parts;  ///< the main graph first

  uint32_t part_of_subgraph(uint32_t subgraph) const;
};

Flat flatten(const Plan& plan);

/// Who runs what where, of a flat plan; borrows it.
class Wiring {
 public:
  explicit Wiring(const Plan& flat);

  /// Subgraphs that run the node: its own, then those with a clone, ascending.
  const std::vector<uint32_t>& places(uint32_t node) const { return places_[node]; }
  bool runs_in(uint32_t node, uint32_t subgraph) const;
  bool crosses(uint32_t tensor) const { return crosses_[tensor] != 0; }

  /// f(maker's subgraph, reader, reader's subgraph) for each that reads the tensor, clones included. The maker's subgraph is the
  /// reader's where the maker or a clone of it runs there, or UINT32_MAX when the tensor comes over or is an input.
  template <class F>
  void each_reader(uint32_t tensor, F&& f) const {
    const PlanTensor& t = flat_.tensors[tensor];
    for (uint32_t reader : t.to)
      for (uint32_t at : places_[reader]) {
        const bool here = t.from && (runs_in(*t.from, at) || !crosses(tensor));
        f(!here ? UINT32_MAX : runs_in(*t.from, at) ? at : places_[*t.from][0], reader, at);
      }
  }

 private:
  const Plan& flat_;
  std::vector<std::vector<uint32_t>> places_;
  std::vector<uint8_t> crosses_;
};

}  // namespace optima::view
