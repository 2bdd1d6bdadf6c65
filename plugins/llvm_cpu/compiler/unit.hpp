// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: a quantized unit: one operator with the DequantizeLinear nodes that it reads, what follows it alone, and the
// QuantizeLinear at its end, as one kernel on codes sees them. Operators that quantize by themselves (QLinearConv) make units, too.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "plugins/llvm_cpu/compiler/node.hpp"
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace optima::llvm_cpu {

struct Target;
struct Lowering;

/// How a value's reals are codes: real = (code - zero) * scale.
struct Codes {
  uint32_t value = OPTIMA_NONE;  ///< that holds the codes
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<float> scale;      ///< one; one per index of `axis`; or, with `block`, row-major over the shape with that axis divided up
  std::vector<int32_t> zero;     ///< as many as scales
  int axis = -1;                 ///< -1 = one scale for all
  int64_t block = 0;
  bool is_scalar() const { return scale.size() == 1 && block == 0; }
  bool same_steps(const Codes& o) const { return dtype == o.dtype && scale == o.scale && zero == o.zero && axis == o.axis && block == o.block; }
};
/// Two codes in a byte.
inline bool is_packed(int32_t dtype) { return dtype == OPTIMA_U4 || dtype == OPTIMA_I4; }
bool is_quantize(const NodeView& node);
bool is_dequantize(const NodeView& node);
bool is_transpose(const NodeView& node);

/// What a QuantizeLinear makes, or a DequantizeLinear reads; nothing unless scale and zero point are constants that are here, of f32, finite
/// and above 0; a DequantizeLinear of blocks, or of 4 bits, may have any finite scales.
std::optional<Codes> codes_of(const NodeView& node);
/// Of the DequantizeLinear that makes a value, the same; nothing when something else makes it.
std::optional<Codes> codes_behind(const GraphView& graph, uint32_t value);

/// f(element, which of the scales and zero points it has) for the elements of a value of these dims, in order. Requires scales that fit the dims.
template <class F>
void each_step(const Codes& codes, const Dims& dims, F f) {
  const auto axis = static_cast<size_t>(std::max(codes.axis, 0)), elements = static_cast<size_t>(count(dims));
  int64_t inner = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  const int64_t length = axis < dims.size() ? dims[axis] : 1, block = codes.block ? codes.block : 1, steps = (length + block - 1) / block;
  size_t i = 0;
  for (int64_t outer = 0; i < elements; ++outer)
    for (int64_t along = 0; along < length; ++along)
      for (int64_t in = 0; in < inner; ++in, ++i) f(i, static_cast<size_t>(codes.is_scalar() ? 0 : codes.block ? (outer * steps + along / block) * inner + in : along));
}
/// The reals that codes of a value of these dims stand for. Requires as many codes as elements, and scales that fit the dims.
std::vector<float> real_numbers(const Codes& codes, const std::vector<int32_t>& numbers, const Dims& dims);

/// An operand of the operator, or of a step of its tail.
struct UnitInput {
  uint32_t value = OPTIMA_NONE;  ///< what the operator reads; OPTIMA_NONE = absent. Not made when it has codes and they serve everybody
  std::optional<Codes> codes;    ///< of the DequantizeLinear that makes it; with codes->value == value the operator reads them itself
  bool transposed = false;       ///< the codes are a constant matrix whose Transpose the operator reads
  explicit operator bool() const { return value != OPTIMA_NONE; }
};
/// A value, or OPTIMA_NONE, with the codes behind it.
UnitInput input_of(const GraphView& graph, uint32_t value);

/// What happens to a result, in floats, before it is stored.
struct UnitStep {
  enum Kind : uint8_t { Activate, Add, Mul, Requantize } kind = Activate;
  k::Activation act{k::Act::None, 0, 0};
  UnitInput other{};  ///< of Add and Mul: broadcasts to the result
  Codes codes{};      ///< of Requantize: QuantizeLinear, then DequantizeLinear, with both roundings
};

struct Unit {
  NodeView op;                    ///< whose attributes count; its operands are `inputs`
  std::vector<UnitInput> inputs;  ///< by position of the float operator (Conv, MatMul, ...), absent ones included
  std::vector<UnitStep> tail;
  std::optional<Codes> output;    ///< none: floats
  uint32_t out = OPTIMA_NONE;     ///< the value that is stored, codes or floats
  std::vector<Codes> more_outputs{};  ///< of an operator with several results, from the second on; its `tail` is empty
};

/// The unit around `op` as the graph has it without its tail and end: inputs with their codes; out is the operator's output. QLinearConv and
/// QLinearMatMul have their ends with them.
Unit unit_around(const NodeView& op);

/// Codes as they lie in Layout::Last: 8-bit codes are unsigned where the target multiplies unsigned by signed bytes (x86-64), signed where
/// it multiplies signed ones (AArch64). The other kind lies with its top bit flipped; its zero point moves along. Others lie as they are.
bool flips(int32_t dtype, const Target& target);
Codes as_last(Codes codes, const Target& target);

}  // namespace optima::llvm_cpu
