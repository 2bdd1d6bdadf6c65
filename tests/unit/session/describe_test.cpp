// SPDX-License-Identifier: Apache-2.0
#include "core/session/describe.hpp"

#include <doctest/doctest.h>

#include "core/support/json_value.hpp"

using namespace optima;

namespace {

std::string shown(const char* json) { return description_text(*parse_json(json, "a test")); }

}  // namespace

TEST_CASE("names and values are lines, objects are indented, and no text leaves its line") {
  CHECK(shown(R"({"a": 1, "b": "two", "c": {"d": true, "e": {"f": null}}})") == "a: 1\nb: two\nc:\n  d: true\n  e:\n    f: null\n");
  CHECK(shown("{\"a\\nb\": \"c\\nd: 1\"}").find("\nd: 1") == std::string::npos);
  CHECK(shown("{}") == "");
}

TEST_CASE("lists of values are one line, cut when they are long, and an empty list is none") {
  CHECK(shown(R"({"a": [1, 2, 3], "b": []})") == "a: 1, 2, 3\nb: none\n");
  CHECK(shown(R"({"a": [1, 2, 3, 4, 5, 6, 7, 8, 9]})") == "a: 1, 2, 3 and 6 more\n");
}

TEST_CASE("an array of objects is a table with a column per name, whoever has it") {
  CHECK(shown(R"({"t": [{"name": "x", "dims": [1, 2]}, {"name": "longer", "scale": 0.5}]})") ==
        "t:\n  name    dims  scale\n  x       1, 2\n  longer        0.5\n");
}

TEST_CASE("objects that hold tables are written one after the other, marked where there are several") {
  CHECK(shown(R"({"graphs": [{"name": "g", "rows": [{"a": 1}]}]})") == "graphs:\n  name: g\n  rows:\n    a\n    1\n");
  CHECK(shown(R"({"graphs": [{"name": "g", "rows": [{"a": 1}]}, {"name": "h", "rows": []}]})") ==
        "graphs:\n  - name: g\n    rows:\n      a\n      1\n  - name: h\n    rows: none\n");
}
