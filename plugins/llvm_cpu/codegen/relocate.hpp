// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: the relocations that kernels have, and the code that calls what another library has.
#pragma once

#include <cstdint>
#include <string>

namespace optima::llvm_cpu {

/// Whether a relocation is of a call or a jump, which may go to a stub.
bool is_call(uint16_t machine, uint32_t type);

/// Writes into the four bytes at `place`, which will lie at address `from`, what makes them mean `to` (symbol and addend). `machine` is EM_X86_64 or
/// EM_AARCH64. Empty, or why it is not done: a type that kernels do not have, or a distance that it does not reach.
std::string relocate(uint16_t machine, uint32_t type, char* place, uint64_t from, uint64_t to);

inline constexpr uint64_t kStubSize = 16;

/// Code of kStubSize bytes for address `at`: jumps to where the eight bytes at address `slot` say.
std::string stub(uint16_t machine, uint64_t at, uint64_t slot);

}  // namespace optima::llvm_cpu
