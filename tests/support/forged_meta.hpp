// SPDX-License-Identifier: Apache-2.0
// tests: a package's model.meta changed as a hostile writer would, its own hash made right again.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "core/support/sha256.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::test {

/// `text` of a model.meta with the hash it holds about itself computed anew; as it is when there is none.
inline std::string with_own_hash(std::string text) {
  const size_t at = text.find("\n  \"sha256\": \"") + 14;
  if (at < 14 || at + 64 > text.size()) return text;
  text.replace(at, 64, 64, '0');
  const std::string own = to_hex(sha256(text.data(), text.size()));
  return text.replace(at, 64, own);
}

/// The first occurrence replaced; there must be one.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// model.meta of a package folder with a text replaced and its own hash right.
inline std::string forged(const std::string& folder, const std::string& from, const std::string& to) {
  return with_own_hash(replaced(get(folder + "/model.meta"), from, to));
}

}  // namespace optima::test
