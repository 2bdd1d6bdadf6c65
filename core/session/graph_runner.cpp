// SPDX-License-Identifier: Apache-2.0
#include "core/session/graph_runner.hpp"

#include <algorithm>

#include "core/session/tap_runner.hpp"

namespace optima {

GraphRunner::GraphRunner(std::unique_ptr<TapRunner> runner, std::vector<std::string> outputs) : runner_(std::move(runner)), outputs_(std::move(outputs)) {}
GraphRunner::GraphRunner(GraphRunner&&) noexcept = default;
GraphRunner& GraphRunner::operator=(GraphRunner&&) noexcept = default;
GraphRunner::~GraphRunner() = default;

Result<GraphRunner> GraphRunner::make(const Graph& graph, const RunnerSettings& settings, Registry& registry) {
  ObserveRequest request;
  request.plan = settings.plan;
  request.threads = settings.threads;
  request.cancelled = settings.cancelled;
  const auto note = settings.note ? settings.note : [](const std::string&) {};
  OPTIMA_ASSIGN(std::unique_ptr<TapRunner> runner, TapRunner::make(graph, request, registry, {}, note));
  std::vector<std::string> outputs;
  for (const uint32_t v : graph.main().outputs) outputs.push_back(graph.main().values[v].name);
  return GraphRunner(std::move(runner), std::move(outputs));
}

Result<std::vector<Tensor>> GraphRunner::run(const std::vector<Tensor>& inputs) {
  OPTIMA_ASSIGN(const std::vector<Tensor> borrowed, runner_->run(inputs));
  std::vector<Tensor> out;
  for (size_t i = 0; i < borrowed.size(); ++i) {
    OPTIMA_ASSIGN(Tensor owned, Tensor::make(borrowed[i].dtype, borrowed[i].shape));
    std::copy_n(borrowed[i].data, borrowed[i].size, owned.data);
    owned.name = outputs_[i];
    out.push_back(std::move(owned));
  }
  return out;
}

}  // namespace optima
