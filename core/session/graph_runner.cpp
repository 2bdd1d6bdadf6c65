// SPDX-License-Identifier: Apache-2.0
#include "core/session/graph_runner.hpp"

#include <algorithm>
#include <optional>

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/package/reader.hpp"
#include "core/runtime/request.hpp"
#include "core/support/owned_folder.hpp"
#include "core/support/text.hpp"

namespace optima {

struct GraphRunner::State {
  Registry* registry = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  std::string on_reference;
  std::optional<Graph> graph;  // only where the reference runs it
  std::optional<ScratchFolder> scratch;
  std::unique_ptr<RuntimeContext> context;
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Request> request;  // ends before the model, and that before its files
};

namespace {

CompileRequest scratch_request(const RunnerSettings& settings, const std::string& folder) {
  CompileRequest out;
  out.plan.config = settings.plan.config;
  out.plan.costs = settings.plan.costs;
  out.plan.objective = settings.plan.objective;
  out.out = folder;
  out.cancelled = settings.cancelled;
  return out;
}

Result<std::vector<Tensor>> owned_outputs(const Request& request) {
  std::vector<Tensor> out;
  const std::vector<TensorInfo>& infos = request.model().outputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    OPTIMA_ASSIGN(const Tensor borrowed, request.output(i));
    OPTIMA_ASSIGN(Tensor owned, Tensor::make(borrowed.dtype, borrowed.shape));
    std::copy_n(borrowed.data, borrowed.size, owned.data);
    owned.name = infos[i].name;
    out.push_back(std::move(owned));
  }
  return out;
}

}  // namespace

GraphRunner::GraphRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
GraphRunner::GraphRunner(GraphRunner&&) noexcept = default;
GraphRunner& GraphRunner::operator=(GraphRunner&&) noexcept = default;
GraphRunner::~GraphRunner() = default;

const std::string& GraphRunner::on_reference() const { return state_->on_reference; }

Result<GraphRunner> GraphRunner::make(Graph graph, const RunnerSettings& settings, Registry& registry) {
  auto state = std::make_unique<State>();
  state->registry = &registry;
  state->cancelled = settings.cancelled;
  OPTIMA_ASSIGN(state->scratch, ScratchFolder::make("judge"));
  const Result<Compilation> done = compile_graph(graph, scratch_request(settings, state->scratch->path()), registry);
  if (done.status().kind() == StatusKind::Placement) {  // a device that takes a part would have been given that part
    state->on_reference = done.status().message();
    state->graph = std::move(graph);
    return GraphRunner(std::move(state));
  }
  OPTIMA_RETURN_IF_ERROR(done.status());
  OPTIMA_ASSIGN(PackageReader reader, PackageReader::open(done->package.folder));
  LoadOptions load;
  load.threads = settings.threads;
  load.cancelled = settings.cancelled;
  state->context = std::make_unique<RuntimeContext>(borrow_plugins(registry));
  OPTIMA_ASSIGN(state->model, LoadedModel::load(*state->context, std::move(reader), load));
  OPTIMA_ASSIGN(state->request, Request::create(*state->model));
  return GraphRunner(std::move(state));
}

Result<std::vector<Tensor>> GraphRunner::run(const std::vector<Tensor>& inputs) {
  if (state_->cancelled && *state_->cancelled) return cancelled();
  if (state_->graph) return run_reference(*state_->graph, inputs, evaluate_by_plugins(*state_->registry), {}, state_->cancelled);
  for (const Tensor& tensor : inputs) {
    OPTIMA_ASSIGN(const size_t index, state_->request->input_index(tensor.name));
    OPTIMA_RETURN_IF_ERROR(state_->request->set_input(index, tensor));
  }
  OPTIMA_RETURN_IF_ERROR(state_->request->run());
  return owned_outputs(*state_->request);
}

}  // namespace optima
