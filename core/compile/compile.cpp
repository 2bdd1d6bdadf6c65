// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compile.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/backend/refused.hpp"
#include "core/compile/ask.hpp"
#include "core/compile/at_sizes.hpp"
#include "core/compile/doors.hpp"
#include "core/compile/own_operators.hpp"
#include "core/compile/saved_samples.hpp"
#include "core/compile/subgraphs.hpp"
#include "core/compile/write_package.hpp"
#include "core/loader/note_plugin.hpp"
#include "core/placement/placement.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

/// A plugin that refuses one node per attempt is believed this many times.
constexpr int kMostAttempts = 64;

class Stopwatch {
 public:
  /// Milliseconds since the last call, or since it was made.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void tell(const ProgressReport& progress, double fraction, std::string_view stage) {
  if (progress) progress(fraction, stage);
}

Result<Graph> load_graph(const PlanRequest& request, Registry& registry) {
  onnx_io::ImportOptions import = request.import;
  import.infer_foreign = infer_by_plugins(registry);
  for (Backend* plugin : registry.compilers())
    import.kept_functions.insert(import.kept_functions.end(), plugin->manifest().functions.begin(), plugin->manifest().functions.end());
  OPTIMA_ASSIGN(Graph graph, onnx_io::load_model(request.model, import));
  if (!request.name.empty()) graph.model_name = request.name;
  return graph;
}

/// What "op:Type" may name in an allocation that serves several models.
std::vector<std::string> known_operators(const Registry& registry) {
  std::vector<std::string> out = onnx_io::operator_names();
  for (Backend* plugin : registry.compilers())
    for (const OperatorRow& row : plugin->manifest().operators) out.push_back(row.op);
  return out;
}

Result<std::vector<std::shared_ptr<Backend>>> read_supports(const PlanRequest& request, const Registry& registry) {
  std::vector<std::shared_ptr<Backend>> out;
  for (const std::string& path : request.supports) {
    OPTIMA_ASSIGN(std::shared_ptr<Backend> plugin, read_note_plugin(path));
    const std::string& id = plugin->manifest().id;
    const auto same = [&](const auto& other) { return other->manifest().id == id; };
    if (registry.compiler(id) || std::any_of(out.begin(), out.end(), same))
      return invalid_input(cat("--support ", quote(path), ": there is a plugin ", quote(id), " already, wanted an id of its own"));
    out.push_back(std::move(plugin));
  }
  return out;
}

/// Where the user has no wish.
void add_wishes(const std::map<uint32_t, Wish>& wishes, Resolved& out) {
  for (const auto& [id, wish] : wishes) {
    if (out.by_node_id.size() <= id) out.by_node_id.resize(size_t{id} + 1);
    if (Wish& said = out.by_node_id[id]; said.devices.empty() && !said.host) said = wish;
  }
}

Status add_costs(const PlanRequest& request, PlacementRequest& out) {
  const std::string& objective = request.objective.empty() ? request.config.objective : request.objective;
  out.objective = objective == "latency" ? Objective::Latency : Objective::Parts;
  OPTIMA_ASSIGN(out.costs, measured_costs(request.config, request.costs));
  return {};
}

Result<PlacementRequest> placement_request(const PlanRequest& request, const Planned& planned, const Registry& registry) {
  PlacementRequest out;
  for (const std::string& text : request.devices) {
    OPTIMA_ASSIGN(DeviceName name, parse_device(text));
    out.candidates.push_back(std::move(name));
  }
  if (request.devices.empty())
    for (const DeviceConfig& d : request.config.devices) out.candidates.push_back(d.name);
  out.settings = device_settings(request.config);
  out.links = link_costs(request.config);
  if (!request.require_device.empty()) {
    OPTIMA_ASSIGN(out.require_device, parse_device(request.require_device));
  }
  if (!request.plan.empty()) {
    out.candidates = planned.choice.candidates;
    out.kept = kept_nodes(planned.choice, planned.graph);
    out.settings.insert(out.settings.end(), planned.choice.settings.begin(), planned.choice.settings.end());
  }
  out.max_subgraphs = request.max_subgraphs;
  OPTIMA_RETURN_IF_ERROR(add_costs(request, out));
  out.wishes = planned.wishes.by_node_id;
  out.plugins = registry.compilers();
  out.refused = refused_files(registry.files(), &Manifest::compiler);
  out.warn = request.warn;
  for (const auto& support : planned.supports) out.plugins.push_back(support.get());
  out.plugin_order = request.config.plugin_order;
  out.plan_only = request.plan_only;
  out.answers = planned.answers;
  out.at_opt = planned.at_opt, out.at_most = planned.at_most;
  return out;
}

