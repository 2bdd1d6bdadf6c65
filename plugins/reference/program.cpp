// SPDX-License-Identifier: Apache-2.0
// plugins/reference: runs a loaded graph through the reference library.
#include "program.hpp"

#include <time.h>

#include <map>

#include "info.hpp"
#include "reference/tensor.hpp"

namespace reference_plugin {
namespace {

namespace reference = optima::reference;

uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

/// Calls f(element of the dense tensor, offset in elements of the strided one) in row-major order.
template <class F>
void each_strided(const optima_tensor& t, F&& f) {
  reference::Dims dims(t.shape, t.shape + t.rank), at(dims.size(), 0);
  for (int64_t i = 0, n = reference::count(dims); i < n; ++i, reference::next(at, dims)) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * t.strides[d];
    f(i, offset);
  }
}

uint64_t whole_bytes(const optima_tensor& t) {
  const uint32_t bits = optima_dtype_bits(t.dtype);
  if (bits == 0 || bits % 8 != 0) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "strided tensor of " + sdk::dtype_name(t.dtype) + ", wanted a dense one");
  return bits / 8;
}

/// The caller's buffer as the library's tensor: borrowed when dense and aligned, else copied.
reference::Tensor borrow(const sdk::Tensor& t) {
  const optima_tensor& raw = t.raw();
  if (raw.rank < 0 || raw.rank > 64) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "tensor has rank " + std::to_string(raw.rank));
  reference::Tensor out;
  out.dtype = raw.dtype;
  out.dims.assign(raw.shape, raw.shape + raw.rank);
  out.size = reference::bytes_of(raw.dtype, reference::count(out.dims));
  const auto* data = t.data<char>();
  if (t.dense() && raw.size < out.size) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "tensor has " + std::to_string(raw.size) + " bytes, wanted " + std::to_string(out.size));
  if (t.dense() && reinterpret_cast<uintptr_t>(data) % 16 == 0) {
    out.data = data;
    return out;
  }
  void* copy = nullptr;
  const reference::Tensor owned = reference::Tensor::make(raw.dtype, out.dims, &copy);
  if (t.dense()) {
    if (out.size) std::memcpy(copy, data, out.size);
  } else {
    const uint64_t width = whole_bytes(raw);
    each_strided(raw, [&](int64_t i, int64_t offset) { std::memcpy(static_cast<char*>(copy) + i * static_cast<int64_t>(width), data + offset * static_cast<int64_t>(width), width); });
  }
  return owned;
}

void give(const reference::Tensor& from, const sdk::OutTensor& to) {
  if (to.wants_alloc()) to.alloc(sdk::Span<const int64_t>(from.dims.data(), from.dims.size()));
  const optima_tensor& raw = to.raw();
  const bool same = raw.dtype == from.dtype && raw.rank == static_cast<int32_t>(from.dims.size()) && std::equal(from.dims.begin(), from.dims.end(), raw.shape);
  if (!same) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "output '" + std::string(to.name()) + "' was made for another shape than " + reference::show(from.dims));
  if (from.size == 0) return;
  auto* data = to.data<char>();
  if (!data || (to.dense() && raw.size < from.size)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "output '" + std::string(to.name()) + "' has " + std::to_string(raw.size) + " bytes, wanted " + std::to_string(from.size));
  if (to.dense()) {
    std::memcpy(data, from.data, from.size);
    return;
  }
  const auto width = static_cast<int64_t>(whole_bytes(raw));
  each_strided(raw, [&](int64_t i, int64_t offset) { std::memcpy(data + offset * width, static_cast<const char*>(from.data) + i * width, static_cast<size_t>(width)); });
}

