// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of com.microsoft for images: convolution and pooling with channels last, normalization by groups, and old operators of
// ONNX's own domain that ONNX Runtime kept (Crop, ImageScaler). Sources: docs/ContribOperators.md of ONNX Runtime, and its onnxruntime/core/graph/contrib_ops.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {
namespace {

constexpr const char* kConv = "Conv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group, pads: ints = @pads, strides: ints = @strides> ";

/// s -> Y or y, by `activation` 0 or 1 (SiLU), of values named "normal".
Text silu(const Text& out, bool on) { return on ? cat("gate = Sigmoid(normal) ", out, " = Mul(normal, gate) ") : cat(out, " = Identity(normal) "); }

/// Normalization of x [N, H, W, C] or [N, C, H, W] into `out` of the same layout: of [N, groups, rest], then by channel.
Text by_groups(Contributed& n, const Text& out) {
  const bool last = n.integer("channels_last", 1) != 0, swish = n.integer("activation", 0) != 0;
  const int64_t groups = n.integer("groups", 1);
  if (groups < 1) return n.refuse(cat("attribute groups is ", groups, ", wanted 1 or more"));
  const std::vector<float> ones(static_cast<size_t>(groups), 1), zeros(static_cast<size_t>(groups), 0);
  const auto bytes = [](const std::vector<float>& v) { return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)); };
  (void)n.constant("ones", kF32, {groups}, bytes(ones)), (void)n.constant("zeros", kF32, {groups}, bytes(zeros));
  const Text x = last ? "xf" : "x";
  const Text steps = cat(int_list("grouped", {0, groups, -1}), int_list("ends", {1, 2}), "r = Reshape(", x, ", grouped) o = CastLike(ones, x) z = CastLike(zeros, x) i = InstanceNormalization "
                         "<epsilon = ", number(n.real("epsilon", 1e-5f)), "> (r, o, z) sizes = Shape(", x, ") c = Reshape(i, sizes) g = CastLike(gamma, x) b = CastLike(beta, x) "
                         "gc = Unsqueeze(g, ends) bc = Unsqueeze(b, ends) m = Mul(c, gc) normal = Add(m, bc) ");
  if (!last) return cat(steps, silu(out, swish));
  return cat(permuted("xf", "x", {0, 3, 1, 2}), steps, silu("yf", swish), permuted(out, "yf", {0, 2, 3, 1}));
}

}  // namespace

/// Codes are compared as floats, which is exact: few backends pool codes.
Text nhwc_max_pool(Contributed& n) {
  const int rank = static_cast<int>(n.integers("kernel_shape").size()) + 2;
  if (rank < 3) return n.refuse("attribute kernel_shape is not there, wanted a size for each axis");
  return cat("(x) => (y) { ", permuted("codes", "x", channels_first(rank)), "xf = Cast <to = ", kF32, "> (codes) yf = MaxPool <auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode, "
             "dilations: ints = @dilations, kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> (xf) most = CastLike(yf, x) ",
             permuted("y", "most", channels_last(rank)), "}");
}

/// Here the weights have their channels last, too: [M, kH, kW, C / group].
Text nhwc_conv(Contributed& n) {
  const int rank = n.rank(1);
  if (rank < 3) return "";
  return cat("(X, W, B) => (Y) { ", permuted("xf", "X", channels_first(rank)), permuted("wf", "W", channels_first(rank)), "yf = ", kConv, "(xf, wf, B) ",
             permuted("Y", "yf", channels_last(rank)), "}");
}

/// Here the weights lie as in Conv; what is added, Z, has its channels last.
Text nhwc_fused_conv(Contributed& n) {
  const int rank = n.rank(1);
  if (rank < 3) return "";
  const Text last = activated(n, "s", "Y");
  if (last.empty()) return "";
  return cat("(X, W, B, Z) => (Y) { ", permuted("xf", "X", channels_first(rank)), "yf = ", kConv, "(xf, W, B) ", permuted(n.has(3) ? "c" : "s", "yf", channels_last(rank)),
             n.has(3) ? "s = Add(c, Z) " : "", last, "}");
}

