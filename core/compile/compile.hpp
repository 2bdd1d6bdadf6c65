// SPDX-License-Identifier: Apache-2.0
// core/compile: the story of `plan` and `compile`, and nothing else: which room is called when.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocation/allocation.hpp"
#include "core/compile/calibration.hpp"
#include "core/compile/plan_choice.hpp"
#include "core/config/config.hpp"
#include "core/loader/registry.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/package/package.hpp"
#include "core/passes/pipeline.hpp"
#include "core/placement/answers.hpp"
#include "core/plan/plan.hpp"

namespace optima {

/// What a node of the source model is computed in, and why: Plan's precision and precision_why.
struct NodePrecision {
  std::string precision, why;
};

/// What a rewriting of the graph says besides the graph.
struct Rewriting {
  std::map<uint32_t, NodePrecision> precisions;  ///< by node id: of all nodes that the source model's graph has left; empty = nobody asked
  std::map<uint32_t, Wish> wishes;               ///< by node id: where nodes that the user has no wish for should rather go
  std::vector<std::string> notes;                ///< for Plan::notes
  std::map<std::string, std::string> files;      ///< for the package: name -> text
};

struct Planned;

/// What to compile and for which devices. Paths as the user gave them, "~" expanded.
struct PlanRequest {
  std::string model;                          ///< path
  std::string name;                           ///< of the package; empty = the file's stem
  onnx_io::ImportOptions import;
  passes::PassOptions passes;
  std::string allocation;                     ///< path; empty = everything automatic
  std::string plan;                           ///< path of a plan.json to follow, instead of allocation, pins and devices; empty = none
  std::vector<std::string> pins;              ///< `NODE=DEV`
  std::vector<std::string> devices;           ///< candidates in order; empty = the config's, else all that are present
  std::string require_device;                 ///< every node there, or Placement
  uint32_t max_subgraphs = 0;                 ///< 0 = no limit
  std::string objective;                      ///< "parts" or "latency"; empty = the config's
  std::vector<std::string> costs;             ///< files of measured costs, besides the config's
  Config config;
  std::vector<std::string> supports;          ///< manifests without a plugin, paths: read_note_plugin(); plans only
  bool plan_only = false;                     ///< nothing will be compiled: a plugin that cannot be asked answers by its note
  /// Called between passes and wishes, may be empty: makes another graph of the one that load_source() gave, and says why in its rewriting.
  /// Nodes that it keeps keep id and name.
  std::function<Status(Planned& loaded)> rewrite;
  std::function<void(const std::string&)> warn;  ///< told, maybe more than once, of a refused plugin file that might have been a candidate; may be empty
};

/// What the config says of devices and links, and the costs files of the config and then of `files`, as placement takes them.
std::vector<DeviceSettings> device_settings(const Config& config);
std::vector<LinkCost> link_costs(const Config& config);
Result<std::vector<MeasuredCosts>> measured_costs(const Config& config, const std::vector<std::string>& files);

/// Milliseconds of each step.
struct Timings {
  double import_ms = 0, passes_ms = 0, rewrite_ms = 0, plan_ms = 0, compile_ms = 0, package_ms = 0;
};

/// Progress of everything (0..1) with a stage in a few words; called from any thread, one call at a time.
using ProgressReport = std::function<void(double fraction, std::string_view stage)>;

/// A model with its plan. Allocation entries that only hit folded nodes or nothing are in plan.notes.
struct Planned {
  Graph graph;
  Rewriting rewriting;
  PlanChoice choice;  ///< of PlanRequest::plan
  Resolved wishes;
  Plan plan;
  std::shared_ptr<const Graph> at_opt, at_most;  ///< of plan_loaded(), see PlanTerms
  std::string sizes_note;                        ///< at which sizes costs and crossing bytes are; empty where none is open
  std::string limits_note;                       ///< why limits of memory do not count what is open; empty where they do, or nothing is bounded
  std::shared_ptr<PluginAnswers> answers = std::make_shared<PluginAnswers>();  ///< so that planning again asks no plugin again
  Timings timings;
  std::vector<std::shared_ptr<Backend>> supports;  ///< the manifests of PlanRequest::supports
};

/// What the request's allocation and pins mean for a graph that load_source() gave.
Result<Resolved> resolve_wishes(const PlanRequest& request, const Graph& graph, const Registry& registry);
/// Model -> graph -> passes: a Planned without wishes and plan. The request's rewrite is not called.
Result<Planned> load_source(const PlanRequest& request, Registry& registry, const ProgressReport& progress = {});
/// Wishes -> plan, for a graph with its rewriting that load_source() gave, or another one with answers of its own.
Result<Planned> plan_loaded(const PlanRequest& request, Planned loaded, Registry& registry);
/// Model -> graph -> passes -> rewrite -> wishes -> plan. Writes nothing.
Result<Planned> plan_model(const PlanRequest& request, Registry& registry, const ProgressReport& progress = {});

/// The same of a graph in memory, which plan_model() may have had before; `model`, `name` and `import` are not read, `rewrite` is not called.
Result<Planned> plan_graph(Graph graph, const PlanRequest& request, Registry& registry, const ProgressReport& progress = {});

struct CompileRequest {
  PlanRequest plan;
  std::string out;          ///< OUT; the package is OUT/<name>
  bool replace = false;     ///< --force
  int64_t jobs = 0;         ///< threads to compile with; 0 = all this process may use
  bool self_test = false;   ///< store inputs and the reference's outputs in the package
  OptionValues options;     ///< as given to the registry; written into the package but for secret ones
  std::shared_ptr<const CalibrationSource> calibration;  ///< for backends that quantize; null = the user gave neither encodings nor data
  uint32_t save_samples = 0;  ///< samples of what each subgraph reads, kept in the package, at most; wants `calibration` with samples. 0 = none
  const std::atomic<bool>* cancelled = nullptr;
};

struct Compilation {
  Planned planned;
  Package package;
  uint32_t saved_samples = 0;       ///< of CompileRequest::save_samples
  std::vector<double> subgraph_ms;  ///< by number of the subgraph, bodies' included; 0 where the host drives it
};

/// plan_model, then every subgraph by its plugin, then the package. When a plugin refuses a node while compiling, the node is
/// taken from it, the graph is split again, and plan.notes says so. On failure nothing remains on disk.
Result<Compilation> compile_model(const CompileRequest& request, Registry& registry, const ProgressReport& progress = {});
/// The same after plan_graph(); the package is OUT/<graph.model_name>.
Result<Compilation> compile_graph(Graph graph, const CompileRequest& request, Registry& registry, const ProgressReport& progress = {});

}  // namespace optima