class Run : public sdk::Context {
 public:
  explicit Run(const reference::GraphFile& loaded) : loaded_(loaded) {}

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override {
    const sdk::Graph graph(&loaded_.graph);
    if (in.size() != graph.input_count() || out.size() != graph.output_count()) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "buffers differ from the bindings");
    std::vector<reference::Tensor> inputs;
    for (size_t k = 0; k < in.size(); ++k) inputs.push_back(borrow(in[k]));
    const std::vector<reference::Tensor> results = reference::run(loaded_.graph, inputs, watch());
    for (size_t k = 0; k < out.size(); ++k) give(results[k], out[k]);
  }

  /// Dims that share a symbol with an input's dim are known from it, unless inputs differ in what they call by it; the rest depends on data.
  void output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) override {
    const sdk::Graph graph(&loaded_.graph);
    if (in.size() != graph.input_count() || out.size() != graph.output_count()) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "buffers differ from the bindings");
    std::map<std::string_view, int64_t> symbols;
    for (uint32_t k = 0; k < graph.input_count(); ++k)
      for (uint32_t d = 0; graph.input(k).rank() == in[k].rank() && d < static_cast<uint32_t>(in[k].rank()); ++d) {
        const auto [known, fresh] = symbols.try_emplace(graph.input(k).symbol(d), in[k].dim(d));
        if (!fresh && known->second != in[k].dim(d)) known->second = -1;
      }
    symbols.erase("");
    for (uint32_t k = 0; k < graph.output_count(); ++k) {
      const sdk::Value v = graph.output(k);
      if (!v.ranked()) {
        out.set_unranked(k);
        continue;
      }
      std::vector<int64_t> dims = v.shape();
      for (uint32_t d = 0; d < dims.size(); ++d)
        if (const auto known = symbols.find(v.symbol(d)); dims[d] < 0 && known != symbols.end()) dims[d] = known->second;
      out.set(k, sdk::Span<const int64_t>(dims.data(), dims.size()));
    }
  }

  void profile(bool on) override {
    profiling_ = on;
    events_.clear();
  }
  void read_profile(const sdk::EventSink& sink) override {
    for (const Event& e : events_) sink(e.node.op(), e.start, e.duration, e.node.id());
    events_.clear();
  }

 private:
  struct Event {
    sdk::Node node;
    uint64_t start, duration;
  };

  /// One event per node, from the end of the one before to its first output.
  reference::Observer watch() {
    if (!profiling_) return {};
    begin_ = last_ = now_ns();
    return [this](uint32_t value, const reference::Tensor&) {
      const sdk::Node node = sdk::Value(&loaded_.graph, value).producer();
      const uint64_t now = now_ns();
      if (events_.empty() || events_.back().node.id() != node.id() || events_.back().start < begin_) events_.push_back({node, last_, now - last_});
      last_ = now;
    };
  }

  const reference::GraphFile& loaded_;
  bool profiling_ = false;
  uint64_t begin_ = 0, last_ = 0;  // of this execution; of the node before
  std::vector<Event> events_;
};

class Interpreted : public sdk::Program {
 public:
  explicit Interpreted(std::unique_ptr<reference::GraphFile> loaded) : loaded_(std::move(loaded)) {}

  void bindings(const sdk::BindingSink& add) const override {
    const sdk::Graph graph(&loaded_->graph);
    for (uint32_t k = 0; k < graph.input_count(); ++k) put(graph.input(k), [&](const sdk::Binding& b) { add.input(b); });
    for (uint32_t k = 0; k < graph.output_count(); ++k) put(graph.output(k), [&](const sdk::Binding& b) { add.output(b); });
  }
  std::unique_ptr<sdk::Context> context() override { return std::make_unique<Run>(*loaded_); }

 private:
  template <class F>
  static void put(const sdk::Value& v, F&& add) {
    const std::vector<int64_t> shape = v.shape();
    sdk::Binding b{v.name(), v.dtype(), sdk::Span<const int64_t>(shape.data(), shape.size())};
    b.unranked = !v.ranked();
    add(b);
  }

  std::unique_ptr<reference::GraphFile> loaded_;
};

void check_border(const sdk::Value& v) {
  if (v.kind() != OPTIMA_KIND_TENSOR || optima_dtype_bits(v.dtype()) == 0) throw sdk::Error(OPTIMA_CORRUPT, "artifact has an input or output '" + std::string(v.name()) + "' that is no tensor of numbers");
}

}  // namespace

sdk::Verdict verdict_of(const sdk::Node& node) {
  const sdk::Verdict tier1 = sdk::judge(kInfo.operators, node);
  if (!tier1.yes()) return tier1;
  const std::string why = reference::why_not(*node.graph(), node.raw());
  return why.empty() ? sdk::Verdict::supported(node) : sdk::Verdict::refused(node, OPTIMA_REASON_ATTRIBUTE, why);
}

std::unique_ptr<reference::GraphFile> read_artifact(const sdk::Artifact& artifact, const sdk::Host* host) {
  if (artifact.format() != kFormat) throw sdk::Error(OPTIMA_RECOMPILE, "artifact has format '" + std::string(artifact.format()) + "', wanted " + std::string(kFormat));
  if (artifact.file_count() != 1) throw sdk::Error(OPTIMA_CORRUPT, "artifact has " + std::to_string(artifact.file_count()) + " files, wanted one");
  return reference::read_graph_file(artifact, artifact.file(0), host);
}

std::unique_ptr<sdk::Program> make_program(std::unique_ptr<reference::GraphFile> loaded) {
  const sdk::Graph graph(&loaded->graph);
  for (uint32_t k = 0; k < graph.input_count(); ++k) check_border(graph.input(k));
  for (uint32_t k = 0; k < graph.output_count(); ++k) check_border(graph.output(k));
  for (uint32_t k = 0; k < graph.size(); ++k)
    if (const sdk::Verdict v = verdict_of(graph[k]); !v.yes()) throw sdk::Error(OPTIMA_CORRUPT, "artifact has a node this build does not run: " + v.text, graph[k].id());
  return std::make_unique<Interpreted>(std::move(loaded));
}

}  // namespace reference_plugin
