// SPDX-License-Identifier: Apache-2.0
// optima/plugin/plugin.hpp: the C++17 author layer over abi.h. Header only, exports nothing, knows no host code.
//
//   class My : public optima::sdk::Plugin, public optima::sdk::Compiler, public optima::sdk::Runtime {
//    public: explicit My(const optima::sdk::Init&); ...
//   };
//   constexpr optima::sdk::Info kInfo = ...;
//   OPTIMA_PLUGIN(My, kInfo)
//
// A base class left out becomes a null extension: a compiler only, a runtime only, or both. Everything thrown becomes a
// status. Thread rules are those of the function's tag in abi.h, repeated here.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "optima/ext/async.h"
#include "optima/ext/cost.h"
#include "optima/ext/describe.h"
#include "optima/ext/memory.h"
#include "optima/ext/profile.h"
#include "optima/ext/schema.h"
#include "optima/plugin/request.hpp"
#include "optima/plugin/sanitizer.hpp"
#include "optima/plugin/tensor.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// What the constructor is given. `host` stays valid until the destructor has run, `options` (scope init) for the call.
/// The constructor must succeed without vendor SDK or device: devices(), check() and compile() say DEPENDENCY.
struct Init {
  Host host;
  Options options;
};

/// A device that is present on this machine.
struct PresentDevice {
  uint32_t device_class = OPTIMA_CLASS_OTHER;
  std::string kind;       ///< "X64", one of the manifest's
  uint32_t ordinal = 0;   ///< physical number
  std::string id{};       ///< stable across restarts: PCI address, UUID, serial
  std::string arch{};     ///< triple and CPU, chip name
  std::string driver{};   ///< name and version
  std::vector<std::pair<std::string, std::string>> attributes{};

  /// Not a device but word of a kind that cannot be used here: no driver, hardware of the past. `why` is one sentence, lower-case
  /// but for names; the kind need not be in the manifest.
  static PresentDevice refused(std::string kind, uint32_t device_class, std::string why) {
    PresentDevice d;
    d.device_class = device_class, d.kind = std::move(kind), d.arch = std::move(why), d.is_refused = true;
    return d;
  }
  bool is_refused = false;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  /// Cheap. With no device, `why_none` takes the sentence for the user. [any]
  virtual std::vector<PresentDevice> devices(std::string& why_none) = 0;
};

/// optima.compiler/1
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Exactly one verdict per candidate; deterministic, without side effects or device. [any]
  virtual void check(const CheckRequest& request, const Reporter& report) = 0;
  /// Throws UNSUPPORTED with a node, or refuses several by Sink::refuse(), when the host should split again. [any]
  virtual void compile(const CompileRequest& request, const Sink& sink, const Progress& progress) = 0;
};

/// Takes profile events.
class EventSink {
 public:
  using Add = int32_t (*)(void* host_data, const optima_event* events, uint32_t count);
  EventSink(Add add, void* data) : add_(add), data_(data) {}
  /// Times in nanoseconds of CLOCK_MONOTONIC.
  void operator()(std::string_view name, uint64_t start_ns, uint64_t duration_ns, uint32_t node = OPTIMA_NONE, uint32_t track = 0) const {
    const optima_event e{sizeof e, node, str(name), start_ns, duration_ns, track, 0};
    ok(add_(data_, &e, 1));
  }

 private:
  Add add_;
  void* data_;
};

/// What may end an execution before it is done. Valid during the call; any thread; allocates only when it throws.
class RunControl {
 public:
  explicit RunControl(const optima_execute_request* raw) : raw_(raw) {}
  /// CLOCK_MONOTONIC, past which the results are not wanted; 0 = none.
  uint64_t deadline_ns() const { return raw_->deadline_ns; }
  /// Asked at least every 10 ms, or never.
  bool cancelled() const { return raw_->cancelled && raw_->cancelled(raw_->host_data) != 0; }
  bool is_late() const {
    if (deadline_ns() == 0) return false;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) >= deadline_ns();
  }
  /// Throws CANCELLED or TIMEOUT when it is time to stop.
  void check() const {
    if (cancelled()) throw Error(OPTIMA_CANCELLED, "cancelled");
    if (is_late()) throw Error(OPTIMA_TIMEOUT, "past its deadline");
  }

 private:
  const optima_execute_request* raw_;
};

