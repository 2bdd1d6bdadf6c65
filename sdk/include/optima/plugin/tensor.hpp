// SPDX-License-Identifier: Apache-2.0
// optima/plugin/tensor.hpp: the caller's buffers as execute() sees them. Views of one pointer; nothing here allocates.
#pragma once

#include "optima/plugin/error.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// An input buffer. Valid during the call it was given to. Any thread.
class Tensor {
 public:
  explicit Tensor(const optima_tensor* raw) : raw_(raw) {}
  const optima_tensor& raw() const { return *raw_; }
  std::string_view name() const { return view(raw_->name); }
  int32_t dtype() const { return raw_->dtype; }
  int32_t rank() const { return raw_->rank; }
  int64_t dim(uint32_t k) const { return raw_->shape[k]; }
  Span<const int64_t> shape() const { return {raw_->shape, raw_->rank > 0 ? static_cast<size_t>(raw_->rank) : 0}; }
  /// Dense row-major. When false, stride(k) says how far apart neighbours along dim k lie.
  bool dense() const { return raw_->strides == nullptr; }
  /// In elements; only when not dense().
  int64_t stride(uint32_t k) const { return raw_->strides[k]; }
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : shape()) n *= d;
    return n;
  }
  /// Bytes behind data().
  uint64_t size() const { return raw_->size; }
  /// First element in host memory, aligned as the binding asked; null when size() is 0. INVALID_ARGUMENT for other memory.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(address());
  }

 protected:
  void* address() const {
    if (raw_->mem_kind != OPTIMA_MEM_HOST && raw_->mem_kind != OPTIMA_MEM_HOST_PINNED)
      throw Error(OPTIMA_INVALID_ARGUMENT, "tensor lies in memory kind " + std::to_string(raw_->mem_kind) + ", wanted host memory");
    return raw_->data ? static_cast<char*>(raw_->data) + raw_->offset : nullptr;
  }
  const optima_tensor* raw_;
};

/// An output buffer.
class OutTensor : public Tensor {
 public:
  explicit OutTensor(optima_tensor* raw) : Tensor(raw) {}
  /// True when the shape was not known before: alloc() must be called once, before data().
  bool wants_alloc() const { return !raw_->data && raw_->alloc != nullptr; }
  /// Makes the buffer; afterwards shape, size and data are those of `dims`.
  void alloc(Span<const int64_t> dims) const { ok(raw_->alloc(raw_->host_data, dims.data(), static_cast<int32_t>(dims.size()))); }
  template <class T>
  T* data() const {
    return static_cast<T*>(address());
  }
};

/// The arguments of execute(): steps by the sender's struct size, so one view serves older and newer hosts.
template <class Item, class Raw>
class TensorList {
 public:
  TensorList(Raw* first, uint32_t count) : first_(first), count_(count) {}
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Item operator[](size_t i) const {
    using Byte = std::conditional_t<std::is_const_v<Raw>, const char, char>;
    return Item(reinterpret_cast<Raw*>(reinterpret_cast<Byte*>(first_) + i * first_->struct_size));
  }
  /// The ABI array, for handing on.
  Raw* raw() const { return first_; }

 private:
  Raw* first_;
  uint32_t count_;
};
using Tensors = TensorList<Tensor, const optima_tensor>;
using OutTensors = TensorList<OutTensor, optima_tensor>;

/// The answers of output_shapes(), by output.
class OutShapes {
 public:
  OutShapes(optima_shape* first, uint32_t count) : first_(first), count_(count) {}
  size_t size() const { return count_; }
  /// -1 = depends on data. Over the caller's capacity only the rank is written, and the caller asks again.
  void set(size_t output, Span<const int64_t> dims) const {
    optima_shape& s = at(output);
    s.rank = static_cast<int32_t>(dims.size());
    if (dims.size() <= s.capacity && !dims.empty()) std::memcpy(s.dims, dims.data(), dims.size() * sizeof(int64_t));
  }
  void set_unranked(size_t output) const { at(output).rank = -1; }

 private:
  optima_shape& at(size_t i) const {
    return *reinterpret_cast<optima_shape*>(reinterpret_cast<char*>(first_) + i * first_->struct_size);
  }
  optima_shape* first_;
  uint32_t count_;
};

}  // namespace v0_1
}  // namespace optima::sdk
