// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "pieces.hpp"

namespace bmcompiler_plugin::top {
namespace of_index {

constexpr int64_t kExact = 1 << 24;  // numbers of rows are floats in a module

/// BM1684 leaves what is not a plain Gather to the host's processor, whose library its emulator has not.
bool only_gathers(const Chip& chip) { return chip.name == "bm1684"; }

/// Computed indices below zero: BM1684 reads before the tensor.
Piece in_bounds(Pieces& make, const Chip& chip, const Piece& indices, const std::vector<int64_t>& sizes) {
  return only_gathers(chip) ? make.wrapped(indices, sizes) : indices;
}

/// Indices of one axis as the tools take them, without any below zero.
Piece counted(Pieces& make, const sdk::Node& node, int64_t size) {
  const sdk::Value which = node.input(1);
  if (!which.is_constant()) return make.wrapped(make.read(1), {size});
  std::vector<float> indices;
  for (const int64_t k : Lowering::integers(which)) indices.push_back(static_cast<float>(k < 0 ? k + size : k));
  return make.weight(dims_of(which), indices);
}

std::string refuses_numbers(const sdk::Node& node, const Chip&) {
  if (node.input(0).elements() <= kExact) return {};
  return "operand has " + std::to_string(node.input(0).elements()) + " elements, wanted 16777216 at most, that a float can number";
}

void write_gather(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t axis = axis_of(node.integer("axis", 0), x.dims.size());
  const int64_t size = x.dims[axis];
  const sdk::Value which = node.input(1);
  if (which.is_constant()) {
    std::vector<int64_t> indices = Lowering::integers(which);
    for (int64_t& k : indices) k += k < 0 ? size : 0;
    return make.finish(make.picked(x, axis, indices));
  }
  Piece indices = in_bounds(make, to.chip(), make.read(1), {size});
  indices = make.reshaped(indices, {indices.elements()});
  const Attributes a = Attributes().flag("keepdims", true).si32("axis", static_cast<int32_t>(axis)).flag("is_scalar", false).flag("is_lora", false);
  make.finish(make.op("gathered", "Gather", {x, indices}, a, with(x.dims, axis, indices.elements())));
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t k = dims.size() - 1; k-- > 0;) strides[k] = strides[k + 1] * dims[k + 1];
  return strides;
}

/// Elements of x by numbers of elements.
Piece elements_by(Pieces& make, const Piece& x, const Piece& numbers) {
  return make.reshaped(make.rows(make.reshaped(x, {x.elements(), 1}), numbers), numbers.dims);
}

/// As numbers of elements: `stride` times the index, and where the other axes stand.
std::vector<float> offsets(const std::vector<int64_t>& dims, const std::vector<int64_t>& taken, size_t axis) {
  const std::vector<int64_t> strides = strides_of(dims);
  std::vector<float> all(static_cast<size_t>(product(taken)));
  std::vector<int64_t> at(taken.size(), 0);
  for (float& offset : all) {
    int64_t sum = 0;
    for (size_t k = 0; k < at.size(); ++k) sum += k == axis ? 0 : at[k] * strides[k];
    offset = static_cast<float>(sum);
    for (size_t k = at.size(); k-- > 0 && ++at[k] == taken[k];) at[k] = 0;
  }
  return all;
}
void write_gather_elements(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t axis = axis_of(node.integer("axis", 0), x.dims.size());
  const Piece indices = counted(make, node, x.dims[axis]);
  if (!only_gathers(to.chip())) return make.finish(make.op("gathered", "GatherElements", {x, indices}, Attributes().i64("axis", static_cast<int64_t>(axis)), indices.dims));
  const Piece base = make.weight(indices.dims, offsets(x.dims, indices.dims, axis));
  make.finish(elements_by(make, x, make.both("Add", make.scaled(indices, static_cast<double>(strides_of(x.dims)[axis])), base)));
}

/// Numbers of rows of what is left of `dims` behind `batch` and the indexed axes, for a tensor of indices (…, count).
Piece row_numbers(Pieces& make, Piece indices, const std::vector<int64_t>& dims, size_t batch) {
  const size_t count = static_cast<size_t>(indices.dims.back());
  const std::vector<int64_t> indexed(dims.begin() + static_cast<ptrdiff_t>(batch), dims.begin() + static_cast<ptrdiff_t>(batch + count));
  indices = make.wrapped(indices, indexed);
  const std::vector<int64_t> strides = strides_of(indexed);
  const std::vector<int64_t> numbered(indices.dims.begin(), indices.dims.end() - 1);
  const int64_t rows = indices.elements() / static_cast<int64_t>(count);
  indices = make.reshaped(indices, {rows, static_cast<int64_t>(count)});
  Piece sum = make.scaled(make.sliced(indices, 1, 0, 1), static_cast<double>(strides[0]));
  for (size_t k = 1; k < count; ++k) {
    const int64_t at = static_cast<int64_t>(k);
    sum = make.both("Add", sum, make.scaled(make.sliced(indices, 1, at, at + 1), static_cast<double>(strides[k])));
  }
  sum = make.reshaped(sum, {rows});
  const int64_t batches = product(dims, 0, batch), each = product(indexed);
  if (batches > 1) {
    std::vector<float> first(static_cast<size_t>(rows));
    for (int64_t k = 0; k < rows; ++k) first[static_cast<size_t>(k)] = static_cast<float>(k / (rows / batches) * each);
    sum = make.both("Add", sum, make.weight({rows}, first));
  }
  return make.reshaped(sum, numbered.empty() ? std::vector<int64_t>{1} : numbered);
}
void write_gather_nd(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0), indices = make.read(1);
  const size_t batch = static_cast<size_t>(node.integer("batch_dims", 0)), indexed = batch + static_cast<size_t>(indices.dims.back());
  const Piece numbers = row_numbers(make, indices, x.dims, batch);
  const Piece table = make.reshaped(x, {product(x.dims, 0, indexed), product(x.dims, indexed, x.dims.size())});
  make.finish(make.rows(table, make.reshaped(numbers, {numbers.elements()})));
}