/// What the user should know about the allocation: wishes for nodes that were folded away, keys that match nothing.
std::vector<std::string> remarks(const Resolved& wishes) {
  constexpr size_t kMostShown = 3;
  std::vector<std::string> out = wishes.notes;
  if (wishes.folded.empty()) return out;
  const size_t shown = std::min(kMostShown, wishes.folded.size()), more = wishes.folded.size() - shown;
  out.push_back(cat("folded away, so a wish has no effect: ", join(std::span(wishes.folded).first(shown)), more ? cat(" and ", more, " more") : ""));
  return out;
}

void set_precisions(const std::map<uint32_t, NodePrecision>& precisions, Plan& plan) {
  for (PlacedNode& node : plan.nodes)
    if (const auto said = precisions.find(node.node_id); said != precisions.end())
      node.precision = said->second.precision, node.precision_why = said->second.why;
  for (BodyPlan& body : plan.bodies) set_precisions(precisions, body.plan);
}

Status find_wishes(const PlanRequest& request, Planned& out, Registry& registry) {
  if (!request.plan.empty()) {
    OPTIMA_ASSIGN(out.choice, read_plan_choice(request.plan));
    OPTIMA_ASSIGN(out.wishes, resolve(out.choice, out.graph));
    return {};
  }
  OPTIMA_ASSIGN(out.wishes, resolve_wishes(request, out.graph, registry));
  add_wishes(out.rewriting.wishes, out.wishes);
  return {};
}

/// Where devices see codes in place of texts.
std::vector<std::string> text_notes(const Graph& graph) {
  std::vector<std::string> out;
  for (const auto& [name, table] : graph.texts) out.push_back(cat("the texts of ", quote(name), " are codes of ", table.size(), " texts on devices"));
  return out;
}

/// Where devices need not compute what they are given.
std::vector<std::string> rounding_notes(const Graph& graph) {
  size_t products = 0;
  for (const image::Graph& g : graph.contents.graphs)
    products += static_cast<size_t>(std::count_if(g.nodes.begin(), g.nodes.end(), [](const image::Node& n) { return n.flags & OPTIMA_NODE_ROUNDS_TO_BYTES; }));
  if (products == 0) return {};
  return {cat(products, products == 1 ? " product may round what it reads" : " products may round what they read", " to 8 bits, as the model allows (MatMulNBits with accuracy_level 4)")};
}

/// A plan whose notes begin with the remarks.
Result<Plan> make_plan_with(const Planned& planned, const PlacementRequest& placement) {
  OPTIMA_ASSIGN(Plan plan, make_plan(planned.graph, placement));
  std::vector<std::string> about = remarks(planned.wishes);
  about.insert(about.end(), planned.rewriting.notes.begin(), planned.rewriting.notes.end());
  for (const std::vector<std::string>& notes : {text_notes(planned.graph), rounding_notes(planned.graph)}) about.insert(about.end(), notes.begin(), notes.end());
  const bool estimated = plan.estimate || plan.subgraphs.size() > 1;
  if (estimated && !planned.sizes_note.empty()) about.push_back(planned.sizes_note);
  if (!planned.limits_note.empty()) about.push_back(planned.limits_note);
  plan.notes.insert(plan.notes.begin(), about.begin(), about.end());
  set_precisions(planned.rewriting.precisions, plan);
  return plan;
}

