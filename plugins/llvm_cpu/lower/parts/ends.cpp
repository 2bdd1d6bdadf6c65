// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see ends.hpp.
#include "plugins/llvm_cpu/lower/parts/ends.hpp"

#include "plugins/llvm_cpu/kernels/ends.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/lower/parts/codes.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// As the kernels have them: scale, its inverse, zero point.
Operand steps_of(const Codes& codes, int64_t channels, LowerContext& ctx) {
  const bool each = !codes.is_scalar();
  const size_t count = each ? static_cast<size_t>(divide_up(channels, 16) * 16) : 1;
  std::vector<float> out;
  const auto add = [&](auto&& number) {
    for (size_t i = 0; i < count; ++i) out.push_back(number(i < codes.scale.size() ? i : 0));
  };
  add([&](size_t i) { return codes.scale[i]; });
  add([&](size_t i) { return static_cast<float>(1 / static_cast<double>(codes.scale[i])); });
  add([&](size_t i) { return static_cast<float>(codes.zero[i]); });
  return ctx.bytes(raw_bytes(out));
}

struct Image {
  int64_t batch, channels, pixels;
};
Image image_of(const Dims& d) { return {d[0], d[1], count(d) / std::max<int64_t>(1, d[0] * d[1])}; }

void emit(KernelSpec kernel, const Image& image, std::vector<Operand> args, const char* label, LowerContext& ctx) {
  Op op;
  op.kernel = std::move(kernel), op.args = std::move(args);
  op.units = image.batch * divide_up(image.pixels, k::kStrip);
  op.work = image.batch * image.channels * image.pixels;
  op.label = label;
  ctx.emit(std::move(op));
}

/// From plain floats, or from blocked ones.
void quantize_to_last(const NodeView& n, const Codes& codes, LowerContext& ctx) {
  const Image m = image_of(n.in_dims(0));
  const bool blocked = ctx.layout(n.input(0)) == Layout::Blocked, with_sign = codes.dtype == OPTIMA_I8, each = !codes.is_scalar();
  const int64_t low = with_sign ? -128 : 0, high = with_sign ? 127 : 255, flip = flips(codes.dtype, ctx.target()) ? 0x80 : 0;
  const int64_t pixel = ctx.pixel(n.output(0));
  const Operand from = ctx.read(n.input(0), blocked ? Layout::Blocked : Layout::Plain), steps = steps_of(codes, m.channels, ctx);
  const Operand to = ctx.write(n.output(0), Layout::Last);
  if (blocked) emit(k::QuantizeBlocked{m.channels, m.pixels, pixel, low, high, flip, each}, m, {from, steps, to}, "quantize to channels last", ctx);
  else emit(k::QuantizeToLast{m.channels, m.pixels, pixel, low, high, flip, each}, m, {from, steps, to}, "quantize to channels last", ctx);
}

/// To plain floats, or to blocked ones.
void dequantize_last(const NodeView& n, const Codes& codes, Layout layout, LowerContext& ctx) {
  const Image m = image_of(n.in_dims(0));
  const bool with_sign = codes.dtype == OPTIMA_I8, each = !codes.is_scalar();
  const int64_t pixel = ctx.pixel(n.input(0)), flip = flips(codes.dtype, ctx.target()) ? 0x80 : 0;
  const Operand from = ctx.read(n.input(0), Layout::Last), steps = steps_of(codes, m.channels, ctx), to = ctx.write(n.output(0), layout);
  if (layout == Layout::Blocked)
    emit(k::DequantizeToBlocked{m.channels, m.pixels, pixel, with_sign, flip, each}, m, {from, steps, to}, "dequantize to blocked", ctx);
  else emit(k::DequantizeFromLast{m.channels, m.pixels, pixel, with_sign, flip, each}, m, {from, steps, to}, "dequantize to plain", ctx);
}

}  // namespace

bool is_end(const NodeView& n, const Target&) {
  const auto codes = codes_of(n);
  const size_t rank = n.in_dims(0).size();
  return codes && codes->block == 0 && (codes->dtype == OPTIMA_U8 || codes->dtype == OPTIMA_I8) && (codes->is_scalar() || codes->axis == 1) && rank >= 3 &&
         rank <= 5 && have_inverses(codes->scale) && n.graph.dtype(is_quantize(n) ? n.input(0) : n.output(0)) == OPTIMA_F32;
}

bool lower_end(const NodeView& n, Layout layout, LowerContext& ctx) {
  const Codes codes = *codes_of(n);
  const Layout source = ctx.layout(n.input(0));
  if (is_quantize(n)) {
    if (layout != Layout::Last || source == Layout::Last) return false;
    quantize_to_last(n, codes, ctx);
  } else {
    if (source != Layout::Last || layout == Layout::Last) return false;
    dequantize_last(n, codes, layout, ctx);
  }
  return true;
}

}  // namespace optima::llvm_cpu
