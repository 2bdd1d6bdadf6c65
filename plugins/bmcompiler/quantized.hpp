// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: a graph of codes as the tools want it: in floats, with tables that say the codes.
#pragma once

#include <memory>

#include "toolchain/stages.hpp"
#include "top/lower.hpp"

namespace bmcompiler_plugin {

/// Of a graph that holds codes (QuantizeLinear, DequantizeLinear): the same in floats, and its tables.
class Quantized {
 public:
  virtual ~Quantized() = default;
  /// Graph 0 without its pairs; lives as long as this.
  virtual sdk::Graph floats() const = 0;
  /// Writes the tables for `made`, which was lowered from floats(), into job.calibration, job.precisions (files in `folder`), job.mode and
  /// job.asymmetric. Answers which operators stay in floats, for people; empty = none. Throws UNSUPPORTED for codes that the chip has no form for.
  virtual std::string describe(const top::Lowered& made, const std::string& folder, Job& job) const = 0;
};

/// Null where the graph holds no codes. Refers to `graph`, which must outlive it.
std::unique_ptr<Quantized> quantized_of(const sdk::Graph& graph, const Chip& chip);
/// Operators of integers compute in F32 where the job's mode has fewer bits, F32 is the chip's: their table, beside the module.
void keep_integers(const top::Lowered& made, const Chip& chip, const std::string& folder, Job& job);

/// What computes in F32 where the mode of `job` has fewer bits and the chip has it: operators of integers, in BF16 exponentials too. Their table,
/// in job.precisions.
void keep_in_f32(const top::Lowered& made, const Chip& chip, const std::string& folder, Job& job);
/// Empty, or why nodes of codes are refused on this chip: the form of their codes, an operator that it computes in floats alone.
std::string cannot_quantize(const sdk::Node& node, const Chip& chip);

}  // namespace bmcompiler_plugin
