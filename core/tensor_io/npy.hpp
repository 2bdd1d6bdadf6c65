// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: NumPy's array file (format versions 1 to 3) in memory. Knows no files and no archive.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// The array as a dense row-major tensor; big-endian and Fortran-ordered data is converted. InvalidInput naming `what` when
/// the bytes are no npy, are cut off, hold pickled objects, or a type that ONNX does not have.
Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view what);

/// Format version 1, little-endian, row-major, header padded to 64 bytes. Types that NumPy does not have are written as what holds them:
/// bfloat16 as '<u2', 8-bit floats as '|u1', packed types unpacked as '|i1' or '|u1'.
std::string write_npy(const Tensor& tensor);

/// The way back for a type that NumPy lacks: a tensor read from what write_npy wrote for `dtype` becomes that type again, packed where it was
/// packed; any other tensor is returned as it is.
Tensor restore_type(Tensor tensor, int32_t dtype);

}  // namespace optima
