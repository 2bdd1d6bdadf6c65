// SPDX-License-Identifier: Apache-2.0
// A plugin for the host's tests: good by default, wrong in the way that an option names. Written on abi.h alone, and without
// the guards of the author layer, so that what it throws does cross the seam.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "optima/abi.h"
#include "optima/ext/async.h"
#include "optima/ext/cost.h"
#include "optima/ext/describe.h"
#include "optima/ext/door.h"
#include "optima/ext/memory.h"
#include "optima/ext/profile.h"
#include "optima/ext/schema.h"

namespace {

std::string view(optima_str s) { return s.size ? std::string(s.data, s.size) : std::string(); }
optima_str str(std::string_view s) { return {s.data(), s.size()}; }

struct Trial {
  const optima_host* host;
  std::string act;  // of init
  bool asked_devices = false;
};
struct Program {
  const Trial* trial;
  std::string act;
  std::vector<uint64_t> held;
};
struct Context {
  Program* program;
  uint32_t profiling = 0;
  std::string options = "none";  // it was opened with
  uint32_t runs = 0;
};

Trial* of(optima_plugin* p) { return reinterpret_cast<Trial*>(p); }
Program* of(optima_program* p) { return reinterpret_cast<Program*>(p); }
Context* of(optima_context* p) { return reinterpret_cast<Context*>(p); }

int32_t fail(optima_status* s, int32_t code, std::string_view text, uint32_t node = OPTIMA_NONE) {
  s->code = code;
  s->node = node;
  if (!text.empty()) s->set_text(s->host_data, str(text));
  return code;
}

// f(0), f(1), ... one after another, or each on a thread of its own.
template <class F>
int32_t each(const Trial& trial, uint32_t count, F f) {
  std::vector<int32_t> codes(count);
  std::vector<std::thread> threads;
  for (uint32_t k = 0; k < count; ++k) {
    if (trial.act == "threads") threads.emplace_back([&, k] { codes[k] = f(k); });
    else codes[k] = f(k);
  }
  for (auto& t : threads) t.join();
  for (const int32_t code : codes)
    if (code) return code;
  return OPTIMA_OK;
}
uint32_t many(const Trial& trial, uint32_t else_) { return trial.act == "threads" ? 16 : else_; }

struct Foreign {};
void throw_as(const std::string& act) {
  if (act == "throw runtime_error") throw std::runtime_error("a plain exception");
  if (act == "throw bad_alloc") throw std::bad_alloc();
  if (act == "throw int") throw 42;
  if (act == "throw text") throw "a text";
  if (act == "throw foreign") throw Foreign();
}

std::string option(const optima_option* options, uint32_t count, std::string_view name) {
  for (uint32_t i = 0; i < count; ++i, options = OPTIMA_NEXT(optima_option, options))
    if (view(options->name) == name) return view(options->str);
  return "";
}

int32_t init(const optima_host* host, const optima_option* options, uint32_t count, optima_plugin** plugin, optima_status* status) {
  const std::string act = option(options, count, "trial.init");
  throw_as(act);
  if (act == "no sdk") return fail(status, OPTIMA_DEPENDENCY, "the Trial SDK 2.1 is not installed; see trial.example");
  if (act == "asks") (void)host->get_extension(host->self, str("test.setup/1"));
  *plugin = reinterpret_cast<optima_plugin*>(new Trial{host, act});
  host->log(host->self, OPTIMA_LOG_INFO, str("start"), str("temp " + view(host->temp_dir)));
  return OPTIMA_OK;
}

void deinit(optima_plugin* plugin) {
  const Trial& trial = *of(plugin);
  if (trial.act == "asks") (void)trial.host->get_extension(trial.host->self, str("test.setup/1"));
  delete of(plugin);
}

int32_t devices(optima_plugin* plugin, optima_add_device add, void* data, optima_status* status) {
  Trial& trial = *of(plugin);
  if (trial.act == "asleep at first" && !std::exchange(trial.asked_devices, true)) return fail(status, OPTIMA_DEVICE, "the bus is asleep");
  optima_option attr{};
  attr.struct_size = sizeof attr;
  attr.type = OPTIMA_OPTION_I64;
  attr.name = str("cores");
  attr.i64 = 8;
  const int32_t added = each(trial, many(trial, 2), [&](uint32_t ordinal) {
    optima_device d{};
    d.struct_size = sizeof d;
    d.device_class = OPTIMA_CLASS_NPU;
    d.ordinal = ordinal;
    d.kind = str("TRIAL");
    d.arch = str(ordinal ? "t1" : "t0");
    d.attrs = &attr;
    d.attr_count = 1;
    return add(data, &d);
  });
  if (added) return added;
  if (trial.act == "asleep at first") {
    optima_device real{};
    real.struct_size = sizeof real;
    real.kind = str("REAL");
    if (const int32_t code = add(data, &real)) return code;
  }
  optima_device old{};
  old.struct_size = sizeof old;
  old.device_class = OPTIMA_CLASS_NPU;
  old.flags = OPTIMA_DEVICE_REFUSED;
  old.kind = str("OLDTRIAL");
  old.arch = str("the last driver for it was 1.0");
  if (trial.act != "told twice") return add(data, &old);
  optima_device again{};
  again.struct_size = sizeof again;
  again.kind = str("TRIAL");
  again.arch = str("another");
  for (const optima_device* d : {&again, &old, &old})
    if (const int32_t code = add(data, d)) return code;
  return OPTIMA_OK;
}

optima_verdict verdict(uint32_t node, uint32_t what, uint32_t reason = OPTIMA_REASON_NONE, std::string_view text = "") {
  optima_verdict v{};
  v.struct_size = sizeof v;
  v.node = node;
  v.verdict = what;
  v.reason = reason;
  v.group = OPTIMA_NONE;
  v.text = str(text);
  return v;
}

int32_t check(optima_plugin*, const optima_check_request* request, optima_report report, void* data, optima_status* status) {
  const std::string act = option(request->options, request->option_count, "trial.act");
  throw_as(act);
  if (act == "dependency") return fail(status, OPTIMA_DEPENDENCY, "the compiler of the driver is absent");
  if (act == "error") return fail(status, OPTIMA_TOOL_FAILED, "the tool said no");
  if (act == "wrong option") return fail(status, OPTIMA_INVALID_ARGUMENT, "chip 'x' is not known");
  if (act == "future code") return fail(status, 4711, "code of the future");
  std::vector<optima_verdict> all;
  for (uint32_t k = 0; k < request->node_count; ++k) all.push_back(verdict(request->nodes[k], OPTIMA_VERDICT_SUPPORTED));
  if (act == "missing") all.pop_back();
  if (act == "twice") all.push_back(all[0]);
  if (act == "unknown verdict") all[0].verdict = 99;
  if (act == "no reason") all[0].verdict = OPTIMA_VERDICT_UNSUPPORTED;
  if (act == "no text") all[0] = verdict(all[0].node, OPTIMA_VERDICT_PREFER_ELSEWHERE, OPTIMA_REASON_SIZE_LIMIT);
  if (act == "future reason") all[0] = verdict(all[0].node, OPTIMA_VERDICT_UNSUPPORTED, 77, "too green");
  if (act == "no group") all[0] = verdict(all[0].node, OPTIMA_VERDICT_ONLY_IN_GROUP, OPTIMA_REASON_OTHER, "only with the next");
  if (act == "refuse") all[0] = verdict(all[0].node, OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_SIZE_LIMIT, "input 0 has 6 elements,\nthe limit is 4.");
  if (act == "not asked") all.push_back(verdict(999, OPTIMA_VERDICT_SUPPORTED));
  if (act == "size zero") all[0].struct_size = 0;
  if (act == "device") {
    static thread_local std::string text;
    text = view(request->device->kind) + ":" + std::to_string(request->device->ordinal) + " " + view(request->device->arch);
    for (uint32_t i = 0; i < request->device->attr_count; ++i) {
      const optima_option& o = request->device->attrs[i];
      text += " " + view(o.name) + "=" + (o.type == OPTIMA_OPTION_I64 ? std::to_string(o.i64) : view(o.str));
    }
    for (uint32_t i = 0; i < request->option_count; ++i) {
      const optima_option& o = request->options[i];
      std::string value = o.type == OPTIMA_OPTION_I64 ? std::to_string(o.i64) : o.type == OPTIMA_OPTION_F64 ? std::to_string(o.f64) : view(o.str);
      for (uint32_t k = 0; k < o.list_count; ++k) value += "|" + view(o.list[k].str);
      text += "; " + view(o.name) + "=" + value;
    }
    for (auto& v : all) v = verdict(v.node, OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_OTHER, text);
  }
  if (act == "threads") {
    std::vector<std::thread> threads;
    for (auto& v : all) threads.emplace_back([&] { report(data, &v, 1); });
    for (auto& t : threads) t.join();
    return OPTIMA_OK;
  }
  return report(data, all.data(), static_cast<uint32_t>(all.size()));
}

struct Writer {
  const optima_sink* sink;
  optima_status* status;
  int32_t file(std::string_view name, std::string_view bytes, bool close = true) const {
    uint64_t stream = 0;
    if (const int32_t code = sink->open(sink->host_data, str(name), bytes.size(), &stream, status)) return code;
    if (const int32_t code = sink->write(sink->host_data, stream, bytes.data(), bytes.size(), status)) return code;
    return close ? sink->close(sink->host_data, stream, status) : OPTIMA_OK;
  }
};

// Wrong uses of the sink. Gives -1 when the act is none of them.
int32_t misuse(const std::string& act, const Writer& w) {
  const optima_sink* k = w.sink;
  if (act.rfind("name ", 0) == 0) return w.file(act.substr(5), "x");
  if (act == "nul name") return w.file(std::string_view("a\0b", 3), "x");
  if (act == "same name") return w.file("a", "1") ? OPTIMA_IO : w.file("a", "2");
  if (act == "unclosed") return w.file("left.bin", "x", false);
  if (act == "wrong stream") return k->write(k->host_data, 77, "x", 1, w.status);
  if (act == "big compat") {
    const std::string record(65537, 'c');
    return k->set_compat(k->host_data, record.data(), record.size(), str("big"), w.status);
  }
  if (act == "compat twice") {
    (void)k->set_compat(k->host_data, "1", 1, str("one"), w.status);
    return k->set_compat(k->host_data, "2", 1, str("two"), w.status);
  }
  if (act == "bad weight") return k->use_weight(k->host_data, 5, str("w"), w.status);
  if (act == "ignore failure") return w.file("../up", "x"), OPTIMA_OK;
  return -1;
}

// Refusals by the sink. Gives -1 when the act is none of them.
int32_t refuse(const std::string& act, const Writer& w) {
  const optima_sink* k = w.sink;
  std::vector<optima_verdict> all = {verdict(12, OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_DTYPE, "input 0 is i64"),
                                     verdict(11, OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_OTHER, "too odd.")};
  if (act == "refuses yes") all[1].verdict = OPTIMA_VERDICT_SUPPORTED;
  if (act == "refuses silently") all[1].text = str("");
  if (act == "refuses nothing") all[1].struct_size = 0;
  if (act == "refuses a stranger") all[0].node = 4711;
  if (act == "refuses twice") all.push_back(verdict(12, OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_RANK, "said again"));
  if (act.rfind("refuses", 0) != 0) return -1;
  const int32_t code = k->refuse(k->host_data, all.data(), static_cast<uint32_t>(all.size()));
  if (act == "refuses and goes on") return OPTIMA_OK;
  if (code != OPTIMA_OK) return code;
  if (act == "refuses and blames") return fail(w.status, OPTIMA_UNSUPPORTED, "node is too wide", 11);
  return act == "refuses and fails" ? fail(w.status, OPTIMA_TOOL_FAILED, "the tool said no") : OPTIMA_UNSUPPORTED;
}

int32_t tool(const std::string& act, const Writer& w) {
  optima_str path{};
  if (const int32_t code = w.sink->path(w.sink->host_data, str("deep/tool.out"), &path, w.status)) return code;
  const std::string at = view(path);
  if (act == "tool link") return symlink("/etc/passwd", at.c_str()) ? OPTIMA_IO : OPTIMA_OK;
  if (act == "tool absent") return OPTIMA_OK;
  const int junk = open((at + ".log").c_str(), O_CREAT | O_WRONLY, 0666);
  const int fd = open(at.c_str(), O_CREAT | O_WRONLY, 0666);
  const bool wrote = junk >= 0 && fd >= 0 && write(fd, "tool", 4) == 4;
  close(junk);
  close(fd);
  return wrote ? OPTIMA_OK : fail(w.status, OPTIMA_IO, "the tool cannot write");
}

int32_t fill_disk(const Writer& w, bool give_up) {
  const std::string block(1 << 16, 'f');
  for (int i = 0; i < 64; ++i)
    if (const int32_t code = w.file("part_" + std::to_string(i), block); code && give_up) return fail(w.status, OPTIMA_INTERNAL, "something went wrong");
  return OPTIMA_OK;
}

// What the host says of values 0 to 2 and of sample 0 and 9, as meta data.
int32_t calibrate(const optima_calibration* c, const Writer& w) {
  for (uint32_t value = 0; c && value < 3; ++value) {
    const optima_encoding* e = nullptr;
    const int32_t code = c->encoding(c->host_data, value, &e, w.status);
    std::string text = "code " + std::to_string(code);
    if (code == OPTIMA_OK) {
      text = "type " + std::to_string(e->dtype) + " axis " + std::to_string(e->axis) + " block " + std::to_string(e->block);
      for (uint32_t i = 0; i < e->scale_count; ++i) text += " s" + std::to_string(e->scales[i]) + " z" + std::to_string(e->zero_points[i]);
    }
    (void)w.sink->set_meta(w.sink->host_data, str("encoding of " + std::to_string(value)), str(text), w.status);
  }
  for (const uint32_t sample : {0U, 9U})
    for (uint32_t value = 0; c && value < 3; ++value) {
      const void* data = nullptr;
      const int64_t* dims = nullptr;
      uint64_t size = 0;
      uint32_t rank = 0;
      const int32_t code = c->read(c->host_data, sample, value, &data, &size, &dims, &rank, w.status);
      const std::string text = code ? "code " + std::to_string(code) : std::string(static_cast<const char*>(data), size) + " rank " + std::to_string(rank) + " " + std::to_string(dims[0]);
      (void)w.sink->set_meta(w.sink->host_data, str(std::to_string(sample) + " of " + std::to_string(c->sample_count) + ", value " + std::to_string(value)), str(text), w.status);
    }
  return OPTIMA_OK;
}

int32_t compile(optima_plugin* plugin, const optima_compile_request* request, const optima_sink* sink, const optima_progress* progress, optima_status* status) {
  const std::string act = option(request->options, request->option_count, "trial.act");
  throw_as(act);
  const Writer w{sink, status};
  if (act != "no format") (void)sink->set_format(sink->host_data, str("trial.bin/1"), status);
  progress->report(progress->host_data, 0.25, str("first\nstage"));
  if (act == "cancel") {
    (void)w.file("half", "half");
    while (!progress->cancelled(progress->host_data)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return OPTIMA_CANCELLED;
  }
  if (act == "threads")
    if (const int32_t code = each(*of(plugin), 16, [&](uint32_t k) {
          const std::string number = std::to_string(k);
          progress->report(progress->host_data, k / 16.0, str(number));
          return w.sink->set_meta(sink->host_data, str(number), str("x"), status);
        }))
      return code;
  if (act == "threads fail")
    return each(*of(plugin), 16, [&](uint32_t) { return of(plugin)->host->blob_path(of(plugin)->host->self, 4711, nullptr, status); });
  if (act == "gives up") return OPTIMA_CANCELLED;
  if (act == "unsupported") return w.file("half", "x"), fail(status, OPTIMA_UNSUPPORTED, "node is too wide", 12);
  if (act == "blames a stranger") return fail(status, OPTIMA_UNSUPPORTED, "node is too wide", 4711);
  if (act == "tool failed") {
    status->vendor_code = 3;
    return fail(status, OPTIMA_TOOL_FAILED, "trialc failed");
  }
  if (act == "fatal") {
    status->flags = OPTIMA_STATUS_FATAL;
    return fail(status, OPTIMA_DEVICE, "the board is gone");
  }
  if (act == "full") return fill_disk(w, true);
  if (act == "full, unnoticed") return fill_disk(w, false);
  if (act == "onnx") {
    const optima_host* host = of(plugin)->host;
    return host->graph_to_onnx(host->self, request->graph, host->temp_dir, 0, status);
  }
  if (act == "retain") {
    const optima_host* host = of(plugin)->host;
    const uint64_t id = optima_get_blob(request->graph, 0)->id;
    const int32_t code = host->blob_retain(host->self, id);
    optima_str path{};
    if (!code && host->blob_path(host->self, id, &path, status)) return OPTIMA_IO;
    if (!code) host->blob_release(host->self, id);
    if (w.file("retained", std::to_string(code) + " " + view(path))) return OPTIMA_IO;
    return OPTIMA_OK;
  }
  if (const int32_t code = misuse(act, w); code != -1) return code;
  if (const int32_t code = refuse(act, w); code != -1) return code;
  if (act.rfind("tool", 0) == 0)
    if (const int32_t code = tool(act, w)) return code;
  if (const int32_t code = calibrate(request->calibration, w)) return code;
  const optima_value_door* door = request->doors;
  for (uint32_t k = 0; k < request->door_count; ++k, door = OPTIMA_NEXT(optima_value_door, door)) {
    const optima_door& d = *door->door;
    std::string text = std::to_string(d.dtype) + " " + view(d.layout) + " x";
    for (int32_t i = 0; i < d.rank; ++i) text += " " + std::to_string(d.shape[i]);
    for (uint32_t i = 0; i < d.scale_count; ++i) text += " s" + std::to_string(d.scales[i]) + (d.zero_points ? " z" + std::to_string(d.zero_points[i]) : "");
    (void)sink->set_meta(sink->host_data, str("door of " + std::to_string(door->value)), str(text + " a" + std::to_string(d.scale_axis)), status);
  }
  const optima_size_range* size = request->sizes;
  for (uint32_t k = 0; k < request->size_count; ++k, size = OPTIMA_NEXT(optima_size_range, size)) {
    std::string text = std::to_string(size->min) + ".." + std::to_string(size->max) + ":" + std::to_string(size->step) + "@" + std::to_string(size->opt);
    for (uint32_t i = 0; i < size->listed_count; ++i) text += " " + std::to_string(size->listed[i]);
    (void)sink->set_meta(sink->host_data, str("size of " + view(size->symbol)), str(text), status);
  }
  (void)sink->set_meta(sink->host_data, str("compiler"), str("trial 1"), status);
  (void)sink->set_compat(sink->host_data, "cc", 2, str("trial chips"), status);
  if (request->graph->blob_count > 0) (void)sink->use_weight(sink->host_data, 0, str("w"), status);
  progress->report(progress->host_data, 1.0, str("done"));
  return w.file(view(request->stem) + ".bin", "trial " + view(request->stem));
}

const optima_named_blob* file(const optima_artifact* a, uint32_t k) {
  const optima_named_blob* f = a->files;
  while (k--) f = OPTIMA_NEXT(optima_named_blob, f);
  return f;
}

int32_t check_artifact(optima_plugin* plugin, const optima_artifact* artifact, const optima_device*, optima_compat* compat, optima_status*) {
  const bool mine = view(artifact->format_id) == "trial.bin/1" && !artifact->progress;
  compat->verdict = mine ? (artifact->compat_size == 2 ? uint32_t{OPTIMA_COMPAT_OPTIMAL} : 99u) : uint32_t{OPTIMA_COMPAT_RECOMPILE};
  return each(*of(plugin), many(*of(plugin), 1), [&](uint32_t) {
    compat->set_text(compat->host_data, str(mine ? "fine" : "format of another revision"));
    return OPTIMA_OK;
  });
}

int32_t load(optima_plugin* plugin, const optima_artifact* artifact, const optima_device* device, const optima_option* options, uint32_t count,
             optima_program** program, optima_status* status) {
  const std::string act = option(options, count, "trial.load");
  throw_as(act);
  if (act == "corrupt") return fail(status, OPTIMA_CORRUPT, "checksum is wrong");
  if (act == "device") return fail(status, OPTIMA_DEVICE, view(device->kind) + ":" + std::to_string(device->ordinal) + " " + view(device->arch));
  if (act == "no program") return OPTIMA_OK;
  if (act == "gives up") return OPTIMA_CANCELLED;
  if (act == "tells") artifact->progress->report(artifact->progress->host_data, 0.5, str("half\nof it"));
  if (act == "waits") {
    artifact->progress->report(artifact->progress->host_data, -7, str("waiting"));
    while (!artifact->progress->cancelled(artifact->progress->host_data)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return OPTIMA_CANCELLED;
  }
  const optima_host* host = of(plugin)->host;
  auto* made = new Program{of(plugin), act, {}};
  if (act == "retain") {
    const uint64_t id = file(artifact, 0)->blob->id;
    if (host->blob_retain(host->self, id) != OPTIMA_OK) return delete made, fail(status, OPTIMA_INTERNAL, "retain");
    made->held.push_back(id);
  }
  if (act == "over-release") host->blob_release(host->self, file(artifact, 0)->blob->id);
  *program = reinterpret_cast<optima_program*>(made);
  return OPTIMA_OK;
}

int32_t bindings(optima_program* program, optima_add_binding add, void* data, optima_status*) {
  const std::string& act = of(program)->act;
  static constexpr int64_t known[] = {4}, unknown[] = {-1};
  const int64_t* shape = act.rfind("dynamic", 0) == 0 ? unknown : known;
  optima_binding in{sizeof in, OPTIMA_INPUT, str("x"), OPTIMA_F32, 1, shape, 0, 1, 0, 0, 0, 0};
  optima_binding out{sizeof out, OPTIMA_OUTPUT, str("y"), OPTIMA_F32, 1, shape, 0, 1, 128, 0, 0, 0};
  if (act == "careless") in.rank = 65;
  if (act == "odd alignment") out.alignment = 48;
  if (act == "high rank") out.rank = 65;
  if (act == "device memory") in.mem_kinds = 1 << OPTIMA_MEM_DEVICE;
  if (act == "future memory") in.mem_kinds = ~uint64_t{0};
  if (act == "short binding") in.struct_size = offsetof(optima_binding, mem_kinds), in.mem_kinds = 0;
  if (act == "huge") in.min_size = ~uint64_t{0};
  if (act == "null shape") out.shape = nullptr;
  if (act == "bad direction") out.direction = 7;
  if (act == "no name") out.name = str("");
  if (act == "output first") std::swap(in, out);
  if (act == "same name") {
    out.direction = OPTIMA_INPUT;
    out.name = in.name;
  }
  if (act == "rank unknown") out.rank = -1;
  static constexpr int64_t five[] = {5};
  if (act.rfind("alias", 0) == 0 || act == "dynamic alias") out.alias = 1;
  if (act == "alias far") out.alias = 2;
  if (act == "alias of an input") in.alias = 1;
  if (act == "alias of another type") out.dtype = OPTIMA_I64;
  if (act == "alias of another shape") out.shape = five;
  if (act == "alias of no shape") out.shape = unknown;
  if (act == "alias of no rank") out.rank = -1;
  if (act == "alias on the device") out.mem_kinds = uint64_t{1} << OPTIMA_MEM_DEVICE;
  if (act == "alias of any kind") in.mem_kinds = out.mem_kinds = ~uint64_t{0};
  if (act == "alias of an older plugin") out.alias = 77, out.struct_size = offsetof(optima_binding, alias);
  const Trial& trial = *of(program)->trial;
  const int32_t added = each(trial, many(trial, 1), [&](uint32_t k) {
    optima_binding one = in;
    const std::string name = std::to_string(k);
    if (k > 0) one.name = str(name);
    return add(data, &one);
  });
  if (added && act != "careless") return added;
  if (const int32_t code = add(data, &out); code || act != "alias twice") return code;
  out.name = str("z");
  return add(data, &out);
}

int32_t context_create(optima_program* program, optima_context** context, optima_status* status) {
  throw_as(of(program)->act == "throw in context" ? "throw int" : "");
  if (of(program)->act == "no context") return fail(status, OPTIMA_DEVICE, "the device is busy");
  *context = reinterpret_cast<optima_context*>(new Context{of(program)});
  return OPTIMA_OK;
}
int32_t context_open(optima_program* program, const optima_context_request* request, optima_context** context, optima_status* status) {
  if (const int32_t code = context_create(program, context, status)) return code;
  std::string& all = of(*context)->options = "";
  for (uint32_t k = 0; k < request->option_count; ++k) {
    const optima_option& o = request->options[k];
    all += view(o.name) + "=" + (o.type == OPTIMA_OPTION_I64 ? std::to_string(o.i64) : view(o.str)) + " ";
  }
  return OPTIMA_OK;
}
void context_destroy(optima_context* context) { delete of(context); }
void program_destroy(optima_program* program) {
  Program* p = of(program);
  for (uint64_t id : p->held) p->trial->host->blob_release(p->trial->host->self, id);
  delete p;
}

int32_t execute(optima_context* context, const optima_tensor* in, uint32_t, optima_tensor* out, uint32_t, optima_status* status) {
  Context* c = of(context);
  const std::string& act = c->program->act;
  if (act == "tell options") return fail(status, OPTIMA_DEVICE, c->options);
  if (act == "until stopped") return fail(status, OPTIMA_INTERNAL, "nobody can stop it");
  if (act == "throw in execute") throw std::runtime_error("thrown by execute");
  if (act == "lost") {
    status->flags = OPTIMA_STATUS_DEVICE_LOST;
    return fail(status, OPTIMA_DEVICE, "the bus fell silent");
  }
  if (act == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (out->alloc && !out->data)
    if (const int32_t code = out->alloc(out->host_data, in->shape, 1)) return code;
  const auto* x = static_cast<const float*>(in->data);
  auto* y = static_cast<float*>(out->data);
  const float more = act == "counts" ? static_cast<float>(++c->runs) : 1;
  for (uint64_t i = 0; i < in->size / sizeof(float); ++i) y[i] = x[i] + more;
  return OPTIMA_OK;
}

int32_t reset(optima_context* context, optima_status* status) {
  if (of(context)->program->act == "remembers") return fail(status, OPTIMA_DEVICE, "the board does not forget");
  of(context)->runs = 0;
  return OPTIMA_OK;
}

uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

int32_t execute_within(optima_context* context, const optima_execute_request* r, optima_status* status) {
  const std::string& act = of(context)->program->act;
  if (act == "gives up in execute") return OPTIMA_CANCELLED;
  if (act != "until stopped") return execute(context, r->in, r->in_count, r->out, r->out_count, status);
  for (;;) {
    if (r->cancelled(r->host_data)) return OPTIMA_CANCELLED;
    if (r->deadline_ns != 0 && now_ns() >= r->deadline_ns) return fail(status, OPTIMA_TIMEOUT, "3 of 9 layers were done");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int32_t output_shapes(optima_context* context, const optima_tensor* in, uint32_t, optima_shape* out, uint32_t, optima_status*) {
  const std::string& act = of(context)->program->act;
  if (act == "rank unknown") return out->rank = -1, OPTIMA_OK;
  out->rank = act == "dynamic 9" ? 9 : act == "dynamic 99" ? 99 : 1;
  if (out->rank > static_cast<int32_t>(out->capacity)) return OPTIMA_OK;
  for (int32_t d = 0; d < out->rank; ++d) out->dims[d] = d ? 1 : act == "dynamic -5" ? -5 : in->shape[0];
  return OPTIMA_OK;
}

int32_t infer(optima_plugin* plugin, const optima_graph* graph, uint32_t node, int32_t (*set)(void*, uint32_t, const optima_type*), void* data, optima_status* status) {
  const optima_node* n = optima_get_node(graph->image, node);
  const std::string op = view(optima_string(graph->image, &n->op_type));
  if (op == "Wrong") return fail(status, OPTIMA_INVALID_GRAPH, "attribute k is missing", n->id);
  if (op == "Silent") return OPTIMA_OK;
  static constexpr int64_t dims[] = {5, -1};
  const optima_str symbols[] = {str(""), str("n")};
  optima_type t{sizeof t, OPTIMA_KIND_TENSOR, OPTIMA_F32, 2, dims, symbols};
  if (op == "Deep") t.rank = 1000;
  if (op == "Stray") t.dtype = -3;
  static constexpr int64_t negative[] = {5, -7};
  if (op == "Negative") t.dims = negative;
  return each(*of(plugin), many(*of(plugin), 1), [&](uint32_t) { return set(data, op == "Far" ? 3 : 0, &t); });
}

int32_t function_body(optima_plugin*, const optima_graph* graph, uint32_t node, int32_t (*set_text)(void*, optima_str), void* data, optima_status* status) {
  const optima_node* n = optima_get_node(graph->image, node);
  const std::string op = view(optima_string(graph->image, &n->op_type));
  if (op == "Custom") return set_text(data, str("text of Custom"));
  if (op == "Wrong") return fail(status, OPTIMA_INVALID_GRAPH, "attribute k is missing", n->id);
  if (op == "Silent") return OPTIMA_OK;
  if (op == "Far") return set_text(data, str(std::string(2 << 20, ' ')));
  if (op == "Deep") return set_text(data, str("one")), set_text(data, str("two"));
  return fail(status, OPTIMA_NOT_FOUND, "no such operator");
}

int32_t evaluate(optima_plugin*, const optima_graph* graph, uint32_t node, const optima_tensor* in, uint32_t, optima_tensor* out, uint32_t, optima_status* status) {
  const std::string op = view(optima_string(graph->image, &optima_get_node(graph->image, node)->op_type));
  throw_as(op);
  if (op == "Custom") return out->alloc(out->host_data, in->shape, in->rank);
  if (op == "Wrong") return fail(status, OPTIMA_DEVICE, "the simulator is gone");
  return fail(status, OPTIMA_NOT_FOUND, "no such operator");
}

int32_t estimate(optima_plugin* plugin, const optima_check_request* request, int32_t (*add)(void*, const optima_cost*, uint32_t), void* data,
                 optima_status*) {
  return each(*of(plugin), many(*of(plugin), 1), [&](uint32_t k) {
    const optima_cost cost{sizeof cost, request->nodes[0] + k, 12.5, 64, 1, 0};
    return add(data, &cost, 1);
  });
}

// The good offer is i8 with a scale for each element of dim 0, of which there are 2; then f32 in another order.
int32_t offer_doors(optima_plugin*, const optima_door_request* request, optima_add_door add, void* data, optima_status* status) {
  const std::string act = option(request->options, request->option_count, "trial.act");
  throw_as(act);
  if (act == "offer fails") return fail(status, OPTIMA_TOOL_FAILED, "the layouter is gone");
  const int64_t shape[] = {2, 3}, turned[] = {3, 2}, zero[] = {2, 0}, vast[] = {int64_t{1} << 40, int64_t{1} << 40}, below[] = {2, -3};
  float scales[] = {0.5F, 0.25F, 1};
  const int32_t zeros[] = {0, 0, 0}, points[] = {-128, 7, 1};
  optima_door d{sizeof d, OPTIMA_I8, str(""), shape, 2, 2, scales, points, 0, 0};
  if (act == "door size") d.struct_size = 12;
  if (act == "door dtype") d.dtype = 77;
  if (act == "door string") d.dtype = OPTIMA_STRING;
  if (act == "door rank") d.rank = 65;
  if (act == "door rank below") d.rank = -1;
  if (act == "door no shape") d.shape = nullptr;
  if (act == "door zero") d.shape = zero;
  if (act == "door below") d.shape = below;
  if (act == "door vast") d.shape = vast;
  if (act == "door layout long") d.layout = str("0123456789012345678901234567890123456789012345678901234567890123456789");
  if (act == "door layout null") d.layout = {nullptr, 4};
  if (act == "door layout odd") d.layout = str("NH\nWC");
  if (act == "door scales") d.scale_count = 3;
  if (act == "door scales without") d.scales = nullptr;
  if (act == "door scales endless") d.scale_count = ~0U;
  if (act == "door axis") d.scale_axis = 2;
  if (act == "door one scale") d.scale_count = 1;
  if (act == "door scale zero") scales[1] = 0;
  if (act == "door scale nan") scales[0] = __builtin_nanf("");
  if (act == "door scale endless") scales[0] = 1 / 0.0F;
  if (act == "door usual") d = {sizeof d, OPTIMA_F32, str(""), shape, 2, 0, nullptr, nullptr, -1, 0};
  if (act == "door zeros") d.zero_points = zeros;
  if (act == "doors endless")
    for (int k = 0; k < 1000; ++k)
      if (const int32_t code = add(data, &d)) return code;
  if (act == "door unnoticed") {
    d.rank = 65;
    return (void)add(data, &d), OPTIMA_OK;
  }
  if (const int32_t code = add(data, &d)) return code;
  const optima_door other{sizeof other, OPTIMA_F32, str("CN"), turned, 2, 0, nullptr, nullptr, -1, 0};
  return add(data, &other);
}

int32_t take_door(optima_plugin*, const optima_door_request* request, const optima_door* door, int32_t* taken, optima_status* status) {
  const std::string act = option(request->options, request->option_count, "trial.act");
  throw_as(act);
  if (act == "take fails") return fail(status, OPTIMA_TOOL_FAILED, "the layouter is gone");
  *taken = act == "take seven" ? 7 : door->dtype == OPTIMA_I8;
  return OPTIMA_OK;
}

int32_t profile_enable(optima_context* context, uint32_t on, optima_status*) { return of(context)->profiling = on, OPTIMA_OK; }
int32_t profile_read(optima_context* context, int32_t (*add)(void*, const optima_event*, uint32_t), void* data, optima_status*) {
  const Trial& trial = *of(context)->program->trial;
  return each(trial, many(trial, 1), [&](uint32_t k) {
    const uint64_t takes = of(context)->program->act == "endless" ? ~uint64_t{0} - 4 : of(context)->profiling;
    const optima_event event{sizeof event, 11 + k, str("Identity"), 100, takes, 0, 0};
    return add(data, &event, 1);
  });
}

// What a plugin may do with a point of the host's, and no signal.
int32_t use_all(const optima_host* host, const optima_fence_host& fences, optima_fence_point point, optima_status* status) {
  fences.retain(host->self, point.fence);
  static constexpr auto note = [](void* plugin, int32_t code) {
    const optima_host* told = of(static_cast<optima_plugin*>(plugin))->host;
    told->log(told->self, OPTIMA_LOG_INFO, str("fence"), str("told " + std::to_string(code)));
  };
  Trial of_this_call{host, ""};
  if (const int32_t code = fences.notify(host->self, point, note, &of_this_call)) return code;
  const int32_t polled = fences.wait(host->self, point, 0, status);
  int32_t fd = -1;
  const int32_t exported = fences.export_fd(host->self, point, &fd, status);
  optima_status lost = *status;
  lost.code = OPTIMA_DEVICE;
  fences.poison(host->self, point, &lost, str("the link is down"));
  const int32_t waited = fences.wait(host->self, point, ~uint64_t{0}, status);
  host->log(host->self, OPTIMA_LOG_INFO, str("fence"), str("polled " + std::to_string(polled) + " exported " + std::to_string(exported) + " waited " + std::to_string(waited)));
  fences.release(host->self, point.fence);
  return OPTIMA_OK;
}

// Runs at once and says so on the fence.
int32_t submit(optima_context* context, const optima_tensor* in, uint32_t ni, optima_tensor* out, uint32_t no, const optima_fence_point*, uint32_t,
               optima_fence_point signal, optima_status* status) {
  if (const int32_t code = execute(context, in, ni, out, no, status)) return code;
  const optima_host* host = of(context)->program->trial->host;
  const auto* fences = static_cast<const optima_fence_host*>(host->get_extension(host->self, str(OPTIMA_EXT_FENCE)));
  if (!fences) return fail(status, OPTIMA_UNSUPPORTED, "the host has no fences");
  if (of(context)->program->act == "every fence") return use_all(host, *fences, signal, status);
  fences->signal(host->self, signal);
  return OPTIMA_OK;
}
int32_t cancel(optima_context*, optima_status*) { return OPTIMA_OK; }

// Files "*.trial": their bytes are the description.
int32_t describe(optima_plugin* plugin, const optima_describe_request* request, int32_t (*set_json)(void*, optima_str), void* data, optima_status* status) {
  const std::string name(request->name.data, request->name.size);
  if (name.size() < 6 || name.substr(name.size() - 6) != ".trial") return fail(status, OPTIMA_NOT_FOUND, "no .trial");
  if (request->file->size == 0) return fail(status, OPTIMA_CORRUPT, "file '" + name + "' is empty");
  if (of(plugin)->act == "describes nothing") return OPTIMA_OK;
  const optima_str json = {static_cast<const char*>(request->file->data), request->file->size};
  if (of(plugin)->act == "describes twice") set_json(data, json);
  if (of(plugin)->act == "describes at length") return set_json(data, {json.data, uint64_t{1} << 40});
  return set_json(data, json);
}

// Memory of the device: a handle to bytes.
std::string* bytes_at(const optima_tensor* t) { return reinterpret_cast<std::string*>(static_cast<uintptr_t>(t->opaque)); }
int32_t memory_alloc(optima_plugin*, optima_tensor* tensor, uint32_t alignment, optima_status* status) {
  if (alignment > 4096) return fail(status, OPTIMA_MEMORY, "no alignment beyond a page");
  tensor->opaque = reinterpret_cast<uintptr_t>(new std::string(tensor->size, '-'));
  return OPTIMA_OK;
}
void memory_free(optima_plugin* plugin, const optima_tensor* tensor) {
  const optima_host* host = of(plugin)->host;
  host->log(host->self, OPTIMA_LOG_INFO, str("memory"), str("freed " + *bytes_at(tensor)));
  delete bytes_at(tensor);
}
int32_t memory_import(optima_plugin*, const optima_tensor* foreign, optima_tensor* imported, optima_status* status) {
  if (foreign->mem_kind != OPTIMA_MEM_DEVICE) return fail(status, OPTIMA_UNSUPPORTED, "memory of the host is not imported");
  imported->mem_kind = OPTIMA_MEM_DEVICE;
  imported->opaque = reinterpret_cast<uintptr_t>(new std::string(*bytes_at(foreign)));
  return OPTIMA_OK;
}
int32_t memory_copy(optima_plugin*, const optima_tensor* from, optima_tensor* to, optima_status* status) {
  if (from->size != to->size) return fail(status, OPTIMA_INVALID_ARGUMENT, "copy of " + std::to_string(from->size) + " bytes to " + std::to_string(to->size));
  const auto at = [](const optima_tensor* t) { return t->mem_kind == OPTIMA_MEM_HOST ? static_cast<char*>(t->data) : bytes_at(t)->data(); };
  std::memcpy(at(to), at(from), from->size);
  return OPTIMA_OK;
}

const void* get_extension(optima_plugin* plugin, optima_str id) {
  static constexpr optima_compiler compiler = {sizeof compiler, 0, check, compile};
  static constexpr optima_runtime runtime = {sizeof runtime, 0, check_artifact, load, bindings, context_create, context_destroy, program_destroy, execute, output_shapes,
                                             context_open, execute_within, reset};
  // Of a plugin that was built before what comes after output_shapes.
  static constexpr optima_runtime older = {offsetof(optima_runtime, context_open), 0, check_artifact, load, bindings, context_create, context_destroy, program_destroy,
                                           execute, output_shapes, context_open, execute_within, reset};
  if (of(plugin)->act == "older" && optima_str_is(id, OPTIMA_EXT_RUNTIME)) return &older;
  static constexpr optima_schema schema = {sizeof schema, 0, infer, function_body, evaluate};
  static constexpr optima_cost_model cost = {sizeof cost, 0, estimate};
  static constexpr optima_profile profile = {sizeof profile, 0, profile_enable, profile_read};
  static constexpr optima_async async = {sizeof async, 0, submit, cancel};
  static constexpr optima_doors doors = {sizeof doors, 0, offer_doors, take_door};
  static constexpr optima_describer describer = {sizeof describer, 0, describe};
  static constexpr optima_memory memory = {sizeof memory, 0, nullptr, memory_alloc, memory_free, memory_import, memory_copy};
  const std::pair<const char*, const void*> tables[] = {{OPTIMA_EXT_COMPILER, &compiler}, {OPTIMA_EXT_RUNTIME, &runtime}, {OPTIMA_EXT_SCHEMA, &schema},
                                                        {OPTIMA_EXT_COST, &cost},         {OPTIMA_EXT_PROFILE, &profile}, {OPTIMA_EXT_ASYNC, &async},
                                                        {OPTIMA_EXT_DOOR, &doors},        {OPTIMA_EXT_DESCRIBE, &describer},
                                                        {OPTIMA_EXT_MEMORY, of(plugin)->act == "memory" ? &memory : nullptr}};
  for (const auto& [name, table] : tables)
    if (optima_str_is(id, name)) return table;
  return nullptr;
}

#define TEXT(z) {z, sizeof z - 1}
const optima_plugin_api kApi = {sizeof kApi, 0, OPTIMA_ABI_MINOR, 0, 0, 0, TEXT("trial"), TEXT("Trial"), TEXT("1"), TEXT("1"), init, deinit, devices, get_extension};

}  // namespace

OPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host*, optima_status*) { return major == 0 ? &kApi : nullptr; }
