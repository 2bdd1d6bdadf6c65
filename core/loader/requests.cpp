// SPDX-License-Identifier: Apache-2.0
// core/loader: fills the in-structs of the seam.
#include "core/loader/requests.hpp"

namespace optima {

namespace {

uint32_t class_number(std::string_view name) {
  static constexpr std::string_view names[] = {"other", "cpu", "gpu", "npu", "tpu", "dsp"};
  for (uint32_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return i;
  return OPTIMA_CLASS_OTHER;
}

}  // namespace

LentGraph::LentGraph(BlobStore& store, const optima_graph& graph, std::span<const Blob> blobs) : raw_(seam::known(&graph)) {
  if (raw_.blob_count == 0) return;
  table_.reserve(raw_.blob_count);
  for (uint32_t k = 0; k < raw_.blob_count; ++k) table_.push_back(seam::known(optima_get_blob(&graph, k)));
  const bool kept = blobs.size() == table_.size();
  lease_.emplace(kept ? store.lend(blobs) : store.lend_views(table_));
  for (uint32_t k = 0; k < raw_.blob_count; ++k) {
    table_[k].id = lease_->id(k);
    if (!kept) table_[k].flags &= ~uint32_t{OPTIMA_BLOB_PERMANENT};
    else if (blobs[k].keeper) table_[k].flags |= OPTIMA_BLOB_PERMANENT;
  }
  raw_.blobs = table_.data();
}

RequestDevice::RequestDevice(const Manifest& manifest, const TargetDevice& target, std::optional<OwnedDevice> present) : kind_(target.kind) {
  if (present) device_ = std::move(*present);
  for (const auto& [name, value] : target.attributes) {
    TypedOption o;
    o.name = name;
    o.text = value;
    std::erase_if(device_.attributes, [&](const TypedOption& own) { return own.name == name; });
    device_.attributes.push_back(std::move(o));
  }
  attributes_.emplace(device_.attributes);
  const DeviceKind* kind = manifest.find_kind(kind_);
  raw_.struct_size = sizeof raw_;
  raw_.device_class = present ? device_.device_class : class_number(kind ? kind->device_class : "other");
  raw_.ordinal = target.slot;
  raw_.flags = device_.flags | (kind && kind->is_virtual ? uint32_t{OPTIMA_DEVICE_VIRTUAL} : 0);
  raw_.kind = seam::str(kind_);
  raw_.id = seam::str(device_.info.id);
  raw_.arch = seam::str(device_.info.arch);
  raw_.driver = seam::str(device_.info.driver);
  raw_.attrs = attributes_->data();
  raw_.attr_count = attributes_->size();
}

LentSizes::LentSizes(const SizeRanges& sizes) {
  for (const auto& [symbol, r] : sizes)
    ranges_.push_back({sizeof(optima_size_range), static_cast<uint32_t>(r.listed.size()), seam::str(symbol), r.min, r.max, r.step, r.opt, r.listed.empty() ? nullptr : r.listed.data()});
}

std::vector<Blob> LentArtifact::bytes_of(const Backend::Artifact& artifact) {
  std::vector<Blob> blobs;
  for (const auto* files : {&artifact.files, &artifact.weights})
    for (const ArtifactFile& f : *files) blobs.push_back(f.bytes);
  return blobs;
}

LentArtifact::LentArtifact(BlobStore& store, const Backend::Artifact& artifact, const optima_progress* progress) : lease_(store.lend(bytes_of(artifact))) {
  const size_t count = artifact.files.size() + artifact.weights.size();
  blobs_.reserve(count);
  names_.reserve(count);
  for (const auto* files : {&artifact.files, &artifact.weights})
    for (const ArtifactFile& f : *files) {
      blobs_.push_back(seam_blob(f.bytes, lease_.id(blobs_.size())));
      names_.push_back({sizeof(optima_named_blob), 0, seam::str(f.name), &blobs_.back()});
    }
  raw_.struct_size = sizeof raw_;
  raw_.format_id = seam::str(artifact.format_id);
  raw_.files = names_.data();
  raw_.weights = names_.data() + artifact.files.size();
  raw_.file_count = static_cast<uint32_t>(artifact.files.size());
  raw_.weight_count = static_cast<uint32_t>(artifact.weights.size());
  raw_.compat = artifact.compat_record.data();
  raw_.compat_size = artifact.compat_record.size();
  raw_.stem = seam::str(artifact.stem);
  raw_.progress = progress;
}

LentFile::LentFile(BlobStore& store, const ArtifactFile& file)
    : lease_(store.lend(std::vector<Blob>{file.bytes})), blob_(seam_blob(file.bytes, lease_.id(0))), raw_{sizeof raw_, 0, seam::str(file.name), &blob_} {}

}  // namespace optima
