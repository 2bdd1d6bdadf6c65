// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see pool_codes.hpp.
#include "plugins/llvm_cpu/lower/parts/pool_codes.hpp"

#include "plugins/llvm_cpu/kernels/pool_codes.hpp"
#include "plugins/llvm_cpu/lower/parts/codes.hpp"
#include "plugins/llvm_cpu/lower/parts/last.hpp"
#include "plugins/llvm_cpu/lower/parts/pool_plain.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/table.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

bool is_global(const NodeView& n) { return n.op().starts_with("Global") || n.op() == "ReduceMean"; }

/// A global pool is one window over the image.
Window pool_window(const NodeView& n) {
  if (!is_global(n)) return Window::of(n, n.integers("kernel_shape"));
  const Dims in = n.in_dims(0);
  Window w;
  w.batch = in[0], w.channels = w.out_channels = in[1];
  for (size_t d = 2; d < in.size(); ++d) w.in[d + 3 - in.size()] = w.kernel[d + 3 - in.size()] = in[d];
  return w;
}

/// Every window has an element of the image.
bool all_reach(const Window& w) {
  for (size_t d = 0; d < 3; ++d)
    for (int64_t o = 0; o < w.out[d]; ++o) {
      const int64_t start = o * w.stride[d] - w.begin[d], first = start < 0 ? divide_up(-start, w.dilation[d]) : 0;
      if (first >= w.kernel[d] || start + first * w.dilation[d] >= w.in[d]) return false;
    }
  return true;
}

/// The result has no space at all, and is plain: [N][C].
bool drops_space(const NodeView& n) { return n.op() == "ReduceMean" && !n.integer("keepdims", 1); }

/// All of space. A plain result has no room behind the last channel, so channels come in whole groups.
bool means_space(const NodeView& n) {
  const auto axes = axes_of(n);
  const size_t rank = n.in_dims(0).size();
  if (!axes || axes->size() + 2 != rank || (drops_space(n) && n.in_dims(0)[1] % 16)) return false;
  std::vector<bool> gone(rank);
  for (const int64_t a : *axes) gone[axis_at(a, rank)] = true;
  return !gone[0] && !gone[1] && static_cast<size_t>(std::count(gone.begin(), gone.end(), true)) == axes->size();
}

bool is_max(const NodeView& n) { return n.op() == "MaxPool" || n.op() == "GlobalMaxPool"; }
k::PoolMode mode_of(const NodeView& n) { return n.op() == "ReduceMean" ? k::PoolMode::Average : pool_mode(n); }

}  // namespace

bool takes_pool_codes(const Unit& u, const Target&) {
  const NodeView& n = u.op;
  if (!u.tail.empty() || !is_byte_scalar(u.output) || !is_byte_scalar(u.inputs[0].codes) || !may_be_last(n.graph, u.inputs[0].codes->value)) return false;
  if (n.op() == "ReduceMean" && !means_space(n)) return false;
  if (count(n.in_dims(0)) == 0 || count(n.out_dims(0)) == 0 || !have_inverses(u.output->scale)) return false;
  return all_reach(pool_window(n));
}

void lower_pool_codes(const Unit& u, LowerContext& ctx) {
  const NodeView& n = u.op;
  const Window w = pool_window(n);
  const bool plain = drops_space(n);
  const Codes from = as_last(*u.inputs[0].codes, ctx.target()), to = plain ? *u.output : as_last(*u.output, ctx.target());
  const int64_t channels = last_channels(w.channels), in_pixel = ctx.pixel(from.value), out_pixel = plain ? channels : ctx.pixel(u.out);
  const bool turned = is_max(n) && !from.same_steps(to);  // a table on the way
  const Operand source = ctx.read(from.value, Layout::Last), end = ctx.write(u.out, plain ? Layout::Plain : Layout::Last);
  Operand target = turned ? ctx.temporary(static_cast<uint64_t>(w.batch * w.out_pixels() * channels)) : end;
  target.written = true;
  const int64_t pitch = turned ? channels : out_pixel, span = is_global(n) ? std::min<int64_t>(64, channels) : channels;
  const float inverse = static_cast<float>(1 / static_cast<double>(to.scale[0]));
  const std::vector<float> steps{from.scale[0], static_cast<float>(from.zero[0]), to.scale[0], inverse, static_cast<float>(to.zero[0])};
  Op op;
  op.kernel = k::PoolCodes{.mode = mode_of(n), .in = literal(w.in), .out = literal(w.out), .kernel = literal(w.kernel), .stride = literal(w.stride),
                           .dilation = literal(w.dilation), .begin = literal(w.begin), .end = literal(w.end), .channels = channels, .span = span,
                           .from = in_pixel, .to = pitch, .in_sign = from.dtype == OPTIMA_I8, .out_sign = to.dtype == OPTIMA_I8};
  op.args = {source, target, is_max(n) ? Operand() : ctx.bytes(raw_bytes(steps))};
  op.units = w.batch * w.out[0] * w.out[1] * divide_up(channels, span);
  op.work = w.batch * w.out_pixels() * w.taps() * channels / (is_max(n) ? 16 : 4);
  op.label = std::string(n.op()) + " of codes " + to_text(n.in_dims(0));
  ctx.emit(std::move(op));
  if (!turned) return;
  target.written = false;
  const Copy rows{{w.batch * w.out_pixels(), channels}, {channels, 1}, {out_pixel, 1}};
  emit_table(rows, target, end, requantizing_table(from, to), "requantize", ctx);
}

Refusal check_max_of_bytes(const NodeView& n) {
  if (n.has_output(1)) return {OPTIMA_REASON_OTHER, "output 1", "wanted", "none for bytes"};
  if (count(n.in_dims(0)) == 0 || count(n.out_dims(0)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(n.in_dims(0)), "not empty"};
  if (const Refusal r = Window::check(n, n.integers("kernel_shape"), n.in_dims(0)[1])) return r;
  return all_reach(pool_window(n)) ? Refusal() : Refusal{OPTIMA_REASON_ATTRIBUTE, "pads", "a window of padding alone", "an element in each"};
}

void lower_max_of_bytes(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const auto codes = [&](uint32_t value) { return Codes{value, n.in_dtype(0), {1}, {0}}; };
  lower_pool_codes(Unit{n, {UnitInput{n.input(0), codes(n.input(0))}}, {}, codes(n.output(0)), n.output(0)}, ctx);
}

}  // namespace optima::llvm_cpu
