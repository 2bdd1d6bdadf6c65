// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see block_product.hpp.
#include "plugins/llvm_cpu/lower/parts/block_product.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/kernels/block_bytes.hpp"
#include "plugins/llvm_cpu/kernels/blocks.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kManyRows = 64;

/// The matrix that the codes stand for, without its zero points.
k::BlockMatrix matrix_of(const Unit& u) {
  const UnitInput& in = u.inputs[1];
  const Dims dims = u.op.graph.dims(in.codes->value);
  const int64_t K = dims[in.transposed ? 1 : 0], N = dims[in.transposed ? 0 : 1];
  const int32_t type = in.codes->dtype;
  return {.bits = is_packed(type) ? 4 : 8, .is_signed = type == OPTIMA_I4 || type == OPTIMA_I8, .by_columns = in.transposed,
          .block = in.codes->block ? std::min(in.codes->block, K) : K, .K = K, .N = N, .has_zeros = 0, .zero = 0};
}

/// A number per block, as the kernel reads them. One for all is written out. `eighths`: of so many every eighth first, then those behind them; 0 = as they are.
template <class T, class V>
std::vector<T> per_block(const std::vector<V>& given, const k::BlockMatrix& m, int64_t eighths) {
  const auto wanted = static_cast<size_t>(m.N * divide_up(m.K, m.block));
  if (given.size() == 1) return std::vector<T>(wanted, static_cast<T>(given[0]));
  std::vector<T> out(given.begin(), given.end());
  const auto all = static_cast<size_t>(eighths), lanes = all / 8;
  for (size_t k = 0; all && k < out.size(); ++k) out[k] = static_cast<T>(given[k / all * all + k % lanes * 8 + k % all / lanes]);
  return out;
}

Operand zeros_of(const Codes& codes, k::BlockMatrix& m, int64_t eighths, LowerContext& ctx) {
  const auto first = codes.zero.front();
  m.zero = first;
  if (std::all_of(codes.zero.begin(), codes.zero.end(), [&](int32_t z) { return z == first; })) return LowerContext::null();
  m.zero = 0, m.has_zeros = 1;
  return ctx.bytes(raw_bytes(per_block<int8_t>(codes.zero, m, eighths)));
}

/// Codes in a lane as k_block_rows reads the matrix; 0: it does not.
int64_t ways_of(const k::BlockMatrix& m, int64_t vl) {
  if (!m.by_columns) return m.bits == 4 && m.N % (8 * vl) == 0 ? 8 : 0;
  if (m.K % m.block != 0) return 0;
  if (m.bits == 8) return m.block % vl == 0 ? 1 : 0;
  if (k::is_of_words(m, vl)) return 8;
  return m.block % (2 * vl) == 0 ? 2 : 0;
}

/// Of a few rows.
int64_t columns_of_unit(const k::BlockMatrix& m) { return std::max<int64_t>(4, (64 << 10) / m.K / 4 * 4); }
std::string sizes_text(int64_t M, const k::BlockMatrix& m) { return std::to_string(M) + "x" + std::to_string(m.K) + "x" + std::to_string(m.N); }

/// Rows of x as k_block_rows reads them.
Operand split_rows(const Operand& x, int64_t M, int64_t K, int64_t ways, LowerContext& ctx) {
  Operand split = ctx.temporary(static_cast<uint64_t>(M * K) * sizeof(float)), to = split;
  to.written = true;
  Op op;
  op.kernel = k::SplitRows{.K = K, .ways = ways};
  op.args = {x, to}, op.units = M, op.work = M * K, op.label = "split rows";
  ctx.emit(std::move(op));
  return split;
}

/// Whether its rows may be rounded to bytes, and kernels multiply bytes.
bool multiplies_bytes(const Unit& u, const Target& t) {
  if (!t.rounds_to_bytes || !(u.op.raw->flags & OPTIMA_NODE_ROUNDS_TO_BYTES)) return false;
  const k::BlockMatrix m = matrix_of(u);
  const bool dots = t.dot == k::Dot::Vnni || t.dot == k::Dot::AvxVnni || (t.dot == k::Dot::Signed && m.bits == 4);  // codes up to 255 are no signed bytes
  return dots && !m.is_signed && k::is_of_chunks(m, t.vector_width);
}

/// Rows as bytes, their scales and sums.
std::vector<Operand> rounded_rows(const Operand& x, int64_t M, const k::BlockMatrix& m, bool along, LowerContext& ctx) {
  const auto temporary = [&](int64_t bytes) { return ctx.temporary(static_cast<uint64_t>(bytes)); };
  const int64_t steps = m.K / m.block, scales = along ? m.K / (m.bits == 4 ? 8 : 4) : steps;
  std::vector<Operand> made{temporary(M * m.K), temporary(M * scales * int64_t{sizeof(float)}), temporary(M * steps * int64_t{sizeof(float)})};
  Op op;
  op.kernel = k::RoundRows{.bits = m.bits, .along = along, .block = m.block, .K = m.K};
  op.args = {x};
  for (Operand to : made) to.written = true, op.args.push_back(to);
  op.units = M, op.work = M * m.K, op.label = "rows as bytes";
  ctx.emit(std::move(op));
  return made;
}

