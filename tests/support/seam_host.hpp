// SPDX-License-Identifier: Apache-2.0
// tests/support: a host small enough to read, for tests that talk to one plugin over the bare seam. Everything it hands out is
// longer than the plugin knows, its tail poisoned, as from a newer host.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optima/image.hpp"

namespace optima::seam {

inline std::string text(optima_str s) { return s.size ? std::string(s.data, s.size) : std::string(); }
inline optima_str str(std::string_view s) { return {s.data(), s.size()}; }

/// Any sized struct of a plugin as this host knows it.
template <class T>
T known(const T* from) {
  T to{};
  std::memcpy(&to, from, std::min<size_t>(from->struct_size, sizeof(T)));
  return to;
}

struct Status {
  std::string message;
  optima_status raw{sizeof(optima_status), 0, 0, OPTIMA_NONE, 0, this, [](void* self, optima_str t) { static_cast<Status*>(self)->message = text(t); }};
  Status() = default;
  Status(const Status&) = delete;
};

/// The host table; keeps log lines and counts retained blobs. Not for several threads at once unless `quiet` is set.
struct Host {
  struct Long {
    optima_host table{};
    uint8_t tail[64];
  } exposed;
  std::map<uint64_t, int> retained;
  std::vector<std::string> lines;
  std::vector<int32_t> levels;  ///< of the lines
  bool quiet = false;
  int32_t retain_code = OPTIMA_OK;

  static Host& of(void* p) { return *static_cast<Host*>(p); }
  Host(const Host&) = delete;
  Host() {
    std::memset(exposed.tail, 0xAA, sizeof exposed.tail);
    optima_host& h = exposed.table;
    h.struct_size = sizeof exposed;
    h.abi_major = OPTIMA_ABI_MAJOR, h.abi_minor = OPTIMA_ABI_MINOR;
    h.self = this;
    h.name = str("tests"), h.version = str("0");
    h.plugin_dir = h.temp_dir = str("/tmp");
    h.log = [](void* self, int32_t level, optima_str component, optima_str t) {
      if (of(self).quiet) return;
      of(self).lines.push_back(text(component) + ": " + text(t));
      of(self).levels.push_back(level);
    };
    h.get_extension = [](void*, optima_str) -> const void* { return nullptr; };
    h.blob_retain = [](void* self, uint64_t id) -> int32_t {
      if (of(self).retain_code == OPTIMA_OK && !of(self).quiet) ++of(self).retained[id];
      return of(self).retain_code;
    };
    h.blob_release = [](void* self, uint64_t id) {
      if (!of(self).quiet) --of(self).retained[id];
    };
    h.blob_path = [](void*, uint64_t id, optima_str* path, optima_status* s) -> int32_t {
      static const char name[] = "/tmp/blob-7";
      if (id == 7) return *path = {name, sizeof name - 1}, OPTIMA_OK;
      s->set_text(s->host_data, str("blob has no file"));
      return OPTIMA_IO;
    };
    h.graph_to_onnx = [](void*, const optima_graph*, optima_str, uint32_t, optima_status* s) -> int32_t {
      s->set_text(s->host_data, str("no onnx here"));
      return OPTIMA_UNSUPPORTED;
    };
  }
};

/// One instance of the plugin in a file. The file is never unloaded.
struct Instance {
  const optima_plugin_api* api = nullptr;
  optima_plugin* self = nullptr;
  Status status;
  int32_t code = OPTIMA_OK;  ///< of init

  Instance(const std::string& path, Host& host, const std::vector<optima_option>& options = {}) : Instance(open(path), host, options) {}
  Instance(optima_query_fn query, Host& host, const std::vector<optima_option>& options = {}) {
    api = query(OPTIMA_ABI_MAJOR, &host.exposed.table, &status.raw);
    if (!api) throw std::runtime_error(status.message);
    code = api->init(&host.exposed.table, options.data(), static_cast<uint32_t>(options.size()), &self, &status.raw);
  }
  ~Instance() {
    if (self) api->deinit(self);
  }
  Instance(const Instance&) = delete;

  static optima_query_fn open(const std::string& path) {
    void* file = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!file) throw std::runtime_error(::dlerror());
    return reinterpret_cast<optima_query_fn>(::dlsym(file, OPTIMA_QUERY_SYMBOL));
  }
  template <class T>
  const T* extension(const char* id) const {
    return static_cast<const T*>(api->get_extension(self, str(id)));
  }
  const optima_compiler& compiler() const { return *extension<optima_compiler>(OPTIMA_EXT_COMPILER); }
  const optima_runtime& runtime() const { return *extension<optima_runtime>(OPTIMA_EXT_RUNTIME); }
};

