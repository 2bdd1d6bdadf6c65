// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions over one to three axes: an invocation gathers the inputs whose windows reach its place, of
// four features where their weights are constants.
#include <algorithm>

#include "window.hpp"

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

/// Weights [channel][feature][tap] with the features last, so that four are one load.
std::vector<float> packed(const std::vector<double>& weights, int64_t channels, int64_t features, int64_t taps) {
  std::vector<float> out;
  out.reserve(weights.size());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t f = 0; f < features; ++f) out.push_back(static_cast<float>(weights[static_cast<size_t>((c * features + f) * taps + tap)]));
  return out;
}

/// The heads of the loops over taps, for place `o` of a plane. Names what a tap reads: the place in the input and the tap's number.
struct Taps {
  std::string place, number;
};
Taps write_taps(Shader& s, const std::vector<Axis>& axes, int64_t ins, int64_t outs, int64_t taps) {
  Taps out;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& a = axes[k];
    const std::string i = text(static_cast<int64_t>(k));
    outs /= a.out, ins /= a.in, taps /= a.kernel;
    const std::string here = "(o/" + text(outs) + "%" + text(a.out) + "+" + literal(a.pad) + ")", ends = "||p" + i + ">=" + text(a.in * a.stride) + ")continue;";
    const bool steps = a.dilation == 1 && a.pad >= 0;  // over those that meet an element of the input alone
    s.line("for(int k" + i + "=" + (steps && a.stride > 1 ? here + "%" + text(a.stride) : "0") + ";k" + i + "<" + text(a.kernel) + ";k" + i + "+=" + text(steps ? a.stride : 1) + "){int p" + i + "=" + here + "-k" + i + "*" +
           text(a.dilation) + ";if(p" + i + "<0" + (steps ? "" : "||p" + i + "%" + text(a.stride) + "!=0") + ends);
    out.place += "+p" + i + "/" + text(a.stride) + "*" + text(ins), out.number += "+k" + i + "*" + text(taps);
  }
  return out;
}

void lower_conv_transpose(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  constexpr int64_t kTile = 4;
  const sdk::Node& node = group.root;
  const std::vector<Axis> axes = axes_of(node);
  const Dims x_dims = node.input(0).shape(), w_dims = node.input(1).shape(), y_dims = node.output(0).shape();
  const int64_t groups = node.integer("group", 1), channels = x_dims[1] / groups, features = w_dims[1];
  int64_t ins = 1, outs = 1, taps = 1;
  for (const Axis& a : axes) ins *= a.in, outs *= a.out, taps *= a.kernel;
  const int64_t tile = node.input(1).is_constant() && features % kTile == 0 ? kTile : 1, tiles = y_dims[1] / tile;
  Shader s(kLocal);
  const int x = s.in(to.read(node.input(0)));
  const int w = tile == 1 ? s.in(to.read(node.input(1)))
                          : s.in(to.weight(std::string(node.input(1).name()) + "/packed", {w_dims[0], taps, features}, packed(reals_of(node.input(1).constant()), w_dims[0], features, taps)), 4);
  const int bias = node.input(2) ? s.in(to.read(node.input(2))) : -1;
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  const int64_t n = y.elements() / tile;
  const Grid g = grid(n, kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int o=id%" + text(outs) + ",f=id/" + text(outs) + "%" + text(tiles) + "*" + text(tile) + ",image=id/" + text(outs * tiles) + ";");
  s.line("int c0=f/" + text(features) + "*" + text(channels) + ",fw=f%" + text(features) + ";");
  for (int64_t t = 0; t < tile; ++t) s.line("float v" + text(t) + "=" + (bias < 0 ? "0.0" : s.load(bias, "f+" + text(t))) + ";");
  const Taps at = write_taps(s, axes, ins, outs, taps);
  s.line("for(int c=0;c<" + text(channels) + ";++c){float x=" + s.load(x, "(image*" + text(x_dims[1]) + "+c0+c)*" + text(ins) + at.place) + ";");
  if (tile == 1) s.line("v0+=x*" + s.load(w, "((c0+c)*" + text(features) + "+fw)*" + text(taps) + at.number) + ";");
  else s.line("vec4 q=" + s.load(w, "((c0+c)*" + text(taps) + at.number + ")*" + text(features / kTile) + "+fw/" + text(kTile)) + ";v0+=x*q.x;v1+=x*q.y;v2+=x*q.z;v3+=x*q.w;");
  s.line("}" + std::string(axes.size(), '}') + "int first=(image*" + text(y_dims[1]) + "+f)*" + text(outs) + "+o;");
  for (int64_t t = 0; t < tile; ++t) s.line("{int o=first+" + text(t * outs) + ";" + s.store(out, "o", tail("v" + text(t), "o")) + "}");
  const auto macs = static_cast<uint64_t>(node.input(0).elements()) * static_cast<uint64_t>(features * taps);
  to.step(group, std::move(s), g.groups, {2 * macs, 4 * static_cast<uint64_t>(node.input(0).elements() + node.input(1).elements() + y.elements())});
}

std::string no_conv_transpose(const sdk::Node& node) {
  const sdk::Value x = node.input(0), w = node.input(1), y = node.output(0);
  const int64_t axes = x.rank() - 2, groups = node.integer("group", 1);
  if (axes < 1 || axes > 3 || w.rank() != x.rank() || y.rank() != x.rank()) return "ConvTranspose over " + text(axes) + " axes, wanted one to three";
  if (groups < 1 || x.dim(1) % groups != 0 || w.dim(0) != x.dim(1)) return text(x.dim(1)) + " channels in " + text(groups) + " groups with weights of " + text(w.dim(0));
  if (y.dim(0) != x.dim(0) || y.dim(1) != w.dim(1) * groups) return "output of other dims than the input and the weights want";
  if (const size_t n = node.integers("output_padding").size(); n != 0 && n != static_cast<size_t>(axes)) return "output_padding has " + std::to_string(n) + " numbers, wanted " + text(axes);
  return wrong_window(node, static_cast<size_t>(axes));
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
