// SPDX-License-Identifier: Apache-2.0
#include "core/loader/negotiate.hpp"

#include <random>

#include "core/loader/library.hpp"
#include "core/loader/run_path.hpp"
#include "core/support/file.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

Result<optima_plugin_api> ask(const std::string& name, std::vector<uint32_t> majors = {0}) {
  const auto stamp = stamp_of(bad_plugin(name));
  REQUIRE(stamp.ok());
  auto library = open_library(bad_plugin(name), *stamp);
  if (!library.ok()) return library.status();
  optima_host host{};
  host.struct_size = sizeof host;
  host.abi_minor = OPTIMA_ABI_MINOR;
  return negotiate((*library)->query, host, majors);
}

std::string refusal(const std::string& name, std::vector<uint32_t> majors = {0}) {
  const auto api = ask(name, std::move(majors));
  REQUIRE(!api.ok());
  CHECK(api.status().kind() == StatusKind::Plugin);
  return api.status().message();
}

}  // namespace

TEST_CASE("the highest major that both serve is agreed on") {
  for (const auto& [name, major] : std::vector<std::pair<std::string, uint32_t>>{{"fine", 0}, {"major_1", 1}, {"major_2", 2}}) {
    const auto api = ask(name, {2, 1, 0});
    REQUIRE_MESSAGE(api.ok(), api.status().message());
    CHECK(api->abi_major == major);
  }
  CHECK(refusal("major_2", {1, 0}) == "refuses ABI majors 1 to 0: speaks another major");
  CHECK(refusal("fine", {2, 1}) == "refuses ABI majors 2 to 1: speaks another major");
}

TEST_CASE("a plugin that cannot be agreed with is refused with its reason") {
  CHECK(refusal("silent_null") == "refuses ABI major 0 and gave no reason");
  CHECK(refusal("speaking_null") == "refuses ABI major 0: speaks another major");
  CHECK(refusal("no_symbol") == "does not export optima_plugin_query");
  CHECK(refusal("root_size_zero") == "its root table has size 0, wanted 16..65536");
  CHECK(refusal("root_size_absurd") == "its root table has size 2147483647, wanted 16..65536");
  CHECK(refusal("root_short") == "its root table has size 88, wanted 120..65536");
  CHECK(refusal("wrong_minor") == "speaks ABI 0.99, this program speaks 0.1 (at major 0 both must be equal)");
  CHECK(refusal("wants_newer_host") == "wants a host of minor 1000 or later, this program has 1");
  CHECK(refusal("other_major") == "answered ABI major 5 when asked for 0");
  CHECK(refusal("null_function") == "its root table lacks devices");
}

TEST_CASE("tables longer than this host knows are fine") {
  const auto api = ask("all_long");
  REQUIRE(api.ok());
  CHECK(api->struct_size == sizeof(optima_plugin_api));
}

TEST_CASE("the loader's words become ours") {
  CHECK(readable_loader_error("libx.so.1: cannot open shared object file: No such file or directory", "/p/a.so") ==
        "needs the library 'libx.so.1', which is not found on this machine; it may lie in a folder named in LD_LIBRARY_PATH");
  CHECK(readable_loader_error("/p/a.so: undefined symbol: foo", "/p/a.so") == "needs the symbol 'foo', which nothing provides");
  CHECK(readable_loader_error("/p/a.so: file too short", "/p/a.so") == "cannot be loaded: file too short");
  const fs::path folder = fs::path(bad_plugin("missing_library")).parent_path();
  CHECK(refusal("missing_library") == cat("needs the library 'liboptima_test_gone.so', which is not found on this machine; it may lie in '", folder.string(), "', '",
                                          folder.parent_path().string(), "/vendor' or a folder named in LD_LIBRARY_PATH"));
}

TEST_CASE("the run path of damaged bytes is read without harm") {
  const auto file = read_file(bad_plugin("missing_library"));
  REQUIRE(file.ok());
  const auto folders = [](const std::string& bytes) { return run_path(std::as_bytes(std::span(bytes)), "/p"); };
  CHECK(folders(*file) == std::vector<std::string>{"/p", "/vendor"});
  for (size_t size : {size_t{0}, size_t{3}, size_t{60}, size_t{200}, file->size() / 2}) CHECK(folders(file->substr(0, size)).size() <= 2);
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = *file;
    for (int k = 0; k < 8; ++k) bytes[random() % std::min<size_t>(bytes.size(), round % 2 ? 1024 : bytes.size())] = static_cast<char>(random());
    CHECK(folders(bytes).size() < 1000);
  }
}

TEST_CASE("a file that changed between the look and the load is not loaded") {
  const PluginFolder folder({"fine"});
  const std::string path = folder.path() + "/fine.so";
  const auto stamp = stamp_of(path);
  REQUIRE(stamp.ok());
  fs::remove(path);
  fs::copy_file(bad_plugin("all_long"), path);
  const auto library = open_library(path, *stamp);
  REQUIRE(!library.ok());
  CHECK(library.status().message() == cat("plugin file '", path, "' changed while it was being loaded; scan again"));
}
