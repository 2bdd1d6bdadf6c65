// SPDX-License-Identifier: Apache-2.0
// core/runtime: the public C API over contexts, models and requests. Nothing throws past here.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <new>

#include "core/runtime/context.hpp"
#include "core/runtime/include/optima/runtime.h"
#include "core/runtime/model.hpp"
#include "core/runtime/request.hpp"
#include "core/support/log.hpp"
#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"

using namespace optima;

struct optima_rt_context {
  explicit optima_rt_context(std::unique_ptr<PluginSource> plugins, uint32_t workers) : context(std::move(plugins), workers) {}
  RuntimeContext context;
};

struct optima_rt_model {
  std::unique_ptr<LoadedModel> model;
  std::deque<std::vector<const char*>> symbols;  // per input, then per output
  std::deque<std::vector<const char*>> texts;    // the same
};

struct optima_rt_request {
  std::unique_ptr<Request> request;
  std::deque<Tensor> views;  // keeps shapes of tensors handed out: one per output, then one per input
};

namespace {

int32_t code_of(StatusKind kind) {
  switch (kind) {
    case StatusKind::Ok: return OPTIMA_RT_OK;
    case StatusKind::Usage: return OPTIMA_RT_USAGE;
    case StatusKind::InvalidInput: return OPTIMA_RT_INVALID_INPUT;
    case StatusKind::Plugin:
    case StatusKind::Placement: return OPTIMA_RT_PLUGIN;
    case StatusKind::Io: return OPTIMA_RT_IO;
    case StatusKind::Cancelled: return OPTIMA_RT_CANCELLED;
    case StatusKind::Timeout: return OPTIMA_RT_TIMEOUT;
    default: return OPTIMA_RT_INTERNAL;
  }
}

// What the caller's struct_size covers of a struct; the rest is zero.
template <class T>
T take(const T* given) {
  T out{};
  if (given) std::memcpy(&out, given, std::min<size_t>(given->struct_size, sizeof out));
  out.struct_size = sizeof out;
  return out;
}

// The other way: fills what the caller's struct_size covers.
template <class T>
void give(T* to, T value) {
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min<size_t>(value.struct_size, sizeof value));
}

void fill_text(optima_rt_error& e, const std::string& text) {
  const size_t n = std::min(text.size(), sizeof e.text - 1);
  std::memcpy(e.text, text.data(), n);
  e.text[n] = '\0';
}

int32_t report(const Status& status, optima_rt_error* error) {
  const int32_t code = code_of(status.kind());
  if (!error) return code;
  optima_rt_error e{};
  e.code = code;
  fill_text(e, status.message());
  give(error, e);
  return code;
}

// Every fallible function's body runs in here; `tell`: report or report_run.
template <class F, class Tell>
int32_t guarded(optima_rt_error* error, F&& body, Tell&& tell) {
  try {
    return tell(body(), error);
  } catch (const std::bad_alloc&) {
    return report(io_error("out of memory"), error);
  } catch (const std::exception& e) {
    return report(internal_error(e.what()), error);
  } catch (...) {
    return report(internal_error("unknown exception"), error);
  }
}
template <class F>
int32_t guarded(optima_rt_error* error, F&& body) {
  return guarded(error, std::forward<F>(body), report);
}

// A run's outcome. Timeout is then the run's, and not that of a wait.
int32_t report_run(const Status& status, optima_rt_error* error) {
  const int32_t code = report(status, error);
  if (code != OPTIMA_RT_TIMEOUT) return code;
  constexpr uint32_t kCode = offsetof(optima_rt_error, code);
  if (error && error->struct_size >= kCode + sizeof error->code) error->code = OPTIMA_RT_DEADLINE;
  return OPTIMA_RT_DEADLINE;
}

Status wanted(bool there, std::string_view what) { return there ? Status() : usage_error(cat(what, " is null")); }

std::string text_or_empty(const char* s) { return s ? s : ""; }

// Steps through a caller's array by its own element size, which may be larger or smaller than ours.
template <class T>
T element(const T* first, uint32_t i) {
  return take(reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + static_cast<size_t>(i) * first->struct_size));
}

void set_log_from(const optima_rt_context_options& o) {
  if (!o.log) return;
  set_log([log = o.log, data = o.log_data](LogLevel level, std::string_view component, std::string_view text) {
    log(data, static_cast<int32_t>(std::min(level, LogLevel::Error)), std::string(component).c_str(), std::string(text).c_str());
  }, static_cast<LogLevel>(std::clamp(o.log_level, 0, 4)));
}

PackageOptions package_options(const optima_rt_load_options& o) { return {(o.flags & OPTIMA_RT_VERIFY) != 0, text_or_empty(o.cache_folder)}; }

