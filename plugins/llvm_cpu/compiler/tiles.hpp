// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: register tiles and block sizes per CPU. Numbers are measured; docs/llvm_cpu.md says where.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// OCB blocks of VL outputs x WT pixels.
struct Tile {
  int64_t oc_blocks, width;
};

/// What a dense kernel needs to know of its layer to choose.
struct DenseWork {
  int64_t oc_blocks;   ///< blocks of VL output channels (of one group)
  int64_t row;         ///< pixels per row that tiles cut up (all pixels for 1x1)
  int64_t rows;        ///< such rows
};

/// The tile with the least estimated time among those the CPU's registers hold. Tiles in `bad` spilled, or have no kernel,
/// and are left out; where all are in it, the best of them is chosen. For many sizes the blocks are those that long rows want, whatever the row: weights
/// are packed by them. Of tiles those are taken then that leave registers for a weight of each block and an input, since nobody makes such a kernel again. By the
/// estimate that costs short rows a fiftieth, and layers of which the blocks leave a rest some more.
Tile choose_tile(const Target& target, const DenseWork& work, const std::function<bool(Tile)>& bad);

/// A row that nearly every width divides.
constexpr int64_t kLongRow = 5040;

/// Whether all tiles of a convolution have pixels of any rows and images (kernels/parts/spots.hpp): for many sizes, where rows are so short that most tiles would
/// be those of their ends; of few input channels (of one group) still shorter ones, for sums lie in memory between taps. A kernel of one size has a tile of its
/// row's very length.
bool pixels_apart(const Target& target, int64_t row, int64_t channels);

/// A row of output pixels and the window that a direct convolution reads along it.
struct RowWindow {
  int64_t out, in, kernel, stride, dilation, begin;
};
/// Output columns [from, to) of which tiles lie along rows; pixels of the others are put together from any rows.
struct Columns {
  int64_t from, to;
};
/// The row for which choose_tile() finds the width of those tiles: a kernel of many sizes, some columns of which may be apart, has one width for all.
int64_t tiled_row(const Target& target, int64_t row, int64_t channels);

/// The same for kernels on codes, which fetch a pixel into a register of its own.
Tile choose_codes_tile(const Target& target, const DenseWork& work, const std::function<bool(Tile)>& bad, bool adds_sums = false);

/// Pixels per register tile of a depthwise row.
int64_t depthwise_width(const Target& target, int64_t row);

/// The same of a convolution in narrow groups, which holds a row of taps besides.
int64_t grouped_width(const Target& target, int64_t row, int64_t taps);

/// Input channels per chunk such that a chunk's weights fit L1 beside the input; a multiple of `unit`.
int64_t input_chunk(const Target& target, int64_t inputs, int64_t taps, int64_t oc_blocks, int64_t unit);

/// Target::far_weights of a graph: its constants are larger than most last caches.
bool has_far_weights(const GraphView& graph);

/// Cache lines to prefetch per input channel and kernel row. passes: tiles that reuse one weight panel.
int64_t prefetch_lines(int64_t oc_blocks, int64_t kernel_width, int64_t vector_width, int64_t passes);

/// Output pixels over which all weights pass before the next ones, where caches do not hold the image, of which each pass but the first would read from memory
/// again what it no longer holds: L2 holds their input, `inputs` floats each, and they are so many that the weights' way from memory does not count.
int64_t block_pixels(int64_t inputs);

/// How a direct convolution's output is cut (kernels/conv.hpp).
struct RowCut {
  Columns tiled;
  int64_t piece;  ///< pixels of a row that are one unit by rows: the row, or whole tiles of one that is longer than a block
  int64_t block;  ///< pieces in a block; an image that caches hold is one
  bool by_rows;
  int64_t units;  ///< by rows
};
/// rows: of all images; channels: inputs of one group; inputs: floats that an output pixel brings along; blocked: the input is, as pixels of any rows want it.
RowCut cut_rows(const Target& target, const RowWindow& row, int64_t rows, int64_t channels, int64_t inputs, bool blocked, int64_t width);

/// Pixels to prefetch per input channel so that a tile finds its `step` new pixels per row and block fetched; 0 for an input of so few floats
/// that L2 holds it.
int64_t pixels_ahead(const Target& target, int64_t input, int64_t step);

}  // namespace optima::llvm_cpu
