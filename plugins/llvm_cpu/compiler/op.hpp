// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: what a lowering hands to the planner. Knows no LLVM and no runtime; plain data, compared by content.
//
// A kernel template is an extern "C" always_inline function `k_<family>` in kernels/*.hpp:
//   void k_family(const Family& literals, void* const* args, int64_t u0, int64_t u1, char* scratch)
// Code generation makes the literals of a KernelSpec its first argument. What remains is the signature that every compiled
// kernel has. args = operand pointers in the order of Op::args; [u0, u1) = the pieces of work to do (Cutting), any split
// over threads must give the same bytes; scratch = Op::scratch_per_thread bytes, 64-byte aligned, not cleared,
// shared by nobody else during the call. The 64 bytes before scratch are a header of uint64_t words: [0] names this step of this inference (set before
// every call, never 0), [1] belongs to the kernels of the thread: a kernel that prepares something in scratch for its later calls of the same step stores [0]
// there and finds it again. One that meets an index outside of its dim sets [2], 0 before every call, to 1, [3] to the index and [4] to the dim: the run fails.
//
// A kernel stays inside plain buffers: the caller's tensors have nothing behind them. Behind computed constants, blocked
// buffers and temporaries lies at least one readable vector.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/kernels/parts/literals.hpp"

namespace optima::llvm_cpu {

/// How a value lies in memory. Plain: row-major as ONNX counts. Blocked: rank 3 to 5 only, [N][ceil(C / VL)][spatial...][VL]
/// with VL = Target::vector_width; lanes past the last channel hold anything, NaN included. Last: rank 3 to 5, channels last,
/// [N][spatial...][LowerContext::pixel()]; elements past the last channel hold anything; 8-bit codes as as_last() has them.
/// Narrow: 16-bit floats only, plain, in the graph's own type, as callers have them and products of bf16 read them; in the other layouts they are f32.
enum class Layout : uint8_t { Plain, Blocked, Last, Narrow };

/// The words of a template's literals. Does not compile for a struct with padding.
template <class Literals>
constexpr auto words_of(const Literals& literals) {
  return std::bit_cast<std::array<int64_t, sizeof(Literals) / sizeof(int64_t)>>(literals);
}

/// What a template says of its literals: indices of words, sorted.
struct SizeWords {
  std::vector<uint32_t> sizes;  ///< may be slots
  std::vector<uint32_t> hints;  ///< of these, those that change speed alone: a general kernel keeps the number it was made with, too
  size_t tile = 1;              ///< how many of the hints, from the first, are the tile: pixels or rows, then vectors of columns
  bool rests_in_one = false;    ///< fewer pixels or rows than the tile has are done in one piece, however many
};
/// Marks fields of literals: literals.hpp says how a struct declares them.
struct SizeMarker {
  template <class... Fields>
  constexpr void operator()(Fields&... fields) const {
    (mark(fields), ...);
  }

 private:
  static constexpr void mark(int64_t& field) { field = 1; }
  static constexpr void mark(k::Three& field) { field = {1, 1, 1}; }
  template <int N>
  static constexpr void mark(k::List<N>& field) {
    for (int64_t& at : field.at) at = 1;
  }
};
template <class Literals>
const SizeWords& size_words() {
  static const SizeWords all = [] {
    SizeWords out;
    Literals sizes{}, hints{};
    if constexpr (requires { Literals::sizes(sizes, SizeMarker()); }) Literals::sizes(sizes, SizeMarker());
    if constexpr (requires { Literals::hints(hints, SizeMarker()); }) Literals::hints(hints, SizeMarker());
    if constexpr (requires { Literals::tile_hints; }) out.tile = Literals::tile_hints;
    if constexpr (requires { Literals::rests_in_one; }) out.rests_in_one = Literals::rests_in_one;
    const auto unmarked = words_of(Literals{}), of_sizes = words_of(sizes), of_hints = words_of(hints);
    for (uint32_t i = 0; i < of_sizes.size(); ++i) {
      if (of_sizes[i] != unmarked[i] || of_hints[i] != unmarked[i]) out.sizes.push_back(i);
      if (of_hints[i] != unmarked[i]) out.hints.push_back(i);
    }
    return out;
  }();
  return all;
}

/// One kernel, by content: equal specs give one .so file. Lowerings make specs without slots; general.hpp makes general ones of these.
struct KernelSpec {
  std::string entry;              ///< "k_conv"
  /// The bytes of the template's struct of literals; of element-wise chains also the numbers that the expression names $1, $2, ..., all of them sizes.
  std::vector<int64_t> literals;
  std::string expression{};       ///< of element-wise chains (define_expression in codegen/expression.hpp); else empty
  /// LLVM's name of the extension of a matrix unit that it runs on, which a machine may hide and a process has to ask for; empty = none.
  std::string_view matrix{};
  bool has_tile = false;          ///< its speed hangs on accumulators in registers: the family retries with LowerContext::is_bad
  /// Sorted indices of literals that are read in the run: the kernel finds a row of int64, one per slot in this order, by the pointer args[-1].
  std::vector<uint32_t> slots{};
  const SizeWords* words = nullptr;  ///< what the template declares; null = nothing

