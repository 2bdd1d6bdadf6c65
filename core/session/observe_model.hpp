// SPDX-License-Identifier: Apache-2.0
// core/session: runs a float graph over representative data and watches its values: the fastest devices that execute here, the whole model
// unsplit where one device takes it, taps as extra outputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/compile/compile.hpp"
#include "core/loader/registry.hpp"
#include "core/observe/observations.hpp"
#include "core/samples/samples.hpp"

namespace optima {

struct ObserveRequest {
  PlanRequest plan;                     ///< config, costs, candidates; its model is not read again
  uint64_t memory = uint64_t{512} << 20; ///< bytes of tapped tensors at once; above, taps go in groups, each a compile and a pass
  int64_t threads = 0;                  ///< 0 = all
  const std::atomic<bool>* cancelled = nullptr;
};

/// Observations of `taps` over all samples. Never gives up on a device: what no device takes runs on the reference, which `note` is told.
/// Statistics depend on the samples alone, not on groups nor on threads, and on the order of samples only as observations.hpp says. InvalidInput for a
/// value that the graph does not have, and for a sample that cannot be read; Cancelled; else as compile_graph() and Request::run().
Result<Observations> observe_model(const Graph& graph, const std::vector<Tap>& taps, const Samples& samples, const ObserveRequest& request,
                                   Registry& registry, const ProgressReport& progress, const std::function<void(const std::string&)>& note);

}  // namespace optima
