// SPDX-License-Identifier: Apache-2.0
// core/loader: birth and end of a plugin instance.
#include "core/loader/instance.hpp"

#include <algorithm>
#include <cstddef>

#include "core/loader/negotiate.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

constexpr size_t kMostDevices = 4096;
constexpr size_t kDeviceNeeded = offsetof(optima_device, id);

std::string_view class_name(uint32_t device_class) {
  static constexpr std::string_view names[] = {"other", "cpu", "gpu", "npu", "tpu", "dsp"};
  return device_class < std::size(names) ? names[device_class] : names[0];
}

std::string shown(const TypedOption& o) {
  switch (o.type) {
    case OPTIMA_OPTION_I64: return std::to_string(o.i64);
    case OPTIMA_OPTION_F64: return cat(o.f64);
    case OPTIMA_OPTION_LIST: return join(o.list, ",");
    default: return plain_line(o.text);
  }
}

TypedOption owned(const optima_option& raw) {
  TypedOption o;
  o.name = seam::text(raw.name, 256);
  o.type = raw.type;
  o.i64 = raw.i64;
  o.f64 = raw.f64;
  o.text = seam::raw_text(raw.str);
  const optima_option* item = raw.list;
  for (uint32_t i = 0; item && i < raw.list_count && seam::sane(item, offsetof(optima_option, list)); ++i, item = OPTIMA_NEXT(optima_option, item))
    o.list.push_back(seam::raw_text(seam::known(item).str));
  return o;
}

OwnedDevice owned(const optima_device& raw) {
  OwnedDevice d;
  d.device_class = raw.device_class;
  d.flags = raw.flags;
  d.info = {seam::text(raw.kind, 64), std::string(class_name(raw.device_class)), seam::text(raw.id, 256), seam::text(raw.arch, 256), seam::text(raw.driver, 256), raw.ordinal, {}};
  const optima_option* attr = raw.attrs;
  for (uint32_t i = 0; attr && i < raw.attr_count && seam::sane(attr, offsetof(optima_option, list)); ++i, attr = OPTIMA_NEXT(optima_option, attr)) {
    d.attributes.push_back(owned(seam::known(attr)));
    d.info.attributes[d.attributes.back().name] = shown(d.attributes.back());
  }
  return d;
}

struct DeviceList {
  std::vector<OwnedDevice> devices;
  std::string misdeed;
  std::string twice;  // the first that was told again

  static bool same(const OwnedDevice& a, const OwnedDevice& b) {
    return a.info.kind == b.info.kind && a.is_refused() == b.is_refused() && (a.is_refused() || a.info.ordinal == b.info.ordinal);
  }
  static int32_t add(void* self, const optima_device* device) {
    return seam::Collected<DeviceList>::add(self, [&](DeviceList& list) -> int32_t {
      if (!seam::sane(device, kDeviceNeeded)) return list.misdeed = "added a device struct of impossible size", OPTIMA_INVALID_ARGUMENT;
      if (list.devices.size() >= kMostDevices) return list.misdeed = "added too many devices", OPTIMA_INVALID_ARGUMENT;
      OwnedDevice one = owned(seam::known(device));
      if (std::none_of(list.devices.begin(), list.devices.end(), [&](const OwnedDevice& d) { return same(d, one); })) list.devices.push_back(std::move(one));
      else if (list.twice.empty()) list.twice = one.is_refused() ? one.info.kind : cat(one.info.kind, ":", one.info.ordinal);
      return OPTIMA_OK;
    });
  }
};

