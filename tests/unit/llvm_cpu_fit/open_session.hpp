// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: a loaded artifact whose sizes come with its inputs. No test framework here: other folders use it.
#pragma once

#include "tests/unit/llvm_cpu/session.hpp"

namespace llvm_cpu_test {

/// An output that the plugin makes while it runs: fenced and full of ones' bits (NaN as floats).
struct Made {
  int32_t dtype = OPTIMA_UNDEFINED;
  bool is_made = false;
  Dims dims;
  std::unique_ptr<Fenced> memory;
  optima_tensor* raw = nullptr;  ///< as the plugin sees it

  explicit Made(int32_t type) : dtype(type) {}
  Made(const Made&) = delete;
  void show(optima_tensor& as) {
    raw = &as;
    as.struct_size = sizeof as, as.dtype = dtype, as.fd = -1, as.host_data = this;
    as.alloc = [](void* p, const int64_t* d, int32_t rank) -> int32_t {
      Made& self = *static_cast<Made*>(p);
      if (self.is_made) return OPTIMA_INVALID_ARGUMENT;  // once, says the seam
      self.is_made = true;
      self.make(Dims(d, d + rank));
      return OPTIMA_OK;
    };
  }
  void make(Dims d) {
    dims = std::move(d);
    void* ignored = nullptr;
    const uint64_t size = optima::reference::Tensor::make(dtype, dims, &ignored).size;
    memory = std::make_unique<Fenced>(size);
    if (size) std::memset(memory->data(), 0xFF, size);
    raw->rank = static_cast<int32_t>(dims.size()), raw->shape = dims.data(), raw->data = memory->data(), raw->size = size;
  }
  optima::reference::Tensor tensor() const {
    void* data = nullptr;
    optima::reference::Tensor t = optima::reference::Tensor::make(dtype, dims, &data);
    if (t.size) std::memcpy(data, memory->data(), t.size);
    return t;
  }
};

/// What an execution or a question came to.
struct Came {
  int32_t code = OPTIMA_OK;
  std::string message;
  uint32_t node = OPTIMA_NONE;
  Tensors outputs;            ///< of run()
  std::vector<Dims> shapes;   ///< of shapes(); {-2} = unranked
};

class OpenSession {
 public:
  /// `code` and `message` say why there is none.
  OpenSession(Bench& bench, const Compiled& c, int64_t threads) : OpenSession(bench, c.sink, c.model.get(), threads) {}
  OpenSession(Bench& bench, const seam::MemorySink& sink, const seam::Model* model, int64_t threads) : rt_(bench.runtime->runtime()) {
    const seam::Artifact artifact(sink, model);
    bench.write_files(artifact);
    const optima_option option = number_option(OPTIMA_OPTION_THREADS, threads);
    const optima_device device = seam::device("X64");
    seam::Status status;
    code = rt_.load(bench.runtime->self, &artifact.raw, &device, &option, 1, &program_, &status.raw);
    if (code == OPTIMA_OK) code = rt_.context_create(program_, &context_, &status.raw);
    message = status.message;
    const optima_image* image = model->raw.image;
    const optima_image_graph& entry = *optima_get_graph(image, 0);
    for (uint32_t k = 0; k < entry.outputs.count; ++k) {
      const optima_value& v = *optima_get_value(image, *optima_get_index(image, entry.outputs.first + k));
      types_.push_back(v.dtype);
      declared_.push_back(v.rank < 0 ? Dims{-2} : Dims());
      for (uint32_t d = 0; d < v.dims.count; ++d) declared_.back().push_back(optima_get_dim(image, v.dims.first + d)->value);
    }
  }
  ~OpenSession() {
    if (context_) rt_.context_destroy(context_);
    if (program_) rt_.program_destroy(program_);
  }
  OpenSession(const OpenSession&) = delete;

  int32_t code = OPTIMA_OK;
  std::string message;

  /// Before a run: ask for the shapes of outputs, and make those that are known, as hosts do; else the plugin makes all that are open.
  bool asks_first = false;

