// SPDX-License-Identifier: Apache-2.0
#include "core/session/tap_runner.hpp"

#include <algorithm>

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/runtime/request.hpp"
#include "core/session/run_cancellable.hpp"
#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/owned_folder.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using Note = std::function<void(const std::string&)>;

/// A package in a folder of its own, which goes with it.
class PackageRunner : public TapRunner {
 public:
  PackageRunner(ScratchFolder folder, const Registry& registry, const std::atomic<bool>* cancelled)
      : folder_(std::move(folder)), context_(borrow_plugins(registry)), cancelled_(cancelled) {}

  const std::string& folder() const { return folder_.path(); }

  Status load(const std::string& package, int64_t threads) {
    PackageOptions options;
    options.cache_folder = cat(folder_.path(), "/cache");  // nobody sees these weights again
    OPTIMA_ASSIGN(PackageReader reader, PackageReader::open(package, options));
    LoadOptions load;
    load.threads = threads;
    load.cancelled = cancelled_;
    OPTIMA_ASSIGN(model_, LoadedModel::load(context_, std::move(reader), load));
    OPTIMA_ASSIGN(request_, Request::create(*model_));
    return {};
  }

  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) override {
    for (size_t i = 0; i < model_->inputs().size(); ++i) {
      const std::string& name = model_->inputs()[i].name;
      const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const Tensor& t) { return t.name == name; });
      if (at == inputs.end()) return internal_error(cat("input ", quote(name), " of the watched graph is none of the samples'"));
      OPTIMA_RETURN_IF_ERROR(request_->set_input(i, *at));
    }
    OPTIMA_RETURN_IF_ERROR(run_till_cancelled(*request_, cancelled_));
    std::vector<Tensor> out;
    for (size_t i = 0; i < model_->outputs().size(); ++i) {
      OPTIMA_ASSIGN(Tensor t, request_->output(i));
      out.push_back(std::move(t));
    }
    return out;
  }

 private:
  ScratchFolder folder_;
  RuntimeContext context_;
  const std::atomic<bool>* cancelled_;
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Request> request_;
};

class ReferenceRunner : public TapRunner {
 public:
  ReferenceRunner(const Graph& graph, const Registry& registry, const std::atomic<bool>* cancelled)
      : graph_(graph), registry_(registry), cancelled_(cancelled) {}
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) override {
    return run_reference(graph_, inputs, evaluate_by_plugins(registry_), {}, cancelled_);
  }

 private:
  const Graph graph_;
  const Registry& registry_;
  const std::atomic<bool>* cancelled_;
};

