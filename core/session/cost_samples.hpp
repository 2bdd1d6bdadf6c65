// SPDX-License-Identifier: Apache-2.0
// core/session: a model measured whole and in blocks on the devices of this machine: what its nodes, launches and cuts take.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/placement/measured.hpp"
#include "core/session/session.hpp"

namespace optima {

/// Medians of one measurement of a package, microseconds of a run.
struct PackageTimes {
  double whole = 0;
  std::vector<SubgraphTime> subgraphs;  ///< by number, those of bodies over all their trips
  double loop = -1;                     ///< the run loop's part for each subgraph; negative without subgraphs
};

/// One package that was measured.
struct CostSample {
  std::string label;
  std::string allocation;          ///< JSON text
  std::string package = {};
  Plan plan = {};
  PackageTimes best = {};          ///< the least of all rounds, each subgraph for itself
  std::vector<double> whole = {};  ///< by round
};

struct CostSettings {
  size_t blocks = 6;   ///< that the nodes are cut into, on the devices in turn
  int64_t rounds = 3;  ///< measurements of every package, in turns; the least counts
  const std::atomic<bool>* cancelled = nullptr;
  /// Measures a package once.
  std::function<Result<PackageTimes>(const CostSample& sample)> bench;
};

struct CostMeasurement {
  std::vector<CostSample> samples;
  MeasuredCosts costs;
};

/// All that each device takes on it alone, then the nodes in blocks on the devices in turn, from each start: with every node at the
/// edge of one subgraph and in the middle of another. The packages are scratch. InvalidInput when fewer than two devices are asked about
/// the model; else as plan_model(), compile_model() and `bench` say.
Result<CostMeasurement> measure_costs(Session& session, PlanRequest request, const CostSettings& settings);

}  // namespace optima