/// One stream of work on a program. One call at a time per context; different contexts in parallel.
class Context {
 public:
  virtual ~Context() = default;
  /// Tensors in the order of the bindings; not kept. Strided tensors must be honoured or refused.
  virtual void execute(const Tensors& in, const OutTensors& out) = 0;
  /// Forgets what executions left in the context: the next one is as the first. Of a context that keeps state of its own.
  virtual void reset() {}
  /// Only needed when a binding has unknown dims.
  virtual void output_shapes(const Tensors&, const OutShapes&) { throw Error(OPTIMA_UNSUPPORTED, "output shapes are static"); }

  // For plugins that derive from Stoppable, in place of execute().
  /// Stops soon when `control` says so: throws CANCELLED or TIMEOUT, and the next execution is as any other.
  virtual void execute_within(const Tensors& in, const OutTensors& out, const RunControl& /*control*/) { execute(in, out); }

  // For plugins that derive from Async.
  /// Returns at once; tensors live until `signal` is reached or poisoned.
  virtual void submit(const Tensors&, const OutTensors&, Span<const optima_fence_point>, optima_fence_point) {
    throw Error(OPTIMA_UNSUPPORTED, "context runs synchronously only");
  }
  virtual void cancel() { throw Error(OPTIMA_UNSUPPORTED, "context runs synchronously only"); }

  // For plugins that derive from Profiler.
  virtual void profile(bool /*on*/) { throw Error(OPTIMA_UNSUPPORTED, "context keeps no events"); }
  /// Events since the last read.
  virtual void read_profile(const EventSink&) { throw Error(OPTIMA_UNSUPPORTED, "context keeps no events"); }
};

/// An input or output of a program.
struct Binding {
  std::string_view name;          ///< of the graph's input or output
  int32_t dtype;
  Span<const int64_t> shape;      ///< -1 = not known before execute
  bool unranked = false;
  uint32_t alignment = 0;         ///< bytes, power of two; 0 = 64
  uint64_t min_size = 0;          ///< bytes the buffer must have; 0 = what dtype and shape say
  uint64_t mem_kinds = 1u << OPTIMA_MEM_HOST;  ///< acceptable, bit set
  uint32_t alias = OPTIMA_NONE;   ///< of an output: number of the input in whose buffer it lives; in execute both have one address
};

/// Takes the bindings: graph inputs in order, then outputs in order.
class BindingSink {
 public:
  BindingSink(optima_add_binding add, void* data) : add_(add), data_(data) {}
  void input(const Binding& b) const { put(OPTIMA_INPUT, b); }
  void output(const Binding& b) const { put(OPTIMA_OUTPUT, b); }

 private:
  void put(uint32_t direction, const Binding& b) const {
    const optima_binding raw{sizeof raw, direction, str(b.name), b.dtype, b.unranked ? -1 : static_cast<int32_t>(b.shape.size()), b.shape.data(),
                             b.min_size, b.mem_kinds, b.alignment, 0, b.alias == OPTIMA_NONE ? 0 : b.alias + 1, 0};
    ok(add_(data_, &raw));
  }
  optima_add_binding add_;
  void* data_;
};

/// A loaded artifact; shareable between contexts, which are destroyed first.
class Program {
 public:
  virtual ~Program() = default;
  virtual void bindings(const BindingSink& add) const = 0;  ///< [any]
  virtual std::unique_ptr<Context> context() = 0;
  /// For plugins that derive from ContextOptions, in place of context(). Options of scope context, valid for the call.
  virtual std::unique_ptr<Context> context_with(const Options& /*options*/) { return context(); }
  /// For plugins that derive from Memory: OPTIMA_MEM_* kinds for binding number `binding`, best first. [any]
  virtual std::vector<uint32_t> memory_kinds(uint32_t /*binding*/) const { return {OPTIMA_MEM_HOST}; }
};

struct Compatibility {
  uint32_t verdict = OPTIMA_COMPAT_UNKNOWN;  ///< OPTIMA_COMPAT_*
  std::string text{};                        ///< one sentence, may be empty for OPTIMAL
};

