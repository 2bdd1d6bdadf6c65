// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: what the plugin and optima_bmcompiler_runner say to each other: a line of words each way, with a tab between.
//
//   devices                                          ok NUMBER CHIP…          (empty words for chips that are not known)
//   open MODEL                                       ok
//   run NET FILE IN PLANE… OUT PLANE…                ok      IN, OUT: numbers of planes; a plane is NAME TYPE OFFSET RANK DIMS…
//   anything that fails                              fail CODE TEXT           (CODE: "invalid", "memory", "dependency", "failed")
//
// Planes lie in FILE at their offsets, dense; TYPE is the number that bmodels have for an element type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bmcompiler_plugin {

using Words = std::vector<std::string>;

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

}  // namespace bmcompiler_plugin
