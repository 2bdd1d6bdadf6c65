// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/support/number.hpp"
#include "core/support/repeated.hpp"
#include "core/support/sha256.hpp"
#include "optima/plugin/sha256.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"

using namespace optima;

namespace optima::test {
uint64_t allocations();  // tests/support/count_allocations.cpp
}
using optima::test::allocations;

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
  CHECK(sdk::sha256_text(million) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");  // the author layer's, which has no other way
  for (size_t size = 0; size < 200; ++size) CHECK(sdk::sha256_text(million.substr(0, size)) == to_hex(sha256(million.data(), size)));
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

TEST_CASE("looking for a text that was there before compares n log n times, whatever the texts are") {
  std::vector<std::string> texts;
  for (int i = 0; i < 4096; ++i) texts.push_back(std::string(100, 'x') + std::to_string(i * 7919 % 4096));
  size_t compared = 0;
  const auto less = [&](const std::string& a, const std::string& b) { return ++compared, a < b; };
  CHECK(first_repeated(texts, less) == texts.size());
  CHECK(compared < 4 * 4096 * 12);  // 16 million for each with each
  texts[4000] = texts[7];
  texts[3000] = texts[7];
  CHECK(first_repeated(texts) == 3000);
  CHECK(first_repeated(std::vector<std::string>{}) == 0);
  CHECK(first_repeated(std::vector<std::string>{"b", "a", "b", "a"}) == 2);
  CHECK(first_repeated(std::vector<std::string>{"b", "a"}) == 2);
}

// Keys of one hash: MurmurHash64A, which libstdc++ hashes strings with, can be steered with each eight bytes.
std::vector<std::string> texts_of_one_hash(size_t count) {
  constexpr uint64_t m = (uint64_t{0xc6a4a793} << 32) + 0x5bd1e995;
  uint64_t inverse = m;
  for (int i = 0; i < 6; ++i) inverse *= 2 - m * inverse;
  const auto mix = [&](uint64_t k) { return k *= m, k ^= k >> 47, k * m; };
  const auto unmix = [&](uint64_t k) { return k *= inverse, k ^= k >> 47, k * inverse; };
  const uint64_t start = 0xc70f6907 ^ (16 * m);
  std::vector<std::string> out;
  for (uint64_t first = 0; out.size() < count; ++first) {
    const uint64_t block = 0x4141414141414141 + (first & 15) + ((first >> 4 & 15) << 8) + ((first >> 8 & 15) << 16) + ((first >> 12 & 15) << 24) +
                           ((first >> 16 & 15) << 32) + ((first >> 20 & 15) << 40);
    const uint64_t second = unmix((start ^ mix(block)) * m);  // brings the state to 0
    std::string text(16, ' ');
    std::memcpy(text.data(), &block, 8);
    std::memcpy(text.data() + 8, &second, 8);
    if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; })) out.push_back(std::move(text));
  }
  return out;
}

TEST_CASE("keys of one hash take no longer to read than others") {
  const std::vector<std::string> keys = texts_of_one_hash(300);
  CHECK(std::hash<std::string>()(keys[0]) == std::hash<std::string>()(keys[299]));  // an attacker makes 100000 of them
  std::string text = "{";
  for (const std::string& key : keys) text += (text.size() > 1 ? ",\"" : "\"") + key + "\":0";
  CHECK(parse_json(text + "}", "x")->size() == 300);
  CHECK(parse_json(text + ",\"" + keys[5] + "\":1}", "x").status().message() == "x: key " + quote(keys[5]) + " appears twice in one object");
}

TEST_CASE("what is nested is read once and not copied as the objects around it grow") {
  const auto nested = [](int depth) {
    std::string text = "[";
    for (int i = 0; i < 2000; ++i) text += std::string(i ? "," : "") + "\"a text that is too long for the text itself\"";
    text += "]";
    for (int i = 0; i < depth; ++i) text = "{\"in\":" + text + ",\"b\":0,\"c\":0,\"d\":0,\"e\":0}";
    return text;
  };
  const std::string shallow = nested(1), deep = nested(150);
  const uint64_t start = allocations();
  CHECK(parse_json(shallow, "x").ok());
  const uint64_t middle = allocations();
  CHECK(parse_json(deep, "x").ok());
  CHECK(allocations() - middle < 3 * (middle - start) + 1);  // hundreds of times as many when each level is copied; 0 under sanitizers
}

TEST_CASE("members of an object are read in order with their places, without looking each up") {
  std::string many = R"({"m": {)";
  for (int i = 0; i < 200000; ++i) many += (i ? ",\"" : "\"") + std::to_string(i) + "\":\"v\"";
  const Result<Json> big = parse_json(many + "}}", "x");
  REQUIRE(big.ok());
  const auto texts = JsonReader(*big, "x").string_members("m");  // minutes when each is searched for
  REQUIRE(texts.ok());
  CHECK(texts->size() == 200000);
  CHECK((*texts)[17] == std::pair<std::string, std::string>("17", "v"));
  const Result<Json> j = parse_json(R"({"m": {"a": "b", "c": [1, 2], "d": 3}})", "x");
  CHECK(JsonReader(*j, "x").string_members("m").status().message() == "x.m.c: found array, wanted a string");
  const auto members = JsonReader(*j, "x").members("m");
  REQUIRE(members.ok());
  CHECK((*members)[1].second.integers().ok());
  CHECK((*members)[2].second.integers().status().message() == "x.m.d: found number, wanted an array of integers");
  CHECK(JsonReader(*j, "x").members("n").status().message() == "x: member 'n' is missing, wanted an object");
}
