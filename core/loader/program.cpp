// SPDX-License-Identifier: Apache-2.0
// core/loader: programs, bindings, contexts, execute.
#include "core/loader/program.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <set>

#include "core/support/log.hpp"
#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

constexpr size_t kMostBindings = 1 << 16;
constexpr uint32_t kLargestAlignment = 1 << 21;  // a huge page
constexpr uint64_t kLatestTime = uint64_t{1} << 62;     // ns, 146 years: sums of two stay numbers
constexpr uint64_t kLargestBuffer = uint64_t{1} << 47;  // bytes that a process can address
constexpr uint64_t kHostMemory = uint64_t{1} << OPTIMA_MEM_HOST;
constexpr uint64_t kKnownKinds = (uint64_t{2} << OPTIMA_MEM_OPAQUE_FD) - 1;

bool is_known(const Binding& b) { return !b.unranked && std::find(b.shape.begin(), b.shape.end(), -1) == b.shape.end(); }

std::string shape_of(const Binding& b) {
  std::vector<std::string> dims;
  for (const int64_t d : b.shape) dims.push_back(d < 0 ? "?" : std::to_string(d));
  return b.unranked ? "unknown" : cat("[", join(dims), "]");
}

struct BindingList {
  std::vector<Binding> all;
  std::set<uint32_t> aliased;  // inputs
  std::set<std::pair<uint32_t, std::string>> names;
  std::string misdeed;

  static int32_t add(void* self, const optima_binding* raw) {
    return seam::Collected<BindingList>::add(self, [&](BindingList& list) -> int32_t {
      if (!list.misdeed.empty()) return OPTIMA_INVALID_ARGUMENT;  // the first one counts, whatever the plugin makes of its code
      if (!seam::sane(raw, offsetof(optima_binding, min_size))) return list.misdeed = "gave a binding of impossible size", OPTIMA_INVALID_ARGUMENT;
      const optima_binding known = seam::known(raw);
      list.misdeed = list.take(known);
      return list.misdeed.empty() ? OPTIMA_OK : OPTIMA_INVALID_ARGUMENT;
    });
  }

  std::string take(const optima_binding& raw) {
    Binding b;
    b.name = seam::raw_text(raw.name);
    if (raw.direction != OPTIMA_INPUT && raw.direction != OPTIMA_OUTPUT) return cat("gave binding ", quote(b.name), " the direction ", raw.direction);
    if (!all.empty() && all.back().direction == OPTIMA_OUTPUT && raw.direction == OPTIMA_INPUT) return "gave an input after an output";
    if (all.size() >= kMostBindings) return "gave too many bindings";
    if (b.name.empty() || !names.emplace(raw.direction, b.name).second) return cat("gave two bindings the name ", quote(b.name));
    if (raw.rank < -1 || raw.rank > kMostDims || (raw.rank > 0 && !raw.shape)) return cat("gave binding ", quote(b.name), " the rank ", raw.rank);
    if ((raw.alignment & (raw.alignment - 1)) != 0 || raw.alignment > kLargestAlignment)
      return cat("gave binding ", quote(b.name), " the alignment ", raw.alignment, ", wanted a power of two up to ", kLargestAlignment);
    if (raw.min_size > kLargestBuffer) return cat("gave binding ", quote(b.name), " the min_size ", raw.min_size, ", wanted at most ", kLargestBuffer, " bytes");
    b.direction = raw.direction;
    b.dtype = raw.dtype;
    b.unranked = raw.rank < 0;
    for (int32_t d = 0; d < raw.rank; ++d) {
      if (raw.shape[d] < -1) return cat("gave binding ", quote(b.name), " the dim ", raw.shape[d]);
      b.shape.push_back(raw.shape[d]);
    }
    b.min_size = raw.min_size;
    b.alignment = raw.alignment == 0 ? 64 : raw.alignment;
    b.mem_kinds = (raw.mem_kinds & kKnownKinds) | kHostMemory;
    if (raw.alias != 0)
      if (std::string wrong = take_alias(b, raw); !wrong.empty()) return wrong;
    all.push_back(std::move(b));
    return "";
  }

