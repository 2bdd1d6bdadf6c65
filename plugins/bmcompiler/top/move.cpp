// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_move {

/// Numbers stay where they are, under another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.
void write_same(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  make.finish(make.read(0));
}

std::string refuses_dropout(const sdk::Node& node, const Chip&) {
  if (node.output(1)) return "its mask is asked for, wanted the numbers alone";
  if (const sdk::Value v = node.input(2); v && (!v.is_constant() || Lowering::integers(v).at(0) != 0)) return "training_mode is set or computed, wanted false";
  return {};
}

std::vector<int64_t> order_of(const sdk::Node& node) {
  std::vector<int64_t> order = node.integers("perm");
  for (int64_t k = node.input(0).rank() - 1; order.size() < static_cast<size_t>(node.input(0).rank()); --k) order.push_back(k);
  return order;
}
void write_transpose(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  make.finish(make.transposed(make.read(0), order_of(node)));
}

void write_concat(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  std::vector<Piece> xs;
  for (uint32_t k = 0; k < node.input_count(); ++k) xs.push_back(make.read(k));
  make.finish(make.joined(xs, axis_of(node.integer("axis", 0), xs[0].dims.size())));
}

std::string refuses_split(const sdk::Node& node, const Chip&) { return wants_constant(node, 1, "split"); }
void write_split(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t axis = axis_of(node.integer("axis", 0), x.dims.size());
  const std::vector<int64_t> sizes = numbers_of(node, "split", 1);
  const int64_t each = (x.dims[axis] + node.output_count() - 1) / node.output_count();
  int64_t begin = 0;
  for (uint32_t k = 0; k < node.output_count(); ++k) {
    const int64_t end = std::min(begin + (sizes.empty() ? each : sizes[k]), x.dims[axis]);
    if (node.output(k)) make.finish(make.sliced(x, axis, begin, end), k);
    begin = end;
  }
}

std::string refuses_slice(const sdk::Node& node, const Chip&) {
  for (uint32_t k = 1; k < node.input_count(); ++k)
    if (std::string why = wants_constant(node, k, "operand"); !why.empty()) return why;
  return {};
}
/// The elements of an axis that start, end and step of a Slice leave, as ONNX clamps them.
struct Cut {
  int64_t begin, end, step;
};
Cut clamped(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (start < 0) start += size;
  if (end < 0) end = end < -size ? -1 : end + size;
  if (step > 0) return {std::clamp<int64_t>(start, 0, size), std::clamp<int64_t>(end, 0, size), step};
  return {std::clamp<int64_t>(start, 0, size - 1), std::clamp<int64_t>(end, -1, size - 1), step};
}
Piece cut(Pieces& make, const Piece& x, size_t axis, const Cut& c) {
  const int64_t step = std::clamp<int64_t>(c.step, -x.dims[axis], x.dims[axis]);
  if (step > 0) return make.sliced(x, axis, c.begin, c.end, step);
  std::vector<int64_t> indices;  // backwards: the tools' Slice aborts on steps below -1
  for (int64_t k = c.begin; k > c.end; k += step) indices.push_back(k);
  return make.picked(x, axis, indices);
}
void write_slice(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  Piece x = make.read(0);
  const std::vector<int64_t> starts = numbers_of(node, "starts", 1), ends = numbers_of(node, "ends", 2), axes = numbers_of(node, "axes", 3), steps = numbers_of(node, "steps", 4);
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t axis = axes.empty() ? k : axis_of(axes[k], x.dims.size());
    x = cut(make, x, axis, clamped(starts[k], ends[k], steps.empty() ? 1 : steps[k], x.dims[axis]));
  }
  make.finish(x);
}

