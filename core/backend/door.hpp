// SPDX-License-Identifier: Apache-2.0
// core/backend: how a tensor lies where it goes from one subgraph to another.
#pragma once

#include <cstdint>
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
  friend bool operator==(const Door&, const Door&) = default;
};

/// The door of an input or an output of a subgraph.
struct ValueDoor {
  uint32_t value = 0;  ///< of the subgraph's graph 0
  Door door;
};

}  // namespace optima