  // The host keeps both in its own memory, wherever else they might lie.
  std::string take_alias(Binding& b, const optima_binding& raw) {
    if (b.direction == OPTIMA_INPUT) return cat("gave input ", quote(b.name), " the alias ", raw.alias, ", wanted it of outputs only");
    if (raw.alias > inputs()) return cat("gave output ", quote(b.name), " the alias ", raw.alias, ", wanted at most ", inputs(), ", the number of inputs");
    Binding& in = all[raw.alias - 1];
    const std::string what = cat("gave output ", quote(b.name), " the buffer of input ", quote(in.name));
    if (in.dtype != b.dtype) return cat(what, ": found dtype ", b.dtype, ", wanted ", in.dtype);
    if (is_known(in) != is_known(b) || (is_known(b) && in.shape != b.shape)) return cat(what, ": found shape ", shape_of(b), ", wanted ", shape_of(in));
    if (!aliased.insert(raw.alias).second) return cat(what, ", which another output has");
    b.alias = raw.alias - 1;
    b.mem_kinds = in.mem_kinds = kHostMemory;
    return "";
  }

  size_t inputs() const {
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const Binding& b) { return b.direction == OPTIMA_INPUT; }));
  }
};

// A loaded program's handle; contexts hold it, so that it goes last.
struct ProgramHandle {
  ProgramHandle(std::shared_ptr<Instance> p, optima_program* r, std::vector<TypedOption> of_contexts)
      : plugin(std::move(p)), raw(r), context_options(std::move(of_contexts)) {}
  ProgramHandle(const ProgramHandle&) = delete;

  std::shared_ptr<Instance> plugin;
  optima_program* raw;
  const OptionList context_options;
  std::vector<Binding> bindings;
  size_t inputs = 0;
  bool static_shapes = true;

  ~ProgramHandle() {
    plugin->end("program_destroy", [&] { plugin->runtime().program_destroy(raw); });
  }
};

// Rule T, [object]: one call at a time on one handle. Refuses the caller of ours that forgets it; costs some nanoseconds.
class OneAtATime {
 public:
  explicit OneAtATime(std::atomic_flag& busy) : busy_(busy), free_(!busy.test_and_set(std::memory_order_acquire)) {}
  ~OneAtATime() {
    if (free_) busy_.clear(std::memory_order_release);
  }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;
  bool free() const { return free_; }

 private:
  std::atomic_flag& busy_;
  const bool free_;
};

class Context final : public ExecutionContext {
 public:
  Context(std::shared_ptr<ProgramHandle> program, optima_context* raw) : program_(std::move(program)), raw_(raw) {}
  ~Context() override {
    plugin().end("context_destroy", [&] { plugin().runtime().context_destroy(raw_); });
  }

  Status execute(std::span<const optima_tensor> in, std::span<optima_tensor> out) override {
    if (in.size() != program_->inputs || out.size() != outputs()) return wrong_count("execute", in.size(), out.size());
    OPTIMA_RETURN_IF_ERROR(plugin().usable("execute"));
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    status_.reset();
    const int32_t code = plugin().enter("execute", status_, [&] {
      return plugin().runtime().execute(raw_, in.data(), static_cast<uint32_t>(in.size()), out.data(), static_cast<uint32_t>(out.size()), status_.raw());
    });
    return code == OPTIMA_OK ? Status() : status_.as_status(plugin().id(), "execute", code);
  }

  Status execute_within(std::span<const optima_tensor> in, std::span<optima_tensor> out, const RunControl& control) override {
    if (!plugin().runtime().execute_within || (control.deadline_ns == 0 && !control.cancelled)) return execute(in, out);
    if (in.size() != program_->inputs || out.size() != outputs()) return wrong_count("execute", in.size(), out.size());
    OPTIMA_RETURN_IF_ERROR(plugin().usable("execute"));
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    status_.reset();
    const optima_execute_request request = request_of(in, out, control);
    const int32_t code = plugin().enter("execute", status_, [&] { return plugin().runtime().execute_within(raw_, &request, status_.raw()); });
    if (code == OPTIMA_OK) return {};
    if (code != OPTIMA_CANCELLED) return status_.as_status(plugin().id(), "execute", code);
    if (is_set(control)) return cancelled();
    return plugin_error(cat("plugin ", quote(plugin().id()), ": execute: it gave up although nobody cancelled it"));
  }

