// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: what the operations of an expression are in LLVM IR, on vectors.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "plugins/llvm_cpu/codegen/statement.hpp"

namespace optima::llvm_cpu {

/// A vector and what its elements mean. F16 and Bf16 are held as float, Bool as i1.
struct Typed {
  llvm::Value* value = nullptr;
  int32_t type = OPTIMA_F32;
};

bool is_float(int32_t type);
bool is_signed(int32_t type);
/// The element type in memory.
llvm::Type* memory_type(llvm::LLVMContext& context, int32_t type);

/// Emits operations where the builder stands.
class Operations {
 public:
  Operations(llvm::IRBuilder<>& builder, llvm::Module& module, unsigned lanes) : b_(builder), m_(module), lanes_(lanes) {}

  /// Throws sdk::Error(OPTIMA_INTERNAL) when the operation does not exist for the types.
  Typed apply(const Statement& statement, const std::vector<Typed>& all);
  Typed constant(int32_t type, const std::string& number);
  Typed cast(Typed from, int32_t to);
  /// Between the form in memory and the form in registers; any number of lanes.
  Typed from_memory(llvm::Value* loaded, int32_t type);
  llvm::Value* to_memory(Typed v);

 private:
  llvm::Type* held_type(int32_t type) const;
  llvm::Value* float_op(Operation o, const std::vector<llvm::Value*>& a);
  llvm::Value* integer_op(Operation o, const std::vector<llvm::Value*>& a, bool with_sign);
  llvm::Value* logic_op(Operation o, const std::vector<llvm::Value*>& a);
  llvm::Value* compare(Operation o, llvm::Value* x, llvm::Value* y, int32_t type);
  /// Powers of 64-bit integers and doubles: by a function that takes its vectors in memory, as none has such wide ones in registers.
  llvm::Value* power(llvm::Value* x, llvm::Value* y, int32_t type);
  llvm::Value* divide(llvm::Value* x, llvm::Value* y, bool with_sign, bool remainder);
  llvm::Value* quotient_of(llvm::Value* x, llvm::Value* y);
  llvm::Value* saturated(llvm::Value* x, int32_t to);
  llvm::Value* saturated_whole(llvm::Value* x, int32_t to);
  llvm::Value* call(Operation o, const std::vector<llvm::Value*>& a);

  llvm::IRBuilder<>& b_;
  llvm::Module& m_;
  unsigned lanes_;
};

}  // namespace optima::llvm_cpu
