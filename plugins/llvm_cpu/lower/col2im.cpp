// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: Col2Im of pictures, and of lines as pictures of one row. Others are the reference's.
#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/col2im.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"
#include "plugins/llvm_cpu/lower/parts/window.hpp"

namespace optima::llvm_cpu {
namespace {

/// Attributes and constants that were checked, and how often the window fits along each axis.
struct Places {
  Dims image, block, stride, dilation, pads, along;

  explicit Places(const NodeView& n)
      : image(*n.graph.integers(n.input(1))), block(*n.graph.integers(n.input(2))), stride(list_of(n, "strides", image.size(), 1)), dilation(list_of(n, "dilations", image.size(), 1)),
        pads(list_of(n, "pads", 2 * image.size(), 0)) {
    for (size_t d = 0; d < image.size(); ++d) {
      const int64_t room = image[d] + pads[d] + pads[d + image.size()] - (block[d] - 1) * dilation[d] - 1;
      along.push_back(room < 0 ? 0 : room / stride[d] + 1);
    }
  }
};

Refusal check_col2im(const NodeView& n) {
  const auto image = n.graph.integers(n.input(1)), block = n.graph.integers(n.input(2));
  if (!image) return needs_constant(1);
  if (!block) return needs_constant(2);
  const size_t rank = image->size();
  if (rank != 1 && rank != 2) return {OPTIMA_REASON_RANK, "numbers of input 1", std::to_string(rank), "1 or 2"};
  if (const Refusal r = check_list("image_shape", *image, rank, 1)) return r;
  if (const Refusal r = check_list("block_shape", *block, rank, 1)) return r;
  for (const char* name : {"strides", "dilations"})
    if (const Refusal r = check_list(name, list_of(n, name, rank, 1), rank, 1)) return r;
  if (const Refusal r = check_list("pads", list_of(n, "pads", 2 * rank, 0), 2 * rank, 0)) return r;
  if (const auto pad = auto_pad(n); pad != AutoPad::Explicit) return {OPTIMA_REASON_ATTRIBUTE, "auto_pad", std::string(n.text("auto_pad", "")), "NOTSET"};
  const Dims x = n.in_dims(0);
  const int64_t taps = count(*block), channels = x[1] / taps, places = count(Places(n).along);
  if (places == 0 || x[1] % taps || x[2] != places) return wrong_shape(n, 0, to_text({x[0], channels * taps, places}));
  Dims wanted{x[0], channels};
  wanted.insert(wanted.end(), image->begin(), image->end());
  if (n.out_dims(0) != wanted) return {OPTIMA_REASON_OTHER, "output 0", to_text(n.out_dims(0)), to_text(wanted)};
  return {};
}

/// Two numbers as height and width; one as the width, the height as given.
k::Three flat(const Dims& numbers, int64_t height) { return {1, numbers.size() == 2 ? numbers[0] : height, numbers.back()}; }

void lower_col2im(std::span<const NodeView> nodes, LowerContext& ctx) {
  const NodeView& n = nodes[0];
  const Places p(n);
  const Dims x = n.in_dims(0), begin(p.pads.begin(), p.pads.begin() + static_cast<std::ptrdiff_t>(p.image.size()));
  const k::Three image = flat(p.image, 1), along = flat(p.along, 1);
  Op op;
  op.kernel = k::Col2Im{.height = image.h, .width = image.w, .rows = along.h, .columns = along.w, .kernel = flat(p.block, 1), .stride = flat(p.stride, 1),
                        .dilation = flat(p.dilation, 1), .begin = flat(begin, 0)};
  op.args = {ctx.read(n.input(0)), ctx.write(n.output(0))};
  op.units = x[0] * (x[1] / count(p.block));
  op.work = count(x) * work::kPooled;
  op.label = "col2im " + to_text(n.out_dims(0));
  ctx.emit(std::move(op));
}

constexpr Lowering kCol2ImFamily[] = {
    {"Col2Im", 18, 18, {kFloat, kLongs}, {kFloat}, 3, 3, 0b110, {3, 3, kThrough}, check_col2im, lower_col2im},
};

}  // namespace

Family col2im_family() { return kCol2ImFamily; }

}  // namespace optima::llvm_cpu
