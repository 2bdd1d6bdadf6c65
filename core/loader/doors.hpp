// SPDX-License-Identifier: Apache-2.0
// core/loader: doors as they cross the seam, both ways.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backend/door.hpp"
#include "core/loader/seam.hpp"

namespace optima {

/// A door as the seam has it; points into `door`.
optima_door seam_door(const Door& door);

/// The doors of a compile request, for one call. Points into `doors`.
class LentDoors {
 public:
  explicit LentDoors(std::span<const ValueDoor> doors);
  LentDoors(const LentDoors&) = delete;
  LentDoors& operator=(const LentDoors&) = delete;
  const optima_value_door* data() const { return values_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(values_.size()); }

 private:
  std::vector<optima_door> doors_;
  std::vector<optima_value_door> values_;
};

/// What a plugin offers for one tensor. The first thing wrong with an offer is kept, as an end of "it ...".
struct OfferedDoors {
  int32_t dtype = OPTIMA_UNDEFINED;  ///< of the tensor
  std::vector<int64_t> shape;        ///< of the tensor, known
  std::vector<Door> doors = {};
  std::string misdeed = {};

  /// Of a value of the image; the shape has -1 where a dim is not known.
  static OfferedDoors of(const optima_image* image, uint32_t value);
  /// The seam's callback; `self` is a seam::Collected<OfferedDoors>.
  static int32_t add(void* self, const optima_door* door);
};

}  // namespace optima
