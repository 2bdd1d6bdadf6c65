// SPDX-License-Identifier: Apache-2.0
// core/texts: texts that devices see as numbers: which text a code stands for, at a model's inputs and outputs. Knows no model.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"

namespace optima {

/// The text of each code, from 0; each once, UTF-8 without NUL. Of an input the code `size()` is any text that is not among them.
using TextTable = std::vector<std::string>;

/// By the name of the input or output, whose elements are int64 codes.
using TextTables = std::map<std::string, TextTable, std::less<>>;

/// InvalidInput for what no table holds: "found text 'a' twice, wanted each once".
Status check_text_table(const TextTable& table);

/// The code of each text; table.size() for one that the table lacks.
std::vector<int64_t> codes_of(const TextTable& table, std::span<const std::string> texts);

/// The text of each code. InvalidInput for a code that has none: "found code 3, wanted 0 to 2, for there are 3 texts".
Result<std::vector<std::string>> texts_of(const TextTable& table, std::span<const int64_t> codes);

}  // namespace optima