Status finish_load(optima_rt_context* context, PackageReader package, const optima_rt_load_options& o, optima_rt_model** out) {
  std::atomic<bool> stop{false};
  LoadOptions options;
  options.threads = o.threads;
  options.cancelled = &stop;
  if (o.progress)
    options.progress = [&](double fraction, std::string_view stage) {
      if (o.progress(o.progress_data, fraction, std::string(stage).c_str()) != 0) stop = true;
    };
  OPTIMA_ASSIGN(std::unique_ptr<LoadedModel> model, LoadedModel::load(context->context, std::move(package), options));
  auto handle = std::make_unique<optima_rt_model>();
  for (const auto* infos : {&model->inputs(), &model->outputs()})
    for (const TensorInfo& info : *infos) {
      std::vector<const char*>& symbols = handle->symbols.emplace_back(info.shape.size(), "");
      for (size_t i = 0; i < info.symbols.size() && i < symbols.size(); ++i) symbols[i] = info.symbols[i].c_str();
      std::vector<const char*>& texts = handle->texts.emplace_back();
      for (size_t i = 0; info.texts && i < info.texts->size(); ++i) texts.push_back((*info.texts)[i].c_str());
      texts.push_back(nullptr);  // a table of no texts is not null
    }
  handle->model = std::move(model);
  *out = handle.release();
  return {};
}

Status give_info(const optima_rt_model& model, const std::vector<TensorInfo>& infos, size_t base, uint32_t index, optima_rt_tensor_info* out,
                 std::string_view what) {
  OPTIMA_RETURN_IF_ERROR(wanted(out, "info"));
  if (index >= infos.size()) return invalid_input(cat(what, " number ", index, " found, wanted a number below ", infos.size()));
  const TensorInfo& info = infos[index];
  optima_rt_tensor_info v{};
  v.dtype = info.dtype;
  v.name = info.name.c_str();
  v.rank = info.unranked ? -1 : static_cast<int32_t>(info.shape.size());
  v.shape = info.unranked ? nullptr : info.shape.data();
  v.symbols = info.unranked ? nullptr : model.symbols[base + index].data();
  v.texts = info.texts ? model.texts[base + index].data() : nullptr;
  v.text_count = info.texts ? info.texts->size() : 0;
  give(out, v);
  return {};
}

Status find_name(const std::vector<TensorInfo>& infos, const char* name, uint32_t* index, std::string_view what) {
  OPTIMA_RETURN_IF_ERROR(wanted(name && index, "name or index"));
  std::vector<std::string> names;
  for (uint32_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return *index = i, Status();
    names.push_back(infos[i].name);
  }
  return invalid_input(cat("the model has no ", what, " ", quote(name), nearest_hint(name, names), ", wanted one of ", join(names)));
}

void give_events(const std::vector<ProfileEvent>& events, void (*add)(void*, const optima_rt_event*), void* data) {
  for (const ProfileEvent& e : events) {
    const optima_rt_event v{sizeof v, static_cast<uint32_t>(e.kind), e.start_ns, e.duration_ns, e.name.c_str(), e.index, e.track};
    add(data, &v);
  }
}

void give_tensor(optima_rt_tensor* to, const Tensor& t) {
  optima_rt_tensor v{};
  v.dtype = t.dtype;
  v.name = t.name.c_str();
  v.shape = t.shape.data();
  v.data = t.data;
  v.size = t.size;
  v.rank = static_cast<int32_t>(t.shape.size());
  give(to, v);
}

Status check_rank(int32_t rank, const int64_t* shape) {
  if (rank < 0 || rank > kMostDims || (rank > 0 && !shape)) return invalid_input(cat("found rank ", rank, ", wanted 0 to ", kMostDims, " with a shape"));
  return {};
}

}  // namespace

extern "C" {

uint32_t optima_rt_version(void) { return OPTIMA_RT_VERSION_MAJOR << 16 | OPTIMA_RT_VERSION_MINOR; }

int32_t optima_rt_context_create(const optima_rt_context_options* options, optima_rt_context** context, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(context, "context"));
    const optima_rt_context_options o = take(options);
    set_log_from(o);
    PluginFolders folders;
    folders.allow_writable = o.flags & OPTIMA_RT_ALLOW_WRITABLE;
    for (uint32_t i = 0; i < o.plugin_folder_count; ++i) folders.folders.push_back(text_or_empty(o.plugin_folders[i]));
    for (uint32_t i = 0; i < o.setting_count; ++i) {
      const optima_rt_setting s = element(o.settings, i);
      folders.options[text_or_empty(s.name)] = text_or_empty(s.value);
    }
    OPTIMA_ASSIGN(std::unique_ptr<PluginSource> plugins, scan_plugins(std::move(folders)));
    *context = new optima_rt_context(std::move(plugins), o.workers);
    return {};
  });
}

