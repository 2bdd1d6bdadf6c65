// SPDX-License-Identifier: Apache-2.0
#include "core/package/seen_weights.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/support/file.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

std::string default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return cat(cache, "/optima");
  if (const char* home = std::getenv("HOME"); home && *home == '/') return cat(home, "/.cache/optima");
  return {};
}

}  // namespace

SeenWeights::SeenWeights(const std::string& folder, const std::string& package_hash) {
  const std::string base = folder.empty() ? default_folder() : folder;
  if (base.empty()) return;
  path_ = cat(base, "/weights/", package_hash);
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return;
  const auto text = read_file(path_, 64 << 20);
  if (!text.ok()) return;
  for (size_t at = 0; at < text->size();) {  // "sha256 stamp\n"
    const size_t end = text->find('\n', at);
    if (end == std::string::npos || end - at < 66) return;
    stamps_[text->substr(at, 64)] = text->substr(at + 65, end - at - 65);
    at = end + 1;
  }
}

bool SeenWeights::has(const std::string& sha256, const std::string& stamp) const {
  const auto it = stamps_.find(sha256);
  return !stamp.empty() && it != stamps_.end() && it->second == stamp;
}

void SeenWeights::add(const std::string& sha256, const std::string& stamp) {
  if (stamp.empty() || has(sha256, stamp)) return;
  stamps_[sha256] = stamp;
  changed_ = true;
}

void SeenWeights::save() const {
  if (!changed_ || path_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  std::string text;
  for (const auto& [sha, stamp] : stamps_) text += cat(sha, " ", stamp, "\n");
  if (const Status status = write_file(path_, text); !status.ok()) log(LogLevel::Debug, "package", status.message());
}

}  // namespace optima
