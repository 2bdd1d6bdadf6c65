// SPDX-License-Identifier: Apache-2.0
// host: a plain text table: columns padded to their widest cell, two spaces between.
#pragma once

#include <string>
#include <vector>

namespace optima::host {

class Table {
 public:
  explicit Table(std::vector<std::string> heads);
  /// As many cells as heads.
  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.size() == 1; }
  /// Heads and rows, one line each.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace optima::host
