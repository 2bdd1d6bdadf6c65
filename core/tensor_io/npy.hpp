// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: NumPy's array file (format versions 1 to 3) in memory. Knows no files and no archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"
#include "core/tensor_io/text_array.hpp"

namespace optima {

/// The array as a dense row-major tensor; big-endian and Fortran-ordered data is converted. InvalidInput naming `what` when
/// the bytes are no npy, are cut off, hold pickled objects, or a type that ONNX does not have.
Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view what);

/// An array as its file describes it, before its data.
struct NpyHeader {
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;
  bool fortran = false;  ///< column-major
  uint32_t swapped = 0;  ///< bytes that swap together where the data is big-endian; 0 = none
  uint64_t data = 0;     ///< where the data begins in the file
};

/// Of the file, or of its beginning when that is all there is; `total` is the size of the whole file. Errors as read_npy(), also when `total` is too
/// small for the data.
Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes, uint64_t total, std::string_view what);

/// Entry `row` along dim 0, which the tensor then lacks. Requires the file's own header, dim 0, and row < its size.
Result<Tensor> read_npy_row(std::span<const std::byte> bytes, const NpyHeader& header, uint64_t row);

/// Format version 1, little-endian, row-major, header padded to 64 bytes. Types that NumPy does not have are written as what holds them:
/// bfloat16 as '<u2', 8-bit floats as '|u1', packed types unpacked as '|i1' or '|u1'.
std::string write_npy(const Tensor& tensor);

/// An array of texts ('<U7'; bytes, '|S7', are taken for UTF-8), of any order. InvalidInput as read_npy(), also when it holds anything else.
Result<TextArray> read_npy_texts(std::span<const std::byte> bytes, std::string_view what);

/// As '<U7', of the longest text. Texts are UTF-8.
std::string write_npy_texts(const TextArray& array);

/// The way back for a type that NumPy lacks: a tensor read from what write_npy wrote for `dtype` becomes that type again, packed where it was
/// packed; any other tensor is returned as it is.
Tensor restore_type(Tensor tensor, int32_t dtype);

}  // namespace optima
