// SPDX-License-Identifier: Apache-2.0
#include "core/report/table.hpp"

#include <algorithm>

#include "core/support/text.hpp"

namespace optima::detail {

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<size_t>& right) {
  std::vector<size_t> width;
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) {
      if (width.size() <= c) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string fill(width[c] - row[c].size(), ' ');
      const bool to_right = std::find(right.begin(), right.end(), c) != right.end();
      line += cat("  ", to_right ? fill : "", row[c], to_right ? "" : fill);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string clean(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return out;
}

std::string count_of(size_t count, std::string_view thing) { return cat(count, " ", thing, count == 1 ? "" : "s"); }

std::string shortened(const std::vector<std::string>& names, size_t most) {
  if (names.empty()) return "nothing";
  if (names.size() <= most) return clean(join(names));
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most));
  return cat(clean(join(first)), ", ... (", names.size(), " in all)");
}

}  // namespace optima::detail
