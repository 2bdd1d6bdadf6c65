// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by strides: element o of what is made is one element of what is there, found by coordinates times strides.
#include <algorithm>

#include "elements.hpp"
#include "turned_tile.hpp"

namespace spirv_plugin {
namespace of_move {

/// A walk over `dims`: where each of its elements lies in a tensor.
struct Walk {
  Dims strides;
  int64_t offset = 0;
};

/// A step that copies the elements of a walk over `dims` from one tensor to another; into all of the group's output, its tail comes along.
void copy(Lowering& to, const Group& group, const Dims& dims, const Tensor& from, const Walk& there, const Tensor& into, const Walk& here, bool with_tail) {
  constexpr uint32_t kLocal = 64;
  const int64_t n = elements_of(dims);
  if (n == 0) return;
  Shader s(kLocal);
  const int x = s.in(from);
  const Lowering::Tail tail = with_tail ? to.tail(s, group) : [](const std::string& v, const std::string&) { return v; };
  const int y = s.out(into);
  std::vector<Way> ways;
  if (const auto tile = here.offset == 0 && here.strides == strides_of(dims) ? TurnedTile::of(to.limits(), dims, there.strides, there.offset) : std::nullopt) {
    ways.push_back({s, tile->groups()});
    tile->write(ways.back().shader, x, y, type_of(from.element), tail);
  }
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;");
  s.line(s.store(y, strided_index("o", dims, here.strides, here.offset), tail(s.load(x, strided_index("o", dims, there.strides, there.offset)), "o")));
  ways.push_back({std::move(s), g.groups});
  to.step(group, std::move(ways), {0, 8 * static_cast<uint64_t>(n)});
}

/// The whole output of the group, from a walk over its input that has the output's order.
void gather_all(Lowering& to, const Group& group, const Dims& dims, const Walk& there) {
  const Tensor from = to.read(group.root.input(0));
  // tail() reads what it wants before the output is made
  copy(to, group, dims, from, there, to.made(group.end().output(0)), {strides_of(dims)}, true);
}

int64_t axis_of(const sdk::Node& node, const char* name, int64_t otherwise, size_t rank) {
  const int64_t axis = node.integer(name, otherwise);
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

void lower_transpose(Lowering& to, const Group& group) {
  const Dims in = group.root.input(0).shape(), own = strides_of(in);
  Dims back(in.size());
  for (size_t k = 0; k < in.size(); ++k) back[k] = static_cast<int64_t>(in.size() - 1 - k);
  Walk there;
  for (const int64_t axis : group.root.integers("perm", back)) there.strides.push_back(own[static_cast<size_t>(axis)]);
  gather_all(to, group, group.root.output(0).shape(), there);
}

void lower_expand(Lowering& to, const Group& group) {
  const Dims in = group.root.input(0).shape(), out = group.root.output(0).shape(), own = strides_of(in);
  Walk there{Dims(out.size(), 0)};
  for (size_t k = 0; k < in.size(); ++k)
    if (in[k] != 1) there.strides[out.size() - in.size() + k] = own[k];
  gather_all(to, group, out, there);
}

/// Each axis as two: how often, and what.
void lower_tile(Lowering& to, const Group& group) {
  const Dims in = group.root.input(0).shape(), out = group.root.output(0).shape(), own = strides_of(in);
  Dims dims;
  Walk there;
  for (size_t k = 0; k < in.size(); ++k) {
    dims.push_back(in[k] ? out[k] / in[k] : 0), there.strides.push_back(0);
    dims.push_back(in[k]), there.strides.push_back(own[k]);
  }
  gather_all(to, group, dims, there);
}

/// Begins and steps per axis; attributes before version 10, constants from there on.
Walk slice_walk(const sdk::Node& node) {
  const Dims in = node.input(0).shape(), out = node.output(0).shape();
  const bool old = node.since_version() < 10;
  const auto list = [&](uint32_t input, const char* name) { return old ? node.integers(name) : node.input(input) ? integers_of(node.input(input).constant()) : Dims(); };
  const Dims starts = list(1, "starts");
  Dims axes = list(3, "axes"), steps = old ? Dims() : list(4, "");
  if (axes.empty())
    for (size_t k = 0; k < starts.size(); ++k) axes.push_back(static_cast<int64_t>(k));
  if (steps.empty()) steps.assign(starts.size(), 1);
  Walk there{strides_of(in)};
  const Dims own = there.strides;
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k] < 0 ? axes[k] + static_cast<int64_t>(in.size()) : axes[k]);
    int64_t start = starts[k] < 0 ? starts[k] + in[axis] : starts[k];
    start = std::clamp<int64_t>(start, 0, steps[k] < 0 ? in[axis] - 1 : in[axis]);
    there.strides[axis] = own[axis] * steps[k];
    if (out[axis] > 0) there.offset += start * own[axis];
  }
  return there;
}
void lower_slice(Lowering& to, const Group& group) { gather_all(to, group, group.root.output(0).shape(), slice_walk(group.root)); }