void optima_rt_context_destroy(optima_rt_context* context) { delete context; }

int32_t optima_rt_context_add_plugins(optima_rt_context* context, const char* folder, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(context && folder, "context or folder"));
    return context->context.plugins().add_folder(folder);
  });
}

int32_t optima_rt_context_devices(optima_rt_context* context, void (*add)(void*, const optima_rt_device*), void* data, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(context && add, "context or add"));
    OPTIMA_RETURN_IF_ERROR(context->context.plugins().settled());
    for (Backend* plugin : context->context.plugins().plugins()) {
      std::string why_none;
      const auto devices = plugin->devices(&why_none);
      if (!devices.ok()) {
        log(LogLevel::Warn, "runtime", cat("plugin ", plugin->manifest().id, " cannot list devices: ", devices.status().message()));
        continue;
      }
      for (const DeviceInfo& d : *devices) {
        const optima_rt_device v{sizeof v, d.ordinal, plugin->manifest().id.c_str(), d.kind.c_str(), d.id.c_str(), d.arch.c_str(), d.driver.c_str()};
        add(data, &v);
      }
    }
    return {};
  });
}

int32_t optima_rt_model_load(optima_rt_context* context, const char* path, const optima_rt_load_options* options, optima_rt_model** model,
                             optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(context && path && model, "context, path or model"));
    const optima_rt_load_options o = take(options);
    OPTIMA_ASSIGN(PackageReader package, PackageReader::open(std::string(path), package_options(o)));
    return finish_load(context, std::move(package), o, model);
  });
}

int32_t optima_rt_model_load_fd(optima_rt_context* context, int32_t folder_fd, const optima_rt_load_options* options, optima_rt_model** model,
                                optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(context && model, "context or model"));
    const optima_rt_load_options o = take(options);
    OPTIMA_ASSIGN(PackageReader package, PackageReader::open(static_cast<int>(folder_fd), package_options(o)));
    return finish_load(context, std::move(package), o, model);
  });
}

int32_t optima_rt_model_load_memory(optima_rt_context* context, const optima_rt_file* files, uint32_t file_count,
                                    const optima_rt_load_options* options, optima_rt_model** model, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(context && model && (files || file_count == 0), "context, files or model"));
    const optima_rt_load_options o = take(options);
    std::vector<std::pair<std::string, Blob>> list;
    for (uint32_t i = 0; i < file_count; ++i) {
      const optima_rt_file f = element(files, i);
      OPTIMA_RETURN_IF_ERROR(wanted(f.name && (f.data || f.size == 0), "name or data of a file"));
      Blob bytes;
      bytes.data = static_cast<const std::byte*>(f.data);
      bytes.size = f.size;
      list.emplace_back(f.name, o.flags & OPTIMA_RT_BORROW ? bytes : Blob::copy(f.data, f.size));
    }
    OPTIMA_ASSIGN(PackageReader package, PackageReader::open(std::move(list), package_options(o)));
    return finish_load(context, std::move(package), o, model);
  });
}

void optima_rt_model_destroy(optima_rt_model* model) { delete model; }

uint32_t optima_rt_model_input_count(const optima_rt_model* model) { return static_cast<uint32_t>(model->model->inputs().size()); }
uint32_t optima_rt_model_output_count(const optima_rt_model* model) { return static_cast<uint32_t>(model->model->outputs().size()); }
uint32_t optima_rt_model_subgraph_count(const optima_rt_model* model) { return static_cast<uint32_t>(model->model->subgraphs().size()); }

int32_t optima_rt_model_input(const optima_rt_model* m, uint32_t index, optima_rt_tensor_info* info, optima_rt_error* error) {
  return guarded(error, [&] { return give_info(*m, m->model->inputs(), 0, index, info, "input"); });
}

int32_t optima_rt_model_output(const optima_rt_model* m, uint32_t index, optima_rt_tensor_info* info, optima_rt_error* error) {
  return guarded(error, [&] { return give_info(*m, m->model->outputs(), m->model->inputs().size(), index, info, "output"); });
}

int32_t optima_rt_model_subgraph(const optima_rt_model* m, uint32_t index, optima_rt_subgraph_info* info, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    const std::vector<SubgraphInfo>& all = m->model->subgraphs();
    OPTIMA_RETURN_IF_ERROR(wanted(info, "info"));
    if (index >= all.size()) return invalid_input(cat("subgraph number ", index, " found, wanted a number below ", all.size()));
    const SubgraphInfo& s = all[index];
    give(info, {0, s.index, s.device.c_str(), s.plugin.c_str(), s.note.c_str()});
    return {};
  });
}

int32_t optima_rt_model_find_input(const optima_rt_model* m, const char* name, uint32_t* index, optima_rt_error* error) {
  return guarded(error, [&] { return find_name(m->model->inputs(), name, index, "input"); });
}

