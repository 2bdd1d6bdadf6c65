// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/model.hpp"

#include <algorithm>

#include "core/backend/refused.hpp"
#include "core/loader/calls.hpp"
#include "core/runtime/model_state.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/load.hpp"

namespace optima {
namespace {

Result<Backend::Artifact> artifact_of(const PackageReader& reader, const PackageSubgraph& s) {
  Backend::Artifact a;
  a.format_id = s.format_id;
  a.stem = s.stem;
  a.compat_record = s.compat_record;
  for (const PackageFile& f : s.files) {
    OPTIMA_ASSIGN(Blob bytes, reader.artifact(s.index, f.name));
    a.files.push_back({f.name, std::move(bytes)});
  }
  for (const auto& [name, sha] : s.weights) {
    OPTIMA_ASSIGN(Blob bytes, reader.weight(sha));
    a.weights.push_back({name, std::move(bytes)});
  }
  return a;
}

std::string_view verdict_words(uint32_t verdict) {
  switch (verdict) {
    case OPTIMA_COMPAT_RECOMPILE: return "must be compiled again";
    case OPTIMA_COMPAT_WRONG_DEVICE: return "is for another device";
    case OPTIMA_COMPAT_CORRUPT: return "is corrupt";
    default: return "cannot be judged";
  }
}

// OPTIMAL and USABLE pass, the latter with the plugin's advice in `note`.
Status judge(Backend& plugin, const Backend::Artifact& artifact, const PackageSubgraph& s, std::string& note) {
  OPTIMA_ASSIGN(const Backend::Compatibility c, plugin.check_artifact(artifact, s.target));
  if (c.verdict == OPTIMA_COMPAT_OPTIMAL) return {};
  if (c.verdict == OPTIMA_COMPAT_USABLE) {
    note = c.text.empty() ? "compiling again would make it faster" : c.text;
    log(LogLevel::Info, "runtime", cat("subgraph ", s.index, ": plugin ", s.plugin, " advises to compile again: ", note));
    return {};
  }
  const std::string message = cat("plugin ", s.plugin, " says that its artifact ", verdict_words(c.verdict), c.text.empty() ? "" : ": ", c.text);
  return c.verdict == OPTIMA_COMPAT_CORRUPT ? invalid_input(message) : plugin_error(message);
}

Result<Backend*> find_plugin(const RuntimeContext& context, const PackageSubgraph& s) {
  if (Backend* plugin = context.plugins().find(s.plugin)) return plugin;
  std::vector<std::string> found;
  for (const Backend* p : context.plugins().plugins()) found.push_back(p->manifest().id);
  const std::vector<PluginFile> files = context.plugins().files();
  const auto refused = of_plugin(refused_files(files, &Manifest::runtime), s.plugin);
  return plugin_error(cat("needs the runtime side of plugin ", quote(s.plugin), ", found ", found.empty() ? "none" : join(found),
                          refused_hint(refused, "is one")));
}

Status plugins_present(const RuntimeContext& context, const PackageVariant& v) {
  for (const PackageSubgraph& s : v.subgraphs)
    if (s.flow.empty()) OPTIMA_RETURN_IF_ERROR(find_plugin(context, s).status());
  return {};
}

struct Loading {
  RuntimeContext& context;
  const LoadOptions& options;
  LoadedModel::State& state;
  double told = 0;  // the progress of the variants so far; the next one starts from its beginning, unheard

  bool is_cancelled() const { return options.cancelled && options.cancelled->load(std::memory_order_relaxed); }
  void tell(double fraction, std::string_view stage) {
    if (!options.progress) return;
    told = std::clamp(fraction, told, 1.0);
    options.progress(told, stage);
  }
  LoadJob job(const PackageSubgraph& s, size_t count);

