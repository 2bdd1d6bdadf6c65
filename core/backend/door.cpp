// SPDX-License-Identifier: Apache-2.0
#include "core/backend/door.hpp"

#include <algorithm>
#include <cmath>

#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

std::string wrong_layout(const std::string& layout) {
  if (layout.size() > kLongestLayout) return cat("has a layout of ", layout.size(), " bytes, wanted at most ", kLongestLayout);
  if (!std::all_of(layout.begin(), layout.end(), [](char c) { return c > ' ' && c < 127; })) return "has a layout that is no printable word of ASCII";
  return "";
}

std::string wrong_scales(const Door& door) {
  if (!door.zero_points.empty() && door.zero_points.size() != door.scales.size())
    return cat("has ", door.zero_points.size(), " zero points for ", door.scales.size(), " scales");
  for (const float s : door.scales)
    if (!std::isfinite(s) || s <= 0) return cat("has the scale ", s, ", wanted a finite one above 0");
  if (door.scales.size() == 1 && door.scale_axis != -1) return cat("has one scale for axis ", door.scale_axis, ", wanted axis -1");
  return "";
}

std::string wrong_axis(const Door& door, std::span<const int64_t> shape) {
  if (door.scales.size() < 2) return "";
  if (door.scale_axis < 0 || static_cast<size_t>(door.scale_axis) >= shape.size())
    return cat("has ", door.scales.size(), " scales for axis ", door.scale_axis, " of a tensor of rank ", shape.size());
  const int64_t dim = shape[static_cast<size_t>(door.scale_axis)];
  if (static_cast<int64_t>(door.scales.size()) == dim) return "";
  return cat("has ", door.scales.size(), " scales, wanted 0, 1 or ", dim, " (dim ", door.scale_axis, " of the tensor)");
}

}  // namespace

std::optional<uint64_t> Door::bytes() const {
  uint64_t bits = optima_dtype_bits(dtype);
  if (bits == 0) return std::nullopt;
  for (const int64_t d : shape)
    if (d < 1 || __builtin_mul_overflow(bits, static_cast<uint64_t>(d), &bits)) return std::nullopt;
  const uint64_t size = bits / 8 + (bits % 8 != 0);
  return size <= kLargestDoor ? std::optional(size) : std::nullopt;
}

std::string wrong_with(const Door& door) {
  if (optima_dtype_bits(door.dtype) == 0) return cat("has dtype ", door.dtype, ", wanted one of fixed size");
  if (door.shape.size() > kMostDims) return cat("has rank ", door.shape.size(), ", wanted 0..", kMostDims);
  for (size_t d = 0; d < door.shape.size(); ++d)
    if (door.shape[d] < 1) return cat("has the size ", door.shape[d], " in dim ", d, ", wanted 1 or more");
  if (!door.bytes()) return cat("stores more than ", kLargestDoor, " bytes");
  if (std::string wrong = wrong_layout(door.layout); !wrong.empty()) return wrong;
  return wrong_scales(door);
}

std::string wrong_with(const Door& door, int32_t dtype, std::span<const int64_t> shape) {
  if (std::string wrong = wrong_with(door); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_axis(door, shape); !wrong.empty()) return wrong;
  if (door.dtype == dtype && door.layout.empty() && door.scales.empty() && std::ranges::equal(door.shape, shape)) return "is the usual one, wanted another";
  return "";
}

}  // namespace optima
