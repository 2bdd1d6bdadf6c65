// SPDX-License-Identifier: Apache-2.0
// optima/plugin/host.hpp: what the host offers a plugin: options, devices, log, blobs that outlive a call, ONNX files.
#pragma once

#include "optima/plugin/graph.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// Options, or a device's attributes: typed name/value pairs. A view; the last entry of a name wins.
class Options {
 public:
  Options() = default;
  Options(const optima_option* first, uint32_t count) : first_(first), count_(count) {}
  uint32_t size() const { return count_; }
  const optima_option& operator[](uint32_t k) const {
    return *reinterpret_cast<const optima_option*>(reinterpret_cast<const char*>(first_) + uint64_t{k} * first_->struct_size);
  }
  /// Null when absent.
  const optima_option* find(std::string_view name) const {
    for (uint32_t k = count_; k > 0; --k)
      if (view((*this)[k - 1].name) == name) return &(*this)[k - 1];
    return nullptr;
  }
  // Typed: the default when absent, INVALID_ARGUMENT when of another type.
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const optima_option* o = typed(name, OPTIMA_OPTION_I64, "an integer");
    return o ? o->i64 : otherwise;
  }
  bool boolean(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }
  double real(std::string_view name, double otherwise) const {
    const optima_option* o = typed(name, OPTIMA_OPTION_F64, "a number");
    return o ? o->f64 : otherwise;
  }
  std::string_view string(std::string_view name, std::string_view otherwise) const {
    const optima_option* o = typed(name, OPTIMA_OPTION_STR, "a text");
    return o ? view(o->str) : otherwise;
  }
  std::string_view bytes(std::string_view name) const {
    const optima_option* o = typed(name, OPTIMA_OPTION_BYTES, "bytes");
    return o ? view(o->str) : std::string_view();
  }
  /// Entries of a list option; empty when absent.
  Options list(std::string_view name) const {
    const optima_option* o = typed(name, OPTIMA_OPTION_LIST, "a list");
    return o ? Options(o->list, o->list_count) : Options();
  }

 private:
  const optima_option* typed(std::string_view name, uint32_t type, const char* wanted) const {
    const optima_option* o = find(name);
    if (o && o->type != type) throw Error(OPTIMA_INVALID_ARGUMENT, "option '" + std::string(name) + "' has type " + std::to_string(o->type) + ", wanted " + wanted);
    return o;
  }
  const optima_option* first_ = nullptr;
  uint32_t count_ = 0;
};

/// The device a request is for. A view.
class Device {
 public:
  explicit Device(const optima_device* raw) : raw_(raw) {}
  const optima_device& raw() const { return *raw_; }
  std::string_view kind() const { return view(raw_->kind); }
  uint32_t device_class() const { return raw_->device_class; }
  uint32_t ordinal() const { return raw_->ordinal; }
  bool is_virtual() const { return raw_->flags & OPTIMA_DEVICE_VIRTUAL; }
  std::string_view id() const { return view(raw_->id); }
  std::string_view arch() const { return view(raw_->arch); }
  std::string_view driver() const { return view(raw_->driver); }
  /// The device's own attributes, then the config's target options.
  Options attributes() const { return Options(raw_->attrs, raw_->attr_count); }

 private:
  const optima_device* raw_;
};

class Host;

/// A blob that stays mapped after the call that brought it. Movable; released when destroyed.
class KeptBlob {
 public:
  KeptBlob() = default;
  KeptBlob(KeptBlob&& other) noexcept { swap(other); }
  KeptBlob& operator=(KeptBlob&& other) noexcept {
    swap(other);
    return *this;
  }
  ~KeptBlob() {
    if (host_) host_->blob_release(host_->self, blob_.id);
  }
  explicit operator bool() const { return host_ != nullptr; }
  const optima_blob& blob() const { return blob_; }
  const void* data() const { return blob_.data; }
  uint64_t size() const { return blob_.size; }
  /// Absolute path of a file with exactly these bytes; lives as long as this.
  std::string path() const;

 private:
  friend class Host;
  void swap(KeptBlob& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(blob_, other.blob_);
  }
  const optima_host* host_ = nullptr;
  optima_blob blob_{};
};

/// The host's table. Copy it; valid until the plugin is destroyed. Any thread.
class Host {
 public:
  explicit Host(const optima_host* raw) : raw_(raw) {}
  const optima_host* raw() const { return raw_; }
  std::string_view plugin_dir() const { return view(raw_->plugin_dir); }
  std::string_view cache_dir() const { return view(raw_->cache_dir); }  ///< empty when there is none
  std::string_view temp_dir() const { return view(raw_->temp_dir); }
  void log(int32_t level, std::string_view component, std::string_view text) const { raw_->log(raw_->self, level, str(component), str(text)); }
  /// A host extension, e.g. extension<optima_fence_host>(OPTIMA_EXT_FENCE); null when there is none.
  template <class T>
  const T* extension(std::string_view id) const {
    return static_cast<const T*>(raw_->get_extension(raw_->self, str(id)));
  }
  /// Keeps a blob of a request or an artifact past the call.
  KeptBlob keep(const optima_blob& blob) const {
    ok(raw_->blob_retain(raw_->self, blob.id));
    KeptBlob kept;
    kept.host_ = raw_;
    kept.blob_ = known(&blob);
    return kept;
  }
  /// Writes model.onnx (and weights.bin when needed) into an existing folder.
  void graph_to_onnx(const Graph& graph, std::string_view folder) const;

 private:
  const optima_host* raw_;
};

namespace detail {
/// A status of our own for host calls that want one; its text becomes an Error.
struct OwnStatus {
  std::string text;
  optima_status raw{sizeof(optima_status), 0, 0, OPTIMA_NONE, 0, this, [](void* self, optima_str t) { static_cast<OwnStatus*>(self)->text = view(t); }};
  OwnStatus() = default;
  OwnStatus(const OwnStatus&) = delete;
  void check(int32_t code) const {
    if (code != OPTIMA_OK) throw Error(code, text, raw.node);
  }
};
}  // namespace detail

inline std::string KeptBlob::path() const {
  detail::OwnStatus status;
  optima_str path{};
  status.check(host_->blob_path(host_->self, blob_.id, &path, &status.raw));
  return std::string(view(path));
}
inline void Host::graph_to_onnx(const Graph& graph, std::string_view folder) const {
  detail::OwnStatus status;
  status.check(raw_->graph_to_onnx(raw_->self, graph.raw(), str(folder), 0, &status.raw));
}

/// Writes to the host's log under one component name.
class Log {
 public:
  Log(Host host, std::string component) : host_(host), component_(std::move(component)) {}
  void debug(std::string_view text) const { host_.log(OPTIMA_LOG_DEBUG, component_, text); }
  void info(std::string_view text) const { host_.log(OPTIMA_LOG_INFO, component_, text); }
  void warn(std::string_view text) const { host_.log(OPTIMA_LOG_WARN, component_, text); }
  void error(std::string_view text) const { host_.log(OPTIMA_LOG_ERROR, component_, text); }

 private:
  Host host_;
  std::string component_;
};

}  // namespace v0_1
}  // namespace optima::sdk
