// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: RoiAlign and MaxRoiPool: vectors of channels, so pictures and results are blocked.
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/roi.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

/// What the two share: `numbers` of a region, the rows and columns of its picture.
Refusal check_regions(const NodeView& n, int64_t numbers, int64_t rows, int64_t columns) {
  const Dims x = n.in_dims(0), regions = n.in_dims(1);
  if (regions.size() != 2 || regions[1] != numbers) return wrong_shape(n, 1, to_text({-1, numbers}));
  if (rows < 1 || columns < 1 || n.out_dims(0) != Dims{regions[0], x[1], rows, columns})
    return {OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), to_text({regions[0], x[1], rows, columns})};
  if (count(x) == 0 && regions[0] != 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(x), "pictures that are not empty"};
  if (x[2] * x[3] >= int64_t{1} << 31) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(x), "pictures of less than 2^31 elements"};
  return {};
}

Refusal check_roi_align(const NodeView& n) {
  const std::string_view mode = n.text("mode", "avg"), how = n.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return {OPTIMA_REASON_ATTRIBUTE, "mode", std::string(mode), "avg or max"};
  if (how != "half_pixel" && how != "output_half_pixel")
    return {OPTIMA_REASON_ATTRIBUTE, "coordinate_transformation_mode", std::string(how), "half_pixel or output_half_pixel"};
  const int64_t samples = n.integer("sampling_ratio", 0);
  if (samples < 0 || samples > 1 << 12) return {OPTIMA_REASON_ATTRIBUTE, "sampling_ratio", std::to_string(samples), "within [0, 4096]"};
  if (n.in_dims(2) != Dims{n.in_dims(1)[0]}) return wrong_shape(n, 2, to_text({n.in_dims(1)[0]}));
  return check_regions(n, 4, n.integer("output_height", 1), n.integer("output_width", 1));
}

Refusal check_max_roi_pool(const NodeView& n) {
  const Dims shape = n.integers("pooled_shape");
  if (shape.size() != 2) return {OPTIMA_REASON_ATTRIBUTE, "pooled_shape", to_text(shape), "two sizes"};
  return check_regions(n, 5, shape[0], shape[1]);
}

void emit_regions(Op op, const NodeView& n, int64_t read_of_cell, const char* what, LowerContext& ctx) {
  const Dims out = n.out_dims(0);
  op.units = count(out) == 0 ? 0 : out[0] * out[2];
  op.work = count(out) * read_of_cell * work::kPooled;
  op.label = what + to_text(out);
  ctx.emit(std::move(op));
}

void lower_roi_align(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims x = n.in_dims(0);
  const std::string_view how = n.text("coordinate_transformation_mode", n.since() < 16 ? "output_half_pixel" : "half_pixel");
  const int64_t samples = n.integer("sampling_ratio", 0), guess = samples ? samples : 2;
  Op op;
  op.kernel = k::RoiAlign{.most = n.text("mode", "avg") == "max", .half_pixel = how == "half_pixel", .scale = static_cast<double>(n.real("spatial_scale", 1)),
                          .samples = samples, .rows = n.integer("output_height", 1), .columns = n.integer("output_width", 1), .index_bytes = 8,
                          .batch = x[0], .blocks = divide_up(x[1], ctx.target().vector_width), .height = x[2], .width = x[3]};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.read(n.input(1)), ctx.read(n.input(2)), ctx.write(n.output(0), Layout::Blocked)};
  emit_regions(std::move(op), n, 4 * guess * guess, "roi align ", ctx);
}

void lower_max_roi_pool(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Dims x = n.in_dims(0), shape = n.integers("pooled_shape");
  Op op;
  op.kernel = k::MaxRoiPool{.scale = static_cast<double>(n.real("spatial_scale", 1)), .rows = shape[0], .columns = shape[1], .batch = x[0],
                            .blocks = divide_up(x[1], ctx.target().vector_width), .height = x[2], .width = x[3]};
  op.args = {ctx.read(n.input(0), Layout::Blocked), ctx.read(n.input(1)), ctx.write(n.output(0), Layout::Blocked)};
  emit_regions(std::move(op), n, 9, "max roi pool ", ctx);
}

constexpr Lowering kRoiFamily[] = {
    {"MaxRoiPool", 1, 22, {kFloat}, {kFloat}, 4, 4, 0, {2, 2, kBoth}, check_max_roi_pool, lower_max_roi_pool},
    {"RoiAlign", 10, 22, {kFloat, kFloat, kLongs}, {kFloat}, 4, 4, 0, {3, 3, kBoth}, check_roi_align, lower_roi_align},
};

}  // namespace

Family roi_family() { return kRoiFamily; }

}  // namespace optima::llvm_cpu
