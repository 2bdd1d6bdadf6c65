// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: GridSample of pictures, but for cubic ones, which the reference computes.
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/grid_sample.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

std::optional<k::GridMode> mode_of(const NodeView& n) {
  const std::string_view mode = n.text("mode", "linear");
  if (mode == "nearest") return k::GridMode::Nearest;
  return mode == "linear" || mode == "bilinear" ? std::optional(k::GridMode::Linear) : std::nullopt;
}

std::optional<k::GridOutside> outside_of(const NodeView& n) {
  const std::string_view padding = n.text("padding_mode", "zeros");
  if (padding == "zeros") return k::GridOutside::Zeros;
  if (padding == "border") return k::GridOutside::Border;
  return padding == "reflection" ? std::optional(k::GridOutside::Reflection) : std::nullopt;
}

Refusal check_grid_sample(const NodeView& n) {
  const Dims x = n.in_dims(0), grid = n.in_dims(1), out = n.out_dims(0);
  if (!mode_of(n)) return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(n.text("mode", "")), "nearest or linear"};
  if (!outside_of(n)) return {OPTIMA_REASON_ATTRIBUTE, "padding_mode", std::string(n.text("padding_mode", "")), "zeros, border or reflection"};
  if (grid.size() != 4 || grid[0] != x[0] || grid[3] != 2) return wrong_shape(n, 1, to_text({x[0], -1, -1, 2}));
  if (out != Dims{x[0], x[1], grid[1], grid[2]}) return wrong_shape(n, 1, "what the result says: " + to_text(out));
  if (x[2] * x[3] >= int64_t{1} << 31) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(x), "pictures of less than 2^31 elements"};
  if (x[2] * x[3] == 0 && count(out) != 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(x), "pictures that are not empty"};
  return {};
}

void lower_grid_sample(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims x = n.in_dims(0), grid = n.in_dims(1);
  const int64_t points = grid[1] * grid[2], taps = *mode_of(n) == k::GridMode::Nearest ? 1 : 4;
  Op op;
  op.kernel = k::GridSample{.mode = *mode_of(n), .outside = *outside_of(n), .corners = n.integer("align_corners", 0) != 0,
                            .channels = x[1], .height = x[2], .width = x[3], .points = points};
  op.args = {ctx.read(n.input(0)), ctx.read(n.input(1)), ctx.write(n.output(0))};
  op.units = count(n.out_dims(0)) == 0 ? 0 : x[0] * divide_up(points, k::kGridBlock);
  op.work = count(n.out_dims(0)) * taps * work::kPooled;
  op.label = "grid sample " + to_text(n.out_dims(0));
  ctx.emit(std::move(op));
}

constexpr Lowering kGridSampleFamily[] = {
    {"GridSample", 16, 22, {kFloat, kFloat}, {kFloat}, 4, 4, 0, {2, 2}, check_grid_sample, lower_grid_sample},
};

}  // namespace

Family grid_sample_family() { return kGridSampleFamily; }

}  // namespace optima::llvm_cpu
