// SPDX-License-Identifier: Apache-2.0
// core/runtime: what is fixed for every run of a model: where each tensor lives, who reads it, in which order. Private to the room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/loader/registry.hpp"
#include "core/package/reader.hpp"
#include "core/support/blob.hpp"
#include "core/support/most_dims.hpp"

namespace optima {

/// A tensor of the package that subgraphs read or write.
struct Slot {
  enum class Home { Input, Output, Arena, Dynamic };  ///< user's or request's buffer, arena offset, buffer sized while running
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;  ///< as it lies: its door's, where it has one
  std::vector<int64_t> shape;        ///< likewise; -1 = dynamic; package and bindings merged
  std::vector<std::string> symbols;  ///< per dim
  bool unranked = false;
  const PackageTensor* through = nullptr;  ///< the package's, where it goes through another door than the usual one
  Home home = Home::Dynamic;
  bool is_static = false;
  uint64_t size = 0;         ///< bytes by shape; 0 unless static
  uint64_t needed = 0;       ///< bytes the buffer must have, at least size
  uint64_t alignment = 1;    ///< of a caller's memory, strictest of its bindings
  uint64_t own_alignment() const { return std::max<uint64_t>(64, alignment); }  ///< of memory that the host makes
  uint64_t offset = 0;       ///< in the arena
  uint32_t first = 0, last = 0;  ///< steps it is alive
  uint32_t lives_in = OPTIMA_NONE;  ///< slot that it shares its storage with: that of the output that replaces it; both static
  uint32_t adopts = OPTIMA_NONE;    ///< slot whose buffer it takes over where that is the request's own
  bool is_adopted = false;          ///< some slot takes this one's buffer over
};

/// An output that lives in the buffer of an input, where that is to be seen to in each run.
struct Alias {
  uint32_t input = 0, output = 0;  ///< positions among the step's
  bool is_last = false;            ///< nobody reads the input's value afterwards
};

struct FlowStep;

/// A subgraph that a plugin runs, or one node that the host drives.
struct Step {
  std::vector<uint32_t> inputs, outputs;  ///< slots in binding order; of a driven node: those that it writes
  std::vector<Alias> aliases;             ///< but for those that the plan made one storage
  bool has_dynamic_output = false;
  uint32_t subgraph = 0;                  ///< position in the variant
  std::unique_ptr<FlowStep> flow;         ///< null: a plugin runs it
};

/// Where a model output, or an input of a node that the host drives, comes from.
struct OutputSource {
  uint32_t slot = OPTIMA_NONE;  ///< OPTIMA_NONE: the constant
  bool is_alias = false;        ///< the slot is a model input, or an earlier output's: bound buffers get a copy
  Blob constant;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;   ///< of the constant
};

/// How one graph runs: the main graph, or a body.
struct RunPlan {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<uint32_t> inputs;        ///< slot per model input
  std::vector<OutputSource> outputs;   ///< per model output
  bool keep_cuts = false;
  uint64_t arena_bytes = 0, arena_alignment = 64;
  uint64_t arena_sum = 0;              ///< what the arena's tensors would take side by side
};

/// A body of a node that the host drives.
struct FlowBodyPlan {
  std::vector<uint32_t> captures;  ///< slots around it, one for each of the body's last inputs
  RunPlan plan;
};

/// A node that the host drives.
struct FlowStep {
  std::string name;
  FlowSignature signature;
  std::vector<OutputSource> inputs;    ///< one without slot and type: nothing
  std::vector<uint32_t> outputs;       ///< slots; OPTIMA_NONE when nobody reads it
  std::vector<FlowScan> scan_inputs, scan_outputs;
  std::vector<FlowBodyPlan> bodies;    ///< in the order of body_names()
};

/// Joins what the package says with what the programs say; `programs` by position in the variant, null where the host drives.
/// InvalidInput or Plugin error where they contradict each other.
/// `keep_cuts`: no two arena tensors share bytes.
Result<RunPlan> plan_run(const PackageReader& package, const PackageVariant& variant, std::span<LoadedProgram* const> programs, bool keep_cuts);

}  // namespace optima
