// SPDX-License-Identifier: Apache-2.0
// optima/plugin/request.hpp: what check() and compile() are given, and where they put their answers. Views, valid for the call.
#pragma once

#include <algorithm>
#include <optional>

#include "optima/plugin/door.hpp"
#include "optima/plugin/host.hpp"
#include "optima/plugin/manifest.hpp"
#include "optima/plugin/sizes.hpp"

namespace optima::sdk {
inline namespace v0_1 {

class CheckRequest {
 public:
  explicit CheckRequest(const optima_check_request* raw) : raw_(known(raw)) {}
  const optima_check_request& raw() const { return raw_; }
  Graph graph() const { return Graph(raw_.graph); }
  /// The candidates, of any graph of the image. INVALID_ARGUMENT when one is not in the image.
  std::vector<Node> nodes() const {
    std::vector<std::pair<uint32_t, uint32_t>> by_id;
    const optima_image* image = raw_.graph->image;
    for (uint32_t k = 0; k < image->nodes.count; ++k) by_id.emplace_back(optima_get_node(image, k)->id, k);
    std::sort(by_id.begin(), by_id.end());
    std::vector<Node> out;
    for (uint32_t k = 0; k < raw_.node_count; ++k) {
      const auto at = std::lower_bound(by_id.begin(), by_id.end(), std::pair<uint32_t, uint32_t>(raw_.nodes[k], 0));
      if (at == by_id.end() || at->first != raw_.nodes[k]) throw Error(OPTIMA_INVALID_ARGUMENT, "candidate is not in the graph", raw_.nodes[k]);
      out.emplace_back(raw_.graph, optima_get_node(image, at->second));
    }
    return out;
  }
  Options options() const { return Options(raw_.options, raw_.option_count); }
  Device device() const { return Device(raw_.device); }
  uint64_t memory_limit() const { return raw_.memory_limit; }  ///< bytes; 0 = none given

 private:
  optima_check_request raw_;
};

namespace detail {
/// Lives as long as the verdict's strings.
inline optima_verdict raw(const Verdict& v) {
  return {sizeof(optima_verdict), v.node, v.verdict, v.reason, v.group, 0, str(v.what), str(v.found), str(v.wanted), str(v.text)};
}
}  // namespace detail

/// Takes the verdicts of check(): one per candidate.
class Reporter {
 public:
  Reporter(optima_report report, void* data) : report_(report), data_(data) {}
  void operator()(const Verdict& v) const {
    const optima_verdict raw = detail::raw(v);
    ok(report_(data_, &raw, 1));
  }

 private:
  optima_report report_;
  void* data_;
};

/// optima_encoding as a view: real = (code - zero point) * scale.
struct Encoding {
  int32_t dtype;                    ///< of the codes; F32, F16 or BF16 = left float, no scales
  int32_t axis;                     ///< of the value's dims; -1 = one scale, or several of which the user's file did not say along what
  int64_t block;                    ///< elements along the axis that share a scale; 0 = one scale per index
  Span<const float> scales;
  Span<const int32_t> zero_points;  ///< as many as scales
};

/// Representative data and encodings for quantizers. False when the user gave none.
class Calibration {
 public:
  struct Sample {
    const void* data;  ///< dense elements of the value's dtype; until the next read on this thread
    uint64_t size;     ///< bytes
    Span<const int64_t> shape;
  };
  explicit Calibration(const optima_calibration* raw) : given_(raw != nullptr), raw_(known(raw)) {}
  explicit operator bool() const { return given_; }
  uint32_t samples() const { return raw_.sample_count; }
  /// Any value of graph 0 in one sample; NOT_FOUND when the host cannot compute it.
  Sample read(uint32_t sample, const Value& value) const {
    detail::OwnStatus status;
    Sample s{};
    const int64_t* dims = nullptr;
    uint32_t rank = 0;
    status.check(raw_.read(raw_.host_data, sample, value.index(), &s.data, &s.size, &dims, &rank, &status.raw));
    s.shape = {dims, rank};
    return s;
  }
  /// How a value of graph 0, weights included, is to be coded, until compile returns; nothing when nobody said, or the host is too old to know.
  std::optional<Encoding> encoding(const Value& value) const {
    if (!raw_.encoding) return std::nullopt;
    detail::OwnStatus status;
    const optima_encoding* found = nullptr;
    const int32_t code = raw_.encoding(raw_.host_data, value.index(), &found, &status.raw);
    if (code == OPTIMA_NOT_FOUND) return std::nullopt;
    status.check(code);
    const optima_encoding e = known(found);
    return Encoding{e.dtype, e.axis, e.block, {e.scales, e.scale_count}, {e.zero_points, e.scale_count}};
  }

 private:
  bool given_;
  optima_calibration raw_;
};

class CompileRequest {
 public:
  explicit CompileRequest(const optima_compile_request* raw) : raw_(known(raw)) {}
  const optima_compile_request& raw() const { return raw_; }
  Graph graph() const { return Graph(raw_.graph); }
  Options options() const { return Options(raw_.options, raw_.option_count); }
  Device device() const { return Device(raw_.device); }
  uint64_t memory_limit() const { return raw_.memory_limit; }
  /// "subgraph_3": the main file's name without suffix. File contents must not depend on it.
  std::string stem() const { return std::string(view(raw_.stem)); }
  Calibration calibration() const { return Calibration(raw_.calibration); }
  /// The door that this input or output of the graph goes through; nothing = the usual one. Only plugins that derive from Doors are given any.
  std::optional<Door> door(const Value& value) const {
    const optima_value_door* one = raw_.doors;
    for (uint32_t k = 0; k < raw_.door_count; ++k, one = OPTIMA_NEXT(optima_value_door, one))
      if (one->value == value.index()) return Door(*one->door);
    return std::nullopt;
  }
  /// What the user said of open sizes of the inputs.
  std::vector<SizeRange> sizes() const {
    std::vector<SizeRange> out;
    const optima_size_range* one = raw_.sizes;
    for (uint32_t k = 0; k < raw_.size_count; ++k, one = OPTIMA_NEXT(optima_size_range, one)) {
      const optima_size_range r = known(one);
      out.push_back({view(r.symbol), r.min, r.max, r.step, r.opt, {r.listed, r.listed_count}});
    }
    return out;
  }

 private:
  optima_compile_request raw_;
};

/// Where compile() puts the artifact. Names are relative, '/'-separated, each made once.
class Sink {
 public:
  Sink(const optima_sink* raw, optima_status* status) : raw_(raw), status_(status) {}
  /// A whole file.
  void file(std::string_view name, std::string_view bytes) const {
    Stream s = open(name, bytes.size());
    s.write(bytes.data(), bytes.size());
    s.close();
  }
  /// A file written in pieces; close() it, or the artifact is refused.
  class Stream {
   public:
    void write(const void* data, uint64_t size) { ok(raw_->write(raw_->host_data, id_, data, size, status_)); }
    void close() { ok(raw_->close(raw_->host_data, id_, status_)); }

   private:
    friend class Sink;
    Stream(const optima_sink* raw, optima_status* status) : raw_(raw), status_(status) {}
    const optima_sink* raw_;
    optima_status* status_;
    uint64_t id_ = 0;
  };
  Stream open(std::string_view name, uint64_t size_hint = 0) const {
    Stream s(raw_, status_);
    ok(raw_->open(raw_->host_data, str(name), size_hint, &s.id_, status_));
    return s;
  }
  /// An absolute path for tools that only write files; the file must be there when compile() returns.
  std::string path(std::string_view name) const {
    optima_str p{};
    ok(raw_->path(raw_->host_data, str(name), &p, status_));
    return std::string(view(p));
  }
  /// Required: "acme.bin/2".
  void format(std::string_view id) const { ok(raw_->set_format(raw_->host_data, str(id), status_)); }
  void meta(std::string_view key, std::string_view value) const { ok(raw_->set_meta(raw_->host_data, str(key), str(value), status_)); }
  /// At most once; record up to 64 KiB, text one line for people.
  void compat(std::string_view record, std::string_view text) const {
    ok(raw_->set_compat(raw_->host_data, record.data(), record.size(), str(text), status_));
  }
  /// The artifact refers to this constant: at load it is among Artifact::weight(name).
  void use_weight(const Constant& constant, std::string_view name) const {
    ok(raw_->use_weight(raw_->host_data, constant.blob_index(), str(name), status_));
  }
  /// Ends compile(), always by an exception: these nodes, made by Verdict::refused(), cannot be compiled here after all. The host takes
  /// all of them from the device and splits once. A host that knows no such call is told of the first.
  [[noreturn]] void refuse(Span<const Verdict> nodes) const {
    if (nodes.empty()) throw Error(OPTIMA_INTERNAL, "refused no node");
    std::vector<optima_verdict> all;
    for (const Verdict& v : nodes) all.push_back(detail::raw(v));
    if (OPTIMA_HAS(raw_, refuse)) ok(raw_->refuse(raw_->host_data, all.data(), static_cast<uint32_t>(all.size())));
    throw Error(OPTIMA_UNSUPPORTED, nodes[0].text, nodes[0].node);
  }

 private:
  const optima_sink* raw_;
  optima_status* status_;
};

/// Tells how far compile() or load() is, and stops it when the user cancelled. Any thread.
class Progress {
 public:
  /// Null: nobody looks, nobody cancels.
  explicit Progress(const optima_progress* raw) : raw_(raw) {}
  /// At least every second. Throws CANCELLED; fraction 0..1, negative = unknown.
  void operator()(double fraction, std::string_view stage) const {
    if (raw_) raw_->report(raw_->host_data, fraction, str(stage));
    if (cancelled()) throw Error(OPTIMA_CANCELLED, "cancelled");
  }
  bool cancelled() const { return raw_ && raw_->cancelled(raw_->host_data) != 0; }

 private:
  const optima_progress* raw_;
};

/// A finished compilation, as the runtime gets it back. Bytes are hostile: check every size and index.
class Artifact {
 public:
  explicit Artifact(const optima_artifact* raw) : raw_(known(raw)) {}
  const optima_artifact& raw() const { return raw_; }
  std::string_view format() const { return view(raw_.format_id); }
  std::string_view stem() const { return view(raw_.stem); }
  std::string_view compat() const { return {static_cast<const char*>(raw_.compat), raw_.compat_size}; }
  uint32_t file_count() const { return raw_.file_count; }
  /// Null when there is no such file. In check_artifact blobs may have no bytes.
  const optima_blob* file(std::string_view name) const { return find(raw_.files, raw_.file_count, name); }
  std::string_view file_name(uint32_t k) const { return view(at(raw_.files, k).name); }
  const optima_blob& file(uint32_t k) const { return *at(raw_.files, k).blob; }
  /// By the name given to Sink::use_weight; 64-byte aligned. Null when absent.
  const optima_blob* weight(std::string_view name) const { return find(raw_.weights, raw_.weight_count, name); }
  /// Of load(), which calls it at least every second.
  Progress progress() const { return Progress(raw_.progress); }

 private:
  static const optima_named_blob& at(const optima_named_blob* first, uint32_t k) {
    return *reinterpret_cast<const optima_named_blob*>(reinterpret_cast<const char*>(first) + uint64_t{k} * first->struct_size);
  }
  static const optima_blob* find(const optima_named_blob* first, uint32_t count, std::string_view name) {
    for (uint32_t k = 0; k < count; ++k)
      if (view(at(first, k).name) == name) return at(first, k).blob;
    return nullptr;
  }
  optima_artifact raw_;
};

}  // namespace v0_1
}  // namespace optima::sdk
