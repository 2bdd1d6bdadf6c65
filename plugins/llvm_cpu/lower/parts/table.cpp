// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see table.hpp.
#include "plugins/llvm_cpu/lower/parts/table.hpp"

#include <algorithm>
#include <cmath>

#include "plugins/llvm_cpu/kernels/table.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kPiece = 16384;  // bytes of a unit of a contiguous run

k::Lookup kind_of(const Target& target) { return target.permutes_bytes ? k::Lookup::Permute : k::Lookup::Shuffle; }

}  // namespace

bool emit_table(const Copy& walk, const Operand& from, const Operand& to, const std::string& table, const std::string& label, LowerContext& ctx) {
  if (count(walk.dims) == 0) return true;
  Copy c = simplified(walk);
  if (c.dims.empty() || c.from.back() != 1 || c.to.back() != 1) c.dims.push_back(1), c.from.push_back(1), c.to.push_back(1);
  if (c.dims.size() > 2) return false;
  const bool rows = c.dims.size() == 2;
  const int64_t piece = rows ? c.dims[1] : std::min(kPiece, c.dims[0]);
  Op op;
  op.kernel = k::Table{.kind = kind_of(ctx.target()), .bytes = count(c.dims), .piece = piece, .from = rows ? c.from[0] : piece, .to = rows ? c.to[0] : piece};
  op.args = {from, ctx.bytes(table), to};
  op.units = divide_up(count(c.dims), piece);
  op.work = count(c.dims) / 8;
  op.grain = std::max<int64_t>(1, kPiece / piece);
  op.label = label;
  ctx.emit(std::move(op));
  return true;
}

uint8_t code_of(float real, const Codes& to) {
  const bool with_sign = to.dtype == OPTIMA_I8;
  const float ratio = real / to.scale[0];
  const double wanted = std::nearbyint(static_cast<double>(ratio)) + to.zero[0];
  return static_cast<uint8_t>(static_cast<int>(std::isnan(ratio) ? 0 : std::fmin(with_sign ? 127 : 255, std::fmax(with_sign ? -128 : 0, wanted))));
}

std::string requantizing_table(const Codes& from, const Codes& to) {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) {
    const double code = from.dtype == OPTIMA_I8 ? static_cast<double>(static_cast<int8_t>(static_cast<uint8_t>(byte))) : byte;
    out += static_cast<char>(code_of(static_cast<float>((code - from.zero[0]) * static_cast<double>(from.scale[0])), to));
  }
  return out;
}

}  // namespace optima::llvm_cpu
