// SPDX-License-Identifier: Apache-2.0
// core/support: read-only bytes with a keeper. Weights and files travel as blobs; their bytes are never copied on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/support/sha256.hpp"
#include "core/support/status.hpp"

namespace optima {

/// Bytes that stay valid while any copy of the Blob lives: a range of a mapped file, or of a buffer. Copying is cheap.
/// Immutable, so any number of threads may share one. (shared_ptr: docs/decisions/0002-blobs-share-their-bytes.md)
struct Blob {
  const std::byte* data = nullptr;  ///< no alignment promised; null only when size is 0
  uint64_t size = 0;                ///< bytes
  int fd = -1;                      ///< file the bytes come from, owned by the keeper; -1 = none
  uint64_t file_offset = 0;         ///< of data in fd
  std::string path;                 ///< absolute path of that file; empty = none
  std::shared_ptr<const void> keeper;

  /// A blob over a 64-byte aligned copy of the bytes.
  static Blob copy(const void* data, uint64_t size);
  /// A blob that takes the vector over.
  static Blob own(std::vector<std::byte> bytes);
};

/// The hash of the bytes. Costs a pass over them each time: keep the answer.
Sha256 hash(const Blob& blob);

/// Maps a regular file read-only (size 0 gives an empty blob). Fails with InvalidInput when it is missing or no regular file.
Result<Blob> map_file(const std::string& path);

/// A range of another blob, same keeper. Requires offset + size <= blob.size.
Blob slice(const Blob& blob, uint64_t offset, uint64_t size);

}  // namespace optima
