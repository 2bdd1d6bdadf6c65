// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: the memory that the steps of a plan name, and where it lies.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/llvm_cpu/compiler/arena.hpp"
#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// A step as the planner keeps it.
using Step = std::shared_ptr<Op>;

struct Buffer {
  uint64_t bytes;
  enum { Arena, Input, Output } where;
  uint32_t number;  ///< of the input or output
  uint32_t value;   ///< that it was made for, or none
  Layout layout;    ///< in which it holds the value
};

struct Places {
  std::vector<uint64_t> offsets;  ///< in the arena, by buffer
  uint64_t arena_bytes = 0;
};
/// Of the buffers of the arena that steps name, from the first to the last that does; without sizes. `owners`: their numbers.
std::vector<Lifetime> lives_of(const std::vector<Buffer>& buffers, const std::vector<Step>& steps, std::vector<uint32_t>& owners);
/// Gives them sizes and places.
Places place(const std::vector<Buffer>& buffers, std::vector<Lifetime>& lives, const std::vector<uint32_t>& owners);

/// Whether a value may lie so, by its type and rank: passages and kernels of a layout have elements of its sizes. Blocked: rank 3 to 5, f32. Last: rank 3 to 5,
/// elements of 1, 2 or 4 bytes. Narrow: 16-bit floats.
bool may_lie(const GraphView& graph, uint32_t value, Layout layout);
/// Bytes of a value in a layout.
uint64_t bytes_of(const GraphView& graph, uint32_t value, Layout layout, const Target& target);

}  // namespace optima::llvm_cpu
