// SPDX-License-Identifier: Apache-2.0
// core/loader: the calls of a plugin as the other rooms see them. Runtime calls live in program.cpp.
#include "core/loader/file_plugin.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/loader/calibration.hpp"
#include "core/loader/doors.hpp"
#include "core/loader/program.hpp"
#include "core/loader/requests.hpp"
#include "core/loader/sink.hpp"
#include "core/loader/verdict_book.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

constexpr int32_t kLastDtype = 63;         // as in manifests: a type of the future is one
constexpr size_t kLongestBody = 1 << 20;  // bytes of a function body's text
constexpr size_t kLongestDescription = size_t{64} << 20;

optima_check_request check_request(const optima_graph* graph, std::span<const uint32_t> nodes, const OptionList& options, const optima_device* device, uint64_t memory) {
  optima_check_request r{};
  r.struct_size = sizeof r;
  r.graph = graph;
  r.nodes = nodes.data();
  r.node_count = static_cast<uint32_t>(nodes.size());
  r.options = options.data();
  r.option_count = options.size();
  r.device = device;
  r.memory_limit = memory;
  return r;
}

optima_door_request door_request(const optima_graph* graph, uint32_t value, const OptionList& options, const optima_device* device) {
  optima_door_request r{};
  r.struct_size = sizeof r;
  r.value = value;
  r.graph = graph;
  r.device = device;
  r.options = options.data();
  r.option_count = options.size();
  return r;
}

std::string value_name(const optima_graph& graph, uint32_t value) {
  return quote(seam::text(optima_string(graph.image, &optima_get_value(graph.image, value)->name), 256));
}

template <class Job>
using LentJob = seam::Collected<const Job*>;

/// Of a CompileJob or a LoadJob.
template <class Job>
optima_progress progress_of(LentJob<Job>& job) {
  optima_progress p{};
  p.struct_size = sizeof p;
  p.host_data = &job;
  p.report = [](void* self, double fraction, optima_str stage) {
    (void)LentJob<Job>::add(self, [&](const Job* j) {
      if (j->progress) j->progress(std::isfinite(fraction) ? std::min(fraction, 1.0) : -1.0, seam::text(stage, 256));
      return OPTIMA_OK;
    });
  };
  p.cancelled = [](void* self) -> int32_t {
    return LentJob<Job>::add(self, [](const Job* j) -> int32_t { return j->cancelled && j->cancelled->load(std::memory_order_relaxed); });
  };
  return p;
}

/// A CANCELLED that nobody asked for.
Status gave_up(std::string_view plugin, std::string_view call) {
  return plugin_error(cat("plugin ", quote(plugin), ": ", call, ": it gave up although nobody cancelled it"));
}

CompileFailure failed(Status status, int32_t code = OPTIMA_INTERNAL) { return {std::move(status), code, {}}; }

struct InferredTypes {
  std::vector<image::Value> outputs;
  std::vector<bool> told;
  std::string misdeed;

  static int32_t set(void* self, uint32_t output, const optima_type* type) {
    return seam::Collected<InferredTypes>::add(self, [&](InferredTypes& all) -> int32_t {
      if (!all.misdeed.empty()) return OPTIMA_INVALID_ARGUMENT;  // the first one counts
      const auto broken = [&](std::string what) { return all.misdeed = std::move(what), OPTIMA_INVALID_ARGUMENT; };
      if (!seam::sane(type, offsetof(optima_type, symbols))) return broken("gave a type of impossible size");
      const optima_type t = seam::known(type);
      if (output >= all.outputs.size()) return broken("gave a type for an output that the node does not have");
      if (t.rank < -1 || t.rank > 64 || (t.rank > 0 && !t.dims)) return broken("gave a type of impossible rank");
      if (t.dtype < OPTIMA_UNDEFINED || t.dtype > kLastDtype) return broken(cat("gave output ", output, " the dtype ", t.dtype, ", wanted 0..", kLastDtype));
      for (int32_t d = 0; d < t.rank; ++d)
        if (t.dims[d] < -1) return broken(cat("gave dim ", d, " of output ", output, " the size ", t.dims[d], ", wanted -1 or more"));
      image::Value& v = all.outputs[output];
      v.kind = t.kind;
      v.dtype = t.dtype;
      v.dims.reset();
      if (t.rank >= 0) v.dims.emplace();
      for (int32_t d = 0; d < t.rank; ++d) v.dims->push_back({t.dims[d], t.symbols ? seam::text(t.symbols[d], 256) : std::string()});
      all.told[output] = true;
      return OPTIMA_OK;
    });
  }
};