std::string refuses_scatter(const sdk::Node& node, const Chip& chip) {
  if (const std::string_view how = node.string("reduction", "none"); how != "none") return "reduction is \"" + std::string(how) + "\", wanted \"none\": of more numbers for one place the order is not known";
  return refuses_numbers(node, chip);
}
void write_scatter_elements(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0);
  const size_t axis = axis_of(node.integer("axis", 0), x.dims.size());
  const Attributes a = Attributes().i64("axis", static_cast<int64_t>(axis)).i64("reduction", 0).flag("nc_can_split", false);
  make.finish(make.op("scattered", "ScatterElements", {x, counted(make, node, x.dims[axis]), make.read(2)}, a, x.dims));
}
/// By numbers of rows: with more indices or axes the tools assert on shapes that ONNX allows.
void write_scatter_nd(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece x = make.read(0), indices = make.read(1), updates = make.read(2);
  const size_t indexed = static_cast<size_t>(indices.dims.back());
  const int64_t rows = product(x.dims, 0, indexed), width = product(x.dims, indexed, x.dims.size());
  const Piece numbers = row_numbers(make, indices, x.dims, 0);
  const int64_t count = numbers.elements();
  make.finish(make.op("scattered", "ScatterND", {make.reshaped(x, {rows, width}), make.reshaped(numbers, {count, 1}), make.reshaped(updates, {count, width})},
                      Attributes().i32("reduction", 0), {rows, width}));
}

std::string refuses_one_hot(const sdk::Node& node, const Chip&) {
  for (const uint32_t k : {1u, 2u})
    if (std::string why = wants_constant(node, k, k == 1 ? "depth" : "values"); !why.empty()) return why;
  for (const float v : Lowering::floats(node.input(2)))
    if (!std::isfinite(v)) return "a value is not finite, wanted finite ones";
  return {};
}
void write_one_hot(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const std::vector<int64_t> wanted = dims_of(node.output(0));
  const size_t axis = axis_of(node.integer("axis", -1), wanted.size());
  const int64_t depth = wanted[axis];
  const std::vector<int64_t> flat{product(wanted, 0, axis), 1, product(wanted, axis + 1, wanted.size())};
  const Piece indices = make.wrapped(make.reshaped(make.read(0), flat), {depth});
  std::vector<float> numbers(static_cast<size_t>(depth));
  for (int64_t k = 0; k < depth; ++k) numbers[static_cast<size_t>(k)] = static_cast<float>(k);
  std::vector<int64_t> times{1, depth, 1};
  const Piece spread = depth == 1 ? indices : make.op("spread", "Tile", {indices}, Attributes().i64s("tile", times), with(flat, 1, depth));
  const Piece hit = make.op("hit", "Compare", {spread, make.weight({1, depth, 1}, numbers)}, Attributes().text("mode", "Equal"), spread.dims);
  const std::vector<float> values = Lowering::floats(node.input(2));
  const double off = values.at(0), on = values.at(1);
  make.finish(off == 0 ? make.scaled(hit, on) : make.both("Add", make.scaled(hit, on), make.scaled(hit, -off, off)));  // exact: of the two one is 0
}

