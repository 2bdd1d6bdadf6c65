// SPDX-License-Identifier: Apache-2.0
#include "core/samples/names.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("names are sorted by the numbers in them, then by bytes, the same wherever they started") {
  const std::vector<std::string> wanted = {"", "0", "00", "01", "1", "2a", "2b", "10", "99999999999999999999998", "99999999999999999999999", "B", "a", "a1b2", "a01b10", "a1b10", "a2", "\xff"};
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> names = wanted;
    std::shuffle(names.begin(), names.end(), random);
    std::sort(names.begin(), names.end(), samples::before);
    CHECK(names == wanted);
  }
}

TEST_CASE("pictures are found however deep, without hidden files, and by their endings in any case") {
  TempFolder t;
  for (const char* name : {"b/2.PNG", "b/10.jpg", "a/deep/er/1.JpEg", ".hidden/3.png", "b/.4.png", "b/notes.txt", "top.bmp", "b/png"}) put(t / name, "x");
  std::filesystem::create_directory_symlink(t.path(), t / "b/loop");
  CHECK(*samples::list_pictures(t.path()) == std::vector<std::string>{"a/deep/er/1.JpEg", "b/2.PNG", "b/10.jpg", "top.bmp"});
  CHECK(samples::list_folder(t / "none").status().message() == "folder '" + (t / "none") + "' cannot be listed: No such file or directory");
}
