// SPDX-License-Identifier: Apache-2.0
// core/session: what a device that takes a node in float says of its quantized unit. Private to the room.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/graph/graph.hpp"
#include "core/placement/ask_devices.hpp"
#include "core/plan/plan.hpp"

namespace optima::detail {

/// Of `nodes` (ids) those of which the device that has them in `in_float` refuses the node itself, a DequantizeLinear that it reads or a
/// QuantizeLinear behind it in `quantized`, with the device's sentence. Both are of the main graph; `graph` is the latter's.
std::map<uint32_t, std::string> refused_units(const Plan& in_float, const AskedDevices& quantized, const Graph& graph, const std::set<uint32_t>& nodes);

/// Of `nodes` those that are next to a node that no device takes, with nothing but QuantizeLinear and DequantizeLinear between, with the first
/// device's sentence: were they float, what nobody takes might have floats around it, which a device took it with.
std::map<uint32_t, std::string> stranded_units(const AskedDevices& quantized, const Graph& graph, const std::set<uint32_t>& nodes);

}  // namespace optima::detail
