// SPDX-License-Identifier: Apache-2.0
// core/registry: finds, checks, loads and keeps plugins. The only room with Boost.DLL; everything C about the seam's calls
// stays behind this door. A plugin file is never unloaded.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/registry/device.hpp"
#include "core/registry/manifest.hpp"
#include "core/support/blob.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"
#include "optima/ext/async.h"
#include "optima/ext/fence.h"
#include "optima/image.hpp"

namespace optima {

struct ScanOptions {
  std::vector<std::string> folders;     ///< each scanned itself and one level below
  std::vector<std::string> allow;       ///< plugin ids; empty = all
  bool allow_writable_by_others = false; ///< also take files that others than root and the user may write, see trust.hpp
  std::string cache_folder;             ///< results of the throw-away probe, by file hash; empty = probe every time
  std::string probe_program;            ///< program run as `P __probe FILE`; empty = no probe (the runtime on a target)
  double probe_seconds = 10;            ///< a probe that takes longer counts as hanging
};

/// One file of a plugin folder: usable when refusal.ok().
struct PluginFile {
  std::string path;      ///< absolute
  Manifest manifest;     ///< empty when the file has none that can be read
  Status refusal;        ///< one sentence: why the file is not used
  bool unwanted = false; ///< refused because the allow-list leaves it out, which is no fault
};

class Plugin;

/// Settings an instance is made with; options are typed and checked against the manifest by the registry.
using OptionValues = std::map<std::string, std::string>;  ///< option name -> text as the user wrote it

/// What the host offers beyond blobs and logs; set once before the first plugin is loaded.
struct HostServices {
  std::string name, version;
  std::string cache_folder;  ///< plugins' own caches lie below, one folder each; empty = none
  /// optima_host.graph_to_onnx; empty in the runtime (the plugin then gets UNSUPPORTED). Any thread.
  std::function<Status(const optima_graph& graph, const std::string& folder)> graph_to_onnx;
  /// optima_host.get_extension, as "optima.fence/1"; null when unknown. The table must outlive the Registry. Any thread.
  std::function<const void*(std::string_view id)> extension;
};

/// An option as a plugin will get it. What changes the artifact belongs into cache keys and package metadata. Of a secret one the value
/// is "sha256:" and its hash when it changes the artifact, else empty.
struct EffectiveOption {
  std::string name, value, scope;
  bool is_default = true;
  bool changes_artifact = false;
  bool secret = false;
};

/// The plugins of a process. Of two files with one (id, role), and of two halves with different build ids, the first in scan
/// order (folders as given, then path) is used and the later one refused. Const members may be called from any thread.
class Registry {
 public:
  /// Reads every candidate's note without loading it. A missing folder is InvalidInput; refused files are entries, not errors.
  static Result<Registry> scan(const ScanOptions& options, HostServices services);
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;
  ~Registry();

  /// Every file looked at, in scan order.
  std::span<const PluginFile> files() const;
  /// What a user should know of the folders: one that holds sources and where built plugins lie.
  std::span<const std::string> notes() const;
  /// The first refusal of a file with this id, to explain why there is no such plugin; ok when there is none.
  Status refusal_of(std::string_view id) const;
  /// Usable files with the role, ordered by `order` (ids given by the user), then priority (high first), then id.
  std::vector<Plugin*> compilers() const;
  std::vector<Plugin*> runtimes() const;
  Plugin* compiler(std::string_view id) const;  ///< null when there is none
  Plugin* runtime(std::string_view id) const;
  /// Options for every later init/compile/load, "plugin.key=value" form; InvalidInput for unknown names or values, nearest shown.
  Status set_options(const OptionValues& options);
  /// Those options that are this registry's to judge: of its plugins, the refused ones among them, and of all plugins
  /// ("optima.threads").
  OptionValues own_options(const OptionValues& options) const;
  /// Those of them that no manifest calls secret: what may be stored and shown.
  OptionValues public_options(OptionValues options) const;
  void set_order(std::vector<std::string> ids);