  optima_context* context() const { return context_; }
  /// A second context of the program; the caller destroys it.
  optima_context* another() {
    optima_context* out = nullptr;
    seam::Status status;
    if (rt_.context_create(program_, &out, &status.raw)) throw std::runtime_error(status.message);
    return out;
  }
  void destroy(optima_context* context) { rt_.context_destroy(context); }

  Came run(const Tensors& inputs) { return run(context_, inputs); }
  Came run(optima_context* context, const Tensors& inputs) {
    return with(inputs, [&](const std::vector<optima_tensor>& in, std::vector<optima_tensor>& out, optima_status* status) {
      return rt_.execute(context, in.data(), static_cast<uint32_t>(in.size()), out.data(), static_cast<uint32_t>(out.size()), status);
    });
  }
  /// `cancelled(data)` is asked as the plugin likes; `deadline_ns` as in the seam.
  Came run_within(const Tensors& inputs, uint64_t deadline_ns, int32_t (*cancelled)(void*), void* data) {
    return with(inputs, [&](const std::vector<optima_tensor>& in, std::vector<optima_tensor>& out, optima_status* status) {
      optima_execute_request request{};
      request.struct_size = sizeof request, request.in = in.data(), request.in_count = static_cast<uint32_t>(in.size());
      request.out = out.data(), request.out_count = static_cast<uint32_t>(out.size());
      request.deadline_ns = deadline_ns, request.cancelled = cancelled, request.host_data = data;
      return rt_.execute_within(context_, &request, status);
    });
  }
  Came shapes(const Tensors& inputs) {
    std::vector<optima_tensor> in;
    for (const auto& t : inputs) in.push_back(view(t));
    std::vector<Dims> room(types_.size(), Dims(16));
    std::vector<optima_shape> out;
    for (Dims& d : room) out.push_back({sizeof(optima_shape), 16, 0, 0, d.data()});
    seam::Status status;
    Came came;
    came.code = rt_.output_shapes(context_, in.data(), static_cast<uint32_t>(in.size()), out.data(), static_cast<uint32_t>(out.size()), &status.raw);
    came.message = status.message;
    for (size_t k = 0; k < out.size(); ++k) came.shapes.push_back(out[k].rank < 0 ? Dims{-2} : Dims(room[k].begin(), room[k].begin() + out[k].rank));
    return came;
  }

 private:
  template <class F>
  Came with(const Tensors& inputs, F&& execute) {
    std::vector<std::unique_ptr<Fenced>> fences;
    std::vector<optima_tensor> in, out;
    for (const auto& t : inputs) {
      in.push_back(view(t));
      if (t.dtype == OPTIMA_STRING) continue;
      fences.push_back(std::make_unique<Fenced>(t.size));
      in.back().data = fences.back()->data();
      if (t.size) std::memcpy(in.back().data, t.data, t.size);
    }
    std::deque<Made> made;
    out.resize(types_.size());
    const bool is_fixed = std::none_of(declared_.begin(), declared_.end(), [](const Dims& d) { return std::count_if(d.begin(), d.end(), [](int64_t n) { return n < 0; }); });
    const std::vector<Dims> known = asks_first && !is_fixed ? shapes(inputs).shapes : declared_;
    for (size_t k = 0; k < out.size(); ++k) {
      made.emplace_back(types_[k]).show(out[k]);
      if (std::any_of(known[k].begin(), known[k].end(), [](int64_t d) { return d < 0; })) continue;
      out[k].alloc = nullptr;
      made[k].is_made = true;
      made[k].make(known[k]);
    }
    seam::Status status;
    Came came;
    came.code = execute(in, out, &status.raw);
    came.message = status.message, came.node = status.raw.node;
    for (size_t k = 0; came.code == OPTIMA_OK && k < made.size(); ++k)
      if (made[k].is_made) came.outputs.push_back(made[k].tensor());
      else came.code = OPTIMA_INTERNAL, came.message = "output " + std::to_string(k) + " was not made";
    return came;
  }

  const optima_runtime& rt_;
  optima_program* program_ = nullptr;
  optima_context* context_ = nullptr;
  std::vector<int32_t> types_;
  std::vector<Dims> declared_;
};

}  // namespace llvm_cpu_test