/// Boxes [count, (y1, x1, y2, x2)] of images, in parts of their height and width from the first pixel to the last, each as an image of one size whose
/// corners are the box's. Places off the image have the value that the node gives.
Text crop_and_resize(Contributed& n) {
  const Text mode = n.text("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") return "";
  const bool is_nearest = mode == "nearest";
  Text out = cat("(X, boxes, batch, size) => (Y) { chosen = Gather <axis = 0> (X, batch) y1, x1, y2, x2 = Split <axis = 1, num_outputs = 4> (boxes) size_l = Cast <to = 7> (size) "
                 "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () ",
                 scalar("zero_f", 0, "X"), scalar("one_f", 1, "X"), scalar("half", 0.5, "X"), scalar("two", 2, "X"));
  // at_y [boxes, height] and at_x [boxes, width]: places in pixels; in_y, in_x: the same from -1 to 1.
  for (const auto& [name, axis] : {std::pair{"y", 2}, std::pair{"x", 3}}) {
    const auto own = [name = Text(name)](const char* what) { return cat(what, "_", name); };
    out += cat(own("pixels"), " = Shape <start = ", axis, ", end = ", axis + 1, "> (X) ", own("last_i"), " = Sub(", own("pixels"), ", one) ", own("last"), " = CastLike(", own("last_i"), ", X) ");
    out += cat(own("place"), " = Constant <value_int = ", axis - 2, "> () ", own("count"), " = Gather <axis = 0> (size_l, ", own("place"), ") ", own("steps"), " = Range(zero, ", own("count"), ", one) ",
               own("steps_f"), " = CastLike(", own("steps"), ", X) ", own("gaps_i"), " = Sub(", own("count"), ", one) ", own("gaps_0"), " = CastLike(", own("gaps_i"), ", X) ", own("gaps"), " = Max(", own("gaps_0"), ", one_f) ");
    out += cat(own("long"), " = Sub(", name, "2, ", name, "1) ", own("part"), " = Div(", own("steps_f"), ", ", own("gaps"), ") ", own("way"), " = Mul(", own("long"), ", ", own("part"), ") ", own("many"), " = Add(", name, "1, ",
               own("way"), ") ", own("sum"), " = Add(", name, "1, ", name, "2) ", own("middle"), " = Mul(", own("sum"), ", half) ", own("is_many"), " = Greater(", own("gaps_0"), ", zero_f) ", own("rel"), " = Where(",
               own("is_many"), ", ", own("many"), ", ", own("middle"), ") ", own("at"), " = Mul(", own("rel"), ", ", own("last"), ") ");
    out += cat(own("low"), " = Less(", own("at"), ", zero_f) ", own("high"), " = Greater(", own("at"), ", ", own("last"), ") ", own("off"), " = Or(", own("low"), ", ", own("high"), ") ");
    Text at = own("at");
    if (is_nearest) {
      out += cat(own("up"), " = Add(", at, ", half) ", own("whole"), " = Floor(", own("up"), ") ");
      at = own("whole");
    }
    out += cat(own("last_1"), " = Max(", own("last"), ", one_f) ", own("of_last"), " = Div(", at, ", ", own("last_1"), ") ", own("doubled"), " = Mul(", own("of_last"), ", two) ", own("in"), " = Sub(", own("doubled"), ", one_f) ");
  }
  out += cat(int_list("axis_1", {1}), int_list("axis_2", {2}), int_list("axis_3", {3}), "rows_3 = Unsqueeze(in_y, axis_2) columns_3 = Unsqueeze(in_x, axis_1) rows_0 = Mul(columns_3, zero_f) rows_a = Add(rows_3, rows_0) "
             "columns_0 = Mul(rows_3, zero_f) columns_a = Add(columns_3, columns_0) rows_4 = Unsqueeze(rows_a, axis_3) columns_4 = Unsqueeze(columns_a, axis_3) grid = Concat <axis = 3> (columns_4, rows_4) "
             "sampled = GridSample <mode = \"", is_nearest ? "nearest" : "linear", "\", padding_mode = \"border\", align_corners = 1> (chosen, grid) off_rows = Unsqueeze(off_y, axis_2) off_columns = Unsqueeze(off_x, axis_1) "
             "off_3 = Or(off_rows, off_columns) off = Unsqueeze(off_3, axis_1) ", scalar("other", n.real("extrapolation_value", 0), "X"), "Y = Where(off, other, sampled) }");
  return out;
}

Text group_norm(Contributed& n) { return cat("(X, gamma, beta) => (Y) { x = Identity(X) ", by_groups(n, "Y"), "}"); }

