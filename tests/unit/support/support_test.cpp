// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/support/number.hpp"
#include "core/support/sha256.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"

using namespace optima;

TEST_CASE("a typed number is the whole text, in range and finite") {
  CHECK(parse_number<int64_t>("-12") == -12);
  CHECK(parse_number<double>("1e-3") == 1e-3);
  for (const char* wrong : {"", " 1", "1 ", "3x", "+1", "1e3", "99999999999999999999"}) CHECK(!parse_number<int64_t>(wrong));
  for (const char* wrong : {"", "inf", "nan", "1e999", "0.5f"}) CHECK(!parse_number<double>(wrong));
  CHECK(parse_numbers("0.5,1,-2") == std::vector<double>{0.5, 1, -2});
  for (const char* wrong : {"", "1,,2", "1,", ",1", "1;2"}) CHECK(!parse_numbers(wrong));
}

TEST_CASE("a table aligns its columns and leaves no spaces at the ends of lines") {
  CHECK(table({}).empty());
  CHECK(table({{"", "name", "bytes"}, {"ok", "a", "12"}, {"FAIL", "longer"}}) == "      name    bytes\nok    a       12\nFAIL  longer\n");
  CHECK(table({{"name", "bytes"}, {"a", "12"}}, {"  ", {1}}) == "  name  bytes\n  a        12\n");
}

TEST_CASE("sha256 gives the published answers, whole and in pieces") {
  CHECK(to_hex(sha256("abc", 3)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256("", 0)) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string million(1000000, 'a');
  Sha256Hasher h;
  for (size_t i = 0; i < million.size(); i += 977) h.update(million.data() + i, std::min<size_t>(977, million.size() - i));
  CHECK(to_hex(h.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("glob_match lets * cross slashes and ? take one character") {
  CHECK(glob_match("a*/c", "a/b/c"));
  CHECK(glob_match("conv_?", "conv_1"));
  CHECK_FALSE(glob_match("conv_?", "conv_12"));
  CHECK(glob_match("*", ""));
  CHECK_FALSE(glob_match("a", "ab"));
}

TEST_CASE("quote escapes control bytes and broken UTF-8") { CHECK(quote("a\n\xff\xc3\xa9") == "'a\\x0a\\xff\xc3\xa9'"); }

TEST_CASE("nearest offers close names only") {
  const std::vector<std::string> names = {"conv_1", "conv_2", "relu"};
  CHECK(nearest("conv1", names) == std::vector<std::string>{"conv_1", "conv_2"});
  CHECK(nearest_hint("zzzzzz", names).empty());
}

TEST_CASE("parse_json refuses duplicate keys, deep nesting and bad syntax with a place") {
  CHECK(parse_json(R"({"a": 1, "a": 2})", "x").status().message() == "x: key 'a' appears twice in one object");
  CHECK(parse_json("{\n  \"a\": ]", "x").status().message() == "x: is not valid JSON at line 2 column 8");
  CHECK(parse_json(std::string(300, '['), "x").status().message().find("nested deeper") != std::string::npos);
  CHECK(parse_json("", "x").status().message() == "x: is empty, wanted JSON");
}

TEST_CASE("JsonReader names the place of a mistake") {
  const Result<Json> j = parse_json(R"({"a": [{"b": 1}]})", "x");
  REQUIRE(j.ok());
  const auto a = JsonReader(*j, "x").array("a");
  REQUIRE(a.ok());
  CHECK((*a)[0].string("b").status().message() == "x.a[0].b: found number, wanted a string");
  CHECK((*a)[0].string("c").status().message() == "x.a[0]: member 'c' is missing, wanted a string");
}

TEST_CASE("parse_json keeps key order and nesting, and takes an object of many members in linear time") {
  const Result<Json> j = parse_json(R"({"b": [1, {"z": -2, "y": [[], {}]}, 1.5], "a": "x", "c": null})", "x");
  REQUIRE(j.ok());
  CHECK(to_line(*j) == R"({"b":[1,{"z":-2,"y":[[],{}]},1.5],"a":"x","c":null})");
  std::string many = "{";
  for (int i = 0; i < 200000; ++i) many += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  const Result<Json> big = parse_json(many + "}", "x");  // minutes when each member is searched for
  REQUIRE(big.ok());
  CHECK(big->size() == 200000);
}