  Result<std::vector<std::vector<int64_t>>> output_shapes(std::span<const optima_tensor> in) override {
    if (in.size() != program_->inputs) return wrong_count("output_shapes", in.size(), outputs());
    if (program_->static_shapes || !plugin().runtime().output_shapes) return declared_shapes();
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    std::vector<std::vector<int64_t>> dims(outputs(), std::vector<int64_t>(8, -1));
    std::vector<optima_shape> shapes(outputs());
    bool again = false;
    OPTIMA_RETURN_IF_ERROR(ask_shapes(in, dims, shapes, &again));
    if (again) OPTIMA_RETURN_IF_ERROR(ask_shapes(in, dims, shapes, &again));
    if (again) return plugin_error(cat("plugin ", quote(plugin().id()), ": output_shapes: it changes its mind about ranks"));
    return dims_within(dims, shapes);
  }

  Status reset() override {
    if (!plugin().runtime().reset) return {};
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    return plugin().run("reset", [&](optima_status* s) { return plugin().runtime().reset(raw_, s); });
  }

  bool has_async() const override { return plugin().async().submit; }
  Status submit(std::span<const optima_tensor> in, std::span<optima_tensor> out, std::span<const optima_fence_point> waits,
                optima_fence_point signal) override {
    if (!has_async()) return lacks(OPTIMA_EXT_ASYNC);
    if (in.size() != program_->inputs || out.size() != outputs()) return wrong_count("submit", in.size(), out.size());
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    return plugin().run("submit", [&](optima_status* s) {
      return plugin().async().submit(raw_, in.data(), static_cast<uint32_t>(in.size()), out.data(), static_cast<uint32_t>(out.size()), waits.data(),
                                     static_cast<uint32_t>(waits.size()), signal, s);
    });
  }
  Status cancel() override {
    if (!plugin().async().cancel) return lacks(OPTIMA_EXT_ASYNC);
    return plugin().run("cancel", [&](optima_status* s) { return plugin().async().cancel(raw_, s); });
  }

  bool has_profile() const override { return plugin().profile().enable && plugin().profile().read; }
  Status set_profiling(bool on) override {
    if (!has_profile()) return lacks(OPTIMA_EXT_PROFILE);
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    return plugin().run("profile", [&](optima_status* s) { return plugin().profile().enable(raw_, on, s); });
  }
  Result<std::vector<PluginEvent>> read_profile() override {
    if (!has_profile()) return lacks(OPTIMA_EXT_PROFILE);
    const OneAtATime one(busy_);
    if (!one.free()) return overlap();
    EventList events;
    const Status done = plugin().run("profile", [&](optima_status* s) { return plugin().profile().read(raw_, add_events, &events, s); });
    Events told = events.take();
    if (!told.misdeed.empty()) return plugin_error(cat("plugin ", quote(plugin().id()), ": profile: it ", told.misdeed));
    OPTIMA_RETURN_IF_ERROR(done);
    return std::move(told.all);
  }

 private:
  const Instance& plugin() const { return *program_->plugin; }
  size_t outputs() const { return program_->bindings.size() - program_->inputs; }
  const Binding& output(size_t k) const { return program_->bindings[program_->inputs + k]; }

  static bool is_set(const RunControl& control) { return control.cancelled && control.cancelled->load(std::memory_order_relaxed); }
  static optima_execute_request request_of(std::span<const optima_tensor> in, std::span<optima_tensor> out, const RunControl& control) {
    optima_execute_request r{};
    r.struct_size = sizeof r;
    r.in_count = static_cast<uint32_t>(in.size());
    r.out_count = static_cast<uint32_t>(out.size());
    r.in = in.data();
    r.out = out.data();
    r.deadline_ns = control.deadline_ns;
    r.host_data = const_cast<RunControl*>(&control);
    r.cancelled = [](void* self) -> int32_t { return is_set(*static_cast<const RunControl*>(self)); };
    return r;
  }