/// s = X + skip + bias is normalized; it is an output, too. A skip of two dims is one number for a sample's channel.
Text skip_group_norm(Contributed& n) {
  const bool last = n.integer("channels_last", 1) != 0;
  if (n.rank(3) < 0) return "";
  Text steps = n.rank(3) == 2 ? cat(int_list("places", last ? Dims{1, 2} : Dims{2, 3}), "wide = Unsqueeze(skip, places) sum = Add(X, wide) ") : Text("sum = Add(X, skip) ");
  const Text x = n.has_output(1) ? "S" : "x";
  if (!n.has(4)) steps += cat(x, " = Identity(sum) ");
  else if (last) steps += cat(x, " = Add(sum, bias) ");
  else steps += cat(int_list("below", {1, 2}), "column = Unsqueeze(bias, below) ", x, " = Add(sum, column) ");
  if (n.has_output(1)) steps += "x = Identity(S) ";
  return cat("(X, gamma, beta, skip, bias) => (Y, S) { ", steps, by_groups(n, "Y"), "}");
}

/// The whole output without pads, then the pads cut off: they are an input, so they may be computed.
Text conv_transpose_with_dynamic_pads(Contributed& n) {
  const int axes = n.rank(1) - 2;
  const Text mode = n.text("auto_pad", "NOTSET");
  if (axes < 1 || (mode != "NOTSET" && mode != "VALID")) return "";
  const Text op = "ConvTranspose <dilations: ints = @dilations, group: int = @group, kernel_shape: ints = @kernel_shape, output_padding: ints = @output_padding, "
                  "strides: ints = @strides> ";
  if (!n.has(2)) return cat("(X, W, Pads, B) => (Y) { Y = ", op, "(X, W, B) }");
  if (const auto given = n.bytes(2); given && n.dtype(2) == kI64 && given->size() == static_cast<size_t>(2 * axes) * sizeof(int64_t)) {
    Dims pads(static_cast<size_t>(2 * axes));
    std::memcpy(pads.data(), given->data(), given->size());
    return cat("(X, W, Pads, B) => (Y) { Y = ", op.substr(0, op.size() - 2), ", pads = ", list(pads), "> (X, W, B) }");
  }
  Dims spatial;
  for (int64_t k = 0; k < axes; ++k) spatial.push_back(k + 2);
  return cat("(X, W, Pads, B) => (Y) { whole = ", op, "(X, W, B) ", int_list("zero", {0}), int_list("half", {axes}), int_list("all", {2 * axes}), int_list("axes", spatial),
             "from = Slice(Pads, zero, half) behind = Slice(Pads, half, all) sizes = Shape <start = 2> (whole) to = Sub(sizes, behind) Y = Slice(whole, from, to, axes) }");
}

/// border: left, top, right, bottom; scale, where it is there, is the height and width that stay.
Text crop(Contributed& n) {
  const Dims border = n.integers("border"), scale = n.integers("scale");
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2)) return n.refuse(cat("attributes border and scale have ", border.size(), " and ", scale.size(), " numbers, wanted 4, and 2 or none"));
  const Text from = int_list("from", {border[1], border[0]}), axes = int_list("axes", {2, 3});
  if (!scale.empty()) return cat("(X) => (Y) { ", from, axes, int_list("to", {border[1] + scale[0], border[0] + scale[1]}), "Y = Slice(X, from, to, axes) }");
  const auto end = [](int64_t behind) { return behind > 0 ? -behind : std::numeric_limits<int64_t>::max(); };
  return cat("(X) => (Y) { ", from, axes, int_list("to", {end(border[3]), end(border[2])}), "Y = Slice(X, from, to, axes) }");
}

Text image_scaler(Contributed& n) {
  const std::vector<float> bias = n.reals("bias");
  const Text scaled = scalar("scale", n.real("scale", 1), "X");
  if (bias.empty()) return cat("(X) => (Y) { ", scaled, "Y = Mul(X, scale) }");
  const std::string bytes(reinterpret_cast<const char*>(bias.data()), bias.size() * sizeof(float));
  const Text b = n.constant("bias", kF32, {static_cast<int64_t>(bias.size()), 1, 1}, bytes);
  return cat("(X) => (Y) { ", scaled, "s = Mul(X, scale) b = CastLike(", b, ", X) Y = Add(s, b) }");
}

}  // namespace optima::onnx_io::recipes
