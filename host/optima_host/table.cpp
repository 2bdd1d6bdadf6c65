// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/table.hpp"

#include <algorithm>

namespace optima::host {

Table::Table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }

void Table::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& r : rows_)
    for (size_t c = 0; c < r.size(); ++c) widths[c] = std::max(widths[c], r[c].size());
  std::string out;
  for (const auto& r : rows_) {
    std::string line;
    for (size_t c = 0; c < r.size(); ++c) {
      line += r[c];
      if (c + 1 < r.size()) line.append(widths[c] - r[c].size() + 2, ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

}  // namespace optima::host
