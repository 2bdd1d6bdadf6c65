// SPDX-License-Identifier: Apache-2.0
// core/loader: the structs handed in with a call, with everything they point to. Each lives for one call.
#pragma once

#include <optional>
#include <span>

#include "core/loader/blob_store.hpp"
#include "core/loader/instance.hpp"
#include "core/sizes/sizes.hpp"

namespace optima {

/// A graph whose blobs carry ids of the store, so that blob_retain and blob_path know them.
class LentGraph {
 public:
  /// `blobs` empty: the graph's own pointers, which cannot be retained.
  LentGraph(BlobStore& store, const optima_graph& graph, std::span<const Blob> blobs);
  const optima_graph* raw() const { return &raw_; }

 private:
  std::vector<optima_blob> table_;
  std::optional<BlobStore::Lease> lease_;
  optima_graph raw_;
};

/// The device of a request: what the plugin reported of that slot, if anything, then the config's target options (as STR).
class RequestDevice {
 public:
  RequestDevice(const Manifest& manifest, const TargetDevice& target, std::optional<OwnedDevice> present);
  const optima_device* raw() const { return &raw_; }

 private:
  std::string kind_;
  OwnedDevice device_;
  std::optional<OptionList> attributes_;
  optima_device raw_{};
};

/// What the user said of open sizes, for one call. Points into `sizes`.
class LentSizes {
 public:
  explicit LentSizes(const SizeRanges& sizes);
  const optima_size_range* data() const { return ranges_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(ranges_.size()); }

 private:
  std::vector<optima_size_range> ranges_;
};

/// An artifact with its blobs lent. `progress` of a load, null for check_artifact; it must outlive this.
class LentArtifact {
 public:
  LentArtifact(BlobStore& store, const Backend::Artifact& artifact, const optima_progress* progress);
  const optima_artifact* raw() const { return &raw_; }

 private:
  static std::vector<Blob> bytes_of(const Backend::Artifact& artifact);
  BlobStore::Lease lease_;
  std::vector<optima_blob> blobs_;
  std::vector<optima_named_blob> names_;
  optima_artifact raw_{};
};

/// A describe request with its file lent.
class LentFile {
 public:
  LentFile(BlobStore& store, const ArtifactFile& file);
  const optima_describe_request* raw() const { return &raw_; }

 private:
  BlobStore::Lease lease_;
  optima_blob blob_;
  optima_describe_request raw_;
};

}  // namespace optima
