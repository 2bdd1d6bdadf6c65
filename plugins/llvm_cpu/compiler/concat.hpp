// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: concatenations along channels that cost nothing: the pieces are written where the whole will be.
#pragma once

#include <map>
#include <vector>

#include "plugins/llvm_cpu/compiler/group.hpp"

namespace optima::llvm_cpu {

/// A value that lies inside another value.
struct Piece {
  uint32_t whole;
  uint64_t offset;  ///< bytes
};

/// By value. A piece has a multiple of VL channels (the last one any number), batch 1, is made by one of the groups, and is
/// part of one whole; a whole may itself be a piece.
std::map<uint32_t, Piece> concats_in_place(const std::vector<Group>& groups, const GraphView& graph, const Target& target);

/// The same of codes with channels last, where `offset` leads to the piece in every pixel. A piece has a multiple of 16 channels (the last
/// one any number) and lies with the steps of the whole.
std::map<uint32_t, Piece> codes_in_place(const std::vector<Group>& groups, const GraphView& graph, const Target& target);

/// True when the pieces of a concatenation may lie inside it: concats_in_place() looks at no other.
bool joins_in_place(const NodeView& node, const Target& target);

/// True when the concatenation's blocked form can be put together from whole blocks.
bool joins_blocks(const NodeView& concat, const Target& target);

}  // namespace optima::llvm_cpu
