// SPDX-License-Identifier: Apache-2.0
// core/placement: limits on the number of subgraphs of a model, shared out to its main graph and the bodies that the host drives.
// Private to the room.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/placement/limits_of.hpp"

namespace optima::detail {

/// How many subgraphs each graph may have, in all and on the devices of each plugin that limits them. Graphs are numbered as plans
/// are: the main graph is 0, then body by body. At first each may use all there is; while the plans together use more, shares are
/// lowered one subgraph at a time, first where a subgraph has the fewest nodes.
class Budget {
 public:
  explicit Budget(const PlacementRequest& request);

  /// Starts numbering again, before the whole model is planned.
  void restart() { next_ = 0; }
  /// The next graph's number.
  size_t enter() { return next_++; }
  /// The graph's shares as limits of its splitter; a plugin without any left refuses all nodes.
  void limit(size_t graph, const Candidates& candidates, SplitLimits& limits) const;
  void refuse(size_t graph, const Candidates& candidates, Capability& capability) const;

  /// Whether the plans together keep everything.
  bool kept(const Plan& plan) const;
  /// Lowers one share by one; false when there is none left to lower.
  bool lower(const Plan& plan);
  /// The last lowering left its graph without a plan: it stands where it was, and is not lowered again.
  void take_back();
  /// Placement error: what is not kept, and what each graph uses.
  Status error(const Plan& plan) const;
  /// Writes into the plans how many subgraphs each may have beyond its own without the whole having too many: the main graph gets what
  /// is left over.
  void share_out(Plan& plan) const;

 private:
  // "" is the number of all subgraphs, else a plugin's id.
  struct Share {
    size_t graph = 0;
    std::string of;
    friend bool operator<(const Share& a, const Share& b) { return std::tie(a.graph, a.of) < std::tie(b.graph, b.of); }
  };
  uint32_t share(const Share& which) const;
  static uint32_t count(const Plan& plan, const std::string& of);
  static uint32_t count_all(const Plan& plan, const std::string& of);

  std::map<std::string, uint32_t> most_;  // what is limited
  std::map<Share, uint32_t> lowered_;
  std::map<Share, bool> fixed_;
  Share last_;
  size_t next_ = 0;
};

}  // namespace optima::detail
