// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "blob.hpp"

namespace openvino_plugin {
namespace {

ov::Shape shape_of(const sdk::Tensor& t) {
  ov::Shape s;
  for (int64_t d : t.shape()) s.push_back(static_cast<size_t>(d));
  return s;
}

std::string show(sdk::Span<const int64_t> dims) {
  std::string s = "[";
  for (size_t k = 0; k < dims.size(); ++k) (s += k ? ", " : "") += std::to_string(dims[k]);
  return s + "]";
}

/// The caller's buffer itself, as OpenVINO's tensor.
ov::Tensor lend(const sdk::Tensor& t, const Port& port) {
  static char nothing[64];  // OpenVINO wants an address for tensors without elements too
  const std::string what = "tensor '" + port.name + "'";
  if (t.dtype() != port.dtype) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, what + " is " + sdk::dtype_name(t.dtype()) + ", wanted " + sdk::dtype_name(port.dtype));
  bool fits = !port.ranked || t.shape().size() == port.dims.size();
  for (size_t d = 0; fits && port.ranked && d < port.dims.size(); ++d) fits = port.dims[d] < 0 || port.dims[d] == t.shape()[d];
  const sdk::Span<const int64_t> wanted(port.dims.data(), port.dims.size());
  if (!fits) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, what + " has shape " + show(t.shape()) + ", wanted " + show(wanted));
  if (!t.dense()) throw sdk::Error(OPTIMA_UNSUPPORTED, what + " is strided, wanted a dense one");
  const uint64_t bytes = static_cast<uint64_t>(t.elements()) * optima_dtype_bits(port.dtype) / 8;
  if (t.size() < bytes) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, what + " has " + std::to_string(t.size()) + " bytes, wanted " + std::to_string(bytes));
  void* data = const_cast<void*>(t.data<void>());
  return ov::Tensor(*type_of(port.dtype), shape_of(t), bytes ? data : nothing);
}

class Request : public sdk::Context {
 public:
  Request(ov::InferRequest request, const Meta& meta) : request_(std::move(request)), meta_(meta) {}

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override {
    if (in.size() != meta_.inputs.size() || out.size() != meta_.outputs.size()) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "buffers differ from the bindings");
    guarded(OPTIMA_DEVICE, "OpenVINO cannot run this", [&] {
      for (size_t k = 0; k < in.size(); ++k) request_.set_input_tensor(k, lend(in[k], meta_.inputs[k]));
      for (size_t k = 0; k < out.size(); ++k)
        if (!out[k].wants_alloc()) request_.set_output_tensor(k, lend(out[k], meta_.outputs[k]));
      request_.infer();
      for (size_t k = 0; k < out.size(); ++k)
        if (out[k].wants_alloc()) give(request_.get_output_tensor(k), out[k]);
    });
  }

  void output_shapes(const sdk::Tensors&, const sdk::OutShapes& out) override {
    for (size_t k = 0; k < meta_.outputs.size(); ++k) {
      const Port& p = meta_.outputs[k];
      if (p.ranked) out.set(k, {p.dims.data(), p.dims.size()});
      else out.set_unranked(k);
    }
  }

 private:
  static void give(const ov::Tensor& from, const sdk::OutTensor& to) {
    const ov::Shape shape = from.get_shape();
    const std::vector<int64_t> dims(shape.begin(), shape.end());
    to.alloc({dims.data(), dims.size()});
    if (from.get_byte_size() > 0) std::memcpy(to.data<char>(), from.data(), from.get_byte_size());
  }

  ov::InferRequest request_;
  const Meta& meta_;
};

class Imported : public sdk::Program {
 public:
  /// The bytes must outlive the model: OpenVINO reads constants where they lie.
  Imported(Meta meta, sdk::KeptBlob kept, std::unique_ptr<sdk::Elements<uint8_t>> bytes) : meta_(std::move(meta)), kept_(std::move(kept)), bytes_(std::move(bytes)) {}

