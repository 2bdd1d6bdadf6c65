// SPDX-License-Identifier: Apache-2.0
// optima/plugin/plugin.hpp: the C++17 author layer over abi.h. Header only, exports nothing, knows no host code.
//
//   struct My : optima::Plugin, optima::Compiler, optima::Runtime { My(const optima::Init&); ... };
//   constexpr optima::Info kInfo = {...};
//   OPTIMA_PLUGIN(My, kInfo)
// A base class left out becomes a null extension. Everything thrown becomes a status.
#pragma once

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "optima/abi.h"

namespace optima {
inline namespace v0_1 {

// ---- strings, spans

inline std::string_view view(optima_str s) { return s.size ? std::string_view(s.data, s.size) : std::string_view(); }
inline optima_str str(std::string_view s) { return {s.data(), s.size()}; }

template <class T>
class Span {  // contiguous; C++17 has none
 public:
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return size_; }

 private:
  T* data_;
  size_t size_;
};

// A sized ABI struct as this header knows it: bytes the other side did not send are zero, bytes we do not know are dropped.
template <class T>
T known(const T* from) {
  T to{};
  if (from) std::memcpy(&to, from, from->struct_size < sizeof(T) ? from->struct_size : sizeof(T));
  to.struct_size = sizeof(T);
  return to;
}

// An array of sized structs, copied by known(): one shape for older, equal and newer senders.
template <class T>
std::vector<T> list(const T* first, uint32_t count) {
  std::vector<T> out;
  for (uint32_t i = 0; i < count; ++i, first = OPTIMA_NEXT(T, first)) out.push_back(known(first));
  return out;
}

// ---- errors

struct Error : std::exception {
  int32_t code;
  uint32_t node;
  std::string text;
  int64_t vendor_code = 0;
  Error(int32_t c, std::string t, uint32_t n = OPTIMA_NONE) : code(c), node(n), text(std::move(t)) {}
  const char* what() const noexcept override { return text.c_str(); }
};

// Passes on a host callback's refusal; the host knows the text already.
inline void ok(int32_t code) {
  if (code != OPTIMA_OK) throw Error(code, "");
}

inline int32_t set(optima_status* status, int32_t code, std::string_view text, uint32_t node = OPTIMA_NONE, int64_t vendor = 0) noexcept {
  status->code = code;
  status->node = node;
  status->vendor_code = vendor;
  if (!text.empty()) status->set_text(status->host_data, str(text));
  return code;
}

template <class F>
int32_t guard(optima_status* status, F&& body) noexcept {
  try {
    body();
    return OPTIMA_OK;
  } catch (const Error& e) {
    return set(status, e.code == OPTIMA_OK ? OPTIMA_INTERNAL : e.code, e.text, e.node, e.vendor_code);
  } catch (const std::bad_alloc&) {
    return set(status, OPTIMA_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return set(status, OPTIMA_INTERNAL, e.what());
  } catch (...) {
    return set(status, OPTIMA_INTERNAL, "unknown exception");
  }
}

// ---- graph views: two words each, valid for the call

struct Node {
  const optima_image* image;
  const optima_node* raw;
  std::string_view text(const optima_text& t) const { return view(optima_string(image, &t)); }
  uint32_t id() const { return raw->id; }
  std::string_view name() const { return text(raw->name); }
  std::string_view op() const { return text(raw->op_type); }
  std::string_view domain() const { return text(raw->domain); }
  const optima_value* input(uint32_t k) const { return value(optima_input(image, raw, k)); }
  const optima_value* output(uint32_t k) const { return value(optima_output(image, raw, k)); }
  int64_t integer(const char* name, int64_t otherwise) const { const auto* a = find(name, OPTIMA_ATTR_INT); return a ? a->i : otherwise; }
  double real(const char* name, double otherwise) const { const auto* a = find(name, OPTIMA_ATTR_FLOAT); return a ? a->f : otherwise; }

 private:
  const optima_value* value(uint32_t v) const { return v == OPTIMA_NONE ? nullptr : optima_get_value(image, v); }
  const optima_attr* find(const char* name, int32_t type) const {
    const optima_attr* a = optima_find_attr(image, raw, name);
    return a && a->type == type ? a : nullptr;
  }
};

struct Graph {
  const optima_graph* raw;
  const optima_image* image() const { return raw->image; }
  const optima_image_graph& main() const { return *optima_get_graph(image(), 0); }
  uint32_t size() const { return main().nodes.count; }
  Node operator[](uint32_t i) const { return {image(), optima_get_node(image(), main().nodes.first + i)}; }
};

// Elements of a blob, copied only when they are not aligned for T.
template <class T>
class Elements {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Elements(const optima_blob& b) : data_(static_cast<const T*>(b.data)), size_(b.size / sizeof(T)) {
    if (!b.data && b.size) throw Error(OPTIMA_IO, "blob is not mapped");
    if (reinterpret_cast<uintptr_t>(b.data) % alignof(T) == 0) return;
    copy_.resize(size_);
    std::memcpy(copy_.data(), b.data, size_ * sizeof(T));
    data_ = copy_.data();
  }
  Elements(const Elements&) = delete;
  const T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return size_; }
  bool copied() const { return !copy_.empty(); }

 private:
  const T* data_;
  size_t size_;
  std::vector<T> copy_;
};

// ---- tier 1: a constexpr table that is both the manifest and the first half of check()

using Types = uint64_t;  // bit set over dtype numbers
template <class... D>
constexpr Types types(D... dtype) { return (Types{0} | ... | (Types{1} << dtype)); }

struct Op {
  std::string_view domain, name;
  int32_t since_min = 1, since_max = 1;
  std::array<Types, 4> in{}, out{};  // per position; the last one set also holds for the rest
  int32_t rank_min = 0, rank_max = 64;  // of input 0
  bool static_shape = true;
  uint32_t const_inputs = 0;  // bit per input that must be a constant
  std::string_view note = "";
};

struct Option {
  std::string_view name, type, scope, def, doc;
  bool changes_artifact;
};

struct Info {
  std::string_view id, vendor, version, build_id;
  std::string_view kinds;  // "X64 ARM64"
  Span<const Op> ops{nullptr, 0};
};

// A refusal in the making; strings live until it was reported.
struct Verdict {
  uint32_t node, verdict, reason;
  std::string what, found, wanted, text;
};

inline Types types_at(const std::array<Types, 4>& sets, uint32_t k) {
  Types last = 0;
  for (uint32_t i = 0; i <= k && i < 4 && sets[i]; ++i) last = sets[i];
  return last;
}

// Why this row does not cover the node; verdict SUPPORTED when it does.
inline Verdict judge(const Op& op, const Node& n) {
  const auto no = [&](uint32_t reason, std::string what, std::string found, std::string wanted) {
    return Verdict{n.id(), OPTIMA_VERDICT_UNSUPPORTED, reason, what, found, wanted, what + " is " + found + ", must be " + wanted};
  };
  const int32_t since = n.raw->since_version;
  if (since < op.since_min || since > op.since_max)
    return no(OPTIMA_REASON_OPSET, "since_version", std::to_string(since), std::to_string(op.since_min) + ".." + std::to_string(op.since_max));
  const auto operand = [&](const optima_value* v, const std::string& what, Types set, bool constant, bool ranked) -> Verdict {
    if (v->dtype < 0 || v->dtype > 63 || !(set >> v->dtype & 1)) return no(OPTIMA_REASON_DTYPE, what, "dtype " + std::to_string(v->dtype), "a listed dtype");
    if (constant && v->constant == OPTIMA_NONE) return no(OPTIMA_REASON_CONST_REQUIRED, what, "computed", "constant");
    if (ranked && (v->rank < op.rank_min || v->rank > op.rank_max))
      return no(OPTIMA_REASON_RANK, what, "rank " + std::to_string(v->rank), std::to_string(op.rank_min) + ".." + std::to_string(op.rank_max));
    for (uint32_t d = 0; op.static_shape && d < v->dims.count; ++d)
      if (optima_get_dim(n.image, v->dims.first + d)->value < 0) return no(OPTIMA_REASON_DYNAMIC_SHAPE, what + " dim " + std::to_string(d), "dynamic", "static");
    return {n.id(), OPTIMA_VERDICT_SUPPORTED, 0, "", "", "", ""};
  };
  for (uint32_t k = 0; k < n.raw->inputs.count; ++k)
    if (n.input(k)) {
      Verdict v = operand(n.input(k), "input " + std::to_string(k), types_at(op.in, k), op.const_inputs >> k & 1, k == 0);
      if (v.verdict != OPTIMA_VERDICT_SUPPORTED) return v;
    }
  for (uint32_t k = 0; k < n.raw->outputs.count; ++k)
    if (n.output(k)) {
      Verdict v = operand(n.output(k), "output " + std::to_string(k), types_at(op.out, k), false, false);
      if (v.verdict != OPTIMA_VERDICT_SUPPORTED) return v;
    }
  return {n.id(), OPTIMA_VERDICT_SUPPORTED, 0, "", "", "", ""};
}

inline Verdict judge(Span<const Op> table, const Node& n) {
  Verdict best{n.id(), OPTIMA_VERDICT_UNSUPPORTED, OPTIMA_REASON_OP, "", std::string(n.op()), "", "operator " + std::string(n.op()) + " is not in the table"};
  for (const Op& op : table)
    if (op.name == n.op() && op.domain == n.domain()) {
      best = judge(op, n);
      if (best.verdict == OPTIMA_VERDICT_SUPPORTED) break;
    }
  return best;
}

// ---- what an author derives from

struct Init {
  const optima_host& host;
  std::vector<optima_option> options;
};

class Reporter {
 public:
  Reporter(optima_report report, void* data) : report_(report), data_(data) {}
  void operator()(const Verdict& v) const {
    optima_verdict raw{sizeof raw, v.node, v.verdict, v.reason, OPTIMA_NONE, 0, str(v.what), str(v.found), str(v.wanted), str(v.text)};
    ok(report_(data_, &raw, 1));
  }

