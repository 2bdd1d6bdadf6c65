// SPDX-License-Identifier: Apache-2.0
// reference: see graph_file.hpp.
#include "reference/graph_file.hpp"

namespace optima::reference {
namespace {

constexpr uint64_t kInline = 4096;  // smaller constants are not worth a file of their own
constexpr char kMagic[] = "RefGraph";
constexpr uint32_t kVersion = 1;

struct Header {
  char magic[8];
  uint32_t version, blobs;
  uint64_t image_size, file_size;
  uint8_t zeros[32];
};
static_assert(sizeof(Header) == 64, "the file's layout");

struct Entry {
  uint64_t offset, size;
};

uint64_t padded(uint64_t n) { return (n + 63) / 64 * 64; }
void pad(std::string& to) { to.resize(padded(to.size()), '\0'); }

[[noreturn]] void corrupt(const std::string& text) { throw sdk::Error(OPTIMA_CORRUPT, "artifact " + text); }

/// The file's parts after every bound was checked.
struct Parts {
  const uint8_t* image;
  uint64_t image_size;
  std::vector<Entry> entries;
  const uint8_t* base;
};

Parts split(const uint8_t* file, uint64_t size) {
  Header h;
  if (size < sizeof h) corrupt("is truncated");
  std::memcpy(&h, file, sizeof h);
  if (std::memcmp(h.magic, kMagic, 8) != 0) corrupt("has a wrong magic");
  if (h.version != kVersion) throw sdk::Error(OPTIMA_RECOMPILE, "artifact has revision " + std::to_string(h.version) + ", wanted " + std::to_string(kVersion));
  if (h.file_size != size) corrupt("has " + std::to_string(size) + " bytes, wanted " + std::to_string(h.file_size));
  if (h.image_size > size || padded(h.image_size) > size - sizeof h) corrupt("is shorter than its image");
  const uint64_t table = sizeof h + padded(h.image_size), table_size = uint64_t{h.blobs} * sizeof(Entry);
  if (table_size > size - table) corrupt("is shorter than its table");
  Parts p{file + sizeof h, h.image_size, std::vector<Entry>(h.blobs), file};
  if (h.blobs) std::memcpy(p.entries.data(), file + table, table_size);
  for (const Entry& e : p.entries)
    if (e.offset != 0 && (e.offset % 64 != 0 || e.offset < table + table_size || e.offset > size || e.size > size - e.offset)) corrupt("has a constant outside");
  return p;
}

/// Maps blob k of the graph; a copy of what is not mapped is made here.
optima_blob blob_of(GraphFile& to, const Entry& e, uint32_t k, const Parts& parts, const sdk::Artifact& artifact, const sdk::Host* host) {
  optima_blob b{};
  b.struct_size = sizeof b;
  b.size = e.size;
  b.fd = -1;
  const optima_blob* weight = e.offset == 0 && host ? artifact.weight(std::to_string(k)) : nullptr;
  if (e.offset == 0 && host && !weight) corrupt("refers to weight " + std::to_string(k) + ", which is not there");
  if (weight && weight->size != e.size) corrupt("has " + std::to_string(weight->size) + " bytes in weight " + std::to_string(k) + ", wanted " + std::to_string(e.size));
  if (weight && weight->data) {
    to.kept.push_back(host->keep(*weight));
    b.data = weight->data;
  } else if (e.offset != 0 || weight) {
    to.owned.push_back(std::make_unique<uint8_t[]>(e.size + 1));
    if (weight) sdk::read_blob(*weight, to.owned.back().get());
    else if (e.size) std::memcpy(to.owned.back().get(), parts.base + e.offset, e.size);
    b.data = to.owned.back().get();
  }
  return b;
}

}  // namespace

std::string write_graph_file(const sdk::Graph& graph, const sdk::Sink& sink) {
  const optima_graph& raw = *graph.raw();
  Header h{};
  std::memcpy(h.magic, kMagic, 8);
  h.version = kVersion, h.blobs = raw.blob_count, h.image_size = raw.image->total_size;
  std::string file(reinterpret_cast<const char*>(&h), sizeof h);
  file.append(reinterpret_cast<const char*>(raw.image), raw.image->total_size);
  pad(file);
  const uint64_t table = file.size();
  file.resize(padded(table + raw.blob_count * sizeof(Entry)), '\0');
  for (uint32_t k = 0; k < raw.blob_count; ++k) {
    const optima_blob& b = *optima_get_blob(&raw, k);
    Entry e{b.size < kInline ? file.size() : 0, b.size};
    if (b.size < kInline) {
      const sdk::Elements<char> bytes(b);
      file.append(bytes.data(), bytes.size());
      pad(file);
    }
    std::memcpy(file.data() + table + k * sizeof e, &e, sizeof e);
  }
  h.file_size = file.size();
  std::memcpy(file.data(), &h, sizeof h);
  std::vector<bool> named(raw.blob_count, false);
  for (uint32_t k = 0; k < raw.image->constants.count; ++k) {
    const sdk::Constant c(&raw, k);
    if (c.blob().size < kInline || named[c.blob_index()]) continue;
    named[c.blob_index()] = true;
    sink.use_weight(c, std::to_string(c.blob_index()));
  }
  return file;
}

std::unique_ptr<GraphFile> read_graph_file(const sdk::Artifact& artifact, const optima_blob& blob, const sdk::Host* host) {
  const sdk::Elements<uint8_t> file(blob);
  const Parts parts = split(file.data(), file.size());
  auto loaded = std::make_unique<GraphFile>();
  loaded->image = image::Bytes(parts.image_size);
  if (parts.image_size) std::memcpy(loaded->image.data(), parts.image, parts.image_size);
  for (uint32_t k = 0; k < parts.entries.size(); ++k) loaded->blobs.push_back(blob_of(*loaded, parts.entries[k], k, parts, artifact, host));
  loaded->graph = {sizeof(optima_graph), 0, loaded->image.image(), loaded->blobs.data(), static_cast<uint32_t>(loaded->blobs.size()), 0, {}};
  const std::string why = image::verify(loaded->image.data(), loaded->image.size(), &loaded->graph);
  if (!why.empty()) corrupt("is damaged: " + why);
  return loaded;
}

}  // namespace optima::reference