std::string refuses_trilu(const sdk::Node& node, const Chip&) { return wants_constant(node, 1, "k"); }
/// By constants: top.Trilu aborts where the tools group it with what is beside it, BM1684 has no Where, and infinities come out of BM1684X's MaskedFill.
void write_trilu(Lowering& to, const sdk::Node& node) {
  const int64_t k = node.input(1) ? Lowering::integers(node.input(1)).at(0) : 0;
  const bool upper = node.integer("upper", 1) != 0;
  Pieces make(to, node);
  const Piece x = make.read(0);
  const int64_t height = x.dims[x.dims.size() - 2], width = x.dims.back();
  const bool masks = to.chip().name == "bm1684";
  std::vector<float> chosen(static_cast<size_t>(height * width));  // what stays, or where zeros go
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const bool stays = upper ? column - row >= k : column - row <= k;
      chosen[static_cast<size_t>(row * width + column)] = stays != masks ? 1.0f : 0.0f;
    }
  std::vector<int64_t> dims(x.dims.size(), 1);
  dims[dims.size() - 2] = height, dims.back() = width;
  const Piece where = make.weight(dims, chosen), none{to.module().none(), {}};
  if (masks) return make.finish(make.op("masked", "MaskedFill", {where, x}, Attributes().flag("inversed", false).f64("const_val", 0), x.dims));
  const Attributes zeros = Attributes().flag("x_is_const", false).flag("y_is_const", true).f64("x_const_val", 0).f64("y_const_val", 0);
  make.finish(make.op("chosen", "Where", {where, x, none}, zeros, x.dims));
}

std::string refuses_roi(const sdk::Node& node, const Chip&) {
  if (node.string("mode", "avg") != "avg") return "mode is \"" + std::string(node.string("mode", "avg")) + "\", wanted \"avg\": the tools assert on others";
  return {};
}
void write_roi(Lowering& to, const sdk::Node& node) {
  Pieces make(to, node);
  const Piece numbers = make.read(2), boxes = make.joined({make.reshaped(numbers, {numbers.elements(), 1}), make.read(1)}, 1);
  const std::string_view corners = node.string("coordinate_transformation_mode", node.since_version() < 16 ? "output_half_pixel" : "half_pixel");
  const Attributes a = Attributes().text("mode", "Avg").i64("output_height", node.integer("output_height", 1)).i64("output_width", node.integer("output_width", 1));
  to.emit(node, "RoiAlign", {make.read(0).value, boxes.value},
          Attributes(a).i64("sampling_ratio", node.integer("sampling_ratio", 0)).f64("spatial_scale", node.real("spatial_scale", 1)).flag("align_corners", corners == "half_pixel"));
}

std::string refuses_grid(const sdk::Node& node, const Chip&) {
  if (node.input(0).rank() != 4) return "operand has rank " + std::to_string(node.input(0).rank()) + ", wanted 4";
  const std::string_view mode = node.string("mode", "linear");
  return mode == "cubic" || mode == "bicubic" ? "mode is \"" + std::string(mode) + "\", wanted \"linear\" or \"nearest\"" : std::string();
}
void write_grid(Lowering& to, const sdk::Node& node) {
  const std::string_view edge = node.string("padding_mode", "zeros");
  const Attributes a = Attributes().i64("mode", node.string("mode", "linear") == "nearest").i64("padding_mode", edge == "zeros" ? 0 : edge == "border" ? 1 : 2);
  to.emit(node, "GridSampler", {to.read(node.input(0)), to.read(node.input(1))}, Attributes(a).flag("align_corners", node.integer("align_corners", 0) != 0));
}

constexpr Row kRows[] = {
    {"Gather", nullptr, write_gather},
    {"GatherElements", refuses_numbers, write_gather_elements},
    {"GatherND", refuses_numbers, write_gather_nd},
    {"ScatterElements", refuses_scatter, write_scatter_elements},
    {"ScatterND", refuses_scatter, write_scatter_nd},
    {"OneHot", refuses_one_hot, write_one_hot},
    {"Trilu", refuses_trilu, write_trilu},
    {"RoiAlign", refuses_roi, write_roi},
    {"GridSample", refuses_grid, write_grid},
};

}  // namespace of_index

sdk::Span<const Row> indexing() { return of_index::kRows; }

}  // namespace bmcompiler_plugin::top
