// SPDX-License-Identifier: Apache-2.0
// optima/plugin/fits.hpp: whether the caller's buffers are what the bindings said, before a device reads them. Not included by plugin.hpp.
#pragma once

#include "optima/plugin/manifest.hpp"
#include "optima/plugin/tensor.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// "[1, 3, 224, 224]".
inline std::string shape_text(Span<const int64_t> dims) {
  std::string s = "[";
  for (size_t k = 0; k < dims.size(); ++k) (s += k ? ", " : "") += std::to_string(dims[k]);
  return s + "]";
}

/// An execution brings a buffer for each binding. Throws INVALID_ARGUMENT. Any thread.
inline void require_counts(size_t in, size_t out, size_t inputs, size_t outputs) {
  if (in != inputs || out != outputs)
    throw Error(OPTIMA_INVALID_ARGUMENT, "execution has " + std::to_string(in) + " input and " + std::to_string(out) + " output buffers, wanted " +
                                             std::to_string(inputs) + " and " + std::to_string(outputs));
}

/// The tensor of binding `name` is of this type and these dims (-1 = any size); its memory is not looked at. Throws INVALID_ARGUMENT. Any thread.
inline void require_shape(const Tensor& t, const std::string& name, int32_t dtype, Span<const int64_t> dims) {
  const std::string what = "tensor '" + name + "'";
  if (t.dtype() != dtype) throw Error(OPTIMA_INVALID_ARGUMENT, what + " is " + dtype_name(t.dtype()) + ", wanted " + dtype_name(dtype));
  bool fits = t.shape().size() == dims.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) fits = dims[d] < 0 || dims[d] == t.shape()[d];
  if (!fits) throw Error(OPTIMA_INVALID_ARGUMENT, what + " has shape " + shape_text(t.shape()) + ", wanted " + shape_text(dims));
}

/// It is, and dense, in host memory, and its buffer holds all of it. Throws as above, UNSUPPORTED for a strided one. Any thread.
inline void require_fits(const Tensor& t, const std::string& name, int32_t dtype, Span<const int64_t> dims) {
  require_shape(t, name, dtype, dims);
  const std::string what = "tensor '" + name + "'";
  if (!t.dense()) throw Error(OPTIMA_UNSUPPORTED, what + " is strided, wanted a dense one");
  const uint64_t bytes = (static_cast<uint64_t>(t.elements()) * optima_dtype_bits(dtype) + 7) / 8;
  if (t.size() < bytes) throw Error(OPTIMA_INVALID_ARGUMENT, what + " has " + std::to_string(t.size()) + " bytes, wanted " + std::to_string(bytes));
  if (bytes > 0 && !t.data<void>()) throw Error(OPTIMA_INVALID_ARGUMENT, what + " has no memory");
}

}  // namespace v0_1
}  // namespace optima::sdk
