// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: the statements of an expression, read from text. Knows no LLVM.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "optima/abi.h"
#include "plugins/llvm_cpu/compiler/operation.hpp"

namespace optima::llvm_cpu {

/// A number of an expression: known, or the slot of the row that a general kernel reads in the run (compiler/general.hpp).
struct Size {
  int64_t value = 0;
  int32_t slot = -1;
  bool is(int64_t x) const { return slot < 0 && value == x; }
  bool operator==(const Size&) const = default;
};

struct Statement {
  std::string name;                ///< "load", "store", "const", "cast" or an operation's
  std::optional<Operation> operation{};
  int32_t type = OPTIMA_F32;       ///< element type of load, const, cast
  int64_t arg = 0;                 ///< operand of load and store
  std::vector<Size> steps{};       ///< of load and store
  std::vector<uint32_t> values{};  ///< what it computes from
  std::string number{};            ///< of const
};

struct Expression {
  Size split, chunk;
  bool strict = false;  ///< nothing is contracted
  std::vector<Size> dims;
  std::vector<Statement> statements;
};

/// `literals`: of the KernelSpec, which the text names $1, $2, ...; `slots`: those of them that are read in the run. Throws
/// sdk::Error(OPTIMA_INTERNAL) naming the statement that is wrong.
Expression read_expression(std::string_view text, const std::vector<int64_t>& literals = {}, const std::vector<uint32_t>& slots = {});

}  // namespace optima::llvm_cpu