 private:
  optima_report report_;
  void* data_;
};

class Sink {
 public:
  Sink(const optima_sink* raw, optima_status* status) : raw_(raw), status_(status) {}
  void file(std::string_view name, std::string_view bytes) const {
    uint64_t stream = 0;
    ok(raw_->open(raw_->host_data, str(name), bytes.size(), &stream, status_));
    ok(raw_->write(raw_->host_data, stream, bytes.data(), bytes.size(), status_));
    ok(raw_->close(raw_->host_data, stream, status_));
  }
  std::string path(std::string_view name) const {
    optima_str p{};
    ok(raw_->path(raw_->host_data, str(name), &p, status_));
    return std::string(view(p));
  }
  void format(std::string_view id) const { ok(raw_->set_format(raw_->host_data, str(id), status_)); }
  void compat(std::string_view record, std::string_view text) const {
    ok(raw_->set_compat(raw_->host_data, record.data(), record.size(), str(text), status_));
  }
  void use_weight(uint32_t blob, std::string_view name) const { ok(raw_->use_weight(raw_->host_data, blob, str(name), status_)); }

 private:
  const optima_sink* raw_;
  optima_status* status_;
};

class Progress {
 public:
  explicit Progress(const optima_progress* raw) : raw_(raw) {}
  void operator()(double fraction, std::string_view stage) const {  // also the place where a cancel is noticed
    raw_->report(raw_->host_data, fraction, str(stage));
    if (raw_->cancelled(raw_->host_data)) throw Error(OPTIMA_CANCELLED, "cancelled");
  }