  Status lacks(const char* table) const { return plugin_error(cat("plugin ", quote(plugin().id()), ": has no ", table)); }
  Status overlap() const {
    constexpr std::string_view kWhat = "two calls at a time on one execution context";
    log(LogLevel::HostMisbehaves, plugin().id(), kWhat);
    return internal_error(cat("plugin ", quote(plugin().id()), ": ", kWhat));
  }
  Status wrong_count(const char* call, size_t in, size_t out) const {
    return internal_error(cat("plugin ", quote(plugin().id()), ": ", call, ": found ", in, " inputs and ", out, " outputs, wanted ", program_->inputs, " and ", outputs()));
  }

  struct Events {
    std::vector<PluginEvent> all;
    std::string misdeed;
  };
  using EventList = seam::Collected<Events>;
  static int32_t add_events(void* self, const optima_event* first, uint32_t count) {
    return EventList::add(self, [&](Events& events) -> int32_t {
      for (; count > 0 && events.misdeed.empty(); --count, first = OPTIMA_NEXT(optima_event, first)) {
        if (!seam::sane(first, offsetof(optima_event, track))) return events.misdeed = "told an event of impossible size", OPTIMA_INVALID_ARGUMENT;
        const optima_event e = seam::known(first);
        if (e.start_ns > kLatestTime || e.duration_ns > kLatestTime)
          events.misdeed = cat("told an event of node ", e.node, " that starts at ", e.start_ns, " ns and takes ", e.duration_ns, " ns");
        events.all.push_back({e.node, seam::text(e.name, 256), e.start_ns, e.duration_ns, e.track});
      }
      return events.misdeed.empty() ? OPTIMA_OK : OPTIMA_INVALID_ARGUMENT;
    });
  }

  std::vector<std::vector<int64_t>> declared_shapes() const {
    std::vector<std::vector<int64_t>> shapes;
    for (size_t k = 0; k < outputs(); ++k) shapes.push_back(output(k).unranked ? std::vector<int64_t>{-2} : output(k).shape);
    return shapes;
  }

  // *again: some rank was over capacity; dims is then large enough for a second try.
  Status ask_shapes(std::span<const optima_tensor> in, std::vector<std::vector<int64_t>>& dims, std::vector<optima_shape>& shapes, bool* again) {
    for (size_t k = 0; k < shapes.size(); ++k) shapes[k] = {sizeof(optima_shape), static_cast<uint32_t>(dims[k].size()), 0, 0, dims[k].data()};
    OPTIMA_RETURN_IF_ERROR(plugin().run("output_shapes", [&](optima_status* s) {
      return plugin().runtime().output_shapes(raw_, in.data(), static_cast<uint32_t>(in.size()), shapes.data(), static_cast<uint32_t>(shapes.size()), s);
    }));
    *again = false;
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (shapes[k].rank < -1 || shapes[k].rank > kMostDims)
        return plugin_error(cat("plugin ", quote(plugin().id()), ": output_shapes: it gave rank ", shapes[k].rank, " for ", quote(output(k).name)));
      if (shapes[k].rank > static_cast<int32_t>(dims[k].size())) {
        dims[k].assign(kMostDims, -1);
        *again = true;
      }
    }
    return {};
  }

  Result<std::vector<std::vector<int64_t>>> dims_within(std::vector<std::vector<int64_t>>& dims, const std::vector<optima_shape>& shapes) const {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (shapes[k].rank < 0) {
        dims[k] = {-2};
        continue;
      }
      dims[k].resize(static_cast<size_t>(shapes[k].rank));
      for (const int64_t d : dims[k])
        if (d < -1) return plugin_error(cat("plugin ", quote(plugin().id()), ": output_shapes: it gave dim ", d, " for ", quote(output(k).name)));
    }
    return std::move(dims);
  }

  std::shared_ptr<ProgramHandle> program_;
  optima_context* raw_;
  seam::CallStatus status_;  // here, so that execute allocates nothing
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

