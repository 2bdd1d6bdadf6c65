// SPDX-License-Identifier: Apache-2.0
// python/binding: tensors between Python's arrays and the runtime, without copies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "optima/runtime.hpp"

namespace optima::python {

namespace nb = nanobind;
namespace rt = optima::runtime;

/// numpy's name of an element type, ml_dtypes' where numpy has none: "float32", "bfloat16", "int4".
const char* name_of(rt::ElementType type);

/// A dense row-major tensor in host memory, 64-byte aligned, or the bytes of a Python array, which is kept as long as this lives.
class Tensor {
 public:
  /// Zeroed bytes of its own. Throws rt::Error for strings and shapes without a size.
  Tensor(rt::ElementType type, std::vector<int64_t> shape) : tensor_(type, std::move(shape)) {}
  /// The bytes of an array in host memory. `type`: what they are where the array's own type cannot say it (bfloat16 as uint16); of the same
  /// width. Throws rt::Error for arrays with gaps, of a type that no model has, or of another width.
  static Tensor of_array(nb::ndarray<nb::ro> array, std::optional<rt::ElementType> type, bool writable);

  rt::Tensor& get() { return tensor_; }
  const rt::Tensor& get() const { return tensor_; }
  bool writable() const { return writable_; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(tensor_.getBuffer()); }

  /// Copies bytes in or out; both have to be of one type and shape. Throws rt::Error.
  void copy_from(const Tensor& other);

 private:
  Tensor(rt::Tensor tensor, nb::ndarray<nb::ro> array, bool writable) : tensor_(std::move(tensor)), array_(std::move(array)), writable_(writable) {}

  rt::Tensor tensor_;
  std::optional<nb::ndarray<nb::ro>> array_;  // who keeps the bytes
  bool writable_ = true;
};

void bind_tensor(nb::module_& m);

}  // namespace optima::python