void lower_split(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims in = node.input(0).shape(), own = strides_of(in);
  const auto axis = static_cast<size_t>(axis_of(node, "axis", 0, in.size()));
  const Tensor from = to.read(node.input(0));
  int64_t begin = 0;
  for (uint32_t k = 0; k < node.output_count(); ++k) {
    const sdk::Value out = node.output(k);
    if (!out) continue;
    const Tensor into = to.made(out);
    copy(to, group, into.dims, from, {own, begin * own[axis]}, into, {strides_of(into.dims)}, false);
    begin += into.dims[axis];
  }
}
/// The place of what is behind an output that nobody names is not known.
std::string unnamed(const sdk::Node& node) {
  for (uint32_t k = 0; k < node.output_count(); ++k)
    if (!node.output(k)) return "output " + text(k) + " has no name";
  return "";
}

void lower_concat(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Tensor into = to.made(node.output(0));
  const Dims own = strides_of(into.dims);
  const auto axis = static_cast<size_t>(axis_of(node, "axis", 1, into.dims.size()));
  int64_t begin = 0;
  for (uint32_t k = 0; k < node.input_count(); ++k) {
    const Tensor from = to.read(node.input(k));
    copy(to, group, from.dims, from, {strides_of(from.dims)}, into, {own, begin * own[axis]}, false);
    begin += from.dims[axis];
  }
}

void lower_depth_to_space(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims in = node.input(0).shape();
  const int64_t b = node.integer("blocksize", 1), c = in[1] / (b * b), h = in[2], w = in[3], plane = h * w;
  const bool crd = node.string("mode", "DCR") == "CRD";
  const int64_t of_channel = crd ? b * b * plane : plane, of_row = crd ? b * plane : b * c * plane, of_column = crd ? plane : c * plane;
  gather_all(to, group, {in[0], c, h, b, w, b}, {{in[1] * plane, of_channel, w, of_row, 1, of_column}});
}
void lower_space_to_depth(Lowering& to, const Group& group) {
  const Dims in = group.root.input(0).shape();
  const int64_t b = group.root.integer("blocksize", 1), h = in[2] / b, w = in[3] / b, plane = in[2] * in[3];
  if (group.root.string("mode", "DCR") == "CRD") return gather_all(to, group, {in[0], in[1], b, b, h, w}, {{in[1] * plane, plane, in[3], 1, b * in[3], b}});
  gather_all(to, group, {in[0], b, b, in[1], h, w}, {{in[1] * plane, in[3], 1, plane, b * in[3], b}});
}

Work copying(const sdk::Node& node) { return {0, 8 * static_cast<uint64_t>(node.output(0).elements())}; }

/// Pads of all axes at their begins.
Dims begins_of(const sdk::Node& node) {
  const auto rank = static_cast<size_t>(node.input(0).rank());
  Dims begins(rank, 0);
  if (node.op() == "CenterCropPad") {  // what its shape says is what the output has
    for (size_t k = 0; k < rank; ++k) {
      const int64_t in = node.input(0).dim(static_cast<uint32_t>(k)), out = node.output(0).dim(static_cast<uint32_t>(k));
      begins[k] = out < in ? -((in - out) / 2) : (out - in) / 2;
    }
    return begins;
  }
  if (node.since_version() < 11) {
    const Dims all = node.integers(node.since_version() < 2 ? "paddings" : "pads");
    std::copy_n(all.begin(), rank, begins.begin());
    return begins;
  }
  const Dims pads = integers_of(node.input(1).constant());
  Dims axes = node.input(3) ? integers_of(node.input(3).constant()) : Dims();
  if (!node.input(3))  // an empty list is none, an absent one all
    for (size_t k = 0; k < rank; ++k) axes.push_back(static_cast<int64_t>(k));
  for (size_t k = 0; k < axes.size(); ++k) begins[static_cast<size_t>(axes[k] < 0 ? axes[k] + static_cast<int64_t>(rank) : axes[k])] = pads[k];
  return begins;
}

