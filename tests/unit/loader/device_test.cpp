// SPDX-License-Identifier: Apache-2.0
#include "core/backend/device.hpp"

#include <doctest/doctest.h>

using namespace optima;

TEST_CASE("a device is KIND:index, with or without its plugin") {
  const auto plain = parse_device("X64:0");
  REQUIRE(plain.ok());
  CHECK(*plain == DeviceName{"", "X64", 0});
  CHECK(plain->text() == "X64:0");
  const auto full = parse_device("com.acme.fast-2/CV22:12");
  REQUIRE(full.ok());
  CHECK(*full == DeviceName{"com.acme.fast-2", "CV22", 12});
  CHECK(full->text() == "com.acme.fast-2/CV22:12");
}

TEST_CASE("anything else names what was found and the two forms wanted") {
  for (const char* text : {"", "X64", "X64:", ":0", "x64:0", "X64:-1", "X64:0x1", "X64:0 ", " X64:0", "X64:4294967296", "/X64:0", "a/b/X64:0", "A/X64:0", "0X:1", "X64:1:2"}) {
    CAPTURE(text);
    const auto bad = parse_device(text);
    REQUIRE(!bad.ok());
    CHECK(bad.status().kind() == StatusKind::InvalidInput);
  }
  CHECK(parse_device("gpu").status().message() == "device 'gpu': wanted KIND:index or plugin/KIND:index, as in CPU:0 or acme/CPU:0");
}