struct BodyText {
  std::string text, misdeed;
  bool told = false;

  static int32_t set(void* self, optima_str text) {
    return seam::Collected<BodyText>::add(self, [&](BodyText& body) -> int32_t {
      if (body.told) return body.misdeed = "gave two texts for one node", OPTIMA_INVALID_ARGUMENT;
      body.told = true;
      if (text.size > kLongestBody) return body.misdeed = cat("gave a text of ", text.size, " bytes, wanted at most ", kLongestBody), OPTIMA_INVALID_ARGUMENT;
      body.text = seam::raw_text(text, kLongestBody);
      return OPTIMA_OK;
    });
  }
};

struct Description {
  std::string json, misdeed;
  bool told = false;

  static int32_t set(void* self, optima_str text) {
    return seam::Collected<Description>::add(self, [&](Description& d) -> int32_t {
      if (d.told) return d.misdeed = "gave two descriptions of one file", OPTIMA_INVALID_ARGUMENT;
      d.told = true;
      if (text.size > kLongestDescription) return d.misdeed = cat("gave a description of ", text.size, " bytes, wanted at most ", kLongestDescription), OPTIMA_INVALID_ARGUMENT;
      d.json = seam::raw_text(text, kLongestDescription);
      return OPTIMA_OK;
    });
  }
};

using CostList = seam::Collected<std::vector<NodeCost>>;

int32_t add_costs(void* self, const optima_cost* first, uint32_t count) {
  return CostList::add(self, [&](std::vector<NodeCost>& costs) -> int32_t {
    for (; count > 0; --count, first = OPTIMA_NEXT(optima_cost, first)) {
      if (!seam::sane(first, offsetof(optima_cost, flags))) return OPTIMA_INVALID_ARGUMENT;
      const optima_cost c = seam::known(first);
      costs.push_back({c.node, c.microseconds, c.device_bytes, (c.flags & 1) != 0});
    }
    return OPTIMA_OK;
  });
}

}  // namespace

Result<std::shared_ptr<Instance>> FilePlugin::instance() {
  const std::lock_guard lock(mutex_);
  if (instance_) return instance_;
  if (!failure_.ok()) return failure_;
  auto made = Instance::make({&manifest_, path_, stamp_, options_of("init", -1), shared_->services, shared_->blobs});
  if (!made.ok()) {
    failure_ = made.status();
    return failure_;
  }
  instance_ = *made;
  return instance_;
}

std::vector<TypedOption> FilePlugin::options_of(std::string_view scope, int64_t threads) const {
  return options_for(manifest_, scope, *shared_->options(), threads);
}

std::vector<EffectiveOption> FilePlugin::options() const { return effective_options(manifest_, *shared_->options()); }

Status FilePlugin::role(bool has, std::string_view wanted) const {
  return has ? Status() : plugin_error(cat("plugin ", quote(manifest_.id), ": ", quote(path_), " has no ", wanted, " half"));
}

Status FilePlugin::serves(const TargetDevice& device) const {
  if (manifest_.find_kind(device.kind)) return {};
  std::vector<std::string> kinds;
  for (const DeviceKind& k : manifest_.devices) kinds.push_back(k.kind);
  return plugin_error(cat("plugin ", quote(manifest_.id), ": serves ", kinds.empty() ? "no device" : join(kinds), ", not ", quote(device.kind)));
}

Result<std::vector<DeviceInfo>> FilePlugin::devices(std::string* why_none) {
  OPTIMA_ASSIGN(const auto self, instance());
  OPTIMA_ASSIGN(const auto found, self->devices(why_none));
  std::vector<DeviceInfo> infos;
  for (const OwnedDevice& d : found)
    if (!d.is_refused()) infos.push_back(d.info);
  return infos;
}

std::vector<RefusedKind> FilePlugin::refused_kinds() {
  std::vector<RefusedKind> out;
  const auto self = instance();
  if (!self.ok()) return out;
  if (const auto found = (*self)->devices(nullptr); found.ok())
    for (const OwnedDevice& d : *found)
      if (d.is_refused()) out.push_back({d.info.kind, d.info.device_class, d.info.arch});
  return out;
}