/// Writes down what plugins refused while compiling and plans again; the new plan's notes tell. A node that has clones may be refused by
/// several subgraphs at once.
Result<Plan> plan_again(PlacementRequest& placement, const Planned& planned, const std::vector<detail::Refusal>& refusals) {
  bool news = false;
  for (const detail::Refusal& r : refusals) news |= placement.compile_refusals.emplace(std::pair(r.node_id, r.plugin), r.text).second;
  if (!news) return plugin_error(cat("plugin ", quote(refusals[0].plugin), " refused a node that it no longer has: ", refusals[0].text));
  return make_plan_with(planned, placement);
}

/// Compiles until no plugin refuses a node any more; leaves the plan that held, with its doors.
Result<detail::BuildResult> build(const CompileRequest& request, Planned& planned, Registry& registry, PackageWriter& writer,
                                  const ProgressReport& progress) {
  OPTIMA_ASSIGN(PlacementRequest placement, placement_request(request.plan, planned, registry));
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    OPTIMA_RETURN_IF_ERROR(detail::choose_doors(planned, registry));
    OPTIMA_ASSIGN(detail::BuildResult built, detail::build_subgraphs(request, planned, registry, writer, progress));
    if (built.refusals.empty()) return built;
    for (uint32_t i = 0; i < count_subgraphs(planned.plan); ++i) OPTIMA_RETURN_IF_ERROR(writer.drop_subgraph(i));
    OPTIMA_ASSIGN(planned.plan, plan_again(placement, planned, built.refusals));
  }
  return plugin_error(cat("gave up after ", kMostAttempts, " splits: plugins keep refusing nodes that they had accepted"));
}

void estimate_sizes(Planned& out) {
  detail::AtSizes sizes = detail::at_sizes(out.graph);
  out.at_opt = std::move(sizes.opt), out.at_most = std::move(sizes.most);
  out.sizes_note = std::move(sizes.note), out.limits_note = std::move(sizes.limits_note);
}

Status run_passes(const PlanRequest& request, const Registry& registry, Planned& out) {
  Stopwatch watch;
  passes::PassOptions options = request.passes;
  options.own_operators = own_operators(registry);
  OPTIMA_ASSIGN(out.graph, passes::run_passes(std::move(out.graph), options));
  out.timings.passes_ms = watch.lap();
  return {};
}

/// Every subgraph by its plugin, then the package.
Result<Compilation> compile_planned(Planned planned, const CompileRequest& request, Registry& registry, const ProgressReport& progress) {
  Compilation out;
  out.planned = std::move(planned);
  Stopwatch watch;
  OPTIMA_ASSIGN(PackageWriter writer, PackageWriter::create({request.out, out.planned.graph.model_name, request.replace}));
  OPTIMA_ASSIGN(detail::BuildResult built, build(request, out.planned, registry, writer, progress));
  for (const detail::BuiltSubgraph& s : built.subgraphs) out.subgraph_ms.push_back(s.ms);
  out.planned.timings.compile_ms = watch.lap();
  if (request.save_samples) {
    OPTIMA_ASSIGN(out.saved_samples, detail::add_samples(request, out.planned, registry, writer, progress));
  }
  tell(progress, 1, "writing the package");
  OPTIMA_ASSIGN(out.package, detail::write_package(request, out.planned, registry, std::move(built), std::move(writer)));
  out.planned.timings.package_ms = watch.lap();
  return out;
}

}  // namespace

std::vector<DeviceSettings> device_settings(const Config& config) {
  std::vector<DeviceSettings> out;
  for (const DeviceConfig& d : config.devices) out.push_back({d.name, d.target, d.memory_limit, d.launch_us, d.gflops, d.gbytes_per_s, d.gflops_half, d.gops_int8});
  return out;
}

std::vector<LinkCost> link_costs(const Config& config) {
  std::vector<LinkCost> out;
  for (const LinkConfig& l : config.links) out.push_back({l.from, l.to, l.latency_us, l.gbytes_per_s});
  return out;
}

Result<std::vector<MeasuredCosts>> measured_costs(const Config& config, const std::vector<std::string>& files) {
  std::vector<MeasuredCosts> out;
  for (const auto* list : {&config.costs, &files})
    for (const std::string& file : *list) {
      OPTIMA_ASSIGN(MeasuredCosts costs, read_costs(file));
      out.push_back(std::move(costs));
    }
  return out;
}

