// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/codegen: from a kernel's object file to a shared object, in this process.
#pragma once

#include <string>
#include <string_view>

namespace optima::llvm_cpu {

/// Part of the key of cached kernels: changes whenever shared_object() writes other bytes.
inline constexpr const char* kSharedObjectVersion = "optima 1";

/// What `ld.lld -shared -s --hash-style=gnu -z now` makes of one object file of x86-64 or AArch64, for objects as kernels are: code and constants that
/// nothing writes to, and calls of functions that the loading process has. Exports its global symbols, has no DT_NEEDED, no memory that is both
/// written and run, no stack that runs, and function pointers that are read-only once it is loaded. Equal objects give equal bytes.
/// ELF specification (gABI), its supplements for x86-64 and AArch64; the hash table is GNU's (DT_GNU_HASH).
/// Throws sdk::Error(OPTIMA_INTERNAL) that says what it does not link: other relocations, sections that are written, thread-local symbols.
std::string shared_object(std::string_view object);

}  // namespace optima::llvm_cpu