class Program final : public LoadedProgram {
 public:
  explicit Program(std::shared_ptr<ProgramHandle> handle) : handle_(std::move(handle)) {}
  const std::vector<Binding>& bindings() const override { return handle_->bindings; }

  Result<std::unique_ptr<ExecutionContext>> create_context() override {
    const Instance& plugin = *handle_->plugin;
    optima_context* raw = nullptr;
    const std::lock_guard lock(mutex_);  // [object] on the program
    const char* const call = plugin.runtime().context_open ? "context_open" : "context_create";
    OPTIMA_RETURN_IF_ERROR(plugin.run(call, [&](optima_status* s) { return create(plugin.runtime(), &raw, s); }));
    if (!raw) return plugin_error(cat("plugin ", quote(plugin.id()), ": ", call, ": said OK and gave no context"));
    return std::unique_ptr<ExecutionContext>(std::make_unique<Context>(handle_, raw));
  }

 private:
  int32_t create(const optima_runtime& runtime, optima_context** context, optima_status* status) const {
    if (!runtime.context_open) return runtime.context_create(handle_->raw, context, status);
    const OptionList& options = handle_->context_options;
    const optima_context_request request{sizeof request, options.size(), options.data()};
    return runtime.context_open(handle_->raw, &request, context, status);
  }

  std::shared_ptr<ProgramHandle> handle_;
  std::mutex mutex_;
};

Status read_bindings(ProgramHandle& program) {
  const Instance& plugin = *program.plugin;
  seam::Collected<BindingList> collected;
  const Status done = plugin.run("bindings", [&](optima_status* s) { return plugin.runtime().bindings(program.raw, BindingList::add, &collected, s); });
  BindingList list = collected.take();
  if (!list.misdeed.empty()) {
    seam::misbehaves(plugin.id(), cat("bindings: ", list.misdeed));
    return plugin_error(cat("plugin ", quote(plugin.id()), ": bindings: it ", list.misdeed));
  }
  OPTIMA_RETURN_IF_ERROR(done);
  program.bindings = std::move(list.all);
  for (const Binding& b : program.bindings) {
    program.inputs += b.direction == OPTIMA_INPUT;
    if (b.direction == OPTIMA_OUTPUT && !is_known(b)) program.static_shapes = false;
  }
  return {};
}

}  // namespace

Result<Backend::Compatibility> judge_artifact(const Instance& plugin, const optima_artifact& artifact, const optima_device& device) {
  Backend::Compatibility out;
  seam::Collected<std::string> said;
  optima_compat compat{sizeof compat, OPTIMA_COMPAT_UNKNOWN, &said, [](void* self, optima_str text) {
                         (void)seam::Collected<std::string>::add(self, [&](std::string& all) { return all = seam::text(text), OPTIMA_OK; });
                       }};
  OPTIMA_RETURN_IF_ERROR(plugin.run("check_artifact", [&](optima_status* s) { return plugin.runtime().check_artifact(plugin.handle(), &artifact, &device, &compat, s); }));
  out.text = said.take();
  out.verdict = compat.verdict <= OPTIMA_COMPAT_CORRUPT ? compat.verdict : uint32_t{OPTIMA_COMPAT_UNKNOWN};
  return out;
}

Result<std::unique_ptr<LoadedProgram>> load_program(std::shared_ptr<Instance> plugin, const optima_artifact& artifact, const optima_device& device,
                                                    const OptionList& options, std::vector<TypedOption> of_contexts) {
  optima_program* raw = nullptr;
  OPTIMA_RETURN_IF_ERROR(plugin->run("load", [&](optima_status* s) {
    return plugin->runtime().load(plugin->handle(), &artifact, &device, options.data(), options.size(), &raw, s);
  }));
  if (!raw) return plugin_error(cat("plugin ", quote(plugin->id()), ": load: said OK and gave no program"));
  const auto handle = std::make_shared<ProgramHandle>(std::move(plugin), raw, std::move(of_contexts));
  OPTIMA_RETURN_IF_ERROR(read_bindings(*handle));
  return std::unique_ptr<LoadedProgram>(std::make_unique<Program>(handle));
}

}  // namespace optima
