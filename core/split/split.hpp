// SPDX-License-Identifier: Apache-2.0
// core/split: the splitter's core, on bare numbers. Knows no graph, plugin or device name.
#pragma once

#include <cstdint>
#include <vector>

namespace optima {

/// Most devices that one problem can have: sets of devices are 64-bit masks.
constexpr uint32_t kMostDevices = 64;

/// What is to be split. Units are numbered in topological order: every tensor is read by units behind its producer. Devices
/// are numbered in order of preference. Constants and model inputs are no tensors here: they are there from the start.
struct SplitProblem {
  uint32_t devices = 0;
  std::vector<uint64_t> allow;         ///< by unit: bit d = device d may take it; never 0. A pin is a single bit
  std::vector<uint64_t> avoid;         ///< by unit: bit d = d may, but would rather not; empty = none
  std::vector<uint32_t> nodes;         ///< by unit: how many nodes it stands for; empty = one each
  std::vector<uint32_t> first_tensor;  ///< by unit, one more at the end: tensors produced by unit u start here
  std::vector<uint32_t> first_reader;  ///< by tensor, one more at the end
  std::vector<uint32_t> readers;       ///< units, each once per tensor
  std::vector<uint64_t> bytes;         ///< by tensor
  std::vector<uint32_t> values;        ///< by tensor: the caller's name for it, or kOrder. May be empty
  uint64_t scarce = 0;                 ///< devices: of plans with equally many parts, one with the fewest on these

  /// In place of a tensor's name: none, its readers only run after its producer. Nothing moves and nothing counts as input or output.
  static constexpr uint32_t kOrder = UINT32_MAX;

  uint32_t units() const { return static_cast<uint32_t>(allow.size()); }
  bool only_order(uint32_t tensor) const { return !values.empty() && values[tensor] == kOrder; }
  /// True when the arrays fit each other, every allow is inside the devices, and units stand in topological order.
  bool well_formed() const;
};

/// A plan: the topological order "part by part, and by unit number within a part" runs without a jump back, so no cycle can
/// exist. Neighbouring parts are on different devices; no part is empty.
struct Split {
  std::vector<uint32_t> devices;  ///< by part, in run order
  std::vector<uint32_t> part;     ///< by unit
  uint32_t lower_bound = 0;       ///< proven minimum of parts
  uint64_t displaced = 0;         ///< sum over nodes of how many devices it would have preferred to the one it got
  uint64_t bytes = 0;             ///< crossing, each tensor once per reading part

  bool exact() const { return devices.size() == lower_bound; }
};

/// Objective, in this order: fewest parts; then fewest nodes away from the first device that may take them (`displaced`); then
/// fewest crossing bytes; then the start on the preferred device. So a free unit goes to the first device that can take it
/// unless that would cost a part. The number of parts is the minimum when at most two devices matter, where
/// "run everything one device can, then everything the other can" from both starts is exact (closures are monotone: absorbing
/// all that is ready dominates any other choice for the same sequence of devices); one pass over units and readers each. Three
/// and more devices are NP-hard (shortest common supersequence, arXiv 1309.0422): the minimum where a breadth-first search over
/// executed sets stays small (some dozens of units, often hundreds), else the best of portfolio, beam, dropped steps and windows
/// searched anew, with a proven lower bound. Deterministic; the search stops by counted work, never by time. Requires
/// problem.well_formed().
Split split(const SplitProblem& problem);

/// Parts that no plan can do without: device changes forced along some path, devices that some unit insists on, or what pairs of
/// devices need between them. O(devices^2 * (units + readers)); split() may prove more.
uint32_t lower_bound(const SplitProblem& problem);

}  // namespace optima