int32_t optima_rt_model_find_output(const optima_rt_model* m, const char* name, uint32_t* index, optima_rt_error* error) {
  return guarded(error, [&] { return find_name(m->model->outputs(), name, index, "output"); });
}

void optima_rt_model_profile(const optima_rt_model* m, void (*add)(void*, const optima_rt_event*), void* data) {
  give_events(m->model->events(), add, data);
}

int32_t optima_rt_request_create(optima_rt_model* model, optima_rt_request** request, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(model && request, "model or request"));
    auto handle = std::make_unique<optima_rt_request>();
    OPTIMA_ASSIGN(handle->request, Request::create(*model->model));
    handle->views.resize(model->model->outputs().size() + model->model->inputs().size());
    *request = handle.release();
    return {};
  });
}

void optima_rt_request_destroy(optima_rt_request* request) { delete request; }

int32_t optima_rt_request_set_input(optima_rt_request* r, uint32_t index, const optima_rt_tensor* tensor, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(tensor, "tensor"));
    const optima_rt_tensor given = take(tensor);
    OPTIMA_RETURN_IF_ERROR(check_rank(given.rank, given.shape));
    OPTIMA_RETURN_IF_ERROR(wanted(given.data || given.size == 0, "data"));
    Tensor t;
    t.dtype = given.dtype;
    t.shape.assign(given.shape, given.shape + given.rank);
    t.data = static_cast<std::byte*>(given.data);
    t.size = given.size;
    return r->request->set_input(index, std::move(t));
  });
}

int32_t optima_rt_request_input_buffer(optima_rt_request* r, uint32_t index, const int64_t* shape, int32_t rank, optima_rt_tensor* tensor,
                                       optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(tensor, "tensor"));
    OPTIMA_RETURN_IF_ERROR(check_rank(rank, shape));
    OPTIMA_ASSIGN(Tensor t, r->request->input_buffer(index, std::vector<int64_t>(shape, shape + rank)));
    Tensor& kept = r->views[r->request->model().outputs().size() + index];
    kept = std::move(t);
    give_tensor(tensor, kept);
    return {};
  });
}

int32_t optima_rt_request_bind_output(optima_rt_request* r, uint32_t index, void* data, uint64_t capacity, optima_rt_error* error) {
  return guarded(error, [&] { return r->request->bind_output(index, data, capacity); });
}

int32_t optima_rt_request_output(optima_rt_request* r, uint32_t index, optima_rt_tensor* tensor, optima_rt_error* error) {
  return guarded(error, [&]() -> Status {
    OPTIMA_RETURN_IF_ERROR(wanted(tensor, "tensor"));
    OPTIMA_ASSIGN(Tensor t, r->request->output(index));
    r->views[index] = std::move(t);
    give_tensor(tensor, r->views[index]);
    return {};
  });
}

int32_t optima_rt_request_run(optima_rt_request* r, optima_rt_error* error) {
  return guarded(error, [&] { return r->request->run(); }, report_run);
}

void optima_rt_request_set_callback(optima_rt_request* r, void (*callback)(void*, int32_t, const optima_rt_error*), void* data) {
  if (!callback) return r->request->set_callback(nullptr);
  r->request->set_callback([callback, data](const Status& status) {
    optima_rt_error e{};
    e.struct_size = sizeof e;
    callback(data, report_run(status, &e), &e);
  });
}

int32_t optima_rt_request_start(optima_rt_request* r, optima_rt_error* error) {
  return guarded(error, [&] { return r->request->start(); });
}

int32_t optima_rt_request_wait(optima_rt_request* r, int64_t timeout_ms, optima_rt_error* error) {
  bool still_running = false;
  return guarded(error, [&] { return r->request->wait(timeout_ms, &still_running); },
                 [&](const Status& status, optima_rt_error* e) { return still_running ? report(status, e) : report_run(status, e); });
}

void optima_rt_request_cancel(optima_rt_request* r) { r->request->cancel(); }
void optima_rt_request_set_deadline(optima_rt_request* r, uint64_t ms) { r->request->set_deadline(ms); }
void optima_rt_request_set_profiling(optima_rt_request* r, int32_t on) { r->request->set_profiling(on != 0); }

int32_t optima_rt_request_tie(optima_rt_request* r, uint32_t output, uint32_t input, optima_rt_error* error) {
  return guarded(error, [&] { return r->request->tie(output, input); });
}

int32_t optima_rt_request_reset(optima_rt_request* r, optima_rt_error* error) {
  return guarded(error, [&] { return r->request->reset(); });
}

void optima_rt_request_profile(optima_rt_request* r, void (*add)(void*, const optima_rt_event*), void* data) {
  give_events(r->request->take_events(), add, data);
}

}  // extern "C"
