// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: build a net, compile it through the seam, load and run it. No test framework here: the benchmark uses it.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <fstream>
#include <random>
#include <string_view>

#include "reference/reference.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/llvm_cpu/fenced.hpp"

namespace llvm_cpu_test {

namespace image = optima::image;
namespace seam = optima::seam;
using Dims = std::vector<int64_t>;

inline int64_t count(const Dims& d) {
  int64_t n = 1;
  for (const int64_t x : d) n *= x;
  return n;
}

/// Values by number; constants keep their bytes here. Shapes are the caller's word.
class Net {
 public:
  explicit Net(uint32_t seed = 1) : random_(seed) { contents_.graphs.resize(1), contents_.opsets = {{"", 21}}; }

  uint32_t input(const Dims& dims, int32_t dtype = OPTIMA_F32) {
    const uint32_t v = value("x" + std::to_string(inputs_++), dims, dtype);
    graph().inputs.push_back(v);
    return v;
  }
  template <class T>
  uint32_t constant(const Dims& dims, const std::vector<T>& data, int32_t dtype) {
    std::string bytes(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T));
    contents_.constants.push_back({dtype, dims, static_cast<uint32_t>(bytes_.size())});
    bytes_.push_back(std::move(bytes));
    const uint32_t v = value("c" + std::to_string(contents_.constants.size()), dims, dtype);
    graph().values[v].constant = static_cast<uint32_t>(contents_.constants.size() - 1);
    return v;
  }
  uint32_t weights(const Dims& dims, float low = -1, float high = 1) { return constant<float>(dims, random(count(dims), low, high), OPTIMA_F32); }
  uint32_t integers(const std::vector<int64_t>& v) { return constant<int64_t>({static_cast<int64_t>(v.size())}, v, OPTIMA_I64); }

  /// A node with one output of these dims.
  uint32_t node(const std::string& op, int32_t since, const std::vector<uint32_t>& in, const Dims& out, std::vector<image::Attr> attrs = {}, int32_t dtype = OPTIMA_F32) {
    const uint32_t v = value("v" + std::to_string(graph().values.size()), out, dtype);
    image::Node n;
    n.op_type = op, n.name = op + "_" + std::to_string(graph().nodes.size()), n.id = static_cast<uint32_t>(graph().nodes.size() + 10);
    n.since_version = since, n.inputs = in, n.outputs = {v}, n.attrs = std::move(attrs);
    graph().nodes.push_back(n);
    return v;
  }
  /// The same with several outputs, each of these dims and of this type.
  std::vector<uint32_t> nodes(const std::string& op, int32_t since, const std::vector<uint32_t>& in, const std::vector<std::pair<Dims, int32_t>>& out) {
    std::vector<uint32_t> made{node(op, since, in, out[0].first, {}, out[0].second)};
    for (size_t k = 1; k < out.size(); ++k) made.push_back(value(op + std::to_string(k) + "_" + std::to_string(graph().values.size()), out[k].first, out[k].second));
    graph().nodes.back().outputs = made;
    return made;
  }
  void output(uint32_t v) { graph().outputs.push_back(v); }

  /// Conv with square kernel and stride, padding on all sides.
  uint32_t conv(uint32_t x, int64_t oc, int64_t k, int64_t s, int64_t pad, int64_t group = 1, bool bias = true) {
    const Dims in = dims(x);
    const Dims out{in[0], oc, (in[2] + 2 * pad - k) / s + 1, (in[3] + 2 * pad - k) / s + 1};
    const float scale = 1 / std::sqrt(static_cast<float>(in[1] / group * k * k));
    std::vector<uint32_t> operands{x, weights({oc, in[1] / group, k, k}, -scale, scale)};
    if (bias) operands.push_back(weights({oc}));
    return node("Conv", 11, operands, out, {ints("kernel_shape", {k, k}), ints("strides", {s, s}), ints("pads", {pad, pad, pad, pad}), integer("group", group)});
  }
  uint32_t batch_norm(uint32_t x) {
    const Dims c{dims(x)[1]};
    return node("BatchNormalization", 15, {x, weights(c, 0.5f, 1.5f), weights(c), weights(c), weights(c, 0.5f, 2)}, dims(x), {real("epsilon", 1e-5)});
  }
  uint32_t same(const std::string& op, int32_t since, uint32_t x, std::vector<image::Attr> attrs = {}) { return node(op, since, {x}, dims(x), std::move(attrs)); }
  uint32_t add(uint32_t a, uint32_t b) { return node("Add", 14, {a, b}, dims(a)); }