Result<Resolved> resolve_wishes(const PlanRequest& request, const Graph& graph, const Registry& registry) {
  Allocation allocation;
  if (!request.allocation.empty()) {
    OPTIMA_ASSIGN(allocation, read_allocation(request.allocation));
  }
  std::vector<std::pair<std::string, Wish>> pins;
  for (const std::string& text : request.pins) {
    OPTIMA_ASSIGN(auto pin, parse_pin(text));
    pins.push_back(std::move(pin));
  }
  return resolve(allocation, graph, pins, known_operators(registry));
}

Result<Planned> load_source(const PlanRequest& request, Registry& registry, const ProgressReport& progress) {
  Planned out;
  Stopwatch watch;
  tell(progress, 0, cat("reading ", request.model));
  OPTIMA_ASSIGN(out.supports, read_supports(request, registry));
  OPTIMA_ASSIGN(out.graph, load_graph(request, registry));
  out.timings.import_ms = watch.lap();
  OPTIMA_RETURN_IF_ERROR(run_passes(request, registry, out));
  if (!request.import.shapes.empty()) OPTIMA_RETURN_IF_ERROR(detail::check_sizes(out.graph));
  return out;
}

Result<Planned> plan_loaded(const PlanRequest& request, Planned out, Registry& registry) {
  Stopwatch watch;
  OPTIMA_RETURN_IF_ERROR(find_wishes(request, out, registry));
  estimate_sizes(out);
  OPTIMA_ASSIGN(const PlacementRequest placement, placement_request(request, out, registry));
  OPTIMA_ASSIGN(out.plan, make_plan_with(out, placement));
  out.timings.plan_ms = watch.lap();
  return out;
}

Result<AskedDevices> ask_loaded(const PlanRequest& request, Planned loaded, Registry& registry) {
  OPTIMA_RETURN_IF_ERROR(find_wishes(request, loaded, registry));
  estimate_sizes(loaded);
  OPTIMA_ASSIGN(const PlacementRequest placement, placement_request(request, loaded, registry));
  const Result<Plan> plan = make_plan(loaded.graph, placement);
  if (plan.ok()) return answers_of(*plan);
  if (plan.status().kind() != StatusKind::Placement) return plan.status();
  return ask_devices(loaded.graph, placement);
}

Result<Planned> plan_model(const PlanRequest& request, Registry& registry, const ProgressReport& progress) {
  OPTIMA_ASSIGN(Planned loaded, load_source(request, registry, progress));
  Stopwatch watch;
  if (request.rewrite) {
    OPTIMA_RETURN_IF_ERROR(request.rewrite(loaded));
    if (!loaded.rewriting.precisions.empty()) loaded.timings.rewrite_ms = watch.lap();
  }
  tell(progress, 0, "asking the plugins and splitting");
  return plan_loaded(request, std::move(loaded), registry);
}

Result<Planned> plan_graph(Graph graph, const PlanRequest& request, Registry& registry, const ProgressReport& progress) {
  Planned out;
  OPTIMA_ASSIGN(out.supports, read_supports(request, registry));
  out.graph = std::move(graph);
  OPTIMA_RETURN_IF_ERROR(run_passes(request, registry, out));
  tell(progress, 0, "asking the plugins and splitting");
  return plan_loaded(request, std::move(out), registry);
}

Result<Compilation> compile_model(const CompileRequest& request, Registry& registry, const ProgressReport& progress) {
  OPTIMA_ASSIGN(Planned planned, plan_model(request.plan, registry, progress));
  return compile_planned(std::move(planned), request, registry, progress);
}

Result<Compilation> compile_graph(Graph graph, const CompileRequest& request, Registry& registry, const ProgressReport& progress) {
  OPTIMA_ASSIGN(Planned planned, plan_graph(std::move(graph), request.plan, registry, progress));
  return compile_planned(std::move(planned), request, registry, progress);
}

}  // namespace optima
