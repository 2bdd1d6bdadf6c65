// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: the statements of an expression, read from text. Knows no LLVM.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace optima::llvm_cpu {

/// Element types inside an expression.
enum class Scalar : uint8_t { F32, F64, F16, Bf16, I8, I16, I32, I64, U8, U16, U32, U64, Bool };

struct Statement {
  std::string name;                ///< "load", "store", "const", "cast" or an operation
  Scalar type = Scalar::F32;       ///< of load, const, cast
  int64_t arg = 0;                 ///< operand of load and store
  std::vector<int64_t> steps{};    ///< of load and store
  std::vector<uint32_t> values{};  ///< what it computes from
  std::string number{};            ///< of const
};

struct Expression {
  int64_t split = 0, chunk = 0;
  std::vector<int64_t> dims;
  std::vector<Statement> statements;
};

/// Throws sdk::Error(OPTIMA_INTERNAL) naming the statement that is wrong.
Expression read_expression(std::string_view text);

}  // namespace optima::llvm_cpu
