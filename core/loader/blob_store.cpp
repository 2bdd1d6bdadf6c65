// SPDX-License-Identifier: Apache-2.0
// core/loader: the table of lent and retained blobs.
#include "core/loader/blob_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima {

optima_blob seam_blob(const Blob& blob, uint64_t id) {
  optima_blob b{};
  b.struct_size = sizeof b;
  b.flags = reinterpret_cast<uintptr_t>(blob.data) % 64 == 0 ? uint32_t{OPTIMA_BLOB_ALIGNED64} : 0;
  if (blob.keeper) b.flags |= OPTIMA_BLOB_PERMANENT;
  b.data = blob.data;
  b.size = blob.size;
  b.file_offset = blob.file_offset;
  b.fd = blob.fd;
  b.id = id;
  return b;
}

BlobStore::Lease::~Lease() {
  if (store_) store_->take_back(first_);
}

BlobStore::Lease BlobStore::lend(std::span<const Blob> blobs) {
  Group group;
  for (const Blob& blob : blobs) {
    group.push_back(std::make_unique<Entry>());
    group.back()->blob = blob;
  }
  const std::lock_guard lock(mutex_);
  const uint64_t first = next_;
  next_ += std::max<uint64_t>(1, group.size());
  groups_.emplace(first, std::move(group));
  return Lease(*this, first);
}

BlobStore::Lease BlobStore::lend_views(std::span<const optima_blob> views) {
  std::vector<Blob> blobs;
  for (const optima_blob& v : views) {
    Blob blob;
    blob.data = static_cast<const std::byte*>(v.data);
    blob.size = v.size;
    blobs.push_back(std::move(blob));
  }
  return lend(blobs);
}

BlobStore::Entry* BlobStore::find(uint64_t id) {
  auto it = groups_.upper_bound(id);
  if (it == groups_.begin()) return nullptr;
  --it;
  const uint64_t k = id - it->first;
  return k < it->second.size() ? it->second[k].get() : nullptr;
}

int32_t BlobStore::retain(uint64_t id) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(id);
  if (!entry) return OPTIMA_NOT_FOUND;
  if (!entry->blob.keeper && entry->blob.size > 0) return OPTIMA_UNSUPPORTED;
  ++entry->retained;
  return OPTIMA_OK;
}

bool BlobStore::release(uint64_t id) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(id);
  if (!entry || entry->retained == 0) return false;
  --entry->retained;
  drop_if_unused(id);
  return true;
}

void BlobStore::take_back(uint64_t first) {
  const std::lock_guard lock(mutex_);
  const auto it = groups_.find(first);
  if (it == groups_.end()) return;
  const size_t count = it->second.size();
  if (count == 0) groups_.erase(it);
  for (size_t k = 0; k < count; ++k)
    if (Entry* entry = find(first + k)) {
      entry->lent = false;
      drop_if_unused(first + k);
    }
}

void BlobStore::drop_if_unused(uint64_t id) {
  const auto it = std::prev(groups_.upper_bound(id));
  std::unique_ptr<Entry>& entry = it->second[id - it->first];
  if (!entry || entry->lent || entry->retained != 0) return;
  if (entry->own_file) unlink(entry->path.c_str());
  entry.reset();
  if (std::all_of(it->second.begin(), it->second.end(), [](const auto& e) { return !e; })) groups_.erase(it);
}

Result<const std::string*> BlobStore::path(uint64_t id, const std::string& folder) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(id);
  if (!entry) return internal_error(cat("blob ", id, " is not known"));
  if (!entry->path.empty()) return &entry->path;
  const Blob& blob = entry->blob;
  struct stat s{};
  if (!blob.path.empty() && blob.file_offset == 0 && stat(blob.path.c_str(), &s) == 0 && static_cast<uint64_t>(s.st_size) == blob.size) {
    entry->path = blob.path;
    return &entry->path;
  }
  if (!blob.data && blob.size > 0) return io_error(cat("blob ", id, " has no bytes here"));
  const std::string made = cat(folder, "/blob_", id);
  OPTIMA_RETURN_IF_ERROR(write_file(made, {reinterpret_cast<const char*>(blob.data), blob.size}));
  entry->path = made;
  entry->own_file = true;
  return &entry->path;
}

}  // namespace optima
