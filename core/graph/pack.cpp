// SPDX-License-Identifier: Apache-2.0
// core/graph: the seam's view of a graph: image bytes, blob table, hash.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "core/graph/graph.hpp"
#include "core/support/sha256.hpp"
#include "core/support/threads.hpp"

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

// Weights have hundreds of megabytes: all processors share them, the largest first.
void hash_blobs(const std::vector<Blob>& from, std::vector<optima_blob>& to) {
  constexpr uint64_t kWorthAThread = 1 << 20;  // bytes: a millisecond
  std::vector<size_t> order(from.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return from[a].size > from[b].size; });
  const uint64_t bytes = std::accumulate(from.begin(), from.end(), uint64_t{0}, [](uint64_t sum, const Blob& b) { return sum + b.size; });
  std::atomic<size_t> next{0};
  const Status done = run_on_threads(bytes < kWorthAThread ? 1 : allowed_threads(), [&]() -> Status {
    for (size_t k; (k = next++) < order.size();) {
      const Sha256 sum = hash(from[order[k]]);
      std::memcpy(to[order[k]].sha256, sum.data(), sum.size());
      to[order[k]].flags |= OPTIMA_BLOB_SHA256;
    }
    return {};
  });
  (void)done;  // hashing does not fail
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
  hash_blobs(graph.blobs, packed.blobs);
  hash_image(packed);
  return packed;
}

}  // namespace optima
