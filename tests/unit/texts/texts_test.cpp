// SPDX-License-Identifier: Apache-2.0
#include "core/texts/texts.hpp"

#include <doctest/doctest.h>

using namespace optima;

TEST_CASE("texts become codes and come back; one that the table lacks is the code behind the last") {
  const TextTable table = {"setosa", "", "größer"};
  CHECK(codes_of(table, std::vector<std::string>{"größer", "setosa", "other", ""}) == std::vector<int64_t>{2, 0, 3, 1});
  CHECK(codes_of({}, std::vector<std::string>{"a"}) == std::vector<int64_t>{0});
  const auto back = texts_of(table, std::vector<int64_t>{2, 1, 0});
  REQUIRE(back.ok());
  CHECK(*back == std::vector<std::string>{"größer", "", "setosa"});
}

TEST_CASE("a code without a text is one sentence") {
  const TextTable table = {"a", "b", "c"};
  CHECK(texts_of(table, std::vector<int64_t>{0, 3}).status().message() == "found code 3, wanted 0 to 2, for there are 3 texts");
  CHECK(texts_of(table, std::vector<int64_t>{-1}).status().message() == "found code -1, wanted 0 to 2, for there are 3 texts");
}

TEST_CASE("a table has each text once, as UTF-8 without NUL") {
  CHECK(check_text_table({"a", "", "\xF0\x9F\x8D\x8E"}).ok());
  CHECK(check_text_table({"a", "b", "a"}).message() == "found text 'a' twice, wanted each once");
  for (const char* bad : {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xE0\x80\x80", "\xF4\x90\x80\x80"})
    CHECK_MESSAGE(check_text_table({bad}).message().find("wanted UTF-8 without NUL") != std::string::npos, bad);
  CHECK_FALSE(check_text_table({std::string("a\0b", 3)}).ok());
}