// Constructors of the library run here.
Result<Library*> loaded(const Instance::Setup& setup, const std::string& id) {
  const seam::InCall inside(id, "being loaded");
  return open_library(setup.path, setup.stamp);
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::make(Setup setup, const std::function<void(const char*)>& step) {
  std::shared_ptr<Instance> self(new Instance);
  const std::string who = cat("plugin ", quote(setup.manifest->id));
  self->id_ = setup.manifest->id;
  if (step) step("being loaded");
  auto library = loaded(setup, self->id_);
  if (!library.ok()) return library.status().within(who);
  Library* file = *library;
  OPTIMA_ASSIGN(self->host_, HostTable::make(self->id_, setup.path, std::move(setup.services), std::move(setup.blobs)));
  if (file->gate.is_held_here()) return plugin_error(cat(who, ": cannot be started from inside a call into ", quote(setup.path)));
  const Gate::Setup setting_up(file->gate);
  if (setup.manifest->single_instance && file->instances > 0)
    return plugin_error(cat(who, ": allows one instance in a process, and one is in use"));
  if (step) step("query");
  auto api = negotiate(file->query, *self->host_->raw(), served_majors(), self->id_);
  if (!api.ok()) return api.status().within(who);
  OPTIMA_RETURN_IF_ERROR(matches_note(*api, *setup.manifest).within(who));
  self->api_ = *api;
  self->library_ = file;
  if (const Status made = self->init(*setup.manifest, setup.options, step); !made.ok()) {
    if (self->handle_) seam::call_end(self->id_, "deinit", [&] { self->api_.deinit(self->handle_); });
    self->handle_ = nullptr;
    return made;
  }
  ++file->instances;
  return self;
}

Status Instance::init(const Manifest& manifest, const std::vector<TypedOption>& options, const std::function<void(const char*)>& step) {
  const OptionList list(options);
  seam::CallStatus status;
  if (step) step("init");
  optima_plugin* handle = nullptr;
  const int32_t code = seam::call(id_, "init", status, [&] { return api_.init(host_->raw(), list.data(), list.size(), &handle, status.raw()); });
  if (code != OPTIMA_OK) return status.as_status(id_, "init", code);
  if (!handle) return plugin_error(cat("plugin ", quote(id_), ": init: said OK and gave no instance"));
  handle_ = handle;
  return fetch_tables(manifest);
}

Instance::~Instance() {
  if (!handle_) return;
  if (library_->gate.is_held_here()) {  // it may be this instance, or one that sets up; what the plugin still uses must stay
    log(LogLevel::HostMisbehaves, id_, "the last owner let go inside a call into the plugin, which is therefore never ended");
    (void)host_.release();
    return;
  }
  const Gate::Setup setting_up(library_->gate);
  seam::call_end(id_, "deinit", [&] { api_.deinit(handle_); });
  --library_->instances;
}

const void* Instance::extension(std::string_view name) const {
  seam::CallStatus status;
  const void* table = nullptr;
  (void)seam::call(id_, "get_extension", status, [&] { return table = api_.get_extension(handle_, seam::str(name)), OPTIMA_OK; });
  return table;
}

template <class T>
Status Instance::fetch(const char* name, T& table) {
  const auto* offered = static_cast<const T*>(extension(name));
  if (!offered) return {};
  if (!seam::sane(offered, 2 * sizeof(uint32_t)))
    return plugin_error(cat("plugin ", quote(id_), ": its table ", name, " has size ", offered->struct_size, ", wanted ", sizeof(T), "..", seam::kLargestStruct));
  table = seam::known(offered);
  return {};
}

Status Instance::fetch_tables(const Manifest& manifest) {
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_COMPILER, compiler_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_RUNTIME, runtime_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_SCHEMA, schema_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_ASYNC, async_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_COST, cost_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_PROFILE, profile_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_MEMORY, memory_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_DOOR, doors_));
  OPTIMA_RETURN_IF_ERROR(fetch(OPTIMA_EXT_DESCRIBE, describer_));
  const auto lacks = [&](const char* table, const char* what) { return plugin_error(cat("plugin ", quote(id_), ": its note promises ", table, ", which lacks ", what)); };
  if (manifest.compiler && !compiler_.check) return lacks(OPTIMA_EXT_COMPILER, "check");
  if (manifest.compiler && !compiler_.compile) return lacks(OPTIMA_EXT_COMPILER, "compile");
  if (!manifest.runtime) return {};
  const std::pair<bool, const char*> needed[] = {
      {runtime_.check_artifact != nullptr, "check_artifact"}, {runtime_.load != nullptr, "load"},
      {runtime_.bindings != nullptr, "bindings"},             {runtime_.context_create != nullptr, "context_create"},
      {runtime_.context_destroy != nullptr, "context_destroy"}, {runtime_.program_destroy != nullptr, "program_destroy"},
      {runtime_.execute != nullptr, "execute"}};
  for (const auto& [present, name] : needed)
    if (!present) return lacks(OPTIMA_EXT_RUNTIME, name);
  return {};
}

Result<std::vector<OwnedDevice>> Instance::devices(std::string* why_none) const {
  OPTIMA_RETURN_IF_ERROR(usable("devices"));
  seam::Collected<DeviceList> collected;
  seam::CallStatus status;
  const int32_t code = enter("devices", status, [&] { return api_.devices(handle_, DeviceList::add, &collected, status.raw()); });
  DeviceList list = collected.take();
  if (!list.misdeed.empty()) {
    seam::misbehaves(id_, cat("devices: ", list.misdeed));
    return plugin_error(cat("plugin ", quote(id_), ": devices: it ", list.misdeed));
  }
  if (code != OPTIMA_OK) return status.as_status(id_, "devices", code);
  if (!list.twice.empty() && !told_twice_.exchange(true)) seam::misbehaves(id_, cat("devices: told ", list.twice, " twice, the first counts"));
  const bool none = std::all_of(list.devices.begin(), list.devices.end(), [](const OwnedDevice& d) { return d.is_refused(); });
  if (why_none) *why_none = none ? status.text() : "";
  return std::move(list.devices);
}

Status Instance::refuse_unusable(std::string_view what) const {
  return plugin_error(cat("plugin ", quote(id_), ": ", what, ": not called, because the plugin reported a fatal failure before"));
}

}  // namespace optima