// What devices() said when it first gave an answer: requests of one run must not differ because a device came or went. A failure is no
// answer: the next request asks again.
Result<std::shared_ptr<const FilePlugin::Told>> FilePlugin::told() {
  {
    const std::lock_guard lock(told_mutex_);
    if (told_) return told_;
  }
  OPTIMA_ASSIGN(const auto self, instance());
  Told answer;
  OPTIMA_ASSIGN(answer.devices, self->devices(&answer.why_none));
  const std::lock_guard lock(told_mutex_);
  if (!told_) told_ = std::make_shared<const Told>(std::move(answer));
  return told_;
}

std::optional<OwnedDevice> FilePlugin::present(const TargetDevice& device) {
  const auto all = told();
  return all.ok() ? (*all)->find(device) : std::nullopt;
}

std::optional<OwnedDevice> FilePlugin::Told::find(const TargetDevice& device) const {
  for (const OwnedDevice& d : devices)
    if (!d.is_refused() && d.info.kind == device.kind && d.info.ordinal == device.slot) return d;
  return std::nullopt;
}

Result<std::optional<OwnedDevice>> FilePlugin::device_to_run_on(const TargetDevice& device) {
  OPTIMA_RETURN_IF_ERROR(serves(device));
  const bool is_virtual = manifest_.find_kind(device.kind)->is_virtual;
  const auto all = told();
  if (!all.ok() && is_virtual) return std::optional<OwnedDevice>();
  if (!all.ok()) return all.status().within(cat("device ", device.kind, ":", device.slot));
  if (auto exact = (*all)->find(device)) return exact;
  std::vector<std::string> names;
  std::optional<OwnedDevice> first;
  std::string why = (*all)->why_none;
  for (const OwnedDevice& d : (*all)->devices) {
    if (d.info.kind != device.kind) continue;
    if (d.is_refused()) {
      why = d.info.arch;
      continue;
    }
    if (!first) first = d;
    names.push_back(cat(d.info.kind, ":", d.info.ordinal));
  }
  if (is_virtual) return first;  // any slot may run on what there is
  {
    const std::lock_guard lock(told_mutex_);
    told_.reset();  // it may have come by the next time
  }
  const std::string reason = !names.empty() ? cat(", it has ", join(names)) : why.empty() ? "" : cat(": ", why);
  return plugin_error(cat("plugin ", quote(manifest_.id), ": device ", device.kind, ":", device.slot, " is not on this machine", reason));
}

Result<Answers> FilePlugin::ask(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) {
  OPTIMA_RETURN_IF_ERROR(role(manifest_.compiler, "compiler"));
  OPTIMA_RETURN_IF_ERROR(serves(device));
  OPTIMA_ASSIGN(const auto self, instance());
  OPTIMA_RETURN_IF_ERROR(self->usable("check"));
  const LentGraph lent(self->blobs(), graph, {});
  const RequestDevice target(manifest_, device, present(device));
  const OptionList options(options_of("compile", -1));
  const optima_check_request request = check_request(lent.raw(), nodes, options, target.raw(), device.memory_limit);
  VerdictBook book(manifest_.id, nodes);
  seam::CallStatus status;
  const int32_t code = self->enter("check", status, [&] {
    return self->compiler().check(self->handle(), &request, VerdictBook::report, &book, status.raw());
  });
  if (const std::string damage = book.damage(); !damage.empty()) return plugin_error(cat("plugin ", quote(manifest_.id), ": check: it ", damage));
  if (code == OPTIMA_DEPENDENCY)
    return Answers(all_refused(nodes, OPTIMA_REASON_DEPENDENCY, status.as_status(manifest_.id, "check", code).message(), status.text()));
  // A mistyped option must not become a placement elsewhere.
  if (code == OPTIMA_INVALID_ARGUMENT && (!device.attributes.empty() || !options_set(manifest_, "compile", *shared_->options()).empty()))
    return Status(StatusKind::Usage, status.as_status(manifest_.id, "check", code).message());
  if (code != OPTIMA_OK) return status.as_status(manifest_.id, "check", code);
  book.hold_to_note(manifest_, device.kind, graph);
  return Answers(book.finish());
}