/// optima.runtime/1
class Runtime {
 public:
  virtual ~Runtime() = default;
  /// Under 50 ms, touches no device memory. [any]
  virtual Compatibility check_artifact(const Artifact& artifact, const Device& device) = 0;
  /// Agrees with check_artifact: RECOMPILE, WRONG_DEVICE, CORRUPT. Keeps blobs by Host::keep only. What takes long calls
  /// artifact.progress(). [any]
  virtual std::unique_ptr<Program> load(const Artifact& artifact, const Device& device, const Options& options) = 0;
};

/// A Runtime's contexts implement execute_within().
class Stoppable {
 public:
  virtual ~Stoppable() = default;
};

/// A Runtime's programs implement context_with(); without it the host tells users who set an option of scope context that it has no effect.
class ContextOptions {
 public:
  virtual ~ContextOptions() = default;
};

/// The type of one output, for Schema.
struct OutputType {
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> dims{};           ///< -1 = unknown
  std::vector<std::string> symbols{};    ///< empty, or one per dim
  bool unranked = false;
  uint32_t kind = OPTIMA_KIND_TENSOR;
};
class TypeSink {
 public:
  using Set = int32_t (*)(void* host_data, uint32_t output, const optima_type* type);
  TypeSink(Set set, void* data) : set_(set), data_(data) {}
  void operator()(uint32_t output, const OutputType& t) const {
    std::vector<optima_str> symbols;
    for (const std::string& s : t.symbols) symbols.push_back(str(s));
    const optima_type raw{sizeof raw, t.kind, t.dtype, t.unranked ? -1 : static_cast<int32_t>(t.dims.size()), t.dims.data(), symbols.empty() ? nullptr : symbols.data()};
    ok(set_(data_, output, &raw));
  }

 private:
  Set set_;
  void* data_;
};

/// optima.schema/1, for operators the plugin brings. Needs no device or SDK.
class Schema {
 public:
  virtual ~Schema() = default;
  /// Validates one node (throws INVALID_GRAPH) and gives the type of each output in order. Input types may be unknown. [any]
  virtual void infer(const Node& node, const TypeSink& set) = 0;

  // What a node computes, for the host's reference (folding, `compare`, `--self-test`). Override one of them, or none. [any]
  /// The function body in ONNX's text form (optima/ext/schema.h has an example), empty where there is none.
  virtual std::string function_body(const Node&) { return {}; }
  /// Computes the node on dense tensors in host memory. An absent input has dtype UNDEFINED; every output that wants_alloc() is
  /// made once by alloc(). Throws NOT_FOUND for an operator that it does not compute.
  virtual void evaluate(const Node&, const Tensors&, const OutTensors&) { throw Error(OPTIMA_NOT_FOUND, "no evaluator"); }
};

/// optima.cost/1
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// One entry per candidate it knows; node OPTIMA_NONE = the request as one subgraph. [any]
  virtual std::vector<optima_cost> estimate(const CheckRequest& request) = 0;
};

/// optima.describe/1
class Describer {
 public:
  virtual ~Describer() = default;
  /// What is in a file, as the text of a JSON object (optima/ext/describe.h says how it is shown); nothing for a kind of file that this
  /// plugin does not write. Throws CORRUPT. The bytes are hostile. Needs neither device nor vendor tools. [any]
  virtual std::optional<std::string> describe(std::string_view name, const optima_blob& file) = 0;
};

/// optima.profile/1: contexts implement profile() and read_profile().
class Profiler {
 public:
  virtual ~Profiler() = default;
};

/// optima.async/1: contexts implement submit() and cancel().
class Async {
 public:
  virtual ~Async() = default;
};

/// optima.memory/1. All [any].
class Memory {
 public:
  virtual ~Memory() = default;
  /// Fills data, fd or opaque from mem_kind, mem_ordinal and size.
  virtual void alloc(optima_tensor& tensor, uint32_t alignment) = 0;
  /// Of alloc() and of import(); must not throw.
  virtual void release(const optima_tensor& tensor) = 0;
  /// Foreign memory as this plugin sees it; it outlives the result.
  virtual void import(const optima_tensor& foreign, optima_tensor& imported) = 0;
  virtual void copy(const optima_tensor& from, optima_tensor& to) = 0;
};

}  // namespace v0_1
}  // namespace optima::sdk

#include "optima/plugin/entry.hpp"