 private:
  struct State;
  std::unique_ptr<State> state_;
  explicit Registry(std::unique_ptr<State> state);
};

/// A verdict with its strings owned. `verdict` and `reason` are the seam's numbers, unknown ones already mapped.
struct Verdict {
  uint32_t node = OPTIMA_NONE;
  uint32_t verdict = OPTIMA_VERDICT_UNSUPPORTED;
  uint32_t reason = OPTIMA_REASON_OTHER;
  uint32_t group = OPTIMA_NONE;
  std::string what, found, wanted, text;
};
/// "OP", "DTYPE", ... as in the seam's reason names.
std::string_view reason_name(uint32_t reason);

/// A device to ask or compile for: the user's slot of a kind, with the config's target options.
struct TargetDevice {
  std::string kind;
  uint32_t slot = 0;
  OptionValues attributes;   ///< target options of optima.yaml, appended to the device's own
  uint64_t memory_limit = 0; ///< bytes; 0 = none
};

struct DeviceInfo {  ///< one device that a plugin reports as present
  std::string kind, device_class, id, arch, driver;
  uint32_t ordinal = 0;
  OptionValues attributes;
};

/// A kind that a plugin knows and cannot use on this machine.
struct RefusedKind {
  std::string kind, device_class;
  std::string why;  ///< the plugin's sentence
};

/// A file of a finished artifact.
struct ArtifactFile {
  std::string name;  ///< relative, '/'-separated
  Blob bytes;
};
/// What compile produced. Files lie under the folder given to compile.
struct Compiled {
  std::string format_id;
  std::vector<std::string> files;                              ///< relative names, in the order they were opened
  std::vector<std::pair<std::string, std::string>> meta;       ///< set_meta, in order
  std::vector<std::byte> compat_record;
  std::string compat_text;
  std::vector<std::pair<std::string, uint32_t>> weights;       ///< use_weight: name, blob index of the graph
};

/// compile's failure, with the node the plugin blamed: UNSUPPORTED + node makes the host split again.
struct CompileFailure {
  Status status;
  int32_t code = OPTIMA_INTERNAL;  ///< the seam's
  uint32_t node = OPTIMA_NONE;
};

struct CompileJob {
  const optima_graph* graph = nullptr;
  /// The bytes behind graph->blobs, element by element, so that the plugin may retain them. Empty: it may only read them.
  std::span<const Blob> blobs = {};
  const optima_calibration* calibration = nullptr;  ///< or null
  TargetDevice device;
  std::string stem;                 ///< "subgraph_3"
  std::string folder;               ///< absolute, existing; the plugin's files land below it
  int64_t threads = 0;              ///< optima.threads; 0 = all
  std::function<void(double fraction, std::string_view stage)> progress;  ///< from any thread, one call at a time; may be empty
  const std::atomic<bool>* cancelled = nullptr;
};

struct NodeCost {
  uint32_t node = OPTIMA_NONE;  ///< OPTIMA_NONE = all nodes asked, as one subgraph
  double microseconds = -1;     ///< as the plugin gave it: negative = unknown, and what is no time does not count
  uint64_t device_bytes = 0;
  bool measured = false;
};

/// What happened in an execution, as the plugin tells it.
struct PluginEvent {
  uint32_t node = OPTIMA_NONE;  ///< node id
  std::string name;
  uint64_t start_ns = 0, duration_ns = 0;  ///< CLOCK_MONOTONIC
  uint32_t track = 0;                      ///< thread or queue number
};

/// A loaded artifact of one subgraph and its execution contexts.
class LoadedProgram;

/// One usable plugin file. Loads itself on first use and stays loaded. All members may be called from any thread.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual const Manifest& manifest() const = 0;
  virtual const std::string& path() const = 0;
  /// Options with their values for this plugin, in schema order, the host's own last.
  virtual std::vector<EffectiveOption> options() const { return {}; }

  /// Devices present on this machine; zero is legal, `why_none` then has the plugin's sentence if it gave one.
  virtual Result<std::vector<DeviceInfo>> devices(std::string* why_none) = 0;
  /// Kinds the plugin tells of besides, each with its sentence; none when it cannot be asked.
  virtual std::vector<RefusedKind> refused_kinds() { return {}; }

