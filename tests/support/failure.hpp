// SPDX-License-Identifier: Apache-2.0
// tests/support: what a plugin's code throws.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "optima/plugin/error.hpp"

namespace optima::test {

/// Code and text of what `body` throws; OPTIMA_OK and nothing where it does not.
template <class F>
std::pair<int32_t, std::string> failure(F&& body) {
  try {
    body();
  } catch (const sdk::Error& e) {
    return {e.code, e.text};
  }
  return {OPTIMA_OK, ""};
}

/// The text of what `body` throws, which must be of this code.
template <class F>
std::string error_of(F&& body, int32_t code) {
  const std::pair<int32_t, std::string> found = failure(body);
  CHECK(found.first == code);
  return found.second;
}

/// `text` with one part exchanged, which must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace optima::test
