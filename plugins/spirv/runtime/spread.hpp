// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: memory that a plan lays out as one piece, in as many buffers as a GPU makes of it.
#pragma once

#include "gpu.hpp"

namespace spirv_plugin {

/// What lies at an offset and must lie in one buffer.
struct Region {
  uint64_t offset, bytes;
};

/// Buffers that hold regions of one space of offsets, none of them in two.
class Spread {
 public:
  /// A place in one of the buffers.
  struct Place {
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t offset = 0;
    char* data = nullptr;  ///< null where the processor does not see it
  };
  Spread() = default;
  /// Of `bytes`, each buffer as large as it may be: `most` bytes. Throws MEMORY with the numbers, also where regions that overlap or touch reach further.
  Spread(const std::shared_ptr<Gpu>& gpu, Buffer::Where where, uint64_t bytes, std::vector<Region> regions, uint64_t most, const std::string& what);
  /// Of the region that begins at `offset`.
  Place at(uint64_t offset) const;
  /// Whether the processor sees it; false of none.
  bool is_seen() const { return !pieces_.empty() && pieces_[0].buffer.data(); }
  size_t count() const { return pieces_.size(); }
  /// The buffers in order: where each begins, and how many bytes it has.
  std::vector<Region> pieces() const;

 private:
  struct Piece {
    uint64_t begin;
    Buffer buffer;
  };
  std::vector<Piece> pieces_;
};

/// Where buffers of at most `most` bytes begin that hold regions so, the first at 0; nothing where some regions have to lie in a longer one. An end in
/// `bytes`.
std::optional<std::vector<uint64_t>> cuts_of(uint64_t bytes, std::vector<Region> regions, uint64_t most);

}  // namespace spirv_plugin