/// Full names of what is on this machine and executes here, in the registry's order; of plugins that want to be named, or of the others.
std::vector<DeviceName> devices_here(const Registry& registry, bool only_when_named) {
  std::vector<DeviceName> out;
  for (Backend* plugin : registry.compilers()) {
    const Manifest& manifest = plugin->manifest();
    if (manifest.only_when_named != only_when_named || !registry.runtime(manifest.id)) continue;
    std::string why_none;
    const Result<std::vector<DeviceInfo>> present = plugin->devices(&why_none);
    if (!present.ok()) continue;
    for (const DeviceInfo& info : *present) {
      const DeviceName name{manifest.id, info.kind, 0};
      if (manifest.find_kind(info.kind) && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

/// Those that the request or the config names first, in that order.
std::vector<std::string> in_order_of(const PlanRequest& request, const std::vector<DeviceName>& here) {
  std::vector<std::string> out;
  const auto take = [&](const DeviceName& wanted) {
    for (const DeviceName& name : here)
      if (wanted.fits(name) && std::find(out.begin(), out.end(), name.text()) == out.end()) out.push_back(name.text());
  };
  for (const std::string& text : request.devices)
    if (const Result<DeviceName> name = parse_device(text); name.ok()) take(*name);
  for (const DeviceConfig& device : request.config.devices) take(device.name);
  for (const DeviceName& name : here) take(name);
  return out;
}

/// What is left of a request for a package that nobody keeps: where the model will run later says nothing about where it is watched.
CompileRequest scratch_request(const ObserveRequest& request, const std::vector<std::string>& devices, const std::string& folder) {
  CompileRequest out;
  out.plan.config = request.plan.config;
  out.plan.costs = request.plan.costs;
  out.plan.warn = request.plan.warn;
  out.plan.devices = devices;
  out.plan.objective = request.plan.costs.empty() && request.plan.config.costs.empty() ? "parts" : "latency";
  out.out = folder + "/packages";
  out.jobs = request.threads;
  out.cancelled = request.cancelled;
  return out;
}

/// Every node on the first of the devices that takes it.
Status prefer(const std::vector<std::string>& devices, const std::string& folder, CompileRequest& request) {
  Json list = Json::array();
  for (const std::string& device : devices) list.push_back(device);
  request.plan.devices = devices;
  request.plan.objective = "parts";
  request.plan.allocation = folder + "/allocation.json";
  return write_file(request.plan.allocation, to_text(Json{{"*", list}}));
}

void tell_of(const Plan& plan, const std::vector<std::string>& last, const Note& note) {
  std::vector<std::string> nodes;
  for (const PlacedNode& node : plan.nodes)
    if (std::find(last.begin(), last.end(), plan.devices[node.device].full_name) != last.end()) nodes.push_back(node.name);
  constexpr size_t kMostShown = 3;
  const size_t shown = std::min(kMostShown, nodes.size());
  if (nodes.empty()) return;
  const std::string more = nodes.size() > shown ? cat(" and ", nodes.size() - shown, " more") : "";
  note(cat("watching the model: no device here takes ", join(std::span(nodes).first(shown)), more, ", so ",
           nodes.size() == 1 ? "it runs" : "they run", " on ", join(last), ", which may be slow"));
}

class Maker {
 public:
  Maker(const Graph& graph, const ObserveRequest& request, Registry& registry, const ProgressReport& progress, const Note& note)
      : graph_(graph), request_(request), registry_(registry), progress_(progress), note_(note), last_(texts(devices_here(registry, true))),
        devices_(in_order_of(request.plan, devices_here(registry, false))) {}

  Result<std::unique_ptr<TapRunner>> make() {
    Status why = placement_error("no plugin has a device on this machine that executes here");
    if (!devices_.empty()) {
      Result<std::unique_ptr<TapRunner>> out = compiled(false);
      if (out.status().kind() != StatusKind::Placement) return out;
      why = out.status();
    }
    if (!last_.empty()) {
      Result<std::unique_ptr<TapRunner>> out = compiled(true);
      if (out.status().kind() != StatusKind::Placement) return out;
    }
    if (note_) note_(cat("watching the model: it runs on the reference, which is slow: ", why.message()));
    return std::unique_ptr<TapRunner>(std::make_unique<ReferenceRunner>(graph_, registry_, request_.cancelled));
  }

 private:
  static std::vector<std::string> texts(const std::vector<DeviceName>& names) {
    std::vector<std::string> out;
    for (const DeviceName& name : names) out.push_back(name.text());
    return out;
  }

  Result<std::unique_ptr<TapRunner>> compiled(bool with_last) {
    OPTIMA_ASSIGN(ScratchFolder folder, ScratchFolder::make("observe"));
    auto out = std::make_unique<PackageRunner>(std::move(folder), registry_, request_.cancelled);
    CompileRequest request = scratch_request(request_, devices_, out->folder());
    if (with_last) {
      std::vector<std::string> all = devices_;
      all.insert(all.end(), last_.begin(), last_.end());
      OPTIMA_RETURN_IF_ERROR(prefer(all, out->folder(), request));
    }
    Graph graph = graph_;
    graph.model_name = "watched";
    OPTIMA_ASSIGN(const Compilation done, compile_graph(std::move(graph), request, registry_, progress_));
    if (with_last && note_) tell_of(done.planned.plan, last_, note_);
    OPTIMA_RETURN_IF_ERROR(out->load(done.package.folder, request_.threads));
    return std::unique_ptr<TapRunner>(std::move(out));
  }

  const Graph& graph_;
  const ObserveRequest& request_;
  Registry& registry_;
  const ProgressReport& progress_;
  const Note& note_;
  const std::vector<std::string> last_, devices_;
};

}  // namespace

Result<std::unique_ptr<TapRunner>> TapRunner::make(const Graph& graph, const ObserveRequest& request, Registry& registry,
                                                   const ProgressReport& progress, const std::function<void(const std::string&)>& note) {
  return Maker(graph, request, registry, progress, note).make();
}

}  // namespace optima
