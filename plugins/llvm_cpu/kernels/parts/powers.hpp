// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what general kernels do with the remainder of a size that is a number of the run.
#pragma once
#include "plugins/llvm_cpu/kernels/parts/vec.hpp"

namespace k {

/// What remains of a row, rest < most, in widths that are powers of two: an accumulator's number is a constant only where the width is.
/// f(how many before, width).
template <class F>
INL void powers(idx most, idx rest, F f) {
  idx at = 0;
  if (most > 16 && rest & 16) f(at, idx(16)), at += 16;
  if (most > 8 && rest & 8) f(at, idx(8)), at += 8;
  if (most > 4 && rest & 4) f(at, idx(4)), at += 4;
  if (most > 2 && rest & 2) f(at, idx(2)), at += 2;
  if (most > 1 && rest & 1) f(at, idx(1));
}

/// The same in one piece, f(width): a body for each width, for work whose small pieces wait for one another.
template <class F>
INL void exactly(idx most, idx rest, F f) {
  UNROLL for (idx width = 1; width < most; width++) if (rest == width) f(width);
}

}  // namespace k