  Status subgraph(const PackageSubgraph& s, size_t count);
  Status variant(const PackageVariant& v);
};

LoadJob Loading::job(const PackageSubgraph& s, size_t count) {
  LoadJob job;
  job.threads = options.threads;
  job.cancelled = options.cancelled;
  const double before = static_cast<double>(state.programs.size()), all = static_cast<double>(count);
  if (options.progress)
    job.progress = [this, before, all, where = cat("subgraph ", s.index, " on ", s.device)](double fraction, std::string_view stage) {
      tell((before + std::max(fraction, 0.0)) / all, cat(where, ": ", stage));
    };
  return job;
}

Status Loading::subgraph(const PackageSubgraph& s, size_t count) {
  if (is_cancelled()) return cancelled();
  if (!s.flow.empty()) {
    state.programs.push_back(nullptr);
    state.subgraphs.push_back({s.index, s.device, "", {}});
    return {};
  }
  const seam::ForSubgraph calls_for(s.index);
  const uint64_t start = now_ns();
  SubgraphInfo info{s.index, s.device, s.plugin, {}};
  OPTIMA_ASSIGN(Backend* const plugin, find_plugin(context, s));
  OPTIMA_ASSIGN(Backend::Artifact artifact, artifact_of(state.package, s));
  OPTIMA_RETURN_IF_ERROR(judge(*plugin, artifact, s, info.note));
  OPTIMA_ASSIGN(std::unique_ptr<LoadedProgram> program, plugin->load(std::move(artifact), s.target, job(s, count)));
  state.programs.push_back(std::move(program));
  state.subgraphs.push_back(std::move(info));
  state.events.push_back({ProfileKind::SubgraphInit, s.index, start, now_ns() - start, 0, cat("load subgraph ", s.index, " on ", s.device)});
  tell(static_cast<double>(state.programs.size()) / static_cast<double>(count), cat("subgraph ", s.index, " on ", s.device, ": loaded"));
  return {};
}

Status Loading::variant(const PackageVariant& v) {
  for (const PackageSubgraph& s : v.subgraphs) OPTIMA_RETURN_IF_ERROR(subgraph(s, v.subgraphs.size()).within(cat("subgraph ", s.index)));
  std::vector<LoadedProgram*> programs;
  for (const auto& p : state.programs) programs.push_back(p.get());
  OPTIMA_ASSIGN(state.plan, plan_run(state.package, v, programs, options.keep_cuts));
  return {};
}

TensorInfo info_of(const Slot& slot) { return {slot.name, slot.dtype, slot.shape, slot.symbols, slot.unranked}; }

TensorInfo input_of(const Slot& slot, const SizeRanges& sizes) {
  TensorInfo out = info_of(slot);
  out.usual = usual_sizes(slot.symbols, sizes);
  return out;
}

// Over the main graph and all bodies.
uint64_t sum(const RunPlan& plan, uint64_t RunPlan::*member) {
  uint64_t total = plan.*member;
  for (const Step& step : plan.steps)
    if (step.flow)
      for (const FlowBodyPlan& body : step.flow->bodies) total += sum(body.plan, member);
  return total;
}

// The package keeps the table.
void find_texts(const TextTables& texts, TensorInfo& info) {
  if (const auto at = texts.find(info.name); at != texts.end()) info.texts = &at->second;
}

void describe(LoadedModel::State& state) {
  for (const uint32_t slot : state.plan.inputs) state.inputs.push_back(input_of(state.plan.slots[slot], state.package.package().sizes));
  for (size_t i = 0; i < state.plan.outputs.size(); ++i) {
    const OutputSource& source = state.plan.outputs[i];
    TensorInfo info = source.slot == OPTIMA_NONE ? TensorInfo{{}, source.dtype, source.shape, std::vector<std::string>(source.shape.size()), false}
                                                 : info_of(state.plan.slots[source.slot]);
    info.name = state.package.package().outputs[i];
    state.outputs.push_back(std::move(info));
  }
  for (auto* infos : {&state.inputs, &state.outputs})
    for (TensorInfo& info : *infos) find_texts(state.package.package().texts, info);
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::load(RuntimeContext& context, PackageReader package, const LoadOptions& options) {
  const uint64_t start = now_ns();
  OPTIMA_RETURN_IF_ERROR(context.plugins().settled());
  auto state = std::unique_ptr<State>(new State{&context, std::move(package), {}, {}, {}, {}, {}, {}});
  Loading loading{context, options, *state};
  Status first, missing;  // for another device is what variants are for; without a plugin is not
  for (const PackageVariant& v : state->package.package().variants) {
    state->programs.clear();
    state->subgraphs.clear();
    state->events.clear();
    const Status status = loading.variant(v);
    if (status.kind() == StatusKind::Cancelled) return cancelled();
    if (status.ok()) {
      if (!missing.ok()) log(LogLevel::Warn, "runtime", cat("package ", quote(state->package.package().model_name), ": a better variant ", missing.message()));
      describe(*state);
      state->events.insert(state->events.begin(),
                           {ProfileKind::ModelInit, 0, start, now_ns() - start, 0, cat("load ", state->package.package().model_name)});
      return std::unique_ptr<LoadedModel>(new LoadedModel(std::move(state)));
    }
    if (first.ok()) first = status;
    if (missing.ok()) missing = plugins_present(context, v);
  }
  return first.within(cat("package ", quote(state->package.package().model_name)));
}

LoadedModel::LoadedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedModel::~LoadedModel() = default;

const Package& LoadedModel::package() const { return state_->package.package(); }
const PackageReader& LoadedModel::reader() const { return state_->package; }
const std::vector<TensorInfo>& LoadedModel::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& LoadedModel::outputs() const { return state_->outputs; }
const std::vector<SubgraphInfo>& LoadedModel::subgraphs() const { return state_->subgraphs; }
const std::vector<ProfileEvent>& LoadedModel::events() const { return state_->events; }
uint64_t LoadedModel::arena_bytes() const { return sum(state_->plan, &RunPlan::arena_bytes); }
uint64_t LoadedModel::arena_sum() const { return sum(state_->plan, &RunPlan::arena_sum); }

}  // namespace optima
