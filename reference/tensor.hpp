// SPDX-License-Identifier: Apache-2.0
// reference/tensor: what every evaluator does with tensors: checked sizes, wide copies of the elements, picking by index.
// Knows no operator and no graph.
#pragma once

#include <string>
#include <vector>

#include "reference/reference.hpp"

namespace optima::reference {

using sdk::Span;
using sdk::view;
using Dims = std::vector<int64_t>;

/// Refusals; `run_node` adds the node's name and id.
[[noreturn]] void unsupported(const std::string& text);
[[noreturn]] void invalid(const std::string& text);

/// "[1, 3, 224]"; of more than sixteen numbers the first sixteen, and how many there are.
std::string show(const Dims& dims);
std::string dtype_name(int32_t dtype);

/// Elements of a shape. Throws INVALID_GRAPH on a negative dim, MEMORY on more elements than a tensor may have.
int64_t count(const Dims& dims);
/// Product of dims [first, last); as count().
int64_t count(const Dims& dims, size_t first, size_t last);
/// Bytes of n elements; packed types rounded up.
uint64_t bytes_of(int32_t dtype, int64_t n);
/// Row-major strides in elements.
Dims strides_of(const Dims& dims);
/// 0 ≤ axis < rank, negative counted from the end; `what` names it in the error.
size_t normal_axis(int64_t axis, size_t rank, const char* what = "axis");
/// The shape both broadcast to (numpy rules). Throws INVALID_GRAPH.
Dims broadcast(const Dims& a, const Dims& b);

bool is_float(int32_t dtype);     ///< f64 f32 f16 bf16
bool is_minifloat(int32_t dtype); ///< 8 and 4 bits
bool is_signed(int32_t dtype);
bool is_unsigned(int32_t dtype);  ///< bool is not

/// Rounds x once, half to even, to the nearest number of a narrow type and back (identity for f64).
double round_to(int32_t dtype, double x);
/// Bits of x in a float type of 16 bits or fewer. `saturate`: what is too large becomes the largest finite number.
uint32_t encode(int32_t dtype, double x, bool saturate);
double decode(int32_t dtype, uint32_t bits);

/// Every element as a wide type W: double, int64_t or uint64_t. Integers to and from double convert as in C++, except that a
/// double outside an integer type's range does not trap: NaN gives 0, the rest the nearest 64-bit value, then its low bits.
template <class W>
std::vector<W> load(const Tensor& t);
/// The other way: each W rounded once to the element type (integers keep their low bits).
template <class W>
Tensor store(int32_t dtype, Dims dims, const std::vector<W>& elements, bool saturate = true);

/// A STRING tensor and back.
std::vector<std::string> strings(const Tensor& t);
Tensor make_strings(Dims dims, const std::vector<std::string>& elements);

/// One unpacked byte per element of a 4- or 2-bit type.
std::vector<uint8_t> unpack(const Tensor& t);
Tensor pack(int32_t dtype, Dims dims, const std::vector<uint8_t>& elements);

/// out[i] = from[index[i]] for any element type; -1 picks `fill` (a tensor of one element of the same type; default zero).
Tensor pick(const Tensor& from, Dims dims, const std::vector<int64_t>& index, const Tensor* fill = nullptr);
/// All elements of several tensors of one type, one after the other, as one flat tensor.
Tensor join(const std::vector<Tensor>& parts);
/// The same bytes under another shape of as many elements.
Tensor reshaped(Tensor t, Dims dims);

/// index[i] = offset + Σ position · step, over `dims` in row-major order.
std::vector<int64_t> strided_index(const Dims& dims, const Dims& step, int64_t offset = 0);
/// Positions along each axis to take, -1 for the fill.
using AxisMaps = std::vector<std::vector<int64_t>>;
/// The tensor whose element (i, j, …) is from(maps[0][i], maps[1][j], …).
Tensor take(const Tensor& from, const AxisMaps& maps, const Tensor* fill = nullptr);
/// 0, 1, … n-1 for every axis: the identity for take().
AxisMaps whole(const Dims& dims);

/// index[i] of the element of a tensor of shape `from` that lands at i when it is broadcast to `to`.
std::vector<int64_t> broadcast_index(const Dims& from, const Dims& to);
/// load() followed by broadcasting.
template <class W>
std::vector<W> load_as(const Tensor& t, const Dims& to);

/// A scalar input (any rank, exactly one element).
int64_t scalar_int(const Tensor& t, const char* what);
double scalar_real(const Tensor& t, const char* what);

Tensor scalar_bool(bool value);
Tensor make_ints(Dims dims, const std::vector<int64_t>& values);

/// Calls f with a value of the wide type that holds `dtype` without loss.
template <class F>
auto with_wide(int32_t dtype, F&& f) {
  if (is_float(dtype) || is_minifloat(dtype)) return f(double{});
  if (is_unsigned(dtype) || dtype == OPTIMA_BOOL) return f(uint64_t{});
  if (is_signed(dtype)) return f(int64_t{});
  unsupported("element type " + dtype_name(dtype) + " has no arithmetic");
}

/// Steps a multi-index through `dims` in row-major order; false after the last.
inline bool next(Dims& at, const Dims& dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++at[d] < dims[d]) return true;
    at[d] = 0;
  }
  return false;
}

}  // namespace optima::reference
