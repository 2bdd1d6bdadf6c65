// SPDX-License-Identifier: Apache-2.0
// core/session: a graph in memory made ready to run on the devices of this machine, to judge what it gives.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/compile/compile.hpp"
#include "core/loader/registry.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

struct RunnerSettings {
  PlanRequest plan;      ///< config, costs; where nodes go is free
  int64_t threads = 0;   ///< 0 = all
  const std::atomic<bool>* cancelled = nullptr;
};

/// Compiled by the ordinary planner into a scratch folder that goes with this object; where no device takes the graph, the reference runs it.
/// One thread at a time. The registry must outlive it.
class GraphRunner {
 public:
  static Result<GraphRunner> make(Graph graph, const RunnerSettings& settings, Registry& registry);
  GraphRunner(GraphRunner&&) noexcept;
  GraphRunner& operator=(GraphRunner&&) noexcept;
  ~GraphRunner();

  /// The graph's outputs in order, with their names, owned. Inputs are found by name.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);
  /// Why the reference runs the graph; empty when devices do.
  const std::string& on_reference() const;

 private:
  struct State;
  explicit GraphRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace optima
