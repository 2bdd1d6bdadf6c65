// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding (Su et al., RoFormer, 2021): pairs of a head's elements are turned by the angles of their position.
#include "elements.hpp"

namespace spirv_plugin {
namespace of_rotary {

struct Heads {
  int64_t batch, heads, length, size;
  bool flat;       ///< [batch][length][head][element]; else heads stand before the length
  int64_t turned;  ///< elements of a head that are turned, the first ones
  int64_t half() const { return turned / 2; }
};

Heads heads_of(const sdk::Node& node) {
  const Dims d = node.input(0).shape();
  const bool flat = d.size() == 3;
  const int64_t asked = node.integer("num_heads", 0), heads = flat ? asked : d[1], size = flat ? (asked > 0 ? d[2] / asked : 0) : d[3], turned = node.integer("rotary_embedding_dim", 0);
  return {d[0], heads, flat ? d[1] : d[2], size, flat, turned == 0 ? size : turned};
}

/// Cosine and sine of each position's angles, one behind the other, in a step for each: together with the input and the positions they would bind more
/// buffers than every GPU has. Positions are kept inside of the caches.
Tensor write_angles(Lowering& to, const Group& group, const Heads& h) {
  constexpr uint32_t kLocal = Elements::kLocal;
  const sdk::Node& node = group.root;
  const int64_t n = h.batch * h.length * h.half();
  const Tensor angles = to.scratch(node, to.read(node.input(1)).element, {h.batch * h.length, h.half(), 2});
  const Grid g = grid(n, kLocal);
  for (uint32_t k = 0; k < 2; ++k) {
    Shader s(kLocal);
    const sdk::Value cache = node.input(1 + k);
    const int from = s.in(to.read(cache)), positions = s.in(to.read(node.input(3))), out = s.out(angles);
    s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;int row=clamp(" + s.load(positions, "o/" + text(h.half())) + ",0," + text(cache.dim(0) - 1) + ");");
    s.line(s.store(out, "o*2+" + text(k), s.load(from, "row*" + text(h.half()) + "+o%" + text(h.half()))));
    to.step(group, std::move(s), g.groups, {0, 12 * static_cast<uint64_t>(n)});
  }
  return angles;
}

void lower_rotary(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Heads h = heads_of(node);
  const bool interleaved = node.integer("interleaved", 0) != 0, by_position = bool(node.input(3)), turns = node.input(0).elements() != 0 && h.half() != 0;
  Elements e{to, group};
  const int x = e.in(node.input(0));
  int angles = -1, cosines = -1, sines = -1;
  if (turns && by_position) angles = e.s.in(write_angles(to, group, h));
  else if (turns) cosines = e.in(node.input(1)), sines = e.in(node.input(2));
  e.finish([&] {
    e.s.line("float v=" + e.s.load(x, "o") + ";int k=o%" + text(h.size) + ";");
    if (!turns) return std::string("v");
    const std::string l = h.flat ? "o/" + text(h.size * h.heads) + "%" + text(h.length) : "o/" + text(h.size) + "%" + text(h.length);
    e.s.line("if(k<" + text(h.turned) + "){int row=o/" + text(h.size * h.heads * h.length) + "*" + text(h.length) + "+" + l + ";");
    if (interleaved) e.s.line("bool first=k%2==0;int at=row*" + text(h.half()) + "+k/2,step=1;");
    else e.s.line("bool first=k<" + text(h.half()) + ";int at=row*" + text(h.half()) + "+k%" + text(h.half()) + ",step=" + text(h.half()) + ";");
    e.s.line("float other=" + e.s.load(x, "first?o+step:o-step") + ",c=" + (by_position ? e.s.load(angles, "at*2") : e.s.load(cosines, "at")) + ",s=" + (by_position ? e.s.load(angles, "at*2+1") : e.s.load(sines, "at")) +
             ";v=first?c*v-s*other:s*other+c*v;}");
    return std::string("v");
  }, 4);
}

std::string no_rotary(const sdk::Node& node) {
  const sdk::Value x = node.input(0), cosines = node.input(1), positions = node.input(3);
  if (x.rank() != 3 && x.rank() != 4) return "input 0 of rank " + text(x.rank()) + ", wanted 3 or 4";
  if (node.output(0).shape() != x.shape()) return "output of other dims than input 0";
  const Heads h = heads_of(node);
  if (h.heads < 1 || (h.flat && x.dim(2) % h.heads != 0)) return "num_heads is " + text(h.heads) + ", which does not divide " + text(x.shape().back());
  if (h.turned < 0 || h.turned > h.size || h.turned % 2 != 0) return "rotary_embedding_dim is " + text(h.turned) + ", wanted an even number up to " + text(h.size);
  if (positions && positions.shape() != Dims{h.batch, h.length}) return "position_ids are not one for each place";
  const Dims wanted = positions ? Dims{cosines.rank() > 0 ? cosines.dim(0) : 0, h.half()} : Dims{h.batch, h.length, h.half()};
  if (cosines.shape() != wanted || node.input(2).shape() != wanted) return "caches of other dims than the input wants";
  return positions && cosines.elements() == 0 && h.half() != 0 && x.elements() != 0 ? "caches are empty" : "";
}

constexpr Row row(sdk::Op o) {
  Row r;
  r.op = o, r.lower = lower_rotary, r.refuse = no_rotary, r.takes_tail = true, r.buffers = 4;
  return r;
}
constexpr sdk::Types F = kFloats;
constexpr Row kRows[] = {row(op("RotaryEmbedding", 23, 23, {F, F, F, sdk::types(OPTIMA_I64)}, {F}))};

}  // namespace of_rotary

Family rotary_family() { return of_rotary::kRows; }

}  // namespace spirv_plugin
