// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/door.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

constexpr int64_t kLargestBlock = 1 << 20;

// One dim as stored: index / block of the tensor's dim, or index % block where it is the lanes.
struct StoredDim {
  size_t axis = 0;
  bool is_lane = false;
};

struct StoredOrder {
  std::vector<StoredDim> dims;
  std::vector<int64_t> block;  // by axis of the tensor; 1 = whole
};

std::string_view letters_of(size_t rank) {
  static constexpr std::string_view letters[] = {"", "N", "NC", "NCW", "NCHW", "NCDHW"};
  return rank < std::size(letters) ? letters[rank] : "";
}

// False when the layout is none that is read, or the shape is not what it makes of the tensor's.
bool parse(const Door& door, std::span<const int64_t> shape, StoredOrder& out) {
  out.block.assign(shape.size(), 1);
  if (door.layout.empty()) {
    for (size_t d = 0; d < shape.size(); ++d) out.dims.push_back({d, false});
    return std::ranges::equal(door.shape, shape);
  }
  std::vector<bool> seen(shape.size(), false);
  int64_t number = 0;
  std::string_view layout = door.layout;
  if (layout.ends_with('*')) layout.remove_suffix(1);  // only of what is past the end, which is left out anyway
  for (const char c : layout) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
      if (number > kLargestBlock) return false;
      continue;
    }
    const size_t axis = letters_of(shape.size()).find(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    const bool is_lane = c >= 'a' && c <= 'z';
    if (axis == std::string_view::npos || is_lane != (number > 0) || (is_lane ? !seen[axis] || out.block[axis] != 1 : seen[axis])) return false;
    seen[axis] = true;
    if (is_lane) out.block[axis] = number;
    out.dims.push_back({axis, is_lane});
    number = 0;
  }
  if (number != 0 || std::find(seen.begin(), seen.end(), false) != seen.end() || out.dims.size() != door.shape.size()) return false;
  for (size_t k = 0; k < out.dims.size(); ++k) {
    const auto [axis, is_lane] = out.dims[k];
    const int64_t b = out.block[axis];
    if (door.shape[k] != (is_lane ? b : (shape[axis] + b - 1) / b)) return false;
  }
  return true;
}

// The next index of a row-major walk.
void step_on(std::vector<int64_t>& index, std::span<const int64_t> shape) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return;
    index[d] = 0;
  }
}

uint64_t offset_of(const StoredOrder& order, const Door& door, const std::vector<int64_t>& index) {
  uint64_t at = 0;
  for (size_t k = 0; k < order.dims.size(); ++k) {
    const auto [axis, is_lane] = order.dims[k];
    const int64_t b = order.block[axis];
    at = at * static_cast<uint64_t>(door.shape[k]) + static_cast<uint64_t>(is_lane ? index[axis] % b : index[axis] / b);
  }
  return at;
}

double value_of(double stored, const Door& door, const std::vector<int64_t>& index) {
  if (door.scales.empty()) return stored;
  const size_t s = door.scales.size() > 1 ? static_cast<size_t>(index[static_cast<size_t>(door.scale_axis)]) : 0;
  return (stored - (door.zero_points.empty() ? 0 : door.zero_points[s])) * double{door.scales[s]};
}

}  // namespace

std::string door_text(const Door& door) {
  return cat(door.layout, door.layout.empty() ? "" : " ", dtype_name(door.dtype), "[", door.shape.empty() ? "" : shape_text(door.shape), "]");
}

Json door_to_json(const Door& door) {
  Json out = {{"dtype", dtype_name(door.dtype)}, {"shape", door.shape}};
  if (!door.layout.empty()) out["layout"] = door.layout;
  if (!door.scales.empty()) out["scales"] = door.scales;
  if (!door.zero_points.empty()) out["zero_points"] = door.zero_points;
  if (door.scale_axis != -1) out["scale_axis"] = door.scale_axis;
  return out;
}

Result<Door> door_from_json(const JsonReader& at) {
  Door out;
  OPTIMA_ASSIGN(const std::string type, at.string("dtype"));
  const std::optional<int32_t> number = dtype_of(type);
  if (!number) return invalid_input(cat(at.place(), ".dtype: found ", quote(type), ", wanted a type name"));
  out.dtype = *number;
  OPTIMA_ASSIGN(out.shape, at.integers("shape"));
  OPTIMA_ASSIGN(out.layout, at.string_or("layout", ""));
  if (at.has("scales")) {
    OPTIMA_ASSIGN(const std::vector<JsonReader> scales, at.array("scales"));
    for (const JsonReader& s : scales) {
      if (!s.json().is_number()) return invalid_input(cat(s.place(), ": found ", to_line(s.json()), ", wanted a number"));
      out.scales.push_back(s.json().get<float>());
    }
  }
  if (at.has("zero_points")) {
    OPTIMA_ASSIGN(const std::vector<int64_t> points, at.integers("zero_points"));
    for (const int64_t z : points) {
      if (z < INT32_MIN || z > INT32_MAX) return invalid_input(cat(at.place(), ".zero_points: found ", z, ", wanted a number of 32 bits"));
      out.zero_points.push_back(static_cast<int32_t>(z));
    }
  }
  OPTIMA_ASSIGN(const int64_t axis, at.integer_or("scale_axis", -1));
  if (axis < -1 || axis > INT32_MAX) return invalid_input(cat(at.place(), ".scale_axis: found ", axis, ", wanted -1 or more"));
  out.scale_axis = static_cast<int32_t>(axis);
  if (const std::string wrong = wrong_with(out); !wrong.empty()) return invalid_input(cat(at.place(), ": the door ", wrong));
  return out;
}

Result<Tensor> read_through(const Tensor& stored, const Door& door, int32_t dtype, std::vector<int64_t> shape) {
  StoredOrder order;
  if (!parse(door, shape, order)) return invalid_input(cat("it lies as ", door_text(door), ", which is not read here"));
  const bool moves = stored.dtype == dtype && door.scales.empty() && optima_dtype_bits(dtype) % 8 == 0;
  if (!moves && dtype != OPTIMA_F32 && dtype != OPTIMA_F64)
    return invalid_input(cat("it lies as ", door_text(door), ", which is read as float32 or float64 only, not as ", dtype_name(dtype)));
  if (stored.size != door.bytes()) return invalid_input(cat("it has ", stored.size, " bytes, wanted what ", door_text(door), " has"));
  OPTIMA_ASSIGN(Tensor out, Tensor::make(dtype, std::move(shape)));
  out.name = stored.name;
  const size_t width = optima_dtype_bits(dtype) / 8;
  std::vector<int64_t> index(out.shape.size(), 0);
  for (uint64_t i = 0; i < out.size / width; ++i, step_on(index, out.shape)) {
    const uint64_t at = offset_of(order, door, index);
    if (moves) {
      std::memcpy(out.data + i * width, stored.data + at * width, width);
      continue;
    }
    const double value = value_of(element_as_double(stored, at), door, index);
    if (dtype == OPTIMA_F64) out.as<double>()[i] = value;
    else out.as<float>()[i] = static_cast<float>(value);
  }
  return out;
}

}  // namespace optima
