// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: small questions about axes and shapes that several families ask.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace optima::llvm_cpu {

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// An axis counted from the front.
inline size_t axis_at(int64_t axis, size_t rank) { return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis); }

/// A shape seen from one axis: [outer][len][inner].
struct AxisView {
  int64_t outer = 1, len = 1, inner = 1;
};
inline AxisView around(const Dims& dims, size_t axis) {
  AxisView v;
  for (size_t d = 0; d < dims.size(); ++d) (d < axis ? v.outer : d == axis ? v.len : v.inner) *= dims[d];
  return v;
}

inline int64_t element_bytes(int32_t dtype) { return optima_dtype_bits(dtype) / 8; }

/// A mode by the name that an attribute or an operator gives it.
template <class E>
struct Named {
  std::string_view name;
  E value;
};
/// Nothing when no row has the name.
template <class E, size_t N>
std::optional<E> find_named(const Named<E> (&rows)[N], std::string_view name) {
  for (const Named<E>& row : rows)
    if (row.name == name) return row.value;
  return std::nullopt;
}

/// Up to N numbers as a literal, filled up in front.
template <int N>
k::List<N> literal(const Dims& numbers, int64_t fill) {
  k::List<N> out;
  std::fill_n(out.at, N, fill);
  std::copy(numbers.begin(), numbers.end(), out.at + N - numbers.size());
  return out;
}

/// Elements as bytes, for LowerContext::bytes.
template <class T>
std::string raw_bytes(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

/// Types whose elements are whole bytes.
constexpr Types kBytes = types(OPTIMA_F32, OPTIMA_F16, OPTIMA_BF16, OPTIMA_F64, OPTIMA_I8, OPTIMA_I16, OPTIMA_I32, OPTIMA_I64, OPTIMA_U8,
                               OPTIMA_U16, OPTIMA_U32, OPTIMA_U64, OPTIMA_BOOL);
/// Types that counting templates know (with_type in kernels/parts/lanes.hpp).
constexpr Types kCounted = types(OPTIMA_F32, OPTIMA_F64, OPTIMA_I8, OPTIMA_U8, OPTIMA_I32, OPTIMA_I64);

/// The axes of a node: input 1 when given (constant), else the attribute; empty when neither. Nothing when input 1 is computed.
std::optional<std::vector<int64_t>> axes_of(const NodeView& node);
/// Refuses a node that wants outputs past the first.
Refusal only_first_output(const NodeView& node);
Refusal needs_constant(uint32_t input);
/// Refuses an axis that a tensor of this rank does not have.
Refusal check_axis(int64_t axis, size_t rank);
/// Refuses an operand of another shape than the kernel would read: the graph's shapes are somebody's word.
Refusal wrong_shape(const NodeView& node, uint32_t input, const std::string& wanted);

}  // namespace optima::llvm_cpu
