// SPDX-License-Identifier: Apache-2.0
#include "kernel_cache.hpp"

#include <algorithm>
#include <cstring>

#include "optima/plugin/checksum.hpp"
#include "plan/replace.hpp"

namespace spirv_plugin {
namespace {

namespace fs = std::filesystem;
namespace sdk = optima::sdk;

/// A file: this, what the module was made from, its words. The sum is over the two latter and finds torn files.
struct Header {
  char magic[8];
  uint64_t made_from, words;  ///< bytes, words
  uint64_t sum;
};
constexpr char kMagic[8] = {'O', 'p', 't', 'S', 'p', 'i', 'r', '1'};

uint64_t sum_of(std::string_view made_from, std::string_view words) {
  sdk::Checksum sum;
  sum.add(made_from.data(), made_from.size());
  sum.add(words.data(), words.size());
  return sum.value();
}

struct Kept {
  fs::file_time_type found;
  fs::path path;
  uint64_t bytes;
};

/// The least recently found first.
std::vector<Kept> kept_in(const std::string& folder) {
  std::vector<Kept> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;  // by another process
    const Kept one{at->last_write_time(gone), at->path(), at->file_size(gone)};
    if (!gone) out.push_back(one);
  }
  std::sort(out.begin(), out.end(), [](const Kept& a, const Kept& b) { return a.found != b.found ? a.found < b.found : a.path < b.path; });
  return out;
}

}  // namespace

std::string KernelCache::file_of(std::string_view made_from) const { return folder_ + "/" + sdk::sum_text(sdk::checksum_of(made_from).value()); }

std::optional<std::vector<uint32_t>> KernelCache::find(std::string_view made_from) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = file_of(made_from), all = cached_bytes(path);
  Header h;
  if (all.size() < sizeof h) return std::nullopt;
  std::memcpy(&h, all.data(), sizeof h);
  const std::string_view rest = std::string_view(all).substr(sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.made_from != made_from.size() || h.made_from > rest.size()) return std::nullopt;
  const std::string_view words = rest.substr(h.made_from);
  if (words.size() % sizeof(uint32_t) != 0 || h.words != words.size() / sizeof(uint32_t) || rest.substr(0, h.made_from) != made_from || h.sum != sum_of(made_from, words)) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  std::vector<uint32_t> out(h.words);
  std::memcpy(out.data(), words.data(), words.size());
  return out;
}

void KernelCache::keep(std::string_view made_from, const std::vector<uint32_t>& words) const {
  if (folder_.empty()) return;
  const std::string_view bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
  Header h{{}, made_from.size(), words.size(), sum_of(made_from, bytes)};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::string all(reinterpret_cast<const char*>(&h), sizeof h);
  all.append(made_from).append(bytes);
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  replace_file(file_of(made_from), all);
}

void KernelCache::trim(uint64_t most) const {
  if (folder_.empty()) return;
  const std::vector<Kept> all = kept_in(folder_);
  uint64_t bytes = 0;
  for (const Kept& k : all) bytes += k.bytes;
  if (bytes <= most) return;
  for (const Kept& k : all) {
    if (bytes <= most / 2) return;
    std::error_code ignored;
    fs::remove(k.path, ignored);
    bytes -= k.bytes;
  }
}

}  // namespace spirv_plugin
