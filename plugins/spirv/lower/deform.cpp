// SPDX-License-Identifier: Apache-2.0
// DeformConv (Dai et al., Deformable Convolutional Networks, 2017; with a mask: Zhu et al., 2019), in two steps, since each may bind four buffers only:
// the samples of all taps, an invocation each, then their products with the weights.
#include "window.hpp"

namespace spirv_plugin {
namespace of_deform {

constexpr uint32_t kLocal = 64;

struct Deform {
  std::vector<Axis> axes;
  int64_t batch, channels, features, groups, offset_groups;
  int64_t taps() const { return product(axes, &Axis::kernel); }
  int64_t outs() const { return product(axes, &Axis::out); }
  int64_t samples() const { return batch * channels * taps() * outs(); }
};

Deform deform_of(const sdk::Node& node) {
  const Dims x = node.input(0).shape(), w = node.input(1).shape();
  return {window_of(node, {w.begin() + 2, w.end()}), x[0], x[1], w[0], node.integer("group", 1), node.integer("offset_group", 1)};
}

/// [image][channel][tap][place]. An element outside of the input is zero, and so is all whose place is no number.
Tensor write_samples(Lowering& to, const Group& group, const Deform& d) {
  const sdk::Node& node = group.root;
  const Axis &down = d.axes[0], &across = d.axes[1];
  const int64_t outs = d.outs(), taps = d.taps(), n = d.samples();
  Shader s(kLocal);
  const Tensor from = to.read(node.input(0)), samples = to.scratch(node, from.element, {d.batch, d.channels, taps, outs});
  const int x = s.in(from), offset = s.in(to.read(node.input(2))), mask = node.input(4) ? s.in(to.read(node.input(4))) : -1, out = s.out(samples);
  const Grid g = grid(n, kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int o=id%" + text(outs) + ",tap=id/" + text(outs) + "%" + text(taps) + ",c=id/" + text(outs * taps) + "%" + text(d.channels) + ";");
  s.line("int plane=id/" + text(outs * taps) + "*" + text(down.in * across.in) + ",place=(id/" + text(outs * taps * d.channels) + "*" + text(d.offset_groups) + "+c/" + text(d.channels / d.offset_groups) + ")*" +
         text(taps) + "+tap;");
  write_starts(s, d.axes);
  s.line("float y=float(s0+tap/" + text(across.kernel) + "*" + text(down.dilation) + ")+" + s.load(offset, "place*" + text(2 * outs) + "+o") + ",x=float(s1+tap%" + text(across.kernel) + "*" +
         text(across.dilation) + ")+" + s.load(offset, "place*" + text(2 * outs) + "+" + text(outs) + "+o") + ",v=0.0;");
  s.line("if(y>-1.0&&y<" + literal(static_cast<double>(down.in)) + "&&x>-1.0&&x<" + literal(static_cast<double>(across.in)) + "){int iy=int(floor(y)),ix=int(floor(x));float fy=y-float(iy),fx=x-float(ix);");
  s.line("for(int k=0;k<4;++k){int cy=iy+k/2,cx=ix+k%2;if(uint(cy)<" + text(down.in) + "u&&uint(cx)<" + text(across.in) + "u)v+=(k/2==0?1.0-fy:fy)*(k%2==0?1.0-fx:fx)*" +
         s.load(x, "plane+cy*" + text(across.in) + "+cx") + ";}}");
  s.line(s.store(out, "id", mask < 0 ? "v" : "v*" + s.load(mask, "place*" + text(outs) + "+o")));
  to.step(group, std::move(s), g.groups, {16 * static_cast<uint64_t>(n), 12 * static_cast<uint64_t>(n)});
  return samples;
}

void lower_deform(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Deform d = deform_of(node);
  const int64_t outs = d.outs(), of_group = d.features / d.groups, tile = of_group % 4 == 0 ? 4 : 1, tiles = d.features / tile, terms = d.channels / d.groups * d.taps();
  Shader s(kLocal);
  const bool is_empty = node.output(0).elements() == 0;
  const Tensor samples = is_empty ? to.read(node.input(0)) : write_samples(to, group, d);
  const int x = s.in(samples), w = s.in(to.read(node.input(1))), bias = node.input(3) ? s.in(to.read(node.input(3))) : -1;
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (is_empty) return;
  const int out = s.out(y);
  const int64_t n = y.elements() / tile;
  const Grid g = grid(n, kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int o=id%" + text(outs) + ",f=id/" + text(outs) + "%" + text(tiles) + "*" + text(tile) + ",image=id/" + text(outs * tiles) + ";");
  s.line("int at=(image*" + text(d.groups) + "+f/" + text(of_group) + ")*" + text(terms * outs) + "+o;");
  for (int64_t k = 0; k < tile; ++k) s.line("float v" + text(k) + "=" + (bias < 0 ? "0.0" : s.load(bias, "f+" + text(k))) + ";");
  s.line("for(int k=0;k<" + text(terms) + ";++k){float x=" + s.load(x, "at+k*" + text(outs)) + ";");
  for (int64_t k = 0; k < tile; ++k) s.line("v" + text(k) + "+=x*" + s.load(w, "(f+" + text(k) + ")*" + text(terms) + "+k") + ";");
  s.line("}int first=(image*" + text(d.features) + "+f)*" + text(outs) + "+o;");
  for (int64_t k = 0; k < tile; ++k) s.line("{int o=first+" + text(k * outs) + ";" + s.store(out, "o", tail("v" + text(k), "o")) + "}");
  to.step(group, std::move(s), g.groups, {2 * static_cast<uint64_t>(y.elements() * terms), 4 * static_cast<uint64_t>(samples.elements() + y.elements())});
}

std::string no_deform(const sdk::Node& node) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const sdk::Value x = node.input(0), w = node.input(1), offset = node.input(2), y = node.output(0);
  if (x.rank() != 4 || w.rank() != 4 || y.rank() != 4) return "DeformConv over " + text(x.rank() - 2) + " axes, wanted two";
  if (std::string why = wrong_window(node, 2); !why.empty()) return why;
  const Deform d = deform_of(node);
  if (d.groups < 1 || d.offset_groups < 1 || d.channels != w.dim(1) * d.groups || d.features % d.groups != 0 || d.channels % d.offset_groups != 0)
    return text(d.channels) + " channels and " + text(d.features) + " features in " + text(d.groups) + " groups, " + text(d.offset_groups) + " of offsets";
  if (y.dim(0) != d.batch || y.dim(1) != d.features) return "output of other dims than the input and the weights want";
  if (offset.shape() != Dims{x.dim(0), d.offset_groups * d.taps() * 2, y.dim(2), y.dim(3)}) return "offsets of other dims than the taps want";
  if (node.input(4) && node.input(4).shape() != Dims{x.dim(0), d.offset_groups * d.taps(), y.dim(2), y.dim(3)}) return "a mask of other dims than the taps want";
  return d.samples() >= kMost ? text(d.samples()) + " samples, wanted fewer than 2^31" : "";
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_deform, r.refuse = no_deform, r.takes_tail = true, r.buffers = 4;
  return r;
}
constexpr Row kRows[] = {row(op("DeformConv", 19, 22, {kFloats}, {kFloats}))};

}  // namespace of_deform

Family deform_family() { return of_deform::kRows; }

}  // namespace spirv_plugin
