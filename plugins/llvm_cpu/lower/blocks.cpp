// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: QuantizeLinear and DequantizeLinear in blocks, and of 4 and 16 bits. What lower/elementwise.cpp takes goes there.
#include "plugins/llvm_cpu/kernels/blocks.hpp"

#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr Types kBlockCodes = types(OPTIMA_U4, OPTIMA_I4, OPTIMA_U8, OPTIMA_I8, OPTIMA_U16, OPTIMA_I16);

k::Blocks blocks_of(const NodeView& n, int32_t dtype) {
  const Dims dims = n.in_dims(0);
  const int64_t block = n.integer("block_size", 0);
  if (block == 0 && count(n.in_dims(1)) == 1) return {.dtype = dtype, .single = 1, .count = count(dims), .length = 1, .inner = 1, .block = 0};
  const AxisView v = around(dims, axis_at(n.integer("axis", 1), dims.size()));
  return {.dtype = dtype, .single = 0, .count = count(dims), .length = v.len, .inner = v.inner, .block = block};
}

void lower(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const bool makes = n.op() == "QuantizeLinear";
  const k::Blocks b = blocks_of(n, makes ? n.out_dtype(0) : n.in_dtype(0));
  Op op;
  if (makes) op.kernel = k::QuantizeBlocks{.of = b};
  else op.kernel = k::DequantizeBlocks{.of = b};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(1)), n.has_input(2) ? ctx.read(n.input(2)) : LowerContext::null(), ctx.write(n.output(0))};
  op.units = divide_up(b.count, k::kBlocksPiece);
  op.work = b.count * 4;
  ctx.emit(std::move(op));
}

Refusal check(const NodeView& n) {
  const Dims dims = n.in_dims(0), scales = n.in_dims(1);
  const int64_t block = n.integer("block_size", 0);
  const int32_t codes = n.op() == "QuantizeLinear" ? n.out_dtype(0) : n.in_dtype(0);
  if (dims != n.out_dims(0)) return wrong_shape(n, 0, to_text(n.out_dims(0)));
  if (n.has_input(2) && n.in_dims(2) != scales) return wrong_shape(n, 2, to_text(scales));
  if (n.has_input(2) && n.in_dtype(2) != codes) return {OPTIMA_REASON_DTYPE, "input 2", sdk::dtype_name(n.in_dtype(2)), sdk::dtype_name(codes)};
  if ((codes == OPTIMA_U4 || codes == OPTIMA_I4) && count(dims) % 2 != 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(dims), "an even number of elements"};
  if (block < 0) return {OPTIMA_REASON_ATTRIBUTE, "block_size", std::to_string(block), "0 or more"};
  if (block == 0 && count(scales) == 1) return {};
  if (const Refusal r = check_axis(n.integer("axis", 1), dims.size())) return r;
  const size_t axis = axis_at(n.integer("axis", 1), dims.size());
  Dims wanted = block ? dims : Dims{dims[axis]};
  if (block) wanted[axis] = divide_up(dims[axis], block);
  return scales == wanted ? Refusal() : wrong_shape(n, 1, to_text(wanted));
}

constexpr Lowering kBlocksFamily[] = {
    {"DequantizeLinear", 21, 25, {kBlockCodes, kFloat, kBlockCodes}, {kFloat}, 0, 8, 0, {2, 3, in_bit(0) | in_bit(2)}, check, lower},
    {"QuantizeLinear", 21, 25, {kFloat, kFloat, kBlockCodes}, {kBlockCodes}, 0, 8, 0, {2, 3, in_bit(2) | out_bit(0)}, check, lower},
};

}  // namespace

Family blocks_family() { return kBlocksFamily; }

}  // namespace optima::llvm_cpu
