// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: what the operations of an expression are in LLVM IR, on vectors.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "plugins/llvm_cpu/codegen/statement.hpp"

namespace optima::llvm_cpu {

/// A vector and what its elements mean. F16 and Bf16 are held as float, Bool as i1.
struct Typed {
  llvm::Value* value = nullptr;
  Scalar type = Scalar::F32;
};

bool is_float(Scalar type);
bool is_signed(Scalar type);
/// The element type in memory.
llvm::Type* memory_type(llvm::LLVMContext& context, Scalar type);

/// Emits operations where the builder stands.
class Operations {
 public:
  Operations(llvm::IRBuilder<>& builder, llvm::Module& module, unsigned lanes) : b_(builder), m_(module), lanes_(lanes) {}

  /// Throws sdk::Error(OPTIMA_INTERNAL) when the operation does not exist for the types.
  Typed apply(const Statement& statement, const std::vector<Typed>& all);
  Typed constant(Scalar type, const std::string& number);
  Typed cast(Typed from, Scalar to);
  /// Between the form in memory and the form in registers; any number of lanes.
  Typed from_memory(llvm::Value* loaded, Scalar type);
  llvm::Value* to_memory(Typed v);

 private:
  llvm::Type* held_type(Scalar type) const;
  llvm::Value* float_op(const std::string& name, const std::vector<llvm::Value*>& a);
  llvm::Value* integer_op(const std::string& name, const std::vector<llvm::Value*>& a, bool with_sign);
  llvm::Value* logic_op(const std::string& name, const std::vector<llvm::Value*>& a);
  llvm::Value* compare(const std::string& name, llvm::Value* x, llvm::Value* y, Scalar type);
  /// Powers of 64-bit integers and doubles: by a function that takes its vectors in memory, as none has such wide ones in registers.
  llvm::Value* power(llvm::Value* x, llvm::Value* y, Scalar type);
  llvm::Value* divide(llvm::Value* x, llvm::Value* y, bool with_sign, bool remainder);
  llvm::Value* call(const std::string& name, const std::vector<llvm::Value*>& a);

  llvm::IRBuilder<>& b_;
  llvm::Module& m_;
  unsigned lanes_;
};

}  // namespace optima::llvm_cpu
