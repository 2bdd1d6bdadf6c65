// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see concat_blocked.hpp.
#include "plugins/llvm_cpu/lower/parts/concat_blocked.hpp"

#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"

namespace optima::llvm_cpu {
namespace {

bool joins_channels(const NodeView& n) {
  const Dims out = n.out_dims(0);
  const int64_t rank = static_cast<int64_t>(out.size()), axis = n.integer("axis", 1);
  return rank >= 3 && rank <= 5 && (axis == 1 || axis == 1 - rank) && n.out_dtype(0) == OPTIMA_F32 && count(out) > 0;
}

}  // namespace

bool lower_blocked_concat(const NodeView& n, LowerContext& ctx) {
  if (!joins_channels(n)) return false;
  bool blocked = false;
  for (uint32_t k = 0; k < n.input_count(); ++k) blocked = blocked || ctx.layout(n.input(k)) == Layout::Blocked;
  if (!blocked) return false;
  const Dims out = n.out_dims(0);
  const int64_t vl = ctx.target().vector_width, pixels = count(out) / (out[0] * out[1]);
  const Operand whole = ctx.write(n.output(0), Layout::Blocked);
  int64_t at = 0;
  for (uint32_t k = 0; k < n.input_count(); ++k) {
    const int64_t channels = n.in_dims(k)[1], start = at;
    at += channels;
    if (channels == 0) continue;
    const Operand part = ctx.read(n.input(k), Layout::Blocked);
    const uint64_t offset = whole.offset + static_cast<uint64_t>(start * pixels) * sizeof(float);
    if (part.kind == Operand::Buffer && part.index == whole.index && start % vl == 0 && part.offset == offset) continue;
    Op op;
    op.kernel = k::JoinChannels{.C = channels, .at = start, .P = pixels, .whole_image = out[0] == 1 ? 0 : elements(out, Layout::Blocked, ctx.target()) / out[0]};
    op.args = {part, whole};
    op.units = out[0] * ((at + vl - 1) / vl - start / vl);
    op.work = work::kMoved * out[0] * channels * pixels;
    ctx.emit(std::move(op));
  }
  return true;
}

}  // namespace optima::llvm_cpu