std::variant<Compiled, CompileFailure> FilePlugin::compile(const CompileJob& job) {
  if (const Status s = role(manifest_.compiler, "compiler"); !s.ok()) return failed(s);
  if (const Status s = serves(job.device); !s.ok()) return failed(s);
  const auto made = instance();
  if (!made.ok()) return failed(made.status());
  const auto& self = *made;
  if (const Status s = self->usable("compile"); !s.ok()) return failed(s);
  const LentGraph lent(self->blobs(), *job.graph, job.blobs);
  const RequestDevice target(manifest_, job.device, present(job.device));
  const OptionList options(options_of("compile", job.threads));
  // Not on the stack: there the next call's status may lie where this one's lock was, which race checkers take for the same lock.
  const auto kept = std::make_unique<Sink>(manifest_.id, job.folder, *job.graph);
  Sink& sink = *kept;
  if (const Status s = sink.open(); !s.ok()) return failed(s, OPTIMA_IO);
  LentJob<CompileJob> lent_job(&job);
  const optima_progress progress = progress_of(lent_job);
  optima_compile_request request{};
  request.struct_size = sizeof request;
  request.graph = lent.raw();
  request.options = options.data();
  request.option_count = options.size();
  request.device = target.raw();
  request.memory_limit = job.device.memory_limit;
  request.stem = seam::str(job.stem);
  LentCalibration calibration(job.calibration, *job.graph);
  request.calibration = calibration.raw();
  const LentDoors doors(job.doors);
  request.doors = doors.data();
  request.door_count = doors.size();
  const LentSizes sizes(job.sizes);
  request.sizes = sizes.data();
  request.size_count = sizes.size();

  seam::CallStatus status;
  const int32_t code = self->enter("compile", status, [&] {
    return self->compiler().compile(self->handle(), &request, sink.raw(), &progress, status.raw());
  });
  if (job.cancelled && job.cancelled->load()) return failed(cancelled(), OPTIMA_CANCELLED);
  if (const Status s = sink.failure(); !s.ok()) return failed(s, s.kind() == StatusKind::Io ? OPTIMA_IO : OPTIMA_INTERNAL);
  if (const Status s = calibration.failure(); !s.ok()) return failed(s);
  if (code != OPTIMA_OK) return compile_failure(*job.graph, sink.refused(), status, code);
  auto compiled = sink.finish();
  if (!compiled.ok()) return failed(compiled.status(), compiled.status().kind() == StatusKind::Io ? OPTIMA_IO : OPTIMA_INTERNAL);
  return std::move(*compiled);
}

// Who refused by the sink and blames a node besides refused both.
CompileFailure FilePlugin::compile_failure(const optima_graph& graph, const std::vector<Verdict>& refused, const seam::CallStatus& status, int32_t code) const {
  CompileFailure out = failed(code == OPTIMA_CANCELLED ? gave_up(manifest_.id, "compile") : status.as_status(manifest_.id, "compile", code), code);
  for (Verdict v : refused) {
    const std::string reason = v.reason == OPTIMA_REASON_OTHER ? "" : cat(" (", reason_name(v.reason), ")");
    v.text = cat("plugin ", quote(manifest_.id), ": compile: ", v.text, reason);
    out.refused.push_back(std::move(v));
  }
  const uint32_t node = status.node();
  if (node == OPTIMA_NONE || std::any_of(refused.begin(), refused.end(), [&](const Verdict& v) { return v.node == node; })) return out;
  if (optima_find_node(graph.image, node)) out.refused.push_back({node, OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_OTHER, OPTIMA_NONE, "", "", "", out.status.message()});
  else seam::misbehaves(manifest_.id, cat("compile: blames node ", node, ", which the graph does not have"));
  return out;
}

bool FilePlugin::has_schema() {
  const auto self = instance();
  return self.ok() && (*self)->schema().infer;
}

Result<std::vector<image::Value>> FilePlugin::infer(const optima_graph& graph, uint32_t node_index) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!self->schema().infer) return plugin_error(cat("plugin ", quote(manifest_.id), ": has no optima.schema/1"));
  if (node_index >= graph.image->nodes.count) return internal_error(cat("infer: no node ", node_index, " in the graph"));
  const LentGraph lent(self->blobs(), graph, {});
  const optima_node& node = *optima_get_node(graph.image, node_index);
  const uint32_t count = node.outputs.count;
  seam::Collected<InferredTypes> collected({std::vector<image::Value>(count), std::vector<bool>(count), ""});
  const Status done = self->run("infer", [&](optima_status* s) {
    return self->schema().infer(self->handle(), lent.raw(), node_index, InferredTypes::set, &collected, s);
  });
  InferredTypes types = collected.take();
  const auto broken = [&](const std::string& misdeed) {
    return plugin_error(cat("plugin ", quote(manifest_.id), ": infer: for node ", quote(seam::raw_text(optima_string(graph.image, &node.name))), " (",
                            seam::text(optima_string(graph.image, &node.op_type)), ") it ", misdeed));
  };
  if (!types.misdeed.empty()) return broken(types.misdeed);
  OPTIMA_RETURN_IF_ERROR(done);
  for (uint32_t k = 0; k < count; ++k)
    if (!types.told[k]) return broken(cat("gave no type for output ", k));
  return std::move(types.outputs);
}

