// SPDX-License-Identifier: Apache-2.0
#include "core/loader/doors.hpp"

#include <algorithm>
#include <cstddef>

#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr size_t kMostOffers = 64;
constexpr uint32_t kMostScales = 1 << 24;

// What must hold before the arrays are read; wrong_with() judges the rest.
std::string wrong_arrays(const optima_door& raw) {
  if (raw.rank < 0 || raw.rank > kMostDims) return cat("has rank ", raw.rank, ", wanted 0..", kMostDims);
  if (raw.rank > 0 && !raw.shape) return "has no shape";
  if (raw.layout.size > kLongestLayout) return cat("has a layout of ", raw.layout.size, " bytes, wanted at most ", kLongestLayout);
  if (raw.layout.size > 0 && !raw.layout.data) return "has a layout without bytes";
  if (raw.scale_count > kMostScales) return cat("has ", raw.scale_count, " scales, wanted at most ", kMostScales);
  if (raw.scale_count > 0 && !raw.scales) return cat("has ", raw.scale_count, " scales without numbers");
  return "";
}

// Equal doors become equal in all members: no zero points instead of zeros, no axis where there is nothing to take it of.
Door owned(const optima_door& raw, const std::vector<int64_t>& tensor) {
  Door d;
  d.dtype = raw.dtype;
  d.layout = seam::raw_text(raw.layout, kLongestLayout);
  if (raw.rank > 0) d.shape.assign(raw.shape, raw.shape + raw.rank);
  if (raw.scale_count == 0) return d;
  d.scales.assign(raw.scales, raw.scales + raw.scale_count);
  if (raw.zero_points && std::any_of(raw.zero_points, raw.zero_points + raw.scale_count, [](int32_t z) { return z != 0; }))
    d.zero_points.assign(raw.zero_points, raw.zero_points + raw.scale_count);
  const bool has_axis = raw.scale_axis >= 0 && static_cast<size_t>(raw.scale_axis) < tensor.size();
  if (raw.scale_count > 1 || !has_axis || tensor[static_cast<size_t>(raw.scale_axis)] != 1) d.scale_axis = raw.scale_axis;
  return d;
}

}  // namespace

optima_door seam_door(const Door& door) {
  return {sizeof(optima_door), door.dtype, seam::str(door.layout), door.shape.data(), static_cast<int32_t>(door.shape.size()),
          static_cast<uint32_t>(door.scales.size()), door.scales.data(), door.zero_points.empty() ? nullptr : door.zero_points.data(), door.scale_axis, 0};
}

LentDoors::LentDoors(std::span<const ValueDoor> doors) {
  doors_.reserve(doors.size());
  for (const ValueDoor& one : doors) {
    doors_.push_back(seam_door(one.door));
    values_.push_back({sizeof(optima_value_door), one.value, &doors_.back()});
  }
}

OfferedDoors OfferedDoors::of(const optima_image* image, uint32_t value) {
  const optima_value& v = *optima_get_value(image, value);
  OfferedDoors out{v.dtype, {}};
  for (uint32_t d = 0; d < v.dims.count; ++d) out.shape.push_back(optima_get_dim(image, v.dims.first + d)->value);
  return out;
}

int32_t OfferedDoors::add(void* self, const optima_door* door) {
  return seam::Collected<OfferedDoors>::add(self, [&](OfferedDoors& all) -> int32_t {
    if (!all.misdeed.empty()) return OPTIMA_INVALID_ARGUMENT;  // the first one counts
    const auto broken = [&](std::string what) { return all.misdeed = std::move(what), OPTIMA_INVALID_ARGUMENT; };
    if (!seam::sane(door, offsetof(optima_door, reserved))) return broken("offered a door struct of impossible size");
    if (all.doors.size() == kMostOffers) return broken(cat("offered more than ", kMostOffers, " doors"));
    const optima_door raw = seam::known(door);
    if (const std::string wrong = wrong_arrays(raw); !wrong.empty()) return broken(cat("offered a door that ", wrong));
    Door made = owned(raw, all.shape);
    if (const std::string wrong = wrong_with(made, all.dtype, all.shape); !wrong.empty()) return broken(cat("offered a door that ", wrong));
    all.doors.push_back(std::move(made));
    return OPTIMA_OK;
  });
}

}  // namespace optima
