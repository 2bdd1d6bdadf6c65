// SPDX-License-Identifier: Apache-2.0
#include "core/texts/texts.hpp"

#include <unordered_map>
#include <unordered_set>

#include "core/support/text.hpp"
#include "core/support/utf8.hpp"

namespace optima {

Status check_text_table(const TextTable& table) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& text : table) {
    if (!is_utf8(text) || text.find('\0') != std::string::npos) return invalid_input(cat("found text ", quote(text), ", wanted UTF-8 without NUL"));
    if (!seen.insert(text).second) return invalid_input(cat("found text ", quote(text), " twice, wanted each once"));
  }
  return {};
}

std::vector<int64_t> codes_of(const TextTable& table, std::span<const std::string> texts) {
  std::unordered_map<std::string_view, int64_t> known;
  for (const std::string& text : table) known.emplace(text, static_cast<int64_t>(known.size()));
  std::vector<int64_t> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) {
    const auto at = known.find(text);
    out.push_back(at == known.end() ? static_cast<int64_t>(table.size()) : at->second);
  }
  return out;
}

Result<std::vector<std::string>> texts_of(const TextTable& table, std::span<const int64_t> codes) {
  std::vector<std::string> out;
  out.reserve(codes.size());
  for (const int64_t code : codes) {
    if (code < 0 || static_cast<uint64_t>(code) >= table.size())
      return invalid_input(cat("found code ", code, ", wanted 0 to ", static_cast<int64_t>(table.size()) - 1, ", for there are ", table.size(), " texts"));
    out.push_back(table[static_cast<size_t>(code)]);
  }
  return out;
}

}  // namespace optima
