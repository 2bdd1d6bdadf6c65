// SPDX-License-Identifier: Apache-2.0
// core/backend: how a tensor lies where it goes from one subgraph to another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optima/abi.h"

namespace optima {

/// optima_door with its arrays owned. The default is no door but the usual one: the tensor's own dtype and shape, dense row-major.
struct Door {
  int32_t dtype = OPTIMA_UNDEFINED;   ///< as stored; UNDEFINED = the usual door
  std::string layout;                 ///< "NHWC", "NCHW16c"; empty = row-major in the tensor's own order of dims
  std::vector<int64_t> shape;         ///< as stored
  std::vector<float> scales;          ///< empty = the values themselves; else value = (stored - zero point) * scale
  std::vector<int32_t> zero_points;   ///< as many, or empty = all 0
  int32_t scale_axis = -1;            ///< of the tensor's own dims; -1 with one scale
  bool is_usual() const { return dtype == OPTIMA_UNDEFINED; }
  /// As stored; nullopt when the type has no fixed size, a dim is below 1, or it is over kLargestDoor.
  std::optional<uint64_t> bytes() const;
  friend bool operator==(const Door&, const Door&) = default;
};

constexpr uint64_t kLargestDoor = uint64_t{1} << 47;  ///< bytes
constexpr size_t kLongestLayout = 64;                  ///< bytes of its name

/// What is wrong with a door that is not the usual one, for a tensor of this type and shape: "has rank 65, wanted 0..64". Empty when nothing
/// is. Of the layout only its name is looked at. Without the tensor: what can be said without it.
std::string wrong_with(const Door& door);
std::string wrong_with(const Door& door, int32_t dtype, std::span<const int64_t> shape);

/// The door of an input or an output of a subgraph.
struct ValueDoor {
  uint32_t value = 0;  ///< of the subgraph's graph 0
  Door door;
};

}  // namespace optima