 private:
  const optima_progress* raw_;
};

struct Plugin {
  virtual ~Plugin() = default;
  virtual std::vector<optima_device> devices() { return {}; }
};
struct Compiler {
  virtual ~Compiler() = default;
  virtual void check(const optima_check_request& request, const Reporter& report) = 0;
  virtual void compile(const optima_compile_request& request, const Sink& sink, const Progress& progress) = 0;
};
struct Context {
  virtual ~Context() = default;
  virtual void execute(const std::vector<optima_tensor>& in, const std::vector<optima_tensor*>& out) = 0;
  virtual void output_shapes(const std::vector<optima_tensor>&, Span<optima_shape>) { throw Error(OPTIMA_UNSUPPORTED, "shapes are static"); }
};
struct Program {
  virtual ~Program() = default;
  virtual void bindings(optima_add_binding add, void* data) = 0;
  virtual std::unique_ptr<Context> context() = 0;
};
struct Runtime {
  virtual ~Runtime() = default;
  virtual std::pair<uint32_t, std::string> check_artifact(const optima_artifact& artifact, const optima_device& device) = 0;
  virtual std::unique_ptr<Program> load(const optima_artifact& artifact, const optima_device& device, const std::vector<optima_option>& options) = 0;
};

// ---- thunks: C on the outside, P on the inside

template <class P>
struct Thunk {
  static P* self(optima_plugin* p) { return reinterpret_cast<P*>(p); }
  static Program* self(optima_program* p) { return reinterpret_cast<Program*>(p); }
  static Context* self(optima_context* c) { return reinterpret_cast<Context*>(c); }