inline optima_blob blob_of(const void* data, uint64_t size, uint64_t id, uint32_t flags = 0) {
  optima_blob b{};
  b.struct_size = sizeof b;
  b.flags = flags;
  b.data = data, b.size = size;
  b.fd = -1;
  b.id = id;
  return b;
}
inline optima_device device(std::string_view kind, std::string_view arch = "") {
  optima_device d{};
  d.struct_size = sizeof d;
  d.kind = str(kind), d.arch = str(arch);
  return d;
}
inline optima_option option(std::string_view name, std::string_view value) {
  return {sizeof(optima_option), OPTIMA_OPTION_STR, str(name), 0, 0, str(value), nullptr, 0, 0};
}

/// A packed model with its blobs.
struct Model {
  image::Bytes bytes;
  std::vector<optima_blob> blobs;
  optima_graph raw{};
  explicit Model(image::Bytes b, std::vector<optima_blob> c = {}) : bytes(std::move(b)), blobs(std::move(c)) {
    raw.struct_size = sizeof raw;
    raw.image = bytes.image();
    raw.blobs = blobs.data();
    raw.blob_count = static_cast<uint32_t>(blobs.size());
  }
  Model(const Model&) = delete;
  operator const optima_graph&() const { return raw; }
  std::string verify() const { return image::verify(bytes.data(), bytes.size(), &raw); }
};

