// SPDX-License-Identifier: Apache-2.0
// core/runtime: the inside of a loaded model, for requests. Private to the room.
#pragma once

#include <atomic>

#include "core/runtime/model.hpp"
#include "core/runtime/run_plan.hpp"

namespace optima {

struct LoadedModel::State {
  RuntimeContext* context;
  PackageReader package;
  std::vector<std::unique_ptr<LoadedProgram>> programs;  // by subgraph; null where the host drives
  RunPlan plan;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<SubgraphInfo> subgraphs;
  std::vector<ProfileEvent> events;
  mutable std::atomic<uint32_t> requests{0};  // numbers them, for traces
};

}  // namespace optima