Result<std::string> FilePlugin::function_body(const optima_graph& graph, uint32_t node_index) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!self->schema().function_body) return std::string();
  OPTIMA_RETURN_IF_ERROR(self->usable("function_body"));
  const LentGraph lent(self->blobs(), graph, {});
  seam::Collected<BodyText> collected;
  seam::CallStatus status;
  const int32_t code = self->enter("function_body", status, [&] {
    return self->schema().function_body(self->handle(), lent.raw(), node_index, BodyText::set, &collected, status.raw());
  });
  BodyText body = collected.take();
  if (!body.misdeed.empty()) return plugin_error(cat("plugin ", quote(manifest_.id), ": function_body: it ", body.misdeed));
  if (code == OPTIMA_NOT_FOUND) return std::string();
  if (code != OPTIMA_OK) return status.as_status(manifest_.id, "function_body", code);
  if (body.text.empty()) return plugin_error(cat("plugin ", quote(manifest_.id), ": function_body: it said OK and gave no text"));
  return std::move(body.text);
}

Result<bool> FilePlugin::evaluate(const optima_graph& graph, uint32_t node_index, std::span<const optima_tensor> inputs, std::span<optima_tensor> outputs) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!self->schema().evaluate) return false;
  OPTIMA_RETURN_IF_ERROR(self->usable("evaluate"));
  const LentGraph lent(self->blobs(), graph, {});
  seam::CallStatus status;
  const int32_t code = self->enter("evaluate", status, [&] {
    return self->schema().evaluate(self->handle(), lent.raw(), node_index, inputs.data(), static_cast<uint32_t>(inputs.size()), outputs.data(),
                                   static_cast<uint32_t>(outputs.size()), status.raw());
  });
  if (code == OPTIMA_NOT_FOUND) return false;
  if (code != OPTIMA_OK) return status.as_status(manifest_.id, "evaluate", code);
  return true;
}

Result<std::vector<NodeCost>> FilePlugin::estimate(const optima_graph& graph, std::span<const uint32_t> nodes, const TargetDevice& device) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!self->cost().estimate) return std::vector<NodeCost>{};
  const LentGraph lent(self->blobs(), graph, {});
  const RequestDevice target(manifest_, device, present(device));
  const OptionList options(options_of("compile", -1));
  const optima_check_request request = check_request(lent.raw(), nodes, options, target.raw(), device.memory_limit);
  CostList list;
  OPTIMA_RETURN_IF_ERROR(self->run("estimate", [&](optima_status* s) { return self->cost().estimate(self->handle(), &request, add_costs, &list, s); }));
  return list.take();
}

bool FilePlugin::has_doors() {
  const auto self = instance();
  return self.ok() && (*self)->doors().offer && (*self)->doors().take;
}

Result<std::vector<Door>> FilePlugin::offer_doors(const optima_graph& graph, uint32_t value, const TargetDevice& device) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!has_doors()) return std::vector<Door>{};
  const LentGraph lent(self->blobs(), graph, {});
  const RequestDevice target(manifest_, device, present(device));
  const OptionList options(options_of("compile", -1));
  const optima_door_request request = door_request(lent.raw(), value, options, target.raw());
  seam::Collected<OfferedDoors> collected(OfferedDoors::of(graph.image, value));
  const Status ran =
      self->run("offer", [&](optima_status* s) { return self->doors().offer(self->handle(), &request, OfferedDoors::add, &collected, s); });
  OfferedDoors offered = collected.take();
  if (!offered.misdeed.empty()) {
    seam::misbehaves(manifest_.id, cat("offer: ", offered.misdeed));
    return plugin_error(cat("plugin ", quote(manifest_.id), ": offer: for ", value_name(graph, value), " it ", offered.misdeed));
  }
  OPTIMA_RETURN_IF_ERROR(ran);
  return std::move(offered.doors);
}

