// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/plan: constants as the kernels read them. The compiler half asks for sizes, the runtime half packs at load.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/llvm_cpu/compiler/op.hpp"

namespace optima::llvm_cpu {

/// Bytes of the packed form; source_bytes for Pack::None. Requires a sane pack (check_pack).
uint64_t packed_bytes(const Pack& pack, uint64_t source_bytes);

/// Throws sdk::Error(OPTIMA_CORRUPT) unless every element that pack reads lies in source_bytes (scale_bytes; UINT64_MAX =
/// there is no scale) and the packed form has exactly `bytes`.
void check_pack(const Pack& pack, uint64_t source_bytes, uint64_t scale_bytes, uint64_t bytes);

/// Equal for equal packs, and for no others.
std::string key_of(const Pack& pack);

/// Work that pack_part can be split into.
int64_t pack_parts(const Pack& pack);

/// Writes part p of [0, pack_parts) of the packed form to `to` (the start of the whole). `from` may be unaligned. scale null or
/// one factor per output channel over all groups. Any thread; parts touch different bytes.
void pack_part(const Pack& pack, int64_t p, const void* from, uint64_t source_bytes, const float* scale, void* to);

}  // namespace optima::llvm_cpu