void lower_byte_product(const Unit& u, LowerContext& ctx) {
  const Codes& codes = *u.inputs[1].codes;
  k::BlockMatrix m = matrix_of(u);
  const int64_t M = count(u.op.in_dims(0)) / m.K, vl = ctx.target().vector_width;
  const bool along = M <= k::kMostBlockRows;
  const Operand zeros = zeros_of(codes, m, 0, ctx), scales = ctx.bytes(raw_bytes(per_block<float>(codes.scale, m, 0)));
  Op op;
  op.args = rounded_rows(ctx.read(u.inputs[0].value), M, m, along, ctx);
  if (along) {
    const int64_t columns = columns_of_unit(m);
    op.kernel = k::ByteRows{.dot = ctx.target().dot, .of = m, .M = M, .columns = columns};
    op.units = divide_up(m.N, columns);
  } else {
    const int64_t width = k::kBytePanel * vl;
    op.kernel = k::BytePanels{.dot = ctx.target().dot, .of = m, .M = M};
    op.units = divide_up(m.N, width);
    op.scratch_per_thread = static_cast<uint64_t>(width * (m.K + m.K / m.block * 2 * int64_t{sizeof(float)}));
  }
  for (const Operand& arg : {ctx.packed(codes.value, {}), scales, zeros, ctx.write(u.out)}) op.args.push_back(arg);
  op.work = (M + 2) * m.N * m.K / 4;
  op.label = "product int8 by int" + std::to_string(m.bits) + " weights " + sizes_text(M, m);
  ctx.emit(std::move(op));
}

}  // namespace

bool takes_block_product(const Unit& u, const Target& t) {
  if (u.op.op() != "MatMul" || u.inputs[0].codes || !u.tail.empty() || u.output || !u.inputs[1].codes) return false;
  const Codes& c = *u.inputs[1].codes;
  const GraphView& g = u.op.graph;
  if ((!is_packed(c.dtype) && c.dtype != OPTIMA_I8 && c.dtype != OPTIMA_U8) || !g.bytes(c.value) || u.op.in_dims(0).size() < 2) return false;
  const Dims dims = g.dims(c.value);
  if (dims.size() != 2 || count(dims) == 0 || count(g.dims(u.out)) == 0) return false;
  if (is_packed(c.dtype) && dims[1] % 2 != 0) return false;  // rows are whole bytes
  const int along_K = u.inputs[1].transposed ? 1 : 0;
  // Many rows are faster with floats packed once; at 4 bits their memory would be eight times that of the codes.
  if (!is_packed(c.dtype) && !multiplies_bytes(u, t) && count(u.op.in_dims(0)) / std::max<int64_t>(1, dims[static_cast<size_t>(along_K)]) > kManyRows) return false;
  if (c.block) return c.axis == along_K && static_cast<int64_t>(c.scale.size()) == count(dims) / dims[static_cast<size_t>(along_K)] * divide_up(dims[static_cast<size_t>(along_K)], c.block);
  return c.is_scalar() || (c.axis == 1 - along_K && static_cast<int64_t>(c.scale.size()) == dims[static_cast<size_t>(1 - along_K)]);
}

void lower_block_product(const Unit& u, LowerContext& ctx) {
  if (multiplies_bytes(u, ctx.target())) return lower_byte_product(u, ctx);
  const Codes& codes = *u.inputs[1].codes;
  const Target& t = ctx.target();
  k::BlockMatrix m = matrix_of(u);
  const int64_t M = count(u.op.in_dims(0)) / m.K, vl = t.vector_width, ways = M <= k::kMostBlockRows ? ways_of(m, vl) : 0, eighths = ways && !m.by_columns ? 8 * vl : 0;
  const Operand zeros = zeros_of(codes, m, eighths, ctx), scales = ctx.bytes(raw_bytes(per_block<float>(codes.scale, m, eighths)));
  Operand x = ctx.read(u.inputs[0].value);
  Op op;
  if (ways) {
    if (ways > 1 && m.by_columns) x = split_rows(x, M, m.K, ways, ctx);
    const int64_t columns = eighths ? eighths : columns_of_unit(m);
    if (eighths) op.scratch_per_thread = static_cast<uint64_t>(M * m.N) * sizeof(float);
    op.kernel = k::BlockRows{.of = m, .M = M, .columns = columns, .ways = ways};
    op.units = divide_up(m.N, columns);
  } else {
    const int64_t nb = std::min<int64_t>(3, divide_up(m.N, vl)), mr = std::min<int64_t>(M, t.registers >= 32 ? 8 : 4);
    const k::BlockPanels panels{.of = m, .M = M, .mr = mr, .nb = nb};
    op.kernel = panels;
    op.units = divide_up(divide_up(m.N, vl), nb);
    op.scratch_per_thread = static_cast<uint64_t>(m.K * nb * vl) * sizeof(float);
  }
  op.args = {x, ctx.packed(codes.value, {}), scales, zeros, ctx.write(u.out)};
  op.work = (M + 2) * m.N * m.K;
  op.label = "product int" + std::to_string(m.bits) + " weights " + sizes_text(M, m);
  ctx.emit(std::move(op));
}

}  // namespace optima::llvm_cpu