Result<bool> FilePlugin::takes_door(const optima_graph& graph, uint32_t value, const Door& door, const TargetDevice& device) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!has_doors()) return false;
  const LentGraph lent(self->blobs(), graph, {});
  const RequestDevice target(manifest_, device, present(device));
  const OptionList options(options_of("compile", -1));
  const optima_door_request request = door_request(lent.raw(), value, options, target.raw());
  const optima_door raw = seam_door(door);
  int32_t taken = 0;
  OPTIMA_RETURN_IF_ERROR(self->run("take", [&](optima_status* s) { return self->doors().take(self->handle(), &request, &raw, &taken, s); }));
  if (taken != 0 && taken != 1) {
    seam::misbehaves(manifest_.id, cat("take: answered ", taken));
    return plugin_error(cat("plugin ", quote(manifest_.id), ": take: for ", value_name(graph, value), " it answered ", taken, ", wanted 0 or 1"));
  }
  return taken == 1;
}

DeviceAllocator* FilePlugin::memory() {
  if (!instance().ok()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!memory_ && PluginMemory::is_whole(instance_->memory())) memory_.emplace(manifest_.id, instance_->memory(), instance_->handle());
  return memory_ ? &*memory_ : nullptr;
}

Result<Backend::Compatibility> FilePlugin::check_artifact(const Artifact& artifact, const TargetDevice& device) {
  OPTIMA_RETURN_IF_ERROR(role(manifest_.runtime, "runtime"));
  OPTIMA_RETURN_IF_ERROR(serves(device));
  OPTIMA_ASSIGN(const auto self, instance());
  const LentArtifact lent(self->blobs(), artifact, nullptr);
  const RequestDevice target(manifest_, device, present(device));
  return judge_artifact(*self, *lent.raw(), *target.raw());
}

Result<std::unique_ptr<LoadedProgram>> FilePlugin::load(Artifact artifact, const TargetDevice& device, const LoadJob& job) {
  OPTIMA_RETURN_IF_ERROR(role(manifest_.runtime, "runtime"));
  OPTIMA_ASSIGN(const auto self, instance());
  OPTIMA_ASSIGN(const std::optional<OwnedDevice> physical, device_to_run_on(device));
  LentJob<LoadJob> lent_job(&job);
  const optima_progress progress = progress_of(lent_job);
  const LentArtifact lent(self->blobs(), artifact, &progress);
  const RequestDevice target(manifest_, device, physical);
  const OptionList options(options_of("load", job.threads));
  warn_of_context_options(*self);
  auto program = load_program(self, *lent.raw(), *target.raw(), options, options_of("context", -1));
  if (job.cancelled && job.cancelled->load()) return cancelled();
  if (program.status().kind() == StatusKind::Cancelled) return gave_up(manifest_.id, "load");
  return program;
}

Result<std::optional<std::string>> FilePlugin::describe(const ArtifactFile& file) {
  OPTIMA_ASSIGN(const auto self, instance());
  if (!self->describer().describe) return std::optional<std::string>();
  OPTIMA_RETURN_IF_ERROR(self->usable("describe"));
  const LentFile lent(self->blobs(), file);
  seam::Collected<Description> collected;
  seam::CallStatus status;
  const int32_t code = self->enter("describe", status, [&] {
    return self->describer().describe(self->handle(), lent.raw(), Description::set, &collected, status.raw());
  });
  Description made = collected.take();
  if (!made.misdeed.empty()) return plugin_error(cat("plugin ", quote(manifest_.id), ": describe: it ", made.misdeed));
  if (code == OPTIMA_NOT_FOUND) return std::optional<std::string>();
  if (code != OPTIMA_OK) return status.as_status(manifest_.id, "describe", code);
  if (!made.told) return plugin_error(cat("plugin ", quote(manifest_.id), ": describe: it said OK and gave nothing"));
  return std::optional(std::move(made.json));
}

// Once, since every load would say the same.
void FilePlugin::warn_of_context_options(const Instance& plugin) {
  if (plugin.runtime().context_open || told_of_context_.load(std::memory_order_relaxed)) return;
  const std::vector<std::string> names = options_set(manifest_, "context", *shared_->options());
  if (names.empty() || told_of_context_.exchange(true)) return;
  for (const std::string& name : names)
    log(LogLevel::Warn, manifest_.id, cat("option ", quote(name), " has no effect: plugin ", quote(manifest_.id), " makes contexts without options"));
}

}  // namespace optima
