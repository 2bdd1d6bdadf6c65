// SPDX-License-Identifier: Apache-2.0
// Convolutions over three axes: each invocation keeps up to four channels of one place in registers.
#include "window.hpp"

namespace spirv_plugin {
namespace of_conv3d {

constexpr int64_t kTile = 4;

/// What the kernel is written with.
struct Conv {
  std::vector<Axis> axes;
  int64_t features, groups, channels;  ///< channels: of a group
  int64_t tile;                        ///< features of one invocation; tiles do not reach over groups
  bool is_packed;                      ///< weights are constants: [tile][tap][channel][feature of the tile]
  int64_t taps() const { return product(axes, &Axis::kernel); }
  int64_t tiles() const { return features / tile; }
};

Conv conv_of(const sdk::Node& node) {
  const Dims w = node.input(1).shape();
  const int64_t groups = node.integer("group", 1);
  return {window_of(node, {w.begin() + 2, w.end()}), w[0], groups, w[1], w[0] / groups % kTile == 0 ? kTile : 1, node.input(1).is_constant()};
}

/// Weights [feature][channel][tap] in the order in which they are read, each feature times its factor.
std::vector<float> packed(const Conv& c, const std::vector<double>& weights, const std::vector<double>& factor) {
  const int64_t taps = c.taps();
  std::vector<float> out;
  out.reserve(weights.size());
  for (int64_t tile = 0; tile < c.tiles(); ++tile)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t channel = 0; channel < c.channels; ++channel)
        for (int64_t f = tile * c.tile; f < (tile + 1) * c.tile; ++f)
          out.push_back(static_cast<float>(weights[static_cast<size_t>((f * c.channels + channel) * taps + tap)] * factor[static_cast<size_t>(f)]));
  return out;
}

Tensor weights_of(Lowering& to, const Group& group, const Conv& c, const Scaling& scaling) {
  const sdk::Value w = group.root.input(1);
  if (!c.is_packed) return to.read(w);
  return to.weight(std::string(w.name()) + "/packed", {c.tiles(), c.taps(), c.channels, c.tile}, packed(c, reals_of(w.constant()), scaling.factor));
}

/// What is added to a feature: the bias, as it is or through the scaling behind it.
std::optional<Tensor> summand_of(Lowering& to, const Group& group, const Scaling& scaling) {
  const sdk::Value bias = group.root.input(2);
  if (!group.scaling) return bias ? std::optional<Tensor>(to.read(bias)) : std::nullopt;
  std::vector<float> sums(scaling.summand.begin(), scaling.summand.end());
  if (bias) {
    const std::vector<double> given = reals_of(bias.constant());
    for (size_t f = 0; f < sums.size(); ++f) sums[f] = static_cast<float>(given[f] * scaling.factor[f] + scaling.summand[f]);
  }
  return to.weight(std::string(group.scaling->name()) + "/summand", {static_cast<int64_t>(sums.size())}, sums);
}

/// Statements that add one tap's products of all channels to `v0` and so on.
std::string tap_sums(const Shader& s, const Conv& c, int x, int w) {
  std::string tap;
  for (size_t k = 0; k < c.axes.size(); ++k) tap = tap.empty() ? "k0" : "(" + tap + ")*" + text(c.axes[k].kernel) + "+k" + std::to_string(k);
  const std::string each = "int tap=" + tap + ";for(int c=0;c<" + text(c.channels) + ";++c){float x=" + s.load(x, "plane+c*" + text(product(c.axes, &Axis::in)) + "+at") + ";";
  const bool by_four = c.is_packed && c.tile == kTile;
  std::string sums = by_four ? "vec4 q=" + s.load(w, "(tile*" + text(c.taps()) + "+tap)*" + text(c.channels) + "+c") + ";" : "";
  for (int64_t f = 0; f < c.tile; ++f) {
    const std::string at = c.is_packed ? "(tile*" + text(c.taps()) + "+tap)*" + text(c.channels) + "+c"
                                       : "((tile*" + text(c.tile) + "+" + text(f) + ")*" + text(c.channels) + "+c)*" + text(c.taps()) + "+tap";
    sums += "v" + text(f) + "+=x*" + (by_four ? std::string("q.") + "xyzw"[f] : s.load(w, at)) + ";";
  }
  return each + sums + "}";
}

void lower_conv3d(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Conv c = conv_of(node);
  const auto features = static_cast<size_t>(c.features);
  const Scaling scaling = group.scaling ? scaling_of(*group.scaling) : Scaling{std::vector<double>(features, 1), std::vector<double>(features, 0)};
  Shader s(kLocal);
  const int x = s.in(to.read(node.input(0))), w = s.in(weights_of(to, group, c, scaling), c.is_packed && c.tile == kTile ? 4 : 1);
  const std::optional<Tensor> summand = summand_of(to, group, scaling);
  const int bias = summand ? s.in(*summand) : -1;
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  const int64_t outs = product(c.axes, &Axis::out), n = y.elements() / c.tile;
  const Grid g = grid(n, kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int o=id%" + text(outs) + ",tile=id/" + text(outs) + "%" + text(c.tiles()) + ",image=id/" + text(outs * c.tiles()) + ";");
  s.line("int plane=(image*" + text(c.groups * c.channels) + "+tile/" + text(c.tiles() / c.groups) + "*" + text(c.channels) + ")*" + text(product(c.axes, &Axis::in)) + ";");
  write_starts(s, c.axes);
  for (int64_t f = 0; f < c.tile; ++f) s.line("float v" + text(f) + "=" + (bias < 0 ? "0.0" : s.load(bias, "tile*" + text(c.tile) + "+" + text(f))) + ";");
  write_window(s, c.axes, tap_sums(s, c, x, w));
  s.line("int first=(image*" + text(c.features) + "+tile*" + text(c.tile) + ")*" + text(outs) + "+o;");
  for (int64_t f = 0; f < c.tile; ++f) s.line("{int o=first+" + text(f * outs) + ";" + s.store(out, "o", tail("v" + text(f), "o")) + "}");
  const auto macs = static_cast<uint64_t>(y.elements()) * static_cast<uint64_t>(c.channels * c.taps());
  to.step(group, std::move(s), g.groups, {2 * macs, 4 * static_cast<uint64_t>(node.input(0).elements() + node.input(1).elements() + y.elements())});
}

/// Rows are asked in the order of their files: one axis or two are conv.cpp's.
std::string no_conv3d(const sdk::Node& node) {
  const sdk::Value x = node.input(0), w = node.input(1), y = node.output(0);
  const int64_t axes = x.rank() - 2, groups = node.integer("group", 1);
  if (axes != 3 || w.rank() != 5 || y.rank() != 5) return "Conv over " + text(axes) + " axes, wanted one to three";
  if (groups < 1 || x.dim(1) != w.dim(1) * groups || w.dim(0) % groups != 0) return text(x.dim(1)) + " channels and " + text(w.dim(0)) + " features in " + text(groups) + " groups";
  if (y.dim(0) != x.dim(0) || y.dim(1) != w.dim(0)) return "output of other dims than the input and the weights want";
  return wrong_window(node, 3);
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_conv3d, r.refuse = no_conv3d, r.takes_tail = true, r.takes_scaling = true;
  return r;
}
constexpr Row kRows[] = {row(op("Conv", 1, 22, {kFloats}, {kFloats}))};

}  // namespace of_conv3d

Family conv3d_family() { return of_conv3d::kRows; }

}  // namespace spirv_plugin