  Dims dims(uint32_t v) {
    Dims out;
    for (const image::Dim& d : *graph().values[v].dims) out.push_back(d.value);
    return out;
  }
  std::vector<float> random(int64_t n, float low, float high) {
    std::vector<float> v(static_cast<size_t>(n));
    for (float& x : v) x = low + (high - low) * static_cast<float>(random_() % 4096) / 4095;
    return v;
  }
  image::Graph& graph() { return contents_.graphs[0]; }
  /// For bodies of nodes, which come behind graph 0.
  image::Contents& contents() { return contents_; }

  static image::Attr ints(const char* name, Dims v) {
    image::Attr a;
    a.name = name, a.type = OPTIMA_ATTR_INTS, a.ints = std::move(v);
    return a;
  }
  static image::Attr integer(const char* name, int64_t v) {
    image::Attr a;
    a.name = name, a.type = OPTIMA_ATTR_INT, a.i = v;
    return a;
  }
  static image::Attr real(const char* name, double v) {
    image::Attr a;
    a.name = name, a.type = OPTIMA_ATTR_FLOAT, a.f = v;
    return a;
  }
  static image::Attr text(const char* name, std::string v) {
    image::Attr a;
    a.name = name, a.type = OPTIMA_ATTR_STRING, a.s = std::move(v);
    return a;
  }

  /// Lives as long as this.
  std::unique_ptr<seam::Model> model() {
    std::vector<optima_blob> blobs;
    for (const std::string& b : bytes_) blobs.push_back(seam::blob_of(b.data(), b.size(), blobs.size() + 1));
    auto m = std::make_unique<seam::Model>(image::pack(contents_), std::move(blobs));
    const std::string why = m->verify();
    if (!why.empty()) throw std::runtime_error(why);
    return m;
  }

 private:
  uint32_t value(std::string name, const Dims& dims, int32_t dtype) {
    image::Value v;
    v.name = std::move(name), v.dtype = dtype, v.dims.emplace();
    for (const int64_t d : dims) v.dims->push_back({d, ""});
    graph().values.push_back(std::move(v));
    return static_cast<uint32_t>(graph().values.size() - 1);
  }
  image::Contents contents_;
  std::deque<std::string> bytes_;
  std::mt19937 random_;
  int inputs_ = 0;
};

inline const std::string kPlugins = OPTIMA_BINARY_DIR "/lib/optima/plugins/";

/// Both halves of the plugin in one host, and files for the blobs of one artifact.
struct Bench {
  seam::Host host;
  optima::test::TempFolder folder;
  std::string temp = folder.path(), cache;
  std::map<uint64_t, std::string> paths;
  std::unique_ptr<seam::Instance> compiler, runtime;

  explicit Bench(bool cached = true) {
    host.quiet = true;
    if (cached) cache = OPTIMA_BINARY_DIR "/llvm_cpu_test_cache";
    host.exposed.table.temp_dir = seam::str(temp);
    host.exposed.table.cache_dir = seam::str(cache);
    self() = this;
    host.exposed.table.blob_path = [](void*, uint64_t id, optima_str* path, optima_status*) -> int32_t {
      *path = seam::str(self()->paths.at(id));
      return OPTIMA_OK;
    };
    compiler = std::make_unique<seam::Instance>(kPlugins + "optima_llvm_cpu.so", host);
    runtime = std::make_unique<seam::Instance>(kPlugins + "optima_llvm_cpu_rt.so", host);
  }
  static Bench*& self() {  // blob_path gets the host, not the bench
    static Bench* bench = nullptr;
    return bench;
  }
  void write_files(const seam::Artifact& artifact) {
    for (const optima_named_blob& f : artifact.files) {
      const std::string path = temp + "/" + std::to_string(counter_++) + "_" + seam::text(f.name);
      std::ofstream(path, std::ios::binary).write(static_cast<const char*>(f.blob->data), static_cast<std::streamsize>(f.blob->size));
      paths[f.blob->id] = path;
    }
  }

 private:
  int counter_ = 0;
};

inline optima_option number_option(std::string_view name, int64_t v) {
  optima_option o{};
  o.struct_size = sizeof o, o.type = OPTIMA_OPTION_I64, o.name = seam::str(name), o.i64 = v;
  return o;
}

struct Compiled {
  std::unique_ptr<seam::Model> model;
  seam::MemorySink sink;
  seam::Status status;
  int32_t code = 0;
};

/// How many kernels the artifact has.
inline size_t kernels_of(const Compiled& c) {
  return static_cast<size_t>(std::count_if(c.sink.files.begin(), c.sink.files.end(), [](const auto& f) { return f.first.find(".so") != std::string::npos; }));
}

/// Whether the artifact has a kernel whose file's name begins with `stem`.
inline bool has_kernel(const Compiled& c, std::string_view stem) {
  return std::any_of(c.sink.files.begin(), c.sink.files.end(), [&](const auto& f) { return f.first.starts_with(stem); });
}

