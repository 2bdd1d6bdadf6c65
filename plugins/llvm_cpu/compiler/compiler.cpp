// SPDX-License-Identifier: Apache-2.0
// llvm_cpu: the compiler half: check() by the lowering table, compile() = plan, build kernels, look at them, write.
#include <algorithm>
#include <filesystem>
#include <set>
#include <unistd.h>

#include "optima/plugin/plugin.hpp"
#include "plugins/llvm_cpu/codegen/build_kernels.hpp"
#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"
#include "plugins/llvm_cpu/compiler/doors.hpp"
#include "plugins/llvm_cpu/compiler/expanded.hpp"
#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/fit/sampler.hpp"
#include "plugins/llvm_cpu/fit/whole.hpp"
#include "plugins/llvm_cpu/info.hpp"
#include "plugins/llvm_cpu/runtime/present.hpp"
#include "reference/graph_file.hpp"

namespace optima::llvm_cpu {
namespace {

/// The config's target options are the device's attributes; the plugin's own options win.
Target target_of(const sdk::Device& device, const sdk::Options& options) {
  const auto pick = [&](const char* option, const char* attribute) {
    const std::string_view own = options.string(option, "");
    return own.empty() ? device.attributes().string(attribute, "") : own;
  };
  Target target = make_target(device.kind(), device.attributes().string("triple", ""), pick("llvm_cpu.cpu", "cpu"), pick("llvm_cpu.features", "features"));
  target.rounds_to_bytes = options.boolean("llvm_cpu.rounds_to_bytes", true);
  return target;
}

sdk::Verdict verdict_of(const sdk::Node& node) {
  const NodeView view{{node.graph()}, &node.raw()};
  const Refusal r = judge(view);
  if (!r || goes_by_reference(node)) return sdk::Verdict::supported(node);
  return sdk::Verdict::refused(node, r.reason, r.what, r.found, r.wanted);
}

/// A folder of this compilation's own in the host's temp_dir.
class Workplace {
 public:
  explicit Workplace(std::string_view temp_dir) {
    std::string pattern = std::string(temp_dir) + "/llvm_cpu.XXXXXX";
    if (!mkdtemp(pattern.data())) throw sdk::Error(OPTIMA_IO, pattern + " cannot be made");
    path_ = pattern;
  }
  ~Workplace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Plans, builds and looks; plans again without the tiles that spilled.
Draft plan_and_build(const GraphView& graph, const Target& target, PlannerOptions options, KernelBuilder& builder) {
  std::set<std::string> spilled;
  options.is_bad = [&](const KernelSpec& spec) { return spilled.count(to_text(spec)) != 0; };
  constexpr int kMostRounds = 4;
  for (int round = 1;; ++round) {
    Draft draft = plan_graph(graph, target, options);
    builder.build(draft.specs);
    const size_t before = spilled.size();
    for (const KernelSpec& spec : draft.specs)
      if (spec.has_tile && builder.kernel(spec).loops.spills()) spilled.insert(to_text(spec));
    if (spilled.size() == before || round == kMostRounds) return draft;
  }
}

void write_artifact(const Draft& draft, const KernelBuilder& builder, const sdk::CompileRequest& request, const sdk::Sink& sink) {
  Plan plan = draft.plan;
  std::set<std::string> written;
  for (size_t i = 0; i < draft.specs.size(); ++i) {
    const Kernel& k = builder.kernel(draft.specs[i]);
    plan.kernels[i] = k.name;
    if (written.insert(k.name).second) sink.file(k.name, k.bytes);
  }
  if (!draft.constants.empty()) sink.file(request.stem() + ".constants", draft.constants);
  for (const auto& [name, constant] : draft.weights) sink.use_weight(sdk::Constant(request.graph().raw(), constant), name);
  sink.file(request.stem() + ".meta", to_bytes(plan));
  sink.format(kFormat);
  std::string record = plan.triple;
  for (const std::string& f : plan.features) record += " " + f;
  sink.compat(record, plan.triple.substr(0, plan.triple.find('-')) + " " + plan.cpu);
}

/// What a run at the first sizes would leave to the reference, by the file that it reads: with these kernels and what that tells of the target.
std::set<uint32_t> left_to_reference(const optima_graph& graph, std::string_view file) {
  const FitFile there = parse_fit_file(file);
  if (there.first.empty()) return {};
  const KernelTable table(there.kernels);
  const Fitter fitter(graph, there.target, there.winograd, [&](const KernelSpec& spec) { return table.find(spec).has_value(); });
  return nodes_by_reference(fitter.first(there.first)->draft);
}

void warn_of_reference(const Sampled& sampled, std::set<uint32_t> left, const sdk::Graph& graph, std::string_view stem, const sdk::Host& host) {
  const std::string subgraph = "subgraph '" + std::string(stem) + "' has ";
  if (sampled.samples == 0)
    host.log(OPTIMA_LOG_WARN, "llvm_cpu",
             subgraph + "open sizes for which no sample was found (" + sampled.trouble + "): it has no kernels, and the reference, which is slow, will run it");
  left.insert(sampled.by_reference.begin(), sampled.by_reference.end());
  if (!left.empty())
    host.log(OPTIMA_LOG_WARN, "llvm_cpu", subgraph + "no kernels for " + std::to_string(left.size()) + " of its " + std::to_string(graph.image()->nodes.count) +
                                              " nodes, and the reference, which is slow, will compute " + names_of(*graph.raw(), left));
}

/// An artifact that is planned where it runs: the graph and the kernels that sample sizes want.
void write_fitted(const sdk::Graph& graph, const sdk::CompileRequest& request, const Target& target, bool winograd, KernelBuilder& builder, const sdk::Host& host, const sdk::Sink& sink) {
  for (uint32_t k = 0; k < graph.size(); ++k)
    if (const sdk::Verdict v = verdict_of(graph[k]); !v.yes()) throw sdk::Error(OPTIMA_UNSUPPORTED, v.text, graph[k].id());
  const Sampled sampled = sample(*graph.raw(), target, winograd, request.sizes());
  builder.build(sampled.kernels);
  FitFile file;
  file.target = target, file.winograd = winograd, file.first = sampled.shapes, file.also = sampled.also;
  file.features = required_features(target);
  for (const std::string& feature : matrix_features(sampled.kernels)) file.features.push_back(feature);
  std::set<std::string> written;
  for (const KernelSpec& spec : sampled.kernels) {
    const Kernel& k = builder.kernel(spec);
    file.kernels.push_back({spec, k.name});
    if (written.insert(k.name).second) sink.file(k.name, k.bytes);
  }
  const std::string bytes = to_bytes(file);
  warn_of_reference(sampled, left_to_reference(*graph.raw(), bytes), graph, request.stem(), host);
  sink.file(request.stem() + ".graph", reference::write_graph_file(graph, sink));
  sink.file(request.stem() + ".meta", bytes);
  sink.format(kFittedFormat);
  std::string record = target.triple;
  for (const std::string& f : file.features) record += " " + f;
  sink.compat(record, target.triple.substr(0, target.triple.find('-')) + " " + target.cpu);
}

PlannerOptions planner_options(const sdk::Options& options) { return {options.boolean("llvm_cpu.winograd", true), {}}; }

/// The inputs and outputs that the host wants blocked.
std::set<uint32_t> blocked_values(const sdk::CompileRequest& request, const Target& target) {
  std::set<uint32_t> out;
  const sdk::Graph graph = request.graph();
  const auto look = [&](const sdk::Value& value) {
    const std::optional<sdk::Door> door = request.door(value);
    if (!door) return;
    if (door != blocked_door({graph.raw()}, value.index(), target))
      throw sdk::Error(OPTIMA_INVALID_ARGUMENT,
                       "value " + std::string(value.name()) + " goes through a door '" + door->layout + "' that was neither offered nor taken");
    out.insert(value.index());
  };
  for (uint32_t k = 0; k < graph.input_count(); ++k) look(graph.input(k));
  for (uint32_t k = 0; k < graph.output_count(); ++k) look(graph.output(k));
  return out;
}

class LlvmCpuCompiler : public sdk::Plugin, public sdk::Compiler, public sdk::Doors {
 public:
  explicit LlvmCpuCompiler(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string&) override { return present_processors(); }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Node& node : request.nodes()) report(verdict_of(node));
  }

