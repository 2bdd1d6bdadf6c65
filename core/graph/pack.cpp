// SPDX-License-Identifier: Apache-2.0
// core/graph: the seam's view of a graph: image bytes, blob table, hash.
#include <cstring>

#include "core/graph/graph.hpp"
#include "core/support/sha256.hpp"

namespace optima {
namespace {

optima_blob seam_blob(const Blob& blob, uint64_t id) {
  optima_blob out{};
  out.struct_size = sizeof out;
  out.data = blob.data;
  out.size = blob.size;
  out.fd = blob.fd;
  out.file_offset = blob.file_offset;
  out.id = id;
  if (reinterpret_cast<uintptr_t>(blob.data) % 64 == 0) out.flags |= OPTIMA_BLOB_ALIGNED64;
  if (blob.fd >= 0) out.flags |= OPTIMA_BLOB_PERMANENT;
  return out;
}

// The ABI pair of the writer is left out: the same graph keeps its hash when the seam's minor moves.
void hash_image(PackedGraph& packed) {
  optima_image header = *packed.bytes.image();
  header.abi_major = header.abi_minor = 0;
  Sha256Hasher hasher;
  hasher.update(&header, sizeof header);
  hasher.update(packed.bytes.data() + sizeof header, packed.bytes.size() - sizeof header);
  for (const optima_blob& b : packed.blobs) hasher.update(b.sha256, sizeof b.sha256);
  const Sha256 sum = hasher.finish();
  std::memcpy(packed.raw.sha256, sum.data(), sum.size());
  packed.raw.flags |= OPTIMA_GRAPH_SHA256;
}

}  // namespace

PackedGraph pack(const Graph& graph, bool hashed, uint64_t first_blob_id) {
  PackedGraph packed{image::pack(graph.contents), {}, {}};
  packed.blobs.reserve(graph.blobs.size());
  for (const Blob& b : graph.blobs) packed.blobs.push_back(seam_blob(b, first_blob_id + packed.blobs.size()));
  packed.raw.struct_size = sizeof packed.raw;
  packed.raw.image = packed.bytes.image();
  packed.raw.blobs = packed.blobs.data();
  packed.raw.blob_count = static_cast<uint32_t>(packed.blobs.size());
  if (!hashed) return packed;
  for (size_t k = 0; k < graph.blobs.size(); ++k) {
    const Sha256 sum = hash(graph.blobs[k]);
    std::memcpy(packed.blobs[k].sha256, sum.data(), sum.size());
    packed.blobs[k].flags |= OPTIMA_BLOB_SHA256;
  }
  hash_image(packed);
  return packed;
}

}  // namespace optima
