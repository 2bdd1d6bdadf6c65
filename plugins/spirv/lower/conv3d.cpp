// SPDX-License-Identifier: Apache-2.0
// Convolutions over three axes: each invocation keeps up to eight channels of up to four neighbouring places of a row in registers.
#include <set>

#include "window.hpp"

namespace spirv_plugin {
namespace of_conv3d {

/// What the kernel is written with.
struct Conv {
  std::vector<Axis> axes;
  int64_t features, groups, channels;  ///< channels: of a group
  int64_t tile;                        ///< features of one invocation; tiles do not reach over groups
  int64_t places;                      ///< of one invocation, along the last axis
  bool is_packed;                      ///< weights are constants: [tile][channel][tap][feature of the tile]
  int64_t taps() const { return product(axes, &Axis::kernel); }
  int64_t ins() const { return product(axes, &Axis::in); }
  int64_t outs() const { return product(axes, &Axis::out); }
  int64_t tiles() const { return features / tile; }
  int64_t row_tiles() const { return (axes[2].out + places - 1) / places; }
  bool by_four() const { return is_packed && tile % 4 == 0; }
  /// No place of any tile reads outside of a row.
  bool rows_inside() const { return axes[2].begin <= 0 && (row_tiles() * places - 1) * axes[2].stride - axes[2].begin + axes[2].span() <= axes[2].in; }
};

Conv conv_of(const sdk::Node& node) {
  const Dims w = node.input(1).shape();
  const int64_t groups = node.integer("group", 1), of_group = w[0] / groups, width = node.output(0).dim(4);
  const int64_t places = width < 4 ? std::max<int64_t>(1, width) : width % 4 != 0 && width % 3 == 0 ? 3 : 4;
  return {window_of(node, {w.begin() + 2, w.end()}), w[0], groups, w[1], of_group % 8 == 0 ? 8 : of_group % 4 == 0 ? 4 : 1, places, node.input(1).is_constant()};
}

/// Weights [feature][channel][tap] in the order in which they are read, each feature times its factor.
std::vector<float> packed(const Conv& c, const std::vector<double>& weights, const std::vector<double>& factor) {
  const int64_t each = c.channels * c.taps();
  std::vector<float> out;
  out.reserve(weights.size());
  for (int64_t tile = 0; tile < c.tiles(); ++tile)
    for (int64_t k = 0; k < each; ++k)
      for (int64_t f = tile * c.tile; f < (tile + 1) * c.tile; ++f)
        out.push_back(static_cast<float>(weights[static_cast<size_t>(f * each + k)] * factor[static_cast<size_t>(f)]));
  return out;
}

Tensor weights_of(Lowering& to, const Group& group, const Conv& c, const Scaling& scaling) {
  const sdk::Value w = group.root.input(1);
  if (!c.is_packed) return to.read(w);
  return to.weight(std::string(w.name()) + "/packed", {c.tiles(), c.channels, c.taps(), c.tile}, packed(c, reals_of(w.constant()), scaling.factor));
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

std::string sum_name(int64_t feature, int64_t place) { return "v" + text(feature) + "_" + text(place); }

/// The head of the loop over an axis' taps: the coordinate in the input, and on where that is outside.
void write_axis(Shader& s, const Axis& a, const std::string& n) {
  s.line("for(int k" + n + "=0;k" + n + "<" + text(a.kernel) + ";++k" + n + "){int i" + n + "=s" + n + "+k" + n + "*" + text(a.dilation) + ";");
  if (!a.inside()) s.line("if(uint(i" + n + ")>=" + text(a.in) + "u)continue;");
}

/// Statements that load the elements of a row that the tile's places read, each once, as `x` and its distance from the first.
void write_row(Shader& s, const Conv& c, int x) {
  const Axis& across = c.axes[2];
  std::set<int64_t> columns;
  for (int64_t p = 0; p < c.places; ++p)
    for (int64_t k = 0; k < across.kernel; ++k) columns.insert(p * across.stride + k * across.dilation);
  for (const int64_t column : columns) {
    const std::string at = "s2+" + text(column), name = "x" + text(column);
    if (c.rows_inside()) s.line("float " + name + "=" + s.load(x, "row+" + at) + ";");
    else s.line("float " + name + "=" + s.load(x, "row+clamp(" + at + ",0," + text(across.in - 1) + ")") + ";" + name + "=uint(" + at + ")<" + text(across.in) + "u?" + name + ":0.0;");
  }
}

/// Statements that add a row's products to the sums.
void write_products(Shader& s, const Conv& c, int w) {
  const Axis& across = c.axes[2];
  const std::string taps = text(c.taps());
  s.line("int first=(k0*" + text(c.axes[1].kernel) + "+k1)*" + text(across.kernel) + ";");
  for (int64_t k = 0; k < across.kernel; ++k) {
    const std::string packed_at = "((tile*" + text(c.channels) + "+c)*" + taps + "+first+" + text(k) + ")";
    for (int64_t f = 0; f < c.tile; ++f) {
      const std::string n = text(k) + "_" + text(f), four = "q" + text(k) + "_" + text(f / 4);
      const std::string at = c.is_packed ? packed_at + "*" + text(c.tile) + "+" + text(f) : "((tile*" + text(c.tile) + "+" + text(f) + ")*" + text(c.channels) + "+c)*" + taps + "+first+" + text(k);
      if (c.by_four() && f % 4 == 0) s.line("vec4 " + four + "=" + s.load(w, packed_at + "*" + text(c.tile / 4) + "+" + text(f / 4)) + ";");
      s.line("float w" + n + "=" + (c.by_four() ? four + "." + "xyzw"[f % 4] : s.load(w, at)) + ";");
      for (int64_t p = 0; p < c.places; ++p) s.line(sum_name(f, p) + "+=w" + n + "*x" + text(p * across.stride + k * across.dilation) + ";");
    }
  }
}

/// Statements that name the invocation's tile, image and place, and where its windows start.
void write_position(Shader& s, const Conv& c, const Grid& g, int64_t n) {
  const Axis &deep = c.axes[0], &down = c.axes[1], &across = c.axes[2];
  const int64_t rows = c.row_tiles(), plane = rows * down.out, all = plane * deep.out;
  s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int ox=id%" + text(rows) + "*" + text(c.places) + ",oy=id/" + text(rows) + "%" + text(down.out) + ",oz=id/" + text(plane) + "%" + text(deep.out) + ",tile=id/" +
         text(all) + "%" + text(c.tiles()) + ",image=id/" + text(all * c.tiles()) + ";");
  s.line("int s0=oz*" + text(deep.stride) + "-" + literal(deep.begin) + ",s1=oy*" + text(down.stride) + "-" + literal(down.begin) + ",s2=ox*" + text(across.stride) + "-" + literal(across.begin) + ";");
  s.line("int plane=(image*" + text(c.groups * c.channels) + "+tile/" + text(c.tiles() / c.groups) + "*" + text(c.channels) + ")*" + text(c.ins()) + ";");
}

void lower_conv3d(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Conv c = conv_of(node);
  const auto features = static_cast<size_t>(c.features);
  const Scaling scaling = group.scaling ? scaling_of(*group.scaling) : Scaling{std::vector<double>(features, 1), std::vector<double>(features, 0)};
  Shader s(kLocal);
  const int x = s.in(to.read(node.input(0))), w = s.in(weights_of(to, group, c, scaling), c.by_four() ? 4 : 1);
  const std::optional<Tensor> summand = summand_of(to, group, scaling);
  const int bias = summand ? s.in(*summand) : -1;
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  const int64_t n = y.dims[0] * c.tiles() * c.axes[0].out * c.axes[1].out * c.row_tiles();
  const Grid g = grid(n, kLocal);
  write_position(s, c, g, n);
  for (int64_t f = 0; f < c.tile; ++f) {
    s.line("float b" + text(f) + "_=" + (bias < 0 ? "0.0" : s.load(bias, "tile*" + text(c.tile) + "+" + text(f))) + ";");
    for (int64_t p = 0; p < c.places; ++p) s.line("float " + sum_name(f, p) + "=b" + text(f) + "_;");
  }
  s.line("for(int c=0;c<" + text(c.channels) + ";++c){");
  write_axis(s, c.axes[0], "0"), write_axis(s, c.axes[1], "1");
  s.line("int row=plane+((c*" + text(c.axes[0].in) + "+i0)*" + text(c.axes[1].in) + "+i1)*" + text(c.axes[2].in) + ";");
  write_row(s, c, x);
  write_products(s, c, w);
  s.line("}}}int at=(((image*" + text(c.features) + "+tile*" + text(c.tile) + ")*" + text(c.axes[0].out) + "+oz)*" + text(c.axes[1].out) + "+oy)*" + text(c.axes[2].out) + "+ox;");
  for (int64_t f = 0; f < c.tile; ++f)
    for (int64_t p = 0; p < c.places; ++p) {
      const std::string store = "{int o=at+" + text(f * c.outs() + p) + ";" + s.store(out, "o", tail(sum_name(f, p), "o")) + "}";
      s.line(c.axes[2].out % c.places == 0 ? store : "if(ox+" + text(p) + "<" + text(c.axes[2].out) + ")" + store);
    }
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
