// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

TEST_CASE("checks something") { CHECK(1 + 1 == 2); }

TEST_CASE("cannot check") { MESSAGE("SKIP: no tool, which this wants"); }

TEST_CASE("checks half, says why twice") {
  MESSAGE("SKIP: no first half");
  MESSAGE("SKIP: no first half");
  CHECK(true);
}
