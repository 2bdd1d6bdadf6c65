// SPDX-License-Identifier: Apache-2.0
// optima/plugin/words.hpp: lines of words, as questions and answers of a Talk: any bytes in a word, on either side of the line. Knows nothing
// else of the sdk, so that small programs can include it. Not included by plugin.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace optima::sdk {
inline namespace v0_1 {

using Words = std::vector<std::string>;

/// One line without its end: a tab between words; backslash, tab, line feed and carriage return in a word as "\\", "\t", "\n" and "\r".
inline std::string line_of(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    if (&word != &words[0]) line += '\t';
    for (const char c : word) {
      if (c == '\\' || c == '\t' || c == '\n' || c == '\r') line += '\\';
      line += c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : c;
    }
  }
  return line;
}

/// The words of such a line, at least one; what is escaped otherwise is that byte itself.
inline Words words_of(std::string_view line) {
  Words words(1);
  for (size_t k = 0; k < line.size(); ++k) {
    if (line[k] == '\t') {
      words.emplace_back();
    } else if (line[k] == '\\' && k + 1 < line.size()) {
      const char c = line[++k];
      words.back() += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    } else {
      words.back() += line[k];
    }
  }
  return words;
}

}  // namespace v0_1
}  // namespace optima::sdk
