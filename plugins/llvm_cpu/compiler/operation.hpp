// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: the operations of element-wise kernels: one list for the lowerings that write expressions
// (codegen/expression.hpp) and the code generation that reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace optima::llvm_cpu {

/// One of kOperations, written "add"_op: another name does not compile.
enum class Operation : uint8_t {};

/// Those that codegen/operation.cpp does not know are functions e_NAME of kernels/functions.hpp.
constexpr std::string_view kOperations[] = {
    "neg", "abs", "sign", "sqrt", "floor", "ceil", "round", "not", "isnan", "exp", "expm1", "log", "sigmoid", "tanh", "erf", "softplus", "gelu",
    "gelu_tanh", "mish", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
    "add", "sub", "mul", "div", "rem", "mod", "pow", "max", "min",
    "atleast", "atmost",  // max and min with a limit, the first operand: the second one when either is NaN
    "and", "or", "xor", "shl", "shr", "eq", "lt", "le", "gt", "ge",
    "where", "fma"};  // fma: a * b + c, rounded once

constexpr std::optional<Operation> find_operation(std::string_view name) {
  const auto at = std::find(std::begin(kOperations), std::end(kOperations), name);
  return at == std::end(kOperations) ? std::nullopt : std::optional(static_cast<Operation>(at - std::begin(kOperations)));
}
consteval Operation operator""_op(const char* name, size_t size) { return find_operation({name, size}).value(); }
constexpr std::string_view to_text(Operation operation) { return kOperations[static_cast<size_t>(operation)]; }

constexpr bool compares(Operation o) { return o == "eq"_op || o == "lt"_op || o == "le"_op || o == "gt"_op || o == "ge"_op || o == "isnan"_op; }

}  // namespace optima::llvm_cpu
