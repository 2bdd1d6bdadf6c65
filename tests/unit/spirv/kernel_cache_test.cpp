// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: modules on disk are found by exactly what they were made from, or not at all.
#include "compiler/kernel_cache.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "plan/replace.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using spirv_plugin::KernelCache;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<uint32_t>;

std::vector<fs::path> files_in(const std::string& folder) { return {fs::directory_iterator(folder), fs::directory_iterator()}; }

}  // namespace

TEST_CASE("a module is found by what it was made from, and by nothing else") {
  const test::TempFolder folder;
  const KernelCache cache(folder / "kernels");
  CHECK(!cache.find("text"));
  cache.keep("text", {1, 2, 3});
  CHECK(cache.find("text") == Words{1, 2, 3});
  CHECK(!cache.find("tex"));
  CHECK(!cache.find("text "));
  cache.keep("text", {4});
  CHECK(cache.find("text") == Words{4});
  CHECK(files_in(folder / "kernels").size() == 1);  // and nothing beside

  // As if another text had the same sum: what the file says it was made from decides.
  cache.keep("other", {5});
  const std::vector<fs::path> both = files_in(folder / "kernels");
  REQUIRE(both.size() == 2);
  const std::string one = test::get(both[0]), other = test::get(both[1]);
  test::put(both[0], other), test::put(both[1], one);
  CHECK(!cache.find("text"));
  CHECK(!cache.find("other"));
}

TEST_CASE("a file with any byte changed, or shorter or longer by one, is not there") {
  const test::TempFolder folder;
  const KernelCache cache(folder / "kernels");
  cache.keep("some text", {0x07230203, 7});
  const fs::path path = files_in(folder / "kernels").at(0);
  const std::string good = test::get(path);
  for (size_t k = 0; k < good.size(); ++k) {
    std::string bad = good;
    bad[k] = static_cast<char>(bad[k] ^ 0x40);
    test::put(path, bad);
    CHECK_MESSAGE(!cache.find("some text"), "byte ", k);
  }
  for (const std::string& bad : {good.substr(0, good.size() - 1), good + "x", good.substr(0, 12), std::string()}) {
    test::put(path, bad);
    CHECK(!cache.find("some text"));
  }
  test::put(path, good);
  CHECK(cache.find("some text") == Words{0x07230203, 7});
}

TEST_CASE("what was not found for longest goes first, down to half of what may be kept") {
  const test::TempFolder folder;
  const KernelCache cache(folder / "kernels");
  const Words kilobyte(256, 1);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const char* name : {"a", "b", "c", "d"}) {
    cache.keep(name, kilobyte);
    for (const fs::path& p : files_in(folder / "kernels"))  // a is the oldest
      if (fs::last_write_time(p) > long_ago + std::chrono::minutes(30)) fs::last_write_time(p, long_ago + std::chrono::minutes(*name - 'a'));
  }
  cache.trim(5000);
  CHECK(files_in(folder / "kernels").size() == 4);
  CHECK(cache.find("a"));  // and so is the newest
  cache.trim(4000);
  CHECK(!cache.find("b"));
  CHECK(!cache.find("c"));
  CHECK(!cache.find("d"));
  CHECK(cache.find("a") == kilobyte);
}

TEST_CASE("without a folder, or with one that cannot be made, nothing is kept and nothing fails") {
  const test::TempFolder folder;
  test::put(folder / "file", "");
  for (const std::string& where : {std::string(), folder / "file/kernels"}) {
    const KernelCache cache(where);
    cache.keep("text", {1});
    cache.trim(0);
    CHECK(!cache.find("text"));
  }
}

TEST_CASE("threads that write one file of a cache leave one of them, whole, whenever it is read") {
  const test::TempFolder folder;
  const std::string path = folder / "file";
  constexpr size_t kBytes = 200'000, kRounds = 100;
  std::atomic<int> torn{0};
  const auto is_whole = [](const std::string& got) { return got.size() == kBytes && got.find_first_not_of(got[0]) == got.npos; };
  std::vector<std::thread> writers;
  for (const char c : {'a', 'b', 'c'})
    writers.emplace_back([&, c] {
      for (size_t k = 0; k < kRounds; ++k) {
        spirv_plugin::replace_file(path, std::string(kBytes, c));
        torn += !is_whole(spirv_plugin::cached_bytes(path));
      }
    });
  for (std::thread& t : writers) t.join();
  CHECK(torn == 0);
  CHECK(spirv_plugin::cached_bytes(path).size() == kBytes);
  CHECK(files_in(std::string(folder.path())).size() == 1);
}
