// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: what literals of kernel templates are made of. Plain C++: lowerings fill literals, templates read them.
//
// The literals of template `k_family` are a struct whose static `entry` is that name. Every field is an int64_t, an enum over it,
// a double, or a struct of these, so that nothing is padding and equal literals are equal bytes; a struct with padding does not
// compile (KernelSpec in compiler/op.hpp). No field has a default: one that a lowering forgets is an error there.
//
// SIZES. A kernel may be made for all sizes of some fields: these are read in the run instead of being constants. Which ones may be, the struct
// says by `static constexpr void sizes(auto& l, auto mark) { mark(l.N, l.in); }`; without it none. What shapes code stays a constant: channels
// and windows of convolutions, tiles, tails, modes, how memory lies. `hints`, declared likewise, are numbers of which any value gives the same
// bytes and which shape code all the same, as the width of a tile: the kernel keeps those it was made with (HINT in vec.hpp). The first `tile_hints` of them, one
// where the struct does not say, are its tile: where no kernel has the tile that a size wants, suits() in compiler/general.hpp says which does. `rests_in_one`: what
// remains of a row of tiles, of whatever length, is done in one piece (exactly() in powers.hpp), not in several.
#pragma once
#include <stdint.h>

namespace k {

/// Depth, height, width.
struct Three {
  int64_t d, h, w;
};

/// N numbers, outermost first.
template <int N>
struct List {
  int64_t at[N];
  constexpr int64_t operator[](int64_t i) const { return at[i]; }
};

}  // namespace k
