// SPDX-License-Identifier: Apache-2.0
// core/cost: what several costs files say together of one device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cost/costs_file.hpp"

namespace optima {

struct DeviceCosts {
  struct Node {
    double microseconds = -1;  ///< negative = no file knows
    std::string_view source;   ///< "profile", "share", "given", "fit"
  };
  std::vector<Node> nodes;       ///< by position in the names
  double launch_us = -1;         ///< negative = no file knows
  double us_per_byte_in = 0;     ///< of a tensor that comes from another device, besides the link
  double us_per_byte_out = 0;    ///< of a tensor that goes to another device, besides the link
  std::string fit;               ///< one line on how launch and boundary were found, or why not; empty = too few runs to try
};

/// Of files that time the same node the later one counts, except that a node measured inside a larger subgraph keeps that time: it
/// holds less of what a cut breaks. Where the files have runs of different extents on the device, launch, boundary bytes and the times
/// of nodes that were measured are those of fit_runs(); times written by hand ("given") stay. Of more than 1,000 runs the last ones count.
DeviceCosts device_costs(const std::vector<const MeasuredDevice*>& measured, const std::vector<std::string_view>& names);

}  // namespace optima
