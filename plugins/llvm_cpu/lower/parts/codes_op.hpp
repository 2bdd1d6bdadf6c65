// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: the step of a convolution or product of codes with packed weights: by AMX or dot products, in which tiles.
#pragma once

#include "plugins/llvm_cpu/compiler/lowering.hpp"
#include "plugins/llvm_cpu/kernels/codes_conv.hpp"

namespace optima::llvm_cpu {

/// Pixels of a tile of AMX, which cut rows of `row` pixels; 0 = other kernels do it: few pixels read weights as fast, and groups are narrow.
int64_t amx_rows(const Target& target, int64_t groups, int64_t row);

/// The kernel and its units. l: all but dot and tile; pack: all but its kind and blocks, which are filled in; `weights`: how many. Left to do:
/// args (those of k_codes_conv), work, label.
Op codes_op(k::CodesConv l, Pack& pack, int64_t weights, LowerContext& ctx);

/// Bytes from row to row of a product of M rows of K codes: nothing is read behind the caller's rows.
int64_t codes_row(const Target& target, int64_t M, int64_t K);
/// Rows of `size` bytes that are `padded` apart, perhaps with their top bits flipped: as they lie, or copied.
Operand rows_of_codes(const Operand& in, int64_t rows, int64_t size, int64_t padded, bool flip, LowerContext& ctx);

/// A matrix [K][M] of bytes as [M][K].
Operand transposed_codes(const Operand& in, int64_t M, int64_t K, LowerContext& ctx);

}  // namespace optima::llvm_cpu
