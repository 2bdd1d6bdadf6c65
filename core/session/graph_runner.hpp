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

class TapRunner;

struct RunnerSettings {
  PlanRequest plan;      ///< config, costs, candidates, as ObserveRequest takes them
  int64_t threads = 0;   ///< 0 = all
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(const std::string&)> note;  ///< told of nodes that no device here takes; may be empty
};

/// Compiled and run as the model is watched (observe_model.hpp). One thread at a time. The registry must outlive it.
class GraphRunner {
 public:
  static Result<GraphRunner> make(const Graph& graph, const RunnerSettings& settings, Registry& registry);
  GraphRunner(GraphRunner&&) noexcept;
  GraphRunner& operator=(GraphRunner&&) noexcept;
  ~GraphRunner();

  /// The graph's outputs in order, with their names, owned.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);

 private:
  GraphRunner(std::unique_ptr<TapRunner> runner, std::vector<std::string> outputs);
  std::unique_ptr<TapRunner> runner_;
  std::vector<std::string> outputs_;
};

}  // namespace optima
