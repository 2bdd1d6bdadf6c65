// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/codes: the tools' two tables for a module: the range of each location, and who computes in floats. Knows no ONNX.
#pragma once

#include <map>
#include <set>
#include <string>

#include "plugins/bmcompiler/top/module.hpp"
#include "ranges.hpp"

namespace bmcompiler_plugin {

struct Tables {
  std::string calibration;   ///< "location threshold min max"
  std::string precisions;    ///< "location mode"; empty = all compute on codes
  bool asymmetric = false;   ///< some range is not plain: the tools take min and max, not the threshold
  bool any_codes = false;
  std::map<std::string, size_t> floats;  ///< by operator of the dialect: how many compute in floats, but for those that only move
};

/// The table of operators (by location) that alone compute in F32, where all else computes in `float_mode`; empty where there is none, or the mode
/// is F32.
std::string f32_table(const std::set<std::string>& in_f32, const std::string& float_mode);

/// An operator computes on codes when all that it reads and writes, weights aside, has a range; else in `float_mode` (F32, F16, BF16), those of
/// `in_f32` in F32. Values without a range get it from what only moves them, and what a Relu alone reads from the Relu, that the tools make one
/// with who wrote it.
Tables tables_of(const top::Module& module, const std::map<std::string, Range>& ranges, const std::string& float_mode, const std::set<std::string>& in_f32 = {});

}  // namespace bmcompiler_plugin