inline std::unique_ptr<Compiled> compile(Bench& bench, Net& net, const std::vector<optima_option>& options = {}, const char* kind = "X64") {
  auto c = std::make_unique<Compiled>();
  c->model = net.model();
  c->code = seam::compile(*bench.compiler, *c->model, seam::device(kind), c->sink, c->status, options);
  return c;
}

using Tensors = std::vector<optima::reference::Tensor>;

inline Tensors random_inputs(const Compiled& c, uint32_t seed = 7) {
  std::mt19937 random(seed);
  const optima_image* g = c.model->raw.image;
  const optima_image_graph& entry = *optima_get_graph(g, 0);
  Tensors out;
  for (uint32_t k = 0; k < entry.inputs.count; ++k) {
    const optima_value& v = *optima_get_value(g, *optima_get_index(g, entry.inputs.first + k));
    Dims dims;
    for (uint32_t d = 0; d < v.dims.count; ++d) dims.push_back(optima_get_dim(g, v.dims.first + d)->value);
    void* data = nullptr;
    out.push_back(optima::reference::Tensor::make(v.dtype, dims, &data));
    if (v.dtype == OPTIMA_F32)
      for (int64_t i = 0; i < count(dims); ++i) static_cast<float*>(data)[i] = static_cast<float>(random() % 4096) / 2048 - 1;
    if (v.dtype == OPTIMA_U8 || v.dtype == OPTIMA_I8)
      for (int64_t i = 0; i < count(dims); ++i) static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(random());
  }
  return out;
}

inline optima_tensor view(const optima::reference::Tensor& t) {
  optima_tensor r{};
  r.struct_size = sizeof r, r.dtype = t.dtype, r.rank = static_cast<int32_t>(t.dims.size()), r.shape = t.dims.data();
  r.data = const_cast<void*>(t.data), r.size = t.size, r.fd = -1;
  return r;
}

/// A loaded artifact with one context and buffers for its outputs. Throws when the plugin refuses. `fenced`: its tensors end where
/// nobody may go on.
class Session {
 public:
  Session(Bench& bench, const Compiled& c, int64_t threads, bool fenced = false) : rt_(bench.runtime->runtime()), fenced_(fenced) {
    const seam::Artifact artifact(c.sink, c.model.get());
    bench.write_files(artifact);
    const optima_option option = number_option(OPTIMA_OPTION_THREADS, threads);
    const optima_device device = seam::device("X64");
    seam::Status status;
    if (rt_.load(bench.runtime->self, &artifact.raw, &device, &option, 1, &program_, &status.raw)) throw std::runtime_error("load: " + status.message);
    if (rt_.context_create(program_, &context_, &status.raw)) throw std::runtime_error("context: " + status.message);
    const optima_image* g = c.model->raw.image;
    const optima_image_graph& entry = *optima_get_graph(g, 0);
    for (uint32_t k = 0; k < entry.outputs.count; ++k) {
      const optima_value& v = *optima_get_value(g, *optima_get_index(g, entry.outputs.first + k));
      Dims dims;
      for (uint32_t d = 0; d < v.dims.count; ++d) dims.push_back(optima_get_dim(g, v.dims.first + d)->value);
      void* data = nullptr;
      outputs_.push_back(optima::reference::Tensor::make(v.dtype, dims, &data));
      if (fenced_) outputs_.back().data = data = fence(outputs_.back().size);
      if (outputs_.back().size) std::memset(data, 0xFF, outputs_.back().size);
    }
    for (const auto& t : outputs_) out_.push_back(view(t));
  }
  ~Session() {
    if (context_) rt_.context_destroy(context_);
    if (program_) rt_.program_destroy(program_);
  }
  Session(const Session&) = delete;

  const Tensors& run(const Tensors& inputs) {
    std::vector<optima_tensor> in;
    for (const auto& t : inputs) {
      in.push_back(view(t));
      if (!fenced_) continue;
      in.back().data = fence(t.size);
      if (t.size) std::memcpy(in.back().data, t.data, t.size);
    }
    seam::Status status;
    if (rt_.execute(context_, in.data(), static_cast<uint32_t>(in.size()), out_.data(), static_cast<uint32_t>(out_.size()), &status.raw))
      throw std::runtime_error("execute: " + status.message);
    return outputs_;
  }
  optima_context* context() const { return context_; }

 private:
  char* fence(uint64_t bytes) {
    fences_.push_back(std::make_unique<Fenced>(bytes));
    return fences_.back()->data();
  }
  const optima_runtime& rt_;
  bool fenced_;
  std::vector<std::unique_ptr<Fenced>> fences_;
  optima_program* program_ = nullptr;
  optima_context* context_ = nullptr;
  Tensors outputs_;
  std::vector<optima_tensor> out_;
};

}  // namespace llvm_cpu_test
