// SPDX-License-Identifier: Apache-2.0
// core/session: a QDQ graph taken apart: each layer gets the float model's values as inputs. Private to the room.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/session/qdq.hpp"

namespace optima::detail {

/// A value of the taken-apart graph that stands for a layer, or an input that wants a float value of the model.
struct Joint {
  std::string value;  ///< its name in both models
  std::string name;   ///< in the taken-apart graph
};

struct TakenApart {
  Graph graph;                 ///< outputs: one for each of `layers`, in order; inputs: the model's, then one for each of `joints`
  std::vector<Joint> layers, joints;
};

/// Every QuantizeLinear of an activation reads a new input in place of what the layer before made; that is rounded by a pair of its own to become
/// an output. `layers`: values of the main graph; `in_float`: names of the float model's values: a coded value that is none of them is computed
/// from those in front of it.
TakenApart take_apart(const Graph& quantized, const std::vector<uint32_t>& layers, const std::set<std::string>& in_float);

}  // namespace optima::detail
