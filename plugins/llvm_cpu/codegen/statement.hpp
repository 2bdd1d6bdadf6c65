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

struct Statement {
  std::string name;                ///< "load", "store", "const", "cast" or an operation's
  std::optional<Operation> operation{};
  int32_t type = OPTIMA_F32;       ///< element type of load, const, cast
  int64_t arg = 0;                 ///< operand of load and store
  std::vector<int64_t> steps{};    ///< of load and store
  std::vector<uint32_t> values{};  ///< what it computes from
  std::string number{};            ///< of const
};

struct Expression {
  int64_t split = 0, chunk = 0;
  bool strict = false;  ///< nothing is contracted
  std::vector<int64_t> dims;
  std::vector<Statement> statements;
};

/// Throws sdk::Error(OPTIMA_INTERNAL) naming the statement that is wrong.
Expression read_expression(std::string_view text);

}  // namespace optima::llvm_cpu
