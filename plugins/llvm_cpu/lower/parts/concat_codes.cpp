// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see concat_codes.hpp.
#include "plugins/llvm_cpu/lower/parts/concat_codes.hpp"

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/lower/parts/codes.hpp"
#include "plugins/llvm_cpu/lower/parts/last.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/table.hpp"

namespace optima::llvm_cpu {
namespace {

/// Channels last if any part is made so; not where a table would have to walk over gaps in several dims.
Layout layout_of(const Unit& u, size_t axis, LowerContext& ctx) {
  for (const UnitInput& in : u.inputs)
    if (axis != 1 && !as_last(*in.codes, ctx.target()).same_steps(as_last(*u.output, ctx.target()))) return Layout::Plain;
  for (const UnitInput& in : u.inputs)
    if (may_be_last(u.op.graph, in.codes->value) && ctx.layout(in.codes->value) == Layout::Last) return Layout::Last;
  return Layout::Plain;
}

/// As they lie in the layout.
Codes lying(const Codes& codes, Layout layout, LowerContext& ctx) { return layout == Layout::Last ? as_last(codes, ctx.target()) : codes; }

void emit_part(const Copy& c, const Operand& from, const Operand& to, const Codes& own, const Codes& whole, const std::string& label, LowerContext& ctx) {
  if (own.same_steps(whole)) return emit_copy(c, 1, from, to, label, ctx);
  if (!emit_table(c, from, to, requantizing_table(own, whole), label, ctx))
    throw sdk::Error(OPTIMA_INTERNAL, "a part of a concatenation has gaps in several dims");
}

}  // namespace

bool takes_concat_codes(const Unit& u, const Target&) {
  if (!u.tail.empty() || !is_byte_scalar(u.output)) return false;
  for (const UnitInput& in : u.inputs)
    if (!in || !is_byte_scalar(in.codes)) return false;
  return true;
}

void lower_concat_codes(const Unit& u, LowerContext& ctx) {
  const GraphView& g = u.op.graph;
  const Dims out = g.dims(u.out);
  const size_t axis = axis_at(u.op.integer("axis", 1), out.size());
  const Layout layout = layout_of(u, axis, ctx);
  const auto steps = [&](uint32_t v) { return layout == Layout::Last ? last_steps(g.dims(v), ctx.pixel(v)) : row_major(g.dims(v)); };
  std::vector<Operand> parts;
  for (const UnitInput& in : u.inputs) parts.push_back(ctx.read(in.codes->value, layout));
  const Operand whole = ctx.write(u.out, layout);
  const Dims to = steps(u.out);
  int64_t at = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Codes& codes = *u.inputs[k].codes;
    const Dims dims = g.dims(codes.value);
    const Operand place = moved_by(whole, at * to[axis], 1);
    at += dims[axis];
    if (parts[k].kind == Operand::Buffer && parts[k].index == place.index && parts[k].offset == place.offset) continue;
    const Copy walk = by_target({dims, steps(codes.value), to});
    emit_part(walk, parts[k], place, lying(codes, layout, ctx), lying(*u.output, layout, ctx), "concat " + to_text(dims), ctx);
  }
}

}  // namespace optima::llvm_cpu
