// SPDX-License-Identifier: Apache-2.0
#include "core/loader/secrets.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace optima {
namespace {

constexpr size_t kShortest = 6;
constexpr const char* kInstead = "(secret)";

std::mutex mutex;                 // of `secrets`
std::vector<std::string> secrets;  // longest first, so that none is hidden only in part
std::atomic<size_t> longest{0};

}  // namespace

void keep_secret(const std::string& value) {
  if (value.size() < kShortest) return;
  const std::lock_guard lock(mutex);
  if (std::find(secrets.begin(), secrets.end(), value) != secrets.end()) return;
  const auto shorter = [&](const std::string& other) { return other.size() < value.size(); };
  secrets.insert(std::find_if(secrets.begin(), secrets.end(), shorter), value);
  longest = secrets[0].size();
}

size_t longest_secret() { return longest; }

std::string hide_secrets(std::string text) {
  if (longest == 0) return text;
  const std::lock_guard lock(mutex);
  for (const std::string& secret : secrets)
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) text.replace(at, secret.size(), kInstead);
  return text;
}

}  // namespace optima
