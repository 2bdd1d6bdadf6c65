// SPDX-License-Identifier: Apache-2.0
// core/split: splitting within what devices take at once, on bare numbers. Knows no graph, plugin or device name.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/split/split.hpp"

namespace optima {

/// What one part on a device may be. 0 = no limit.
struct PartLimits {
  uint64_t nodes = 0;      ///< sum of SplitLimits::unit_nodes
  uint64_t bytes = 0;      ///< sum of SplitLimits::unit_bytes
  uint64_t tensors = 0;    ///< that it reads from outside plus those it gives away
  bool connected = false;  ///< one piece, seen along tensors between its own units

  bool any() const { return nodes || bytes || tensors || connected; }
};

/// Limits of a problem, and what has to be known of its units beyond the problem to keep them.
struct SplitLimits {
  std::vector<PartLimits> part;        ///< by device
  std::vector<uint32_t> group;         ///< by device: number of its group (a plugin's devices)
  std::vector<uint32_t> group_parts;   ///< by group: most parts on its devices together; 0 = no limit
  uint32_t parts = 0;                  ///< most parts of all; 0 = no limit
  std::vector<uint32_t> unit_nodes;    ///< by unit
  std::vector<uint64_t> unit_bytes;    ///< by unit
  std::vector<uint64_t> not_first;     ///< by unit: bit d = on d it may read nothing from outside its part
  std::vector<uint64_t> not_last;      ///< by unit: bit d = on d nothing it makes may leave its part
  std::vector<uint32_t> first_input;   ///< by unit, one more at the end: entries of `inputs`
  std::vector<uint32_t> inputs;        ///< model inputs read by the unit, each once
  std::vector<uint8_t> is_output;      ///< by tensor: a model output as well
  std::vector<uint32_t> lone_outputs;  ///< by unit: model outputs that no unit reads

  /// False when a plain split() is all that is wanted.
  bool any() const;
  /// True when the arrays fit the problem and each other.
  bool well_formed(const SplitProblem& problem) const;
};

enum class LimitKind : uint8_t {
  None,
  Nodes, Bytes, Tensors,  ///< the unit alone is too much for one part
  Parts,                  ///< its part was one of the least of too many
  First, Last,            ///< its part would have begun or ended with it
};

/// A device lost by a unit to a limit.
struct Loss {
  uint32_t unit = 0, device = 0;
  LimitKind kind = LimitKind::None;
};

/// Why there is no plan.
struct LimitConflict {
  enum class Kind { UnitTooBig, FirstOrLast, GroupParts, Parts } kind = Kind::Parts;
  uint32_t device = 0;          ///< of UnitTooBig, FirstOrLast; any device of the group of GroupParts
  LimitKind limit = LimitKind::None;
  std::vector<uint32_t> units;  ///< no smaller set of units with these allow sets needs as many parts; UnitTooBig, FirstOrLast: the one
  uint32_t least = 0;           ///< parts that the set needs, proven
  uint32_t found = 0;           ///< parts of the best plan found
};

struct LimitedSplit {
  Split split;               ///< neighbours may share a device where a part was closed for want of room
  std::vector<Loss> losses;  ///< in order
  std::optional<LimitConflict> conflict;  ///< then split is no answer
};

/// split(), kept within limits: a part that is too much for its device is closed and another opened on the same device, each
/// connected where that is wanted; a unit that a part may not begin or end with leaves the device (or, where it cannot, its
/// neighbours follow it there); of too many parts those with the fewest nodes leave for other devices, and all is split again,
/// until nothing is over its limit. What remains over is a conflict with a set of units that is minimal: found by deletion
/// filtering, it needs too many parts, and without any one of them it would not. `parts` is proven impossible or merely not
/// found: see LimitConflict::units (empty = not proven). Deterministic. Requires problem.well_formed().
LimitedSplit split_within(const SplitProblem& problem, const SplitLimits& limits);

}  // namespace optima