  static int32_t init(const optima_host* host, const optima_option* o, uint32_t n, optima_plugin** out, optima_status* s) {
    return guard(s, [&] { *out = reinterpret_cast<optima_plugin*>(new P(Init{*host, list(o, n)})); });
  }
  static void deinit(optima_plugin* p) { delete self(p); }
  static int32_t devices(optima_plugin* p, optima_add_device add, void* data, optima_status* s) {
    return guard(s, [&] { for (const optima_device& d : self(p)->devices()) ok(add(data, &d)); });
  }
  static int32_t check(optima_plugin* p, const optima_check_request* r, optima_report report, void* data, optima_status* s) {
    return guard(s, [&] { self(p)->check(known(r), Reporter(report, data)); });
  }
  static int32_t compile(optima_plugin* p, const optima_compile_request* r, const optima_sink* k, const optima_progress* g, optima_status* s) {
    return guard(s, [&] { self(p)->compile(known(r), Sink(k, s), Progress(g)); });
  }
  static int32_t check_artifact(optima_plugin* p, const optima_artifact* a, const optima_device* d, optima_compat* c, optima_status* s) {
    return guard(s, [&] {
      auto [verdict, text] = self(p)->check_artifact(known(a), known(d));
      c->verdict = verdict;
      c->set_text(c->host_data, str(text));
    });
  }
  static int32_t load(optima_plugin* p, const optima_artifact* a, const optima_device* d, const optima_option* o, uint32_t n, optima_program** out, optima_status* s) {
    return guard(s, [&] { *out = reinterpret_cast<optima_program*>(self(p)->load(known(a), known(d), list(o, n)).release()); });
  }
  static int32_t bindings(optima_program* p, optima_add_binding add, void* data, optima_status* s) {
    return guard(s, [&] { self(p)->bindings(add, data); });
  }
  static int32_t context_create(optima_program* p, optima_context** out, optima_status* s) {
    return guard(s, [&] { *out = reinterpret_cast<optima_context*>(self(p)->context().release()); });
  }
  static void context_destroy(optima_context* c) { delete self(c); }
  static void program_destroy(optima_program* p) { delete self(p); }
  static int32_t execute(optima_context* c, const optima_tensor* in, uint32_t ni, optima_tensor* out, uint32_t no, optima_status* s) {
    return guard(s, [&] {
      std::vector<optima_tensor*> outs;
      for (uint32_t i = 0; i < no; ++i, out = const_cast<optima_tensor*>(OPTIMA_NEXT(optima_tensor, out))) outs.push_back(out);
      self(c)->execute(list(in, ni), outs);
    });
  }
  static int32_t output_shapes(optima_context* c, const optima_tensor* in, uint32_t ni, optima_shape* out, uint32_t no, optima_status* s) {
    return guard(s, [&] { self(c)->output_shapes(list(in, ni), Span<optima_shape>(out, no)); });
  }
};

}  // namespace v0_1
}  // namespace optima

// Emits the tables and the one export. The tables are plain constants of this file: no unique symbols, no constructors.
#define OPTIMA_PLUGIN(P, info)                                                                                             \
  namespace {                                                                                                              \
  using OptimaThunk = optima::Thunk<P>;                                                                                    \
  template <class Q> const optima_compiler* optima_compiler_table() {                                                     \
    static constexpr optima_compiler table = {sizeof(table), 0, OptimaThunk::check, OptimaThunk::compile};                 \
    return &table;                                                                                                         \
  }                                                                                                                        \
  template <class Q> const optima_runtime* optima_runtime_table() {                                                       \
    static constexpr optima_runtime table = {sizeof(table), 0, OptimaThunk::check_artifact, OptimaThunk::load,             \
        OptimaThunk::bindings, OptimaThunk::context_create, OptimaThunk::context_destroy, OptimaThunk::program_destroy,    \
        OptimaThunk::execute, OptimaThunk::output_shapes};                                                                 \
    return &table;                                                                                                         \
  }                                                                                                                        \
  template <class Q> const void* optima_extension(optima_plugin*, optima_str id) {                                        \
    if constexpr (std::is_base_of_v<optima::Compiler, Q>)                                                                  \
      if (optima_str_is(id, OPTIMA_EXT_COMPILER)) return optima_compiler_table<Q>();                                       \
    if constexpr (std::is_base_of_v<optima::Runtime, Q>)                                                                   \
      if (optima_str_is(id, OPTIMA_EXT_RUNTIME)) return optima_runtime_table<Q>();                                         \
    return nullptr;                                                                                                        \
  }                                                                                                                        \
  constexpr optima_str optima_literal(std::string_view s) { return {s.data(), s.size()}; }                                 \
  constexpr optima_plugin_api kOptimaApi = {sizeof(kOptimaApi), OPTIMA_ABI_MAJOR, OPTIMA_ABI_MINOR, OPTIMA_TARGET_MINOR,   \
      OPTIMA_SANITIZER_NONE, 0, optima_literal((info).id), optima_literal((info).vendor),                                  \
      optima_literal((info).version), optima_literal((info).build_id), OptimaThunk::init, OptimaThunk::deinit,             \
      OptimaThunk::devices, optima_extension<P>};                                                                          \
  }                                                                                                                        \
  OPTIMA_EXPORT const optima_plugin_api* optima_plugin_query(uint32_t major, const optima_host*, optima_status* status) {  \
    if (major == OPTIMA_ABI_MAJOR) return &kOptimaApi;                                                                     \
    optima::set(status, OPTIMA_INCOMPATIBLE, "this plugin speaks ABI major 0 only");                                       \
    return nullptr;                                                                                                        \
  }
