// SPDX-License-Identifier: Apache-2.0
// tests/support: executes a program of the seam on the reference's tensors: outputs of static shape get a buffer of that
// shape, the others are made during execute.
#pragma once

#include <functional>

#include "reference/tensor.hpp"
#include "tests/support/seam_host.hpp"

namespace optima::seam {

/// An output buffer of any type.
struct AnyBuffer {
  reference::Tensor tensor;
  optima_tensor raw{};
  optima_tensor* handed = nullptr;  ///< the copy that execute() got

  AnyBuffer(const AnyBuffer&) = delete;
  explicit AnyBuffer(const optima_binding& b) {
    raw.struct_size = sizeof raw;
    raw.dtype = b.dtype;
    raw.fd = -1;
    raw.host_data = this;
    raw.alloc = [](void* p, const int64_t* dims, int32_t rank) -> int32_t {
      auto& self = *static_cast<AnyBuffer*>(p);
      self.make({dims, dims + rank});
      *self.handed = self.raw;
      return OPTIMA_OK;
    };
    bool known = b.rank >= 0;
    for (int32_t d = 0; known && d < b.rank; ++d) known = b.shape[d] >= 0;
    if (known) make({b.shape, b.shape + b.rank});
    if (known) raw.alloc = nullptr;
  }
  void make(std::vector<int64_t> dims) {
    void* p = nullptr;
    tensor = reference::Tensor::make(raw.dtype, std::move(dims), &p);
    raw.rank = static_cast<int32_t>(tensor.dims.size()), raw.shape = tensor.dims.data();
    raw.data = p, raw.size = tensor.size;
  }
};

inline optima_tensor lend(const reference::Tensor& t) {
  optima_tensor raw{};
  raw.struct_size = sizeof raw;
  raw.dtype = t.dtype;
  raw.rank = static_cast<int32_t>(t.dims.size()), raw.shape = t.dims.data();
  raw.data = const_cast<void*>(t.data), raw.size = t.size;
  raw.fd = -1;
  return raw;
}

/// One execution on a context, by execute_within() where there is something to ask whether it is cancelled. `status` has the sentence when the code is not OK.
inline int32_t run_on(optima_context* context, const Program& program, const std::vector<reference::Tensor>& inputs, std::vector<reference::Tensor>& outputs, Status& status,
                      std::function<bool()> cancelled = {}) {
  const optima_runtime& rt = program.plugin.runtime();
  std::vector<std::unique_ptr<AnyBuffer>> buffers;
  const auto add = [](void* p, const optima_binding* b) -> int32_t {
    if (b->direction == OPTIMA_OUTPUT) static_cast<std::vector<std::unique_ptr<AnyBuffer>>*>(p)->push_back(std::make_unique<AnyBuffer>(*b));
    return OPTIMA_OK;
  };
  if (const int32_t rc = rt.bindings(program.raw, add, &buffers, &status.raw)) return rc;
  std::vector<optima_tensor> in, out;
  for (const reference::Tensor& t : inputs) in.push_back(lend(t));
  for (const auto& b : buffers) out.push_back(b->raw);
  for (size_t k = 0; k < out.size(); ++k) buffers[k]->handed = &out[k];
  const auto in_count = static_cast<uint32_t>(in.size()), out_count = static_cast<uint32_t>(out.size());
  const optima_execute_request request{sizeof request, in_count, out_count, 0, in.data(), out.data(), 0, &cancelled,
                                       [](void* ask) -> int32_t { return (*static_cast<std::function<bool()>*>(ask))(); }};
  const int32_t rc = cancelled ? rt.execute_within(context, &request, &status.raw) : rt.execute(context, in.data(), in_count, out.data(), out_count, &status.raw);
  for (const auto& b : buffers) outputs.push_back(b->tensor);
  return rc;
}

/// One execution on a context of its own.
inline int32_t run(const Program& program, const std::vector<reference::Tensor>& inputs, std::vector<reference::Tensor>& outputs, Status& status) {
  const optima_runtime& rt = program.plugin.runtime();
  optima_context* context = nullptr;
  if (const int32_t rc = rt.context_create(program.raw, &context, &status.raw)) return rc;
  const int32_t rc = run_on(context, program, inputs, outputs, status);
  rt.context_destroy(context);
  return rc;
}

}  // namespace optima::seam
