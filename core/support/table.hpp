// SPDX-License-Identifier: Apache-2.0
// core/support: rows of cells as text with aligned columns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace optima {

/// How a table looks.
struct TableStyle {
  std::string_view indent{};    ///< before every line
  std::vector<size_t> right{};  ///< columns, by index, that are aligned to the right
};

/// One line per row, each ended by '\n' and without spaces at its end; columns as wide as their widest cell (in bytes), two
/// spaces between them. Rows may have different numbers of cells; no row gives an empty text.
std::string table(const std::vector<std::vector<std::string>>& rows, const TableStyle& style = {});

/// "a, b, c and 4 more": what a list too long to read is folded to.
std::string join_few(std::span<const std::string> parts, size_t most = 3);

}  // namespace optima
