// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see signature.hpp.
#include "plugins/llvm_cpu/compiler/signature.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {
namespace {

std::string numbered(const char* side, uint32_t k) { return side + (" " + std::to_string(k)); }

Refusal check_numbers(const Signature& s, const NodeView& n) {
  if (n.input_count() > s.most) return {OPTIMA_REASON_OTHER, "number of inputs", std::to_string(n.input_count()), "at most " + std::to_string(s.most)};
  if (n.output_count() > s.outputs) return {OPTIMA_REASON_OTHER, "number of outputs", std::to_string(n.output_count()), "at most " + std::to_string(s.outputs)};
  const uint32_t wanted = s.most == kMany ? std::max(s.least, n.input_count()) : s.least;
  for (uint32_t k = 0; k < wanted; ++k)
    if (!n.has_input(k)) return {OPTIMA_REASON_OTHER, numbered("input", k), "absent", "given"};
  bool any = false;
  for (uint32_t k = 0; k < n.output_count(); ++k) any = any || n.has_output(k);
  return (s.any_output ? any : n.has_output(0)) ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", "absent", "given"};
}

Refusal check_operand(const GraphView& g, uint32_t value, const char* side, uint32_t k) {
  const Dims dims = g.dims(value);
  int64_t extent = 1;
  for (const int64_t d : dims)
    if (const int64_t most = std::max<int64_t>(d, 1); most >= (int64_t{1} << 31) || (extent *= most) >= int64_t{1} << 31)
      return {OPTIMA_REASON_SIZE_LIMIT, numbered(side, k), to_text(dims), "fewer than 2^31 elements"};
  if (!g.is_constant(value)) return {};
  const optima_constant& c = *optima_get_constant(g.image(), g.value(value).constant);
  int64_t elements = 1;
  for (uint32_t d = 0; d < c.dims.count; ++d) elements *= *optima_get_int(g.image(), c.dims.first + d);
  if (c.dtype == g.stored_dtype(value) && elements == count(dims)) return {};
  return {OPTIMA_REASON_OTHER, numbered(side, k), "said to be " + to_text(dims), "as its constant, of " + std::to_string(elements) + " elements of dtype " + std::to_string(c.dtype)};
}

}  // namespace

Refusal check_signature(const Signature& s, const NodeView& n) {
  if (const Refusal r = check_numbers(s, n)) return r;
  int32_t dtype = -1;
  std::string first;
  const auto look = [&](const char* side, uint32_t k, uint32_t value, uint32_t shift) -> Refusal {
    if (const Refusal r = check_operand(n.graph, value, side, k)) return r;
    if (!(s.same >> (shift + std::min(k, 15u)) & 1)) return {};
    const int32_t own = n.graph.dtype(value);
    if (dtype < 0) dtype = own, first = numbered(side, k);
    return own == dtype ? Refusal() : Refusal{OPTIMA_REASON_DTYPE, numbered(side, k), sdk::dtype_name(own), sdk::dtype_name(dtype) + " as " + first};
  };
  for (uint32_t k = 0; k < n.input_count(); ++k)
    if (n.has_input(k))
      if (const Refusal r = look("input", k, n.input(k), 0)) return r;
  for (uint32_t k = 0; k < n.output_count(); ++k)
    if (n.has_output(k))
      if (const Refusal r = look("output", k, n.output(k), 16)) return r;
  return {};
}

}  // namespace optima::llvm_cpu
