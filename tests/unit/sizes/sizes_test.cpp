// SPDX-License-Identifier: Apache-2.0
#include "core/sizes/sizes.hpp"

#include <doctest/doctest.h>

using namespace optima;

namespace {

constexpr int64_t kNone = SizeRange::kNotSaid;

SizeRange good(std::string_view text) {
  const Result<SizeRange> range = parse_size_range(text);
  REQUIRE_MESSAGE(range.ok(), range.status().message());
  return *range;
}
std::string bad(std::string_view text) {
  const Status status = parse_size_range(text).status();
  CHECK(status.kind() == StatusKind::InvalidInput);
  return status.message();
}

}  // namespace

TEST_CASE("one size, a range with step and opt, and a list whose first is the opt are understood, and written back as they are typed") {
  CHECK(good("320") == SizeRange{320, 320, 1, 320, {}});
  CHECK(good("0") == SizeRange{0, 0, 1, 0, {}});
  CHECK(good("32..960") == SizeRange{32, 960, 1, kNone, {}});
  CHECK(good("32..960:32") == SizeRange{32, 960, 32, kNone, {}});
  CHECK(good("0..2048@128") == SizeRange{0, 2048, 1, 128, {}});
  CHECK(good("32..960:32@320") == SizeRange{32, 960, 32, 320, {}});
  CHECK(good("4,1,8") == SizeRange{1, 8, 1, 4, {1, 4, 8}});
  CHECK(good("7..7") == good("7"));
  for (const char* text : {"320", "32..960", "32..960:32", "0..2048@128", "32..960:32@320", "4,1,8", "1,4,8"}) CHECK(range_text(good(text)) == text);
}

TEST_CASE("what is no size, no range and no list says what was found and what is wanted") {
  const std::string wanted = ", wanted a size as 320, sizes as 1,4,8 (the first matters most), or a range as 32..960, 32..960:32 or 32..960:32@320";
  for (const char* text : {"", "x", "-1", "1.5", "1..", "..3", "1..x", "1..9:", "1..9@", "1..9@2:2", "1,", ",1", "1,,2", "1,1", "1,-2", "1..2,3", "99999999999999999999", "+3"})
    CHECK(bad(text) == "found '" + std::string(text) + "'" + wanted);
  CHECK(bad("9..3") == "found '9..3': found sizes from 9 to 3, wanted a least and a largest one from 0 to 2147483647");
  CHECK(bad("1..2147483648") == "found '1..2147483648': found sizes from 1 to 2147483648, wanted a least and a largest one from 0 to 2147483647");
  CHECK(bad("1..9:0") == "found '1..9:0': found steps of 0, wanted 1 or more");
  CHECK(bad("1..9:3") == "found '1..9:3': found steps of 3 from 1, which miss the largest size 9, wanted steps that reach it");
  CHECK(bad("32..960:32@33") == "found '32..960:32@33': found 33 as the size that matters most, wanted 32 to 960 in steps of 32");
}

TEST_CASE("a range allows its sizes and no other, and knows the nearest") {
  const SizeRange steps = good("32..960:32");
  for (const int64_t size : {32, 64, 960}) CHECK(steps.allows(size));
  for (const int64_t size : {-1, 0, 31, 33, 961, 992}) CHECK_FALSE(steps.allows(size));
  CHECK(steps.nearest_to(1) == 32);
  CHECK(steps.nearest_to(47) == 32);
  CHECK(steps.nearest_to(48) == 32);
  CHECK(steps.nearest_to(49) == 64);
  CHECK(steps.nearest_to(5000) == 960);
  const SizeRange list = good("8,1,4");
  for (const int64_t size : {1, 4, 8}) CHECK(list.allows(size));
  for (const int64_t size : {0, 2, 7, 9}) CHECK_FALSE(list.allows(size));
  CHECK(list.nearest_to(6) == 4);
  CHECK(list.nearest_to(7) == 8);
}

TEST_CASE("sizes are judged by the names of dims, in words") {
  const SizeRanges ranges = {{"batch", good("1,4,8")}, {"n", good("1..8")}, {"two", good("1,2")}, {"width", good("32..960:32@320")}};
  const std::vector<std::string> symbols = {"batch", "", "width", "other"};
  const auto said = [&](std::vector<int64_t> dims) { return check_sizes(ranges, symbols, dims).message(); };
  CHECK(said({4, 3, 320, 7}) == "");
  CHECK(said({4, 3, 1000, 7}) == "width = 1000, wanted 32 to 960 in steps of 32");
  CHECK(said({3, 3, 1000, 7}) == "batch = 3, wanted 1, 4 or 8");
  CHECK(said({4}) == "");
  CHECK(check_sizes(ranges, std::vector<std::string>{"n"}, std::vector<int64_t>{9}).message() == "n = 9, wanted 1 to 8");
  CHECK(check_sizes(ranges, std::vector<std::string>{"two"}, std::vector<int64_t>{9}).message() == "two = 9, wanted 1 or 2");
}
