// SPDX-License-Identifier: Apache-2.0
// core/cost: measured costs as a file. Format: docs/costs-format.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/backend/device.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Newest format this code writes and reads.
constexpr int64_t kCostsFormat = 2;

/// Where the time of a node was taken from.
enum class CostMethod {
  Profile,  ///< the plugin's own profile tells each node
  Share,    ///< its subgraph was timed; the time is shared out by the roofline model
  Given,    ///< somebody wrote it down
};
std::string_view name_of(CostMethod method);  ///< "profile", "share", "given"

struct MeasuredNode {
  double microseconds = 0;
  CostMethod method = CostMethod::Given;
};

/// A piece of the model that ran as one subgraph: what fits of launches and boundaries are made from (device_costs.hpp).
struct MeasuredRun {
  double microseconds = 0;  ///< of one run, with the run loop's part
  uint64_t bytes_in = 0;    ///< of tensors that other subgraphs make and this one reads
  uint64_t bytes_out = 0;   ///< of tensors that this one makes and other subgraphs read
  std::vector<std::string> nodes;  ///< names
};

struct MeasuredDevice {
  DeviceName name;         ///< an empty plugin fits every plugin
  double launch_us = -1;   ///< starting one subgraph; negative = not known
  std::map<std::string, MeasuredNode> nodes;  ///< by node name
  std::vector<MeasuredRun> runs = {};
};

/// One measurement of one model on some machine.
struct MeasuredCosts {
  std::string model_name, model_hash;  ///< either may be empty
  std::vector<MeasuredDevice> devices;
};

/// Adds what `more` knows: runs join those of the same device, times of nodes and launches that `to` has already stay.
void add_measured(MeasuredCosts& to, const MeasuredCosts& more);

/// Same costs, same bytes.
std::string costs_text(const MeasuredCosts& costs);
/// InvalidInput with the place of the first mistake: unknown members, a device twice, a time that is negative or no number.
Result<MeasuredCosts> parse_costs(std::string_view text, const std::string& place);
/// Of a file ("~" expanded).
Result<MeasuredCosts> read_costs(const std::string& path);

}  // namespace optima