/// pads of each axis, begins before ends.
std::vector<int64_t> pads_of(const sdk::Node& node) {
  const std::vector<int64_t> given = numbers_of(node, "pads", 1), axes = node.input(3) ? Lowering::integers(node.input(3)) : std::vector<int64_t>{};
  if (axes.empty()) return given;
  const size_t rank = static_cast<size_t>(node.input(0).rank());
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t axis = axis_of(axes[k], rank);
    pads[axis] = given[k], pads[rank + axis] = given[axes.size() + k];
  }
  return pads;
}
std::string refuses_pad(const sdk::Node& node, const Chip&) {
  for (uint32_t k = 1; k < node.input_count(); ++k)
    if (std::string why = wants_constant(node, k, "operand"); !why.empty()) return why;
  return {};
}
/// Which element lies at `k`, before the axis where it is below zero.
int64_t source(std::string_view mode, int64_t k, int64_t size) {
  if (mode == "edge" || size == 1) return std::clamp<int64_t>(k, 0, size - 1);
  if (mode == "wrap") return ((k % size) + size) % size;
  const int64_t period = 2 * (size - 1), there = ((k % period) + period) % period;
  return there < size ? there : period - there;
}
Piece mirrored(Pieces& make, Piece x, std::string_view mode, const std::vector<int64_t>& pads) {
  const size_t rank = x.dims.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    if (pads[axis] == 0 && pads[rank + axis] == 0) continue;
    std::vector<int64_t> indices;
    for (int64_t k = -pads[axis]; k < x.dims[axis] + pads[rank + axis]; ++k) indices.push_back(source(mode, k, x.dims[axis]));
    x = make.picked(x, axis, indices);
  }
  return x;
}
Piece padded(Pieces& make, const Piece& x, double value, const std::vector<int64_t>& pads, const std::vector<int64_t>& dims) {
  return make.op("padded", "Pad", {x}, Attributes().i64s("paddings", pads).f64("val", value).text("mode", "constant"), dims);
}
Piece filled(Pieces& make, Piece x, double value, std::vector<int64_t> pads) {
  const size_t rank = x.dims.size();
  bool wider = false;
  std::vector<int64_t> dims = x.dims;
  for (size_t axis = 0; axis < rank; ++axis) {  // pads below zero first: the tools compute them otherwise
    x = make.sliced(x, axis, std::max<int64_t>(-pads[axis], 0), x.dims[axis] - std::max<int64_t>(-pads[rank + axis], 0));
    for (const size_t k : {axis, rank + axis}) pads[k] = std::max<int64_t>(pads[k], 0), wider = wider || pads[k] > 0;
    dims[axis] = x.dims[axis] + pads[axis] + pads[rank + axis];
  }
  if (!wider) return x;
  if (rank <= 4) return padded(make, x, value, pads, dims);
  for (size_t axis = 0; axis < rank; ++axis) {  // the tools have no Pad of five axes
    if (pads[axis] == 0 && pads[rank + axis] == 0) continue;
    const int64_t outer = product(x.dims, 0, axis), inner = product(x.dims, axis + 1, rank);
    const Piece flat = make.reshaped(x, {outer, x.dims[axis], inner});
    x = make.reshaped(padded(make, flat, value, {0, pads[axis], 0, 0, pads[rank + axis], 0}, {outer, dims[axis], inner}), with(x.dims, axis, dims[axis]));
  }
  return x;
}
void write_pad(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const std::string_view mode = node.string("mode", "constant");
  const Piece x = make.read(0);
  if (mode != "constant") return make.finish(mirrored(make, x, mode, pads_of(node)));
  const double value = node.input(2) ? static_cast<double>(Lowering::floats(node.input(2)).at(0)) : node.real("value", 0);
  make.finish(filled(make, x, value, pads_of(node)));
}

std::string refuses_centre(const sdk::Node& node, const Chip&) { return wants_constant(node, 1, "shape"); }
/// The middle of what is too long, and as much before as behind what is too short.
void write_centre(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t rank = x.dims.size();
  const std::vector<int64_t> wanted = dims_of(node.output(0));
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t k = 0; k < rank; ++k) {
    const int64_t more = wanted[k] - x.dims[k];
    pads[k] = more / 2, pads[rank + k] = more - more / 2;
  }
  make.finish(filled(make, x, 0, pads));
}

