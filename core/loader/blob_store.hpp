// SPDX-License-Identifier: Apache-2.0
// core/loader: names for the bytes that plugins see, so that a plugin can keep them (host table: blob_retain and friends).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/support/blob.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// A blob as the seam sees it: 64-byte alignment noted, id given by the caller.
optima_blob seam_blob(const Blob& blob, uint64_t id);

/// Thread-safe. Ids are never reused.
class BlobStore {
 public:
  /// What one call lends: consecutive ids, taken back at the end of the call; what the plugin retained lives on.
  class Lease {
   public:
    Lease(BlobStore& store, uint64_t first) : store_(&store), first_(first) {}
    Lease(Lease&& other) noexcept : store_(std::exchange(other.store_, nullptr)), first_(other.first_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    uint64_t id(size_t k) const { return first_ + k; }

   private:
    BlobStore* store_;
    uint64_t first_;
  };

  /// Blobs that can be retained.
  Lease lend(std::span<const Blob> blobs);
  /// Bytes without a keeper: they can be read and written to a path during the call, not retained.
  Lease lend_views(std::span<const optima_blob> views);

  /// OK, NOT_FOUND, or UNSUPPORTED for bytes that nobody keeps.
  int32_t retain(uint64_t id);
  /// False when the plugin did not hold it.
  bool release(uint64_t id);
  /// Absolute path of a file with exactly these bytes: the blob's own, or one made in `folder`. Lives until the release.
  Result<const std::string*> path(uint64_t id, const std::string& folder);

 private:
  struct Entry {
    Blob blob;
    uint64_t retained = 0;
    bool lent = true;
    std::string path;
    bool own_file = false;
  };
  using Group = std::vector<std::unique_ptr<Entry>>;
  Entry* find(uint64_t id);
  void drop_if_unused(uint64_t id);
  void take_back(uint64_t first);

  std::mutex mutex_;
  std::map<uint64_t, Group> groups_;  // by first id
  uint64_t next_ = 1;
};

}  // namespace optima