  void take(Engine& engine, const std::string& device, const ov::AnyMap& properties) {
    auto* data = const_cast<uint8_t*>(bytes_->data());
    model_ = guarded(OPTIMA_DEVICE, "OpenVINO does not take the blob", [&] {
      return engine.core().import_model(ov::Tensor(ov::element::u8, {bytes_->size()}, data), device, properties);
    });
    if (model_.inputs().size() != meta_.inputs.size() || model_.outputs().size() != meta_.outputs.size())
      throw sdk::Error(OPTIMA_CORRUPT, "blob has " + std::to_string(model_.inputs().size()) + " inputs and " + std::to_string(model_.outputs().size()) + " outputs, the meta file says otherwise");
    for (size_t k = 0; k < meta_.inputs.size(); ++k) same_type(model_.input(k), meta_.inputs[k]);
    for (size_t k = 0; k < meta_.outputs.size(); ++k) same_type(model_.output(k), meta_.outputs[k]);
  }

  void bindings(const sdk::BindingSink& add) const override {
    const auto binding = [](const Port& p) {
      sdk::Binding b{p.name, p.dtype, {p.dims.data(), p.dims.size()}};
      b.unranked = !p.ranked;
      return b;
    };
    for (const Port& p : meta_.inputs) add.input(binding(p));
    for (const Port& p : meta_.outputs) add.output(binding(p));
  }

  std::unique_ptr<sdk::Context> context() override {
    return guarded(OPTIMA_DEVICE, "OpenVINO makes no request", [&] { return std::make_unique<Request>(model_.create_infer_request(), meta_); });
  }

 private:
  static void same_type(const ov::Output<const ov::Node>& port, const Port& p) {
    if (dtype_of(port.get_element_type()) != p.dtype)
      throw sdk::Error(OPTIMA_CORRUPT, "blob has '" + p.name + "' as " + port.get_element_type().get_type_name() + ", the meta file says " + sdk::dtype_name(p.dtype));
  }

  Meta meta_;
  sdk::KeptBlob kept_;
  std::unique_ptr<sdk::Elements<uint8_t>> bytes_;
  ov::CompiledModel model_;
};

ov::AnyMap properties_of(const std::string& device, const Record& record, const sdk::Options& options) {
  ov::AnyMap p = coding_of(device);
  p[ov::hint::inference_precision.name()] = ov::element::Type(record.precision);
  p[ov::hint::performance_mode.name()] = options.string("openvino.hint", "latency") == "throughput" ? ov::hint::PerformanceMode::THROUGHPUT : ov::hint::PerformanceMode::LATENCY;
  if (const int64_t n = options.integer("openvino.streams", 0)) p[ov::num_streams.name()] = ov::streams::Num(static_cast<int32_t>(n));
  int64_t threads = options.integer("openvino.threads", 0);
  if (threads == 0) threads = options.integer(OPTIMA_OPTION_THREADS, 0);
  if (threads > 0) p[ov::inference_num_threads.name()] = static_cast<int32_t>(threads);
  if (const auto folder = options.string("openvino.cache_dir", ""); !folder.empty()) p[ov::cache_dir.name()] = std::string(folder);
  return p;
}

}  // namespace

std::unique_ptr<sdk::Program> import_program(Engine& engine, const sdk::Host& host, const sdk::Artifact& artifact, const Record& record,
                                             const std::string& device, const sdk::Options& options) {
  const std::string stem(artifact.stem());
  const sdk::Elements<char> text(*artifact.file(stem + ".meta"));
  Meta meta = Meta::read({text.data(), text.size()});
  const optima_blob& blob = *artifact.file(stem + ".blob");
  sdk::KeptBlob kept = host.keep(blob);
  auto bytes = std::make_unique<sdk::Elements<uint8_t>>(kept.blob());
  auto program = std::make_unique<Imported>(std::move(meta), std::move(kept), std::move(bytes));
  program->take(engine, device, properties_of(device, record, options));
  return program;
}

}  // namespace openvino_plugin