std::string refuses_shape_input(const sdk::Node& node, const Chip&) { return wants_constant(node, 1, "operand"); }
/// Tile and Expand: both repeat an operand whose rank is raised first.
void write_repeated(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  Piece x = make.read(0);
  const std::vector<int64_t> wanted = dims_of(node.output(0));
  std::vector<int64_t> raised(wanted.size() - x.dims.size(), 1), times;
  raised.insert(raised.end(), x.dims.begin(), x.dims.end());
  x = make.reshaped(x, raised);
  for (size_t k = 0; k < wanted.size(); ++k) times.push_back(wanted[k] / x.dims[k]);
  make.finish(wanted == x.dims ? x : make.op("repeated", "Tile", {x}, Attributes().i64s("tile", times), wanted));
}

void write_blocks(Lowering& to, const sdk::Node& node) {
  const int64_t size = node.integer("blocksize", 1);
  const bool back = node.op() == "SpaceToDepth", columns = !back && node.string("mode", "DCR") == "CRD";
  Pieces make(to, node);
  const Piece x = make.read(0);
  if (size == 1) return make.finish(x);
  if (back && node.string("mode", "DCR") == "CRD") {
    const Piece apart = make.reshaped(x, {x.dims[0], x.dims[1], x.dims[2] / size, size, x.dims[3] / size, size});
    return make.finish(make.transposed(apart, {0, 1, 3, 5, 2, 4}));
  }
  to.emit(node, "Depth2Space", {x.value},
          Attributes().i64("block_h", size).i64("block_w", size).flag("is_CRD", columns).flag("is_inversed", back).flag("in_is_NCHW", true).flag("out_is_NCHW", true).flag("swap_cr", false));
}

/// Every row of a batch turned within its length, and the rest as it is: numbers of rows are known.
std::string refuses_reverse(const sdk::Node& node, const Chip&) { return wants_constant(node, 1, "sequence_lens"); }
void write_reverse_sequence(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t batch = axis_of(node.integer("batch_axis", 1), x.dims.size()), time = 1 - batch;
  const std::vector<int64_t> lengths = Lowering::integers(node.input(1));
  std::vector<int64_t> rows(static_cast<size_t>(x.dims[0] * x.dims[1]));
  for (int64_t b = 0; b < x.dims[batch]; ++b)
    for (int64_t t = 0; t < x.dims[time]; ++t) {
      const int64_t length = lengths[static_cast<size_t>(b)], from = t < length ? length - 1 - t : t;
      const auto row = [&](int64_t at) { return batch == 0 ? b * x.dims[1] + at : at * x.dims[1] + b; };
      rows[static_cast<size_t>(row(t))] = row(from);
    }
  std::vector<int64_t> flat{x.dims[0] * x.dims[1], product(x.dims, 2, x.dims.size())};
  make.finish(make.picked(make.reshaped(x, flat), 0, rows));
}

constexpr Row kRows[] = {
    {"Reshape", nullptr, write_same},
    {"Flatten", nullptr, write_same},
    {"Squeeze", nullptr, write_same},
    {"Unsqueeze", nullptr, write_same},
    {"Identity", nullptr, write_same},
    {"Dropout", refuses_dropout, write_same},
    {"Transpose", nullptr, write_transpose},
    {"Concat", nullptr, write_concat},
    {"Split", refuses_split, write_split},
    {"Slice", refuses_slice, write_slice},
    {"Pad", refuses_pad, write_pad},
    {"CenterCropPad", refuses_centre, write_centre},
    {"Expand", refuses_shape_input, write_repeated},
    {"Tile", refuses_shape_input, write_repeated},
    {"DepthToSpace", nullptr, write_blocks},
    {"SpaceToDepth", nullptr, write_blocks},
    {"ReverseSequence", refuses_reverse, write_reverse_sequence},
};

}  // namespace of_move

sdk::Span<const Row> moves() { return of_move::kRows; }

}  // namespace bmcompiler_plugin::top