  // Role compiler. One verdict per node id asked, in the order asked; a plugin that breaks the contract (missing, double or
  // silent verdict, yes outside its note) gets UNSUPPORTED with a sentence that says so.
  virtual Result<std::vector<Verdict>> check(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) = 0;
  /// On failure nothing the plugin wrote remains in the folder.
  virtual std::variant<Compiled, CompileFailure> compile(const CompileJob& job) = 0;
  /// optima.schema/1: types of the outputs of node `index` of graph 0; Plugin kind UNSUPPORTED-like when not offered.
  virtual bool has_schema() = 0;
  virtual Result<std::vector<image::Value>> infer(const optima_graph& graph, uint32_t node_index) = 0;
  /// The text of the node's function body; empty when there is none for this operator.
  virtual Result<std::string> function_body(const optima_graph& /*graph*/, uint32_t /*node_index*/) { return std::string(); }
  /// Runs the node's evaluator on tensors as optima_schema wants them; false when there is none for this operator.
  virtual Result<bool> evaluate(const optima_graph& /*graph*/, uint32_t /*node_index*/, std::span<const optima_tensor> /*inputs*/, std::span<optima_tensor> /*outputs*/) {
    return false;
  }
  /// optima.cost/1: empty when not offered.
  virtual Result<std::vector<NodeCost>> estimate(const optima_graph& /*graph*/, std::span<const uint32_t> /*nodes*/, const TargetDevice& /*device*/) {
    return std::vector<NodeCost>{};
  }

  /// Any other extension table of the instance, or null; lives as long as the Plugin. `instance` gets the handle for its calls.
  virtual const void* extension(std::string_view /*id*/, optima_plugin** /*instance*/) { return nullptr; }

  // Role runtime.
  struct Artifact {
    std::string format_id, stem;
    std::vector<ArtifactFile> files;
    std::vector<ArtifactFile> weights;  ///< by the name given in use_weight; 64-byte aligned
    std::vector<std::byte> compat_record;
  };
  struct Compatibility {
    uint32_t verdict = OPTIMA_COMPAT_UNKNOWN;
    std::string text;
  };
  virtual Result<Compatibility> check_artifact(const Artifact& artifact, const TargetDevice& device) = 0;
  virtual Result<std::unique_ptr<LoadedProgram>> load(Artifact artifact, const TargetDevice& device, int64_t threads) = 0;
};

struct Binding {
  uint32_t direction = OPTIMA_INPUT;
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;  ///< -1 = not known before execute
  bool unranked = false;
  uint64_t min_size = 0;       ///< bytes
  uint32_t alignment = 64;     ///< bytes
};

/// One stream of work on a program: one call at a time; different contexts in parallel.
class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;
  /// Tensors in the order of the bindings, struct_size set; allocation-free on the way to the plugin.
  virtual Status execute(std::span<const optima_tensor> inputs, std::span<optima_tensor> outputs) = 0;
  /// Shapes of the outputs for these inputs; dims -1 where they depend on data, a single -2 where the rank does.
  virtual Result<std::vector<std::vector<int64_t>>> output_shapes(std::span<const optima_tensor> inputs) = 0;

  /// optima.async/1. submit() returns at once; tensors and shapes must live until `signal` is reached or poisoned, which
  /// happens exactly once after OK. Plugin error when not offered. The fences are those of HostServices::extension.
  virtual bool has_async() const { return false; }
  virtual Status submit(std::span<const optima_tensor> /*inputs*/, std::span<optima_tensor> /*outputs*/,
                        std::span<const optima_fence_point> /*waits*/, optima_fence_point /*signal*/) {
    return plugin_error("no optima.async/1");
  }
  /// Any thread: poisons what has not started.
  virtual Status cancel() { return plugin_error("no optima.async/1"); }

  /// optima.profile/1: events since the last read; Plugin error when not offered.
  virtual bool has_profile() const { return false; }
  virtual Status set_profiling(bool /*on*/) { return plugin_error("no optima.profile/1"); }
  virtual Result<std::vector<PluginEvent>> read_profile() { return plugin_error("no optima.profile/1"); }
};

class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  /// Inputs in order, then outputs in order.
  virtual const std::vector<Binding>& bindings() const = 0;
  /// Contexts keep their program, a program keeps its plugin: any may be dropped first.
  virtual Result<std::unique_ptr<ExecutionContext>> create_context() = 0;
  /// For extensions that take it (optima.memory/1).
  virtual optima_program* handle() const { return nullptr; }
};

}  // namespace optima
