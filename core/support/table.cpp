// SPDX-License-Identifier: Apache-2.0
#include "core/support/table.hpp"

#include <algorithm>

#include "core/support/text.hpp"

namespace optima {
namespace {

std::vector<size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> out;
  for (const auto& row : rows) {
    out.resize(std::max(out.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) out[c] = std::max(out[c], row[c].size());
  }
  return out;
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows, const TableStyle& style) {
  const std::vector<size_t> widths = widths_of(rows);
  std::string out;
  for (const auto& row : rows) {
    std::string line(style.indent);
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string fill(widths[c] - row[c].size(), ' ');
      const bool to_right = std::find(style.right.begin(), style.right.end(), c) != style.right.end();
      if (c) line += "  ";
      line += to_right ? fill : row[c];
      line += to_right ? row[c] : fill;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string join_few(std::span<const std::string> parts, size_t most) {
  if (parts.size() <= most) return join(parts);
  return cat(join(parts.first(most)), " and ", parts.size() - most, " more");
}

}  // namespace optima