  void offer_doors(const sdk::DoorRequest& request, const sdk::DoorSink& offer) override {
    if (const auto door = useful_door(request)) offer(*door);
  }
  bool takes_door(const sdk::DoorRequest& request, const sdk::Door& door) override { return door == useful_door(request); }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    const sdk::Options options = request.options();
    Target target = target_of(request.device(), options);
    target.far_weights = has_far_weights({request.graph().raw()});
    const Workplace workplace(host_.temp_dir());
    progress(0, "planning");
    KernelBuilder builder(target, Linker::find(options.string("llvm_cpu.linker", ""), workplace.path()), workplace.path(),
                          std::string(host_.cache_dir()), static_cast<unsigned>(std::max<int64_t>(0, options.integer(OPTIMA_OPTION_THREADS, 0))),
                          [&](double fraction) { progress(0.05 + 0.85 * fraction, "kernels"); });
    PlannerOptions wanted = planner_options(options);
    wanted.blocked_outside = blocked_values(request, target);
    if (has_expanded(*request.graph().raw())) {
      const Expanded expanded(*request.graph().raw());
      return write_fitted(sdk::Graph(&expanded.graph()), request, target, wanted.winograd, builder, host_, sink);
    }
    if (wanted.blocked_outside.empty() && needs_fitting(*request.graph().raw())) return write_fitted(request.graph(), request, target, wanted.winograd, builder, host_, sink);
    Draft draft = plan_and_build({request.graph().raw()}, target, std::move(wanted), builder);
    draft.plan.triple = target.triple, draft.plan.cpu = target.cpu, draft.plan.features = required_features(target);
    for (const std::string& feature : matrix_features(draft.specs)) draft.plan.features.push_back(feature);
    if (request.memory_limit() && draft.plan.arena_bytes > request.memory_limit())
      throw sdk::Error(OPTIMA_MEMORY, "subgraph needs " + std::to_string(draft.plan.arena_bytes) + " bytes of activations, limit is " + std::to_string(request.memory_limit()));
    progress(0.95, "writing");
    write_artifact(draft, builder, request, sink);
  }

 private:
  static std::optional<sdk::Door> useful_door(const sdk::DoorRequest& request) {
    const sdk::Options options = request.options();
    if (!options.boolean("llvm_cpu.doors", true)) return std::nullopt;
    const Target target = target_of(request.device(), options);
    const GraphView graph{request.graph().raw()};
    if (needs_fitting(*graph.raw) || has_expanded(*graph.raw)) return std::nullopt;
    std::optional<sdk::Door> door = blocked_door(graph, request.value().index(), target);
    if (door && !saves_moves(graph, request.value().index(), target, planner_options(options))) door.reset();
    return door;
  }

  sdk::Host host_;
};

}  // namespace
}  // namespace optima::llvm_cpu

OPTIMA_PLUGIN(optima::llvm_cpu::LlvmCpuCompiler, optima::llvm_cpu::kInfo)