/// Statements that find where the element lies in the input, `at`, and whether it is `inside`.
void write_place(Shader& s, const sdk::Node& node, const std::string& mode) {
  const Dims in = node.input(0).shape(), out = node.output(0).shape(), begins = begins_of(node), own = strides_of(in), behind = strides_of(out);
  s.line("bool inside=true;int at=0,c;");
  for (size_t k = 0; k < in.size(); ++k) {
    if (in[k] == out[k] && begins[k] == 0 && in[k] == 1) continue;
    s.line("c=(o/" + text(behind[k]) + ")%" + text(out[k]) + "-" + literal(begins[k]) + ";");
    const std::string last = text(in[k] - 1);
    if (mode == "edge") s.line("c=clamp(c,0," + last + ");");
    else if (mode == "reflect" && in[k] > 1) s.line("c=imod_(c," + text(2 * (in[k] - 1)) + ");if(c>" + last + ")c=" + text(2 * (in[k] - 1)) + "-c;");
    else if (mode == "reflect") s.line("c=0;");
    else if (mode == "wrap") s.line("c=imod_(c," + text(in[k]) + ");");
    else s.line("inside=inside&&uint(c)<" + text(in[k]) + "u;");
    s.line("at+=c*" + text(own[k]) + ";");
  }
}

void lower_pad(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const std::string mode(node.string("mode", "constant"));
  const bool whole = element_of(node.input(0).dtype()) == Element::I32, none = node.input(0).elements() == 0;  // nothing to read: all is padding
  Elements e{to, group};
  const int x = e.in(node.input(0));
  std::string value = whole ? "0" : "0.0";
  if (node.since_version() < 11) value = literal(node.real("value", 0));
  else if (node.input(2)) value = scalar_literal(node.input(2)).empty() ? e.s.load(e.in(node.input(2)), "0") : scalar_literal(node.input(2));
  const auto write = [&] {
    write_place(e.s, node, mode);
    e.s.line((whole ? "int v=" : "float v=") + (none ? value : mode == "constant" ? "inside?" + e.s.load(x, "inside?at:0") + ":" + value : e.s.load(x, "at")) + ";");
    return std::string("v");
  };
  e.finish(write, copying(node));
}

std::string another_rank(const sdk::Node& node) { return node.output(0).rank() != node.input(0).rank() ? "output of another rank than input 0" : ""; }

/// Indices are wrapped from the end and kept inside: what is beyond is not defined, and must not be read.
void lower_gather(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims in = node.input(0).shape();
  const auto axis = static_cast<size_t>(axis_of(node, "axis", 0, in.size()));
  const int64_t inner = elements_of({in.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in.end()}), count = node.input(1).elements(), length = in[axis];
  Elements e{to, group};
  const int x = e.in(node.input(0)), index = e.in(node.input(1));
  e.finish(
      [&] {
        e.s.line("int k=" + e.s.load(index, "(o/" + text(inner) + ")%" + text(count)) + ";k=clamp(k<0?k+" + text(length) + ":k,0," + text(length - 1) + ");");
        e.s.line("int at=(o/" + text(inner * count) + "*" + text(length) + "+k)*" + text(inner) + "+o%" + text(inner) + ";");
        return e.s.load(x, "at");
      },
      0);
}
std::string nothing_to_gather(const sdk::Node& node) { return node.input(0).elements() == 0 && node.output(0).elements() > 0 ? "input 0 is empty" : ""; }

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), bool takes_tail, std::string (*refuse)(const sdk::Node&) = nullptr) {
  Row r;
  r.op = o, r.lower = lower, r.takes_tail = takes_tail, r.refuse = refuse;
  return r;
}

constexpr sdk::Types A = kAny, X = sdk::types(OPTIMA_I64, OPTIMA_I32);
constexpr Row kRows[] = {
    row(op("Transpose", 1, 25, {A}, {A}), lower_transpose, true), row(op("Expand", 8, 13, {A, X}, {A}, 2), lower_expand, true), row(op("Tile", 6, 13, {A, X}, {A}, 2), lower_tile, true),
    row(op("Slice", 1, 1, {A}, {A}), lower_slice, true), row(op("Slice", 10, 13, {A, X}, {A}, 0b11110), lower_slice, true), row(op("Split", 2, 18, {A, X}, {A}, 2), lower_split, false, unnamed),
    row(op("Concat", 4, 13, {A}, {A}), lower_concat, false), row(op("DepthToSpace", 1, 28, {A}, {A}), lower_depth_to_space, true), row(op("SpaceToDepth", 1, 28, {A}, {A}), lower_space_to_depth, true),
    row(op("Pad", 2, 2, {kFloats}, {kFloats}), lower_pad, true), row(op("Pad", 11, 25, {A, X, A, X}, {A}, 0b1010), lower_pad, true),
    row(op("CenterCropPad", 18, 18, {A, X}, {A}), lower_pad, true, another_rank),
    row(op("Gather", 1, 13, {A, X}, {A}), lower_gather, true, nothing_to_gather),
};

}  // namespace of_move

Family move_family() { return of_move::kRows; }

}  // namespace spirv_plugin