  KernelSpec() = default;
  /// Literals: a struct of kernels/*.hpp (see kernels/parts/literals.hpp).
  template <class Literals>
    requires requires { Literals::entry; }
  KernelSpec(const Literals& of, std::string text = {}) : entry(Literals::entry), expression(std::move(text)) {
    [[maybe_unused]] constexpr auto no_padding = words_of(Literals{});
    const auto own = words_of(of);
    literals.assign(own.begin(), own.end());
    has_tile = requires { Literals::has_tile; };
    this->words = &size_words<Literals>();
    if constexpr (requires { Literals::matrix; }) matrix = Literals::matrix(of);
  }
  /// By what it computes: the other fields follow from these.
  bool operator==(const KernelSpec& o) const { return entry == o.entry && literals == o.literals && expression == o.expression && slots == o.slots; }
};

/// How a constant is rearranged when the artifact is loaded (in parallel, into huge pages). The source is floats of one of three types, that of
/// Codes and CodePairs signed bytes.
struct Pack {
  enum Kind : uint8_t {
    None,       ///< as they are
    Dense,      ///< per group [oc group][ic block][kd][kh][ic in block][kw][oc_blocks][VL], short last group; pads with 0
    Winograd,   ///< per position of F(tile x tile, 3x3), oc_blocks as in Dense: U = G g G'
    Channels,   ///< [ceil(oc / VL)][kh * kw][VL]: depthwise weights; with kh = kw = 1 a padded bias
    Codes,      ///< of signed bytes: [oc group][kd][kh][quads][oc_blocks][VL][4], short last group: quads of a run [kw][in_block]; pads with 0
    CodePairs,  ///< the same for Dot::Pairs: [oc group][kd][kh][quads][bytes 0 and 2, bytes 1 and 3][oc_blocks][VL][2], 16 bits each
    Pairs,      ///< Dense, but bf16 and two inputs side by side: [oc group][kh][kw][ceil(ic / 2)][oc_blocks][VL][2]
  };
  enum Source : uint8_t { F32, F16, BF16 };
  Kind kind = None;
  Source source = F32;    ///< with None, 16-bit floats become f32; F32 then stands for any type that stays as it is
  int64_t vector_width = 1;
  int64_t oc_blocks = 1;  ///< OCB: blocks of VL outputs per group of rows
  int64_t in_block = 1;   ///< inputs per block: VL for blocked activations, 1 for planar ones; of codes the bytes of a tap, at least ic
  int64_t tile = 0;       ///< Winograd: 4 or 2; Codes: runs are filled up to a multiple of so many quads
  int64_t groups = 1;     ///< the whole is repeated; source step group_stride
  /// oc x ic is block-diagonal with so many blocks (merged groups), 0 outside them. o and i below then count inside a block,
  /// and diagonal_stride leads from block to block.
  int64_t diagonal = 1;
  int64_t oc = 1, ic = 1, kd = 1, kh = 1, kw = 1;
  /// Element (g, o, i, z, y, x) = source[offset + g*group_stride + o*oc_stride + i*ic_stride + z*kd_stride + y*kh_stride +
  /// x*kw_stride], times scale[g*oc + o] when the operand has a scale. Negative strides are fine.
  int64_t offset = 0, group_stride = 0, diagonal_stride = 0, oc_stride = 0, ic_stride = 0, kd_stride = 0, kh_stride = 0, kw_stride = 0;
  bool operator==(const Pack&) const = default;
};

/// What one pointer of `args` points to. Made by LowerContext only.
struct Operand {
  enum Kind : uint8_t {
    Null,       ///< a null pointer: an absent optional operand
    Buffer,     ///< index of a buffer (a value in one layout, or a temporary), from `offset` bytes on
    Weight,     ///< index of a constant of the graph (optima_image.constants), packed
    Bytes,      ///< index of a computed constant: bytes that the compiler made, packed
  };
  Kind kind = Null;
  uint32_t index = 0;
  uint64_t offset = 0;        ///< bytes
  bool written = false;       ///< the op writes through this pointer (and may read what it wrote)
  Pack pack{};
  uint32_t scale = UINT32_MAX;  ///< Bytes index of the float factors per output channel, or none
};

/// How a step is cut, and what it costs. Mostly its pieces are its units. A unit of several turns is a chain: each turn, of so many independent slices,
/// needs all of the turn before. Piece (unit * turns + turn) * slices + slice; one call may go over several turns and units, in order.
struct Cutting {
  int64_t units = 1;              ///< independent pieces of work, at least 1
  int64_t turns = 1, slices = 1;  ///< of each unit
  int64_t work = 0;               ///< rough cost of all units, in multiply-adds (compiler/work.hpp): small steps are not cut up
  int64_t grain = 1;              ///< fewest units that are worth a thread of their own, at least 1
  int64_t pieces() const { return units * turns * slices; }
};

/// One step of an inference: a kernel over its units. Steps run in order; the units of one step run on all threads.
struct Op : Cutting {
  KernelSpec kernel;
  std::vector<Operand> args;
  uint64_t scratch_per_thread = 0;  ///< bytes
  std::vector<uint32_t> node_ids{};  ///< nodes of the graph that this step computes; for profiles and errors
  std::string label{};               ///< for people: "conv 3x3 64->64 @56 winograd4"
};

}  // namespace optima::llvm_cpu