/// The same graph as a newer host would write it: the image is 32 and every element 16 bytes longer than this header knows, tails poisoned.
inline image::Bytes widen(const image::Bytes& old) {
  optima_image h;
  std::memcpy(&h, old.data(), sizeof h);
  optima_array* arrays[] = {&h.graphs, &h.nodes, &h.values, &h.attrs, &h.constants, &h.captures, &h.opsets, &h.dims, &h.texts, &h.ints, &h.floats, &h.indices};
  uint64_t size = old.size();
  for (const optima_array* a : arrays) size += (uint64_t{a->count} * (a->stride + 16) + 7) / 8 * 8;
  image::Bytes out(size);
  std::memset(out.data(), 0xA5, size);
  std::memcpy(out.data(), old.data(), old.size());  // texts stay where they are
  uint64_t at = old.size();
  for (optima_array* a : arrays) {
    for (uint32_t i = 0; i < a->count; ++i)
      std::memcpy(out.data() + at + uint64_t{i} * (a->stride + 16), old.data() + a->offset + uint64_t{i} * a->stride, a->stride);
    a->offset = at;
    a->stride += 16;
    at += (uint64_t{a->count} * a->stride + 7) / 8 * 8;
  }
  std::memset(out.data() + h.struct_size, 0xA5, 32);  // where the graphs were
  h.struct_size += 32;
  ++h.abi_minor;
  h.total_size = size;
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

struct Said {
  uint32_t verdict, reason, group;
  std::string what, found, wanted, text;
};
struct Verdicts {
  std::map<uint32_t, Said> by_node;
  uint32_t reports = 0;
  static int32_t add(void* p, const optima_verdict* first, uint32_t count) {
    auto& self = *static_cast<Verdicts*>(p);
    for (uint32_t i = 0; i < count; ++i, ++self.reports, first = OPTIMA_NEXT(optima_verdict, first)) {
      const optima_verdict v = known(first);
      self.by_node[v.node] = {v.verdict, v.reason, v.group, text(v.what), text(v.found), text(v.wanted), text(v.text)};
    }
    return OPTIMA_OK;
  }
};

/// Takes an artifact into memory; write number `fail_write` fails as on a full disk.
struct MemorySink {
  std::map<std::string, std::string> files;
  std::map<std::string, uint32_t> weights;
  std::map<std::string, std::string> meta;
  std::string format, compat, compat_text;
  int fail_write = 0;
  optima_sink raw{};

  static MemorySink& of(void* p) { return *static_cast<MemorySink*>(p); }
  bool all_closed() const { return open_.empty(); }
  MemorySink(const MemorySink&) = delete;
  MemorySink& operator=(const MemorySink&) = delete;
  MemorySink() {
    raw.struct_size = sizeof raw;
    raw.host_data = this;
    raw.open = [](void* p, optima_str name, uint64_t, uint64_t* stream, optima_status*) -> int32_t {
      if (of(p).files.count(text(name))) return OPTIMA_INVALID_ARGUMENT;
      of(p).files[text(name)];
      of(p).open_[*stream = of(p).next_++] = text(name);
      return OPTIMA_OK;
    };
    raw.write = [](void* p, uint64_t stream, const void* data, uint64_t size, optima_status* s) -> int32_t {
      MemorySink& self = of(p);
      if (self.fail_write && ++self.writes_ >= self.fail_write) return s->set_text(s->host_data, str("no space left on device")), OPTIMA_IO;
      const auto it = self.open_.find(stream);
      if (it == self.open_.end()) return OPTIMA_INVALID_ARGUMENT;
      if (size) self.files[it->second].append(static_cast<const char*>(data), size);
      return OPTIMA_OK;
    };
    raw.close = [](void* p, uint64_t stream, optima_status*) -> int32_t { return of(p).open_.erase(stream) ? OPTIMA_OK : OPTIMA_INVALID_ARGUMENT; };
    raw.path = [](void*, optima_str, optima_str*, optima_status* s) -> int32_t {
      s->set_text(s->host_data, str("sink has no paths"));
      return OPTIMA_UNSUPPORTED;
    };
    raw.set_format = [](void* p, optima_str id, optima_status*) -> int32_t { return of(p).format = text(id), OPTIMA_OK; };
    raw.set_meta = [](void* p, optima_str key, optima_str value, optima_status*) -> int32_t { return of(p).meta[text(key)] = text(value), OPTIMA_OK; };
    raw.set_compat = [](void* p, const void* record, uint64_t size, optima_str t, optima_status*) -> int32_t {
      of(p).compat.assign(static_cast<const char*>(record), size);
      of(p).compat_text = text(t);
      return OPTIMA_OK;
    };
    raw.use_weight = [](void* p, uint32_t blob, optima_str name, optima_status*) -> int32_t { return of(p).weights[text(name)] = blob, OPTIMA_OK; };
  }

 private:
  std::map<uint64_t, std::string> open_;
  uint64_t next_ = 1;
  int writes_ = 0;
};

struct Watch {
  bool cancel = false;
  double last = -1;
  optima_progress raw{sizeof(optima_progress), 0, this, [](void* p, double f, optima_str) { static_cast<Watch*>(p)->last = f; },
                      [](void* p) -> int32_t { return static_cast<Watch*>(p)->cancel; }};
  Watch() = default;
  Watch(const Watch&) = delete;
};

/// Ids of the nodes of graph 0, by position.
inline std::vector<uint32_t> ids_of_nodes(const optima_graph& graph) {
  const optima_slice& nodes = optima_get_graph(graph.image, 0)->nodes;
  std::vector<uint32_t> ids;
  for (uint32_t k = 0; k < nodes.count; ++k) ids.push_back(optima_get_node(graph.image, nodes.first + k)->id);
  return ids;
}

inline int32_t check(const Instance& plugin, const optima_graph& graph, const std::vector<uint32_t>& nodes, const optima_device& target, Verdicts& verdicts,
                     Status& status, const std::vector<optima_option>& options = {}) {
  optima_check_request r{};
  r.struct_size = sizeof r;
  r.graph = &graph;
  r.nodes = nodes.data(), r.node_count = static_cast<uint32_t>(nodes.size());
  r.options = options.data(), r.option_count = static_cast<uint32_t>(options.size());
  r.device = &target;
  return plugin.compiler().check(plugin.self, &r, Verdicts::add, &verdicts, &status.raw);
}

inline int32_t compile(const Instance& plugin, const optima_graph& graph, const optima_device& target, MemorySink& sink, Status& status,
                       const std::vector<optima_option>& options = {}, bool cancel = false) {
  optima_compile_request r{};
  r.struct_size = sizeof r;
  r.graph = &graph;
  r.options = options.data(), r.option_count = static_cast<uint32_t>(options.size());
  r.device = &target;
  r.stem = str("subgraph_0");
  Watch watch;
  watch.cancel = cancel;
  return plugin.compiler().compile(plugin.self, &r, &sink.raw, &watch.raw, &status.raw);
}

/// What a sink holds, as the runtime gets it.
struct Artifact {
  std::vector<optima_blob> blobs;
  std::vector<optima_named_blob> files, weights;
  optima_artifact raw{};
  Artifact(const MemorySink& sink, const Model* m) {
    blobs.reserve(sink.files.size() + sink.weights.size());
    uint64_t id = 100;
    for (const auto& [name, bytes] : sink.files) add(files, name, blob_of(bytes.data(), bytes.size(), id++));
    for (const auto& [name, blob] : sink.weights) add(weights, name, m->blobs.at(blob));
    raw.struct_size = sizeof raw;
    raw.format_id = str(sink.format);
    raw.files = files.data(), raw.file_count = static_cast<uint32_t>(files.size());
    raw.weights = weights.data(), raw.weight_count = static_cast<uint32_t>(weights.size());
    raw.compat = sink.compat.data(), raw.compat_size = sink.compat.size();
    raw.stem = str("subgraph_0");
  }
  Artifact(const Artifact&) = delete;

 private:
  void add(std::vector<optima_named_blob>& to, const std::string& name, const optima_blob& blob) {
    blobs.push_back(blob);
    to.push_back({sizeof(optima_named_blob), 0, str(name), &blobs.back()});
  }
};

inline std::pair<uint32_t, std::string> compatibility(const Instance& plugin, const Artifact& a, const optima_device& d) {
  std::string why;
  optima_compat compat{sizeof compat, 0, &why, [](void* p, optima_str t) { *static_cast<std::string*>(p) = text(t); }};
  Status status;
  const int32_t code = plugin.runtime().check_artifact(plugin.self, &a.raw, &d, &compat, &status.raw);
  return {code == OPTIMA_OK ? compat.verdict : uint32_t{OPTIMA_COMPAT_UNKNOWN}, why};
}

/// A loaded program; null when load failed, `code` and `status` say why.
struct Program {
  const Instance& plugin;
  optima_program* raw = nullptr;
  Status status;
  int32_t code;
  Program(const Instance& p, const Artifact& a, const optima_device& d, const std::vector<optima_option>& options = {}) : plugin(p) {
    code = p.runtime().load(p.self, &a.raw, &d, options.data(), static_cast<uint32_t>(options.size()), &raw, &status.raw);
  }
  ~Program() {
    if (raw) plugin.runtime().program_destroy(raw);
  }
  Program(const Program&) = delete;

  /// "in x:1 2x4;out y:1 2x4;"
  std::string bindings() const {
    std::string all;
    Status s;
    const auto add = [](void* p, const optima_binding* b) -> int32_t {
      const optima_binding k = known(b);
      std::string& line = *static_cast<std::string*>(p);
      line += (k.direction == OPTIMA_INPUT ? "in " : "out ") + text(k.name) + ":" + std::to_string(k.dtype);
      for (int32_t d = 0; d < k.rank; ++d) line += (d ? "x" : " ") + std::to_string(k.shape[d]);
      line += ";";
      return OPTIMA_OK;
    };
    const int32_t rc = plugin.runtime().bindings(raw, add, &all, &s.raw);
    return rc ? "code " + std::to_string(rc) : all;
  }
};

/// A caller's buffer of floats that may be made during execute. Longer than the plugin knows.
struct Buffer {
  std::vector<float> data;
  std::vector<int64_t> dims;
  optima_tensor raw{};
  Buffer(const Buffer&) = delete;
  explicit Buffer(std::vector<float> values) : data(std::move(values)), dims{static_cast<int64_t>(data.size())} {
    raw.struct_size = sizeof raw;
    raw.dtype = OPTIMA_F32;
    raw.fd = -1;
    raw.host_data = this;
    point();
    raw.alloc = [](void* p, const int64_t* d, int32_t rank) -> int32_t {
      auto& self = *static_cast<Buffer*>(p);
      self.dims.assign(d, d + rank);
      size_t n = 1;
      for (int64_t x : self.dims) n *= static_cast<size_t>(x);
      self.data.assign(n, 0);
      self.point();
      return OPTIMA_OK;
    };
  }
  void point() {
    raw.rank = static_cast<int32_t>(dims.size()), raw.shape = dims.data();
    raw.data = data.data(), raw.size = data.size() * sizeof(float);
  }
};

/// One execution of a program with one input and one output.
inline int32_t run(const Program& program, const Buffer& in, Buffer& out, Status& status) {
  const optima_runtime& rt = program.plugin.runtime();
  optima_context* context = nullptr;
  if (const int32_t rc = rt.context_create(program.raw, &context, &status.raw)) return rc;
  const int32_t rc = rt.execute(context, &in.raw, 1, &out.raw, 1, &status.raw);
  rt.context_destroy(context);
  return rc;
}

}  // namespace optima::seam
