// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions over one to three axes: an invocation per output gathers the inputs whose windows reach it.
#include <algorithm>

#include "elements.hpp"

namespace spirv_plugin {
namespace of_conv_transpose {

struct Axis {
  int64_t in, out, kernel, stride, dilation, pad;
};

/// Pads at the begin: given, or what output_shape and auto_pad leave (the operator's formula).
std::vector<Axis> axes_of(const sdk::Node& node) {
  const Dims x = node.input(0).shape(), w = node.input(1).shape(), y = node.output(0).shape();
  const size_t n = x.size() - 2;
  const Dims strides = node.integers("strides", Dims(n, 1)), dilations = node.integers("dilations", Dims(n, 1)), extra = node.integers("output_padding", Dims(n, 0));
  const Dims pads = node.integers("pads", Dims(2 * n, 0));
  const std::string_view how = node.string("auto_pad", "NOTSET");
  const bool given = (how == "NOTSET" || how.empty()) && !node.has("output_shape");
  std::vector<Axis> out;
  for (size_t k = 0; k < n; ++k) {
    Axis a{x[k + 2], y[k + 2], w[k + 2], strides[k], dilations[k], pads[k]};
    if (!given) {
      const int64_t all = std::max<int64_t>(0, a.stride * (a.in - 1) + extra[k] + (a.kernel - 1) * a.dilation + 1 - a.out);
      a.pad = how == "SAME_UPPER" ? all / 2 : all - all / 2;
      if (how == "VALID") a.pad = 0;
    }
    out.push_back(a);
  }
  return out;
}

void lower_conv_transpose(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const std::vector<Axis> axes = axes_of(node);
  const Dims x_dims = node.input(0).shape(), w_dims = node.input(1).shape(), y_dims = node.output(0).shape();
  const int64_t groups = node.integer("group", 1), channels = x_dims[1] / groups, features = w_dims[1];
  int64_t ins = 1, outs = 1, taps = 1;
  for (const Axis& a : axes) ins *= a.in, outs *= a.out, taps *= a.kernel;
  Elements e{to, group};
  const int x = e.in(node.input(0)), w = e.in(node.input(1)), bias = node.input(2) ? e.in(node.input(2)) : -1;
  const auto write = [&] {
    e.s.line("int f=o/" + text(outs) + "%" + text(y_dims[1]) + ",image=o/" + text(outs * y_dims[1]) + ",c0=f/" + text(features) + "*" + text(channels) + ",fw=f%" + text(features) + ";");
    e.s.line("float v=" + (bias < 0 ? "0.0" : e.s.load(bias, "f")) + ";");
    int64_t behind = outs, inner = ins, tap = taps;
    std::string at, kernel;
    for (size_t k = 0; k < axes.size(); ++k) {
      const Axis& a = axes[k];
      const std::string i = text(static_cast<int64_t>(k));
      behind /= a.out, inner /= a.in, tap /= a.kernel;
      e.s.line("for(int k" + i + "=0;k" + i + "<" + text(a.kernel) + ";++k" + i + "){int p" + i + "=o/" + text(behind) + "%" + text(a.out) + "+" + literal(a.pad) + "-k" + i + "*" + text(a.dilation) +
               ";if(p" + i + "<0||p" + i + "%" + text(a.stride) + "!=0||p" + i + ">=" + text(a.in * a.stride) + ")continue;");
      at += "+p" + i + "/" + text(a.stride) + "*" + text(inner), kernel += "+k" + i + "*" + text(tap);
    }
    e.s.line("for(int c=0;c<" + text(channels) + ";++c)v+=" + e.s.load(x, "(image*" + text(x_dims[1]) + "+c0+c)*" + text(ins) + at) + "*" +
             e.s.load(w, "((c0+c)*" + text(features) + "+fw)*" + text(taps) + kernel) + ";");
    e.s.line(std::string(axes.size(), '}'));
    return std::string("v");
  };
  const auto macs = static_cast<uint64_t>(node.input(0).elements()) * static_cast<uint64_t>(features * taps);
  e.finish(write, Work{2 * macs, 4 * static_cast<uint64_t>(node.input(0).elements() + node.input(1).elements() + node.output(0).elements())});
}

std::string no_conv_transpose(const sdk::Node& node) {
  const int32_t axes = node.input(0).rank() - 2;
  return axes < 1 || axes > 3 ? "ConvTranspose over " + std::to_string(axes) + " axes, wanted one to three" : "";
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_conv_transpose, r.refuse = no_conv_transpose, r.takes_tail = true;
  return r;
}
constexpr Row kRows[] = {row(op("ConvTranspose", 1, 22, {kFloats}, {kFloats}))};

}  // namespace of_conv_transpose

Family conv_transpose_family() { return of_conv_transpose::kRows; }

}  // namespace spirv_plugin
